"""The grid of the large study: objectives x strengths x data sets x seeds."""

from __future__ import annotations

import re

from unbraid.claims.group import Recipe, fresh
from unbraid.claims.studies import StudyGroup
from unbraid.study import PRESETS

__all__ = ["GRID", "without_seeds"]


def without_seeds(text: str) -> str:
    """A study file without its seeds, which a group brings."""
    return re.sub(r"(?m)^seeds = .*\n", "", text)


SMOKE = """\
data = ["mini-sprites", "blobs16"]
steps = 100
net = "mlp:width=32"
[objectives.beta-vae]
beta = [1, 4]
[objectives.beta-tcvae]
beta = [1, 6]
[options]
learning_rate = 1e-3
[evaluation]
metrics = [
    "beta_vae", "factor_vae", "mig", "dci", "sap", "modularity", "gaussian_total_correlation", "downstream",
]
train = 200
test = 100
points = 50
batches = 5
images = 100
[evaluation.options.downstream]
sizes = [10, 100, 200]
"""

SMALL = without_seeds(PRESETS["small"]).replace("steps = 15000", "steps = 6000").replace("= 5000 ", "= 2000 ")
"""The small study in 0.4 of its steps, annealing too: claims have 24 hours of one core in all."""

GRID = StudyGroup(
    "study-grid",
    "six objectives at several strengths",
    {
        "smoke": Recipe(
            "mini-sprites and blobs16, 100 of 300,000 steps",
            {"study": SMOKE},
            fresh(3),  # what holds is asked without each seed in turn, too
            1.5,
            ("mini-sprites", "blobs16"),
        ),
        "small": Recipe(
            "sprites32 and rooms3d-32 (32x32), 18 settings, 6,000 of 300,000 steps",
            {"study": SMALL},
            fresh(5),
            215,
            ("sprites32", "rooms3d-32"),
            steps=6000,
        ),
        "paper": Recipe(
            "seven data sets of 64x64, 36 settings, 300,000 steps",
            {"study": without_seeds(PRESETS["paper"])},
            tuple(range(100, 150)),
            12_600 * 105,
            ("dsprites", "smallnorb", "cars3d", "shapes3d"),
            steps=300_000,
            unit="GPU",
        ),
    },
)
