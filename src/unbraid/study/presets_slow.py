"""Methods on pairs: a comparison at 32x32, the search for every method's own strength, and the published ones."""

from __future__ import annotations

__all__ = ["SLOW_PRESETS"]

_DATA = """\
data = [
    "sprites32:scale=2:,orientation=:10,x=::2,y=::2 @ protocol=lap",    # every factor can be seen
    "sprites32:scale=2:,orientation=:10,x=::2,y=::2 @ protocol=uni",
    "natural-sprites-discrete:size=32,channels=1",
]
"""

_EVALUATION = """\
[evaluation]
metrics = ["beta_vae", "factor_vae", "mig", "mcc", "dci", "modularity", "sap"]
representations = ["mean"]
train = 5000
test = 2500
points = 1000
batches = 50
"""

SLOW = f"""\
# About six hours (estimated): methods on pairs and priors of transitions, on steps that are sparse, uniform and
# natural. Strengths as published; `slow-search` and `unbraid study choose` find each method's own.
name = "slow"
{_DATA}seeds = 5
steps = 15000
net = "light"
batch_size = 64                # images, so 32 pairs

[[objectives.slow-vae]]        # gamma 10, rate 6, alpha 1, as published
reference_size = 64            # the reconstruction weighs as at 64x64
[[objectives.slow-vae]]
rate = [1, 12]                 # 12 is what the release's loss amounts to
reference_size = 64
[[objectives.slow-vae]]
alpha = [0.5]
reference_size = 64
[objectives.gaussian-slow-vae]
reference_size = 64
[objectives.pm-vae]
gamma = 10
reference_size = 64
[objectives.ada-gvae]
beta = 1
reference_size = 64
[objectives.pcl]
[objectives.beta-vae]
beta = [1, 4]
reference_size = 64

[options]
learning_rate = 1e-3           # fewer, longer steps than the published 300 000 of 1e-4

{_EVALUATION}"""

SLOW_SEARCH = f"""\
# About three hours (estimated): which strength serves each method on pairs best? For `unbraid study choose`.
name = "slow-search"
{_DATA}seeds = [100, 101]             # not those of the comparison
steps = 8000
net = "light"
batch_size = 64

[[objectives.slow-vae]]        # gamma 10, rate 6, as published
reference_size = 64
[[objectives.slow-vae]]
gamma = [1, 5, 16]
reference_size = 64
[[objectives.slow-vae]]
rate = [1, 3, 10]
reference_size = 64
[objectives.gaussian-slow-vae]
gamma = [1, 5, 10, 16]
reference_size = 64
[objectives.pm-vae]
gamma = [1, 5, 10, 16]
reference_size = 64
[objectives.ada-gvae]
beta = [1, 2, 4, 8, 16]
reference_size = 64
[[objectives.pcl]]             # nothing to reconstruct; only how fast it learns
learning_rate = [3e-4, 1e-3, 3e-3]
[objectives.beta-vae]
beta = [1, 2, 4, 8, 16]
reference_size = 64

[options]
learning_rate = 1e-3

{_EVALUATION}"""

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

SLOW_PRESETS = {"slow": SLOW, "slow-search": SLOW_SEARCH, "slow-paper": SLOW_PAPER, "slow-control": SLOW_CONTROL}
"""Study files by name."""
