"""The six classic objectives beside newer ones: a search in which each is tuned as much as the others."""

from __future__ import annotations

__all__ = ["TODAY_PRESETS"]

TODAY_SEARCH = """\
# About two and a half hours of one core (estimated): three settings of each objective, the one number that decides most
# about it. `unbraid study choose` takes the best of each; the comparison adds data whose factors are correlated.
name = "today-search"
data = [
    "sprites32:scale=2:,orientation=:10,x=::2,y=::2",
    "rooms3d-32",
]
seeds = [100, 101]             # not those of the comparison
steps = 10000
net = "broadcast"

[objectives.beta-vae]
beta = [1, 2, 4]
reference_size = 64            # the reconstruction weighs as at 64x64
[objectives.factor-vae]
gamma = [5, 10, 40]
discriminator_width = 256
discriminator_learning_rate = 1e-3
reference_size = 64
[objectives.dip-vae-i]
lambda_od = [1, 5, 20]
reference_size = 64
[objectives.dip-vae-ii]
lambda_od = [1, 5, 20]
reference_size = 64
[objectives.beta-tcvae]
beta = [2, 3, 5]
reference_size = 64
[objectives.annealed-vae]
c_max = [15, 25, 50]
gamma = 30
anneal_steps = 3300            # a third of the steps, as published
reference_size = 64

[objectives.qlae]              # 2023 and later; qlae, fsq and tripod have codes of a few values
weight_decay = [1e-3, 1e-2, 1e-1]
[objectives.fsq]
values = [6, 12, 24]
[objectives.tripod]
nhp = [1e-4, 1e-2, 1]
[objectives.hfs-vae]
gamma = [10, 100, 1000]
reference_size = 64
[objectives.hfs-tcvae]
gamma = [10, 100, 1000]
beta = 2
reference_size = 64
[[objectives.ae]]
penalties = ["bio:weight=0.01,scale=mean"]
[[objectives.ae]]
penalties = ["bio:weight=0.1,scale=mean"]
[[objectives.ae]]
penalties = ["bio:weight=1,scale=mean"]

[options]
learning_rate = 2e-3

[measures.disentanglement]
metrics = ["mig", "dci", "infomec", "med"]
representations = ["mean"]
train = 10000
test = 5000
[measures.factors]
"""

TODAY_PRESETS = {"today-search": TODAY_SEARCH}
"""Study files by name."""
