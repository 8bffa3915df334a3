"""Studies ready to run: a minute, two hours, and the published ones."""

from __future__ import annotations

from unbraid.study.presets_correlated import CORRELATED_PRESETS
from unbraid.study.presets_invariance import INVARIANCE_PRESETS
from unbraid.study.presets_noise import NOISE_PRESETS
from unbraid.study.presets_slow import SLOW_PRESETS
from unbraid.study.presets_small import SMALL_PRESETS
from unbraid.study.presets_today import TODAY_PRESETS

__all__ = ["PRESETS"]

SMOKE = """\
# A minute on two cores: does everything work?
name = "smoke"
data = ["mini-sprites"]
seeds = 2
steps = 300
net = "mlp:width=64"

[objectives.beta-vae]
beta = [1, 4]
[objectives.beta-tcvae]
beta = [1, 6]

[options]
learning_rate = 1e-3

[evaluation]
train = 500
test = 250
points = 100
batches = 20
images = 200

[evaluation.options.downstream]
sizes = [10, 100, 500]
"""

PAPER = """\
# Locatello et al. (2019): 7 data sets x 6 objectives x 6 strengths x 50 seeds, index 0..12599 as published.
name = "paper"
data = [
    "dsprites", "color-dsprites", "noisy-dsprites", "scream-dsprites", "smallnorb", "cars3d", "shapes3d",
]
objectives = ["beta-vae", "factor-vae", "dip-vae-i", "dip-vae-ii", "beta-tcvae", "annealed-vae"]
seeds = 50
steps = 300000
net = "conv"
batch_size = 64

[options]
latents = 10
learning_rate = 1e-4
"""

PRESETS: dict[str, str] = {
    "smoke": SMOKE,
    **SMALL_PRESETS,
    "paper": PAPER,
    **SLOW_PRESETS,
    **NOISE_PRESETS,
    **INVARIANCE_PRESETS,
    **CORRELATED_PRESETS,
    **TODAY_PRESETS,
}
"""Study files by name."""
