"""Recipes as references: a model of a recipe beside the one that a card is about."""

from __future__ import annotations

import tempfile
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from unbraid.errors import UsageError
from unbraid.transfer.domains import RANDOM, Domain
from unbraid.transfer.presets import preset
from unbraid.transfer.recipes import recipe
from unbraid.transfer.work import train_recipe

if TYPE_CHECKING:
    from unbraid.training import Run

__all__ = ["reference_run"]


def reference_run(name: str, domain: Domain, seed: int = 0, *, steps: int | None = None) -> Run:
    """A run of a recipe on a domain, by the budget of the small matrix: trained when first asked for in a process.

    Its folder is a temporary one, gone with the process.
    """
    if domain.held is not None:
        raise UsageError(
            f"reference {name!r} is a recipe, which is trained on domains that come with the library; beside own data "
            "give a trained model, such as a run"
        )
    return _trained(name, domain, seed, steps)[0]


@lru_cache(maxsize=4)
def _trained(name: str, domain: Domain, seed: int, steps: int | None) -> tuple[Run, tempfile.TemporaryDirectory[str]]:
    from unbraid.training import open_run

    made = recipe(name, domain, preset("small", steps=steps).budget)
    if made.start or made.reading not in ("", "readout"):
        raise UsageError(f"reference {name!r} is more than one training: give a run of it from a matrix instead")
    folder = tempfile.TemporaryDirectory(prefix="unbraid-reference-")
    out = Path(folder.name) / name
    if not train_recipe(made, domain.data(RANDOM), out, seed):
        raise KeyboardInterrupt(f"the training of the reference {name!r} was stopped")
    return open_run(out), folder  # the folder lives as long as the run is known here
