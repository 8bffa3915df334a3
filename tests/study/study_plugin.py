"""Plugin for the runner's tests: the dots, and an objective that notes every time it is trained."""

import os
import sys
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import dots  # noqa: F401 (registers its data set)
from unbraid.objectives import BetaVAE, register


@register("noted-vae")
@dataclass(frozen=True)
class NotedVAE(BetaVAE):
    """beta-VAE that leaves a line in the file NOTES per training."""

    def prepare(self, model, optimizers, step):
        if step == 0:
            with Path(os.environ["NOTES"]).open("a") as file:
                file.write(f"{self.beta}\n")
