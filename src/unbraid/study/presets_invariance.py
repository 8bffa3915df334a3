"""Studies of what bijective classifiers ignore, ready to run: digits and clothes."""

from __future__ import annotations

__all__ = ["INVARIANCE_PRESETS"]


def _study(name: str, data: str, weights: str, about: str) -> str:
    return f"""\
# {about}
name = "{name}"
data = ["{data}"]
seeds = 3
steps = 2000                   # two epochs, of the published 100; network: 3 stages of 6 blocks, 32 channels (16, 128)
batch_size = 64

[[objectives.firevnet]]        # cross-entropy
drop_at = [1700]
[[objectives.ice]]             # independence cross-entropy, as many steps more
after = "firevnet"
parts = ["net"]
drop_at = [1700]
cap = true
w_nuisance = {weights}

[measures.invariance]
train = 20000
images = 10000
data = ["{data}:split=test"]
"""


SPHERES = """\
# About half an hour of one core: cross-entropy on spheres of radius 1 and 10 as published, 3 runs.
name = "invariance-spheres"
data = ["spheres:images=500000"]
seeds = 3
steps = 39062                  # ten epochs
batch_size = 128

[objectives.firevnet]
net = "fc"
optimizer = "adam"
learning_rate = 1e-4

[measures.invariance]
train = 100000
images = 20000
width = 1000
data = ["spheres:images=100000,seed=1"]
"""

INVARIANCE_PRESETS = {
    "invariance-spheres": SPHERES,
    "invariance": _study(
        "invariance",
        "mnist",
        "[2, 0.05]           # 0.05 is that of the authors' code",
        "About an hour of one core: cross-entropy and independence cross-entropy, digits, 9 runs.",
    ),
    "invariance-fashion": _study(
        "invariance-fashion",
        "fashion-mnist",
        "[2]",
        "About 45 minutes of one core: the same on pictures of clothes, 6 runs.",
    ),
}
"""Study files by name."""
