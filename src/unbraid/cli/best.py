"""Commands about a run, given the folder of a population or a recursion, look at its best model."""

from __future__ import annotations

import sys
from pathlib import Path

from unbraid.errors import UsageError

__all__ = ["best_run"]

_AGAIN = "the same command again goes on with it"


def best_run(folder: Path) -> Path:
    """The folder itself, or the best model so far of the population or recursion that it holds; says which it is."""
    if not any((folder / name).exists() for name in ("evolution.json", "recursion.json")):
        return folder
    from unbraid.selection import TREE, open_evolution, open_tree

    if (folder / TREE).exists():
        evolution = open_tree(folder).final
        if evolution is None:
            raise UsageError(
                f"the recursion in {folder} has no final model yet; the same command again goes on with it"
            )
    else:
        evolution = open_evolution(folder)
    if not evolution.generations:
        raise UsageError(
            f"the population in {folder} has no whole generation yet; the same command again goes on with it"
        )
    best = evolution.best
    print(f"{folder} is a population; this is its best model, {best.run}", file=sys.stderr)
    return best.run
