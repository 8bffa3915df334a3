"""The training and the test part of a split, as data sets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from unbraid.data.dataset import Dataset, Law, Recipe
from unbraid.data.part import Indices, Part
from unbraid.data.space import FactorSpace

if TYPE_CHECKING:
    from unbraid.data.splits.split import Split

__all__ = ["Side", "SplitPart", "step_inside"]

REDRAWS = 100
"""How often a step that leaves a side is drawn anew before its pair is given up."""


@dataclass(frozen=True)
class Side:
    """Which side of which split a data set is, as run folders record it."""

    kind: str
    """Name of the split, or ``own``."""
    side: str
    """``train``, ``test``, ``one-ood``, or ``one-ood-FACTOR``."""
    hash: str
    """Of the rule: equal for splits that train on the same cells."""
    grid: str
    """Of the factors and their numbers of values: equal for splits of the same grid."""
    seed: int | None = None
    """Of a random split."""

    def to_json(self) -> dict[str, Any]:
        """As a run folder holds it."""
        return asdict(self)


class SplitPart(Part):
    """One side of a split: a part whose pairs start anywhere in it and end in it too.

    Where it is a product of value sets the steps are those of the law with these values alone; elsewhere a step that
    leaves the side is drawn anew.
    """

    split: Split | None = None
    """The split that computes it; ``None`` where a file says which images are on this side."""

    def __init__(self, base: Dataset, indices: Indices, side: Side, recipe: Recipe | None) -> None:
        super().__init__(base, indices)
        self.side = side
        self.name = f"{base.name}-{side.kind}-{side.side}"
        self.recipe = recipe

    def in_whole(self) -> tuple[Dataset, np.ndarray | None]:
        # By its recipe it is found again as what it is; a list of positions would not know of the split.
        return (self, None) if self.recipe is not None else super().in_whole()

    def _to_write(self) -> tuple[Dataset, np.ndarray]:
        return (self, np.arange(len(self))) if self.recipe is not None else super()._to_write()

    def follow(self, law: Law, index: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        if self.base.space is None:
            return super().follow(law, index, rng)
        values = getattr(self.indices, "values", None)
        return step_inside(law, self.base.space, self.indices, values, index, rng)


def step_inside(
    law: Law,
    space: FactorSpace,
    cells: Indices,
    values: Sequence[Sequence[int]] | None,
    index: np.ndarray,
    rng: np.random.Generator,
) -> np.ndarray:
    """Where a law leads from positions among some cells of a grid; -1 where no step was found that stays among them.

    ``values`` are those of each factor if the cells are all their combinations.
    """
    first = space.factors(cells[index])
    if values is not None:
        return cells.find(space.index(law.within(values).step(first, rng)))
    found = np.full(len(index), -1, dtype=np.int64)
    left = np.arange(len(index))
    for _ in range(REDRAWS):
        found[left] = cells.find(space.index(law.step(first[left], rng)))
        left = left[found[left] < 0]
        if not len(left):
            break
    return found
