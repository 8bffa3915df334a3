"""Studies of noise training, ready to run: digits, the standard deviation, clothes."""

from __future__ import annotations

__all__ = ["NOISE_PRESETS"]

_TUNED = """\
[[objectives.classifier]]
after = "classifier"
optimizer = "sgd"
learning_rate = [0.02]
"""
"""Fine-tuning from the vanilla run of the same seed."""


def _ways(*augment: str) -> str:
    return "".join(f"{_TUNED}augment = [{words}]\n" if words else _TUNED for words in augment)


def _asked(data: str, adversaries: bool = True) -> str:
    test = f'data = ["{data}:split=test"]\n'
    attacks = "".join(
        f'[[measures.adversarial]]\nnorm = "{norm}"\n{how}\nimages = 500\n{test}'
        for norm, how in (("linf", "eps = 0.1\nstep_size = 0.01"), ("l2", "eps = 1.5"))
    )
    return f"""
[[measures.corruptions]]
suite = "mnist-c"
images = 5000
{test}[[measures.corruptions]]       # which MNIST-C has not
suite = "snow+contrast"
images = 5000
{test}[measures.noise-distance]
directions = ["gaussian", "uniform", "learned"]
images = 1000
eps = 5                        # with more, generators learn to erase digits
steps = 400
{test}{attacks if adversaries else ""}"""


_HEAD = """\
seeds = 3
steps = 2400                   # four epochs in batches of 100, of the published 500 to 600 in batches of 300
net = "small-cnn"
batch_size = 100

[options]
drop_at = [2000]               # a tenth of the rate from there on, as published

[[objectives.classifier]]      # vanilla, where all others begin
learning_rate = 1e-3
"""
SIGMAS = (0.08, 0.12, 0.18, 0.26, 0.38, 0.5, 0.6, 0.8, 1.0)

NOISE = (
    """\
# About 80 minutes of one core: ten ways of training a small network on digits, 30 runs.
name = "noise"
data = ["mnist"]
"""
    + _HEAD
    + _ways(
        "",  # as many steps more, without noise
        '"gaussian-noise:sigma=0.5"',
        '"gaussian-noise:sigmas=0.08+0.12+0.18+0.26+0.38"',
        '"speckle"',
        '"ant:kernel=1,eps=5"',
        '"ant:kernel=1,eps=5,replay=0"',
        '"ant:kernel=3,eps=5"',
        '"stylised:share=0.3", "ant:kernel=1,eps=5,share=0.45"',
    )
    + """\
[[objectives.classifier]]
after = "classifier"
learning_rate = 1e-3
augment = ["adversarial:norm=linf,radius=0.3,steps=7,share=1"]
"""
    + _asked("mnist")
)

SWEEP = (
    """\
# About 25 minutes of one core: which standard deviation? 30 runs.
name = "noise-sigmas"
data = ["mnist"]
"""
    + _HEAD
    + _ways(*(f'"gaussian-noise:sigma={sigma}"' for sigma in SIGMAS))
    + """
[measures.corruptions]
suite = "mnist-c"
images = 2500
data = ["mnist:split=test"]
"""
)

FASHION = (
    """\
# About 25 minutes of one core: the main ways of training on pictures of clothes, 15 runs.
name = "noise-fashion"
data = ["fashion-mnist"]
"""
    + _HEAD
    + _ways(
        "", '"gaussian-noise:sigma=0.5"', '"gaussian-noise:sigmas=0.08+0.12+0.18+0.26+0.38"', '"ant:kernel=1,eps=5"'
    )
    + _asked("fashion-mnist", adversaries=False)
)

NOISE_PRESETS = {"noise": NOISE, "noise-sigmas": SWEEP, "noise-fashion": FASHION}
"""Study files by name."""
