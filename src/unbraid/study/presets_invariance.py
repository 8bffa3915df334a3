"""Studies of what bijective classifiers ignore, ready to run: digits and clothes."""

from __future__ import annotations

__all__ = ["INVARIANCE_PRESETS"]

CE_STEPS, ICE_STEPS = 3000, 4000
SEEDS = 3


def _study(name: str, data: str, about: str) -> str:
    return f"""\
# {about}
name = "{name}"
data = ["{data}"]
seeds = {SEEDS}
steps = {CE_STEPS}
batch_size = 64

[objectives.firevnet]
net = "conv"                   # 3 stages of 6 blocks, 32 channels, of the published 16 blocks of 128
[objectives.ice]
net = "conv"
steps = {ICE_STEPS}

[measures.invariance]
train = 20000
images = 10000
data = ["{data}:split=test"]
"""


INVARIANCE_PRESETS = {
    "invariance": _study(
        "invariance",
        "mnist",
        "About an hour of one core: cross-entropy and independence cross-entropy, digits, 6 runs.",
    ),
    "invariance-fashion": _study(
        "invariance-fashion", "fashion-mnist", "About an hour of one core: the same on pictures of clothes, 6 runs."
    ),
}
"""Study files by name."""
