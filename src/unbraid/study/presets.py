"""Studies ready to run: a minute, two hours, and the published ones."""

from __future__ import annotations

from unbraid.study.presets_invariance import INVARIANCE_PRESETS
from unbraid.study.presets_noise import NOISE_PRESETS
from unbraid.study.presets_small import SMALL_PRESETS

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

SLOW = """\
# An hour of one core: methods on pairs and priors of transitions, on steps that are sparse, uniform and natural.
name = "slow"
data = [
    "sprites32:orientation=0 @ protocol=lap",
    "sprites32:orientation=0 @ protocol=uni",
    "natural-sprites-discrete:size=32,channels=1",
]
seeds = 3
steps = 4000
net = "mlp"
batch_size = 64                # images, so 32 pairs

[[objectives.slow-vae]]        # gamma 10, rate 6, alpha 1, as published
[[objectives.slow-vae]]
rate = [1, 12]                 # 12 is what the release's loss amounts to
[[objectives.slow-vae]]
gamma = [2.5]                  # a quarter of the pixels, a quarter of the weight
[[objectives.slow-vae]]
alpha = [0.5]
[objectives.gaussian-slow-vae]
[objectives.pm-vae]
gamma = 10
[objectives.ada-gvae]
beta = 1
[objectives.pcl]
[objectives.beta-vae]
beta = [1, 4]

[options]
learning_rate = 1e-3           # fewer, longer steps than the published 300 000 of 1e-4

[evaluation]
metrics = ["beta_vae", "factor_vae", "mig", "mcc", "dci", "modularity", "sap"]
representations = ["mean"]
train = 1500
test = 750
points = 300
batches = 20
images = 500
"""

SLOW_PAPER = """\
# Klindt et al. (2021): all their data sets with 10 seeds; needs the published files, see `unbraid data list`.
name = "slow-paper"
data = [
    "dsprites @ protocol=uni", "dsprites @ protocol=lap", "cars3d @ protocol=uni", "cars3d @ protocol=lap",
    "smallnorb @ protocol=uni", "smallnorb @ protocol=lap", "shapes3d @ protocol=uni", "shapes3d @ protocol=lap",
    "mpi3d-real @ protocol=uni", "mpi3d-real @ protocol=lap", "natural-sprites-discrete", "natural-sprites",
    "kitti-masks:max_gap=1", "kitti-masks:max_gap=5",
]
seeds = 10
steps = 300000
net = "slow"
batch_size = 64                # images, so 32 pairs

[objectives.slow-vae]
[objectives.ada-gvae]          # the published sweep; take the strength of the lowest reconstruction loss
[objectives.pcl]
[objectives.pm-vae]
[objectives.beta-vae]
beta = 8

[options]
learning_rate = 1e-4

[evaluation]
metrics = ["beta_vae", "factor_vae", "mig", "mcc", "dci", "modularity", "sap"]
representations = ["mean"]
"""

SLOW_CONTROL = """\
# An hour of one core: does it help SlowVAE if the factors of natural transitions move independently?
name = "slow-control"
data = ["natural-sprites-discrete:size=32,channels=1", "natural-sprites-discrete:size=32,channels=1,permuted=1"]
seeds = 5
steps = 20000
net = "light"
batch_size = 64                # images, so 32 pairs

[objectives.slow-vae]
reference_size = 64            # gamma 10 and rate 6 as published, for images of 64x64

[options]
learning_rate = 5e-4

[evaluation]
metrics = ["beta_vae", "factor_vae", "mig", "mcc", "dci", "modularity", "sap"]
representations = ["mean"]
"""

PRESETS: dict[str, str] = {
    "smoke": SMOKE,
    **SMALL_PRESETS,
    "paper": PAPER,
    "slow": SLOW,
    "slow-paper": SLOW_PAPER,
    "slow-control": SLOW_CONTROL,
    **NOISE_PRESETS,
    **INVARIANCE_PRESETS,
}
"""Study files by name."""
