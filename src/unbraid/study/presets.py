"""Studies ready to run: a minute, an evening, and the published one."""

from __future__ import annotations

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

SMALL = """\
# An evening on two cores: the six objectives on two data sets of 32x32 images, weak, medium and strong.
name = "small"
data = ["sprites32", "rooms3d-32"]
seeds = 5
steps = 4000
net = "mlp"                    # at this size twice the steps of "conv" in the same time, and no worse for it

[objectives.beta-vae]
beta = [1, 4, 16]
[objectives.factor-vae]
gamma = [10, 40, 100]
discriminator_width = 256      # the published 1000 would take most of the time
[objectives.dip-vae-i]
lambda_od = [1, 10, 50]
[objectives.dip-vae-ii]
lambda_od = [1, 10, 50]
[objectives.beta-tcvae]
beta = [1, 4, 10]
[objectives.annealed-vae]
c_max = [5, 25, 100]
anneal_steps = 1300            # a third of the steps, as published

[options]
learning_rate = 5e-4           # fewer, longer steps than the published 300 000 of 1e-4

[evaluation]
metrics = [
    "beta_vae", "factor_vae", "mig", "dci", "sap", "modularity", "explicitness", "irs",
    "gaussian_total_correlation", "wasserstein_correlation", "pairwise_mutual_information", "downstream",
]
train = 1000
test = 500
points = 500
batches = 50

[evaluation.options.downstream]
sizes = [10, 100, 1000]
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

PRESETS: dict[str, str] = {"smoke": SMOKE, "small": SMALL, "paper": PAPER}
"""Study files by name."""
