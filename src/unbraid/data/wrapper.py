"""Data sets that show another one differently, or on a smaller grid; everything else passes through."""

from __future__ import annotations

import numpy as np

from unbraid.data.dataset import Dataset, Index, Law
from unbraid.data.space import FactorSpace, Kind, SubSpace
from unbraid.errors import UsageError

__all__ = ["Subset", "Wrapper"]


class Wrapper(Dataset):
    """A data set that shows another one differently: a subclass overrides :meth:`show`.

    Factors, classes and transitions are those of the data set inside, whatever it is.
    """

    def __init__(self, base: Dataset) -> None:
        self.base = base
        self.space, self.shape, self.card, self.name = base.space, base.shape, base.card, base.name
        self.classes, self.has_transitions, self.side = base.classes, base.has_transitions, base.side
        self.uniform = base.uniform

    def show(self, images: np.ndarray, index: np.ndarray, rng: np.random.Generator | None) -> np.ndarray:
        """What becomes of these images of the data set inside, which lie at these positions."""
        return images

    def images(self, index: Index, rng: np.random.Generator | None = None) -> np.ndarray:
        positions = np.asarray(index, dtype=np.int64)
        return self.show(self.base.images(positions, rng), positions, rng)

    def origin(self, index: Index) -> np.ndarray:
        return self.base.origin(index)

    def pairs_at(
        self, first: np.ndarray, second: np.ndarray, rng: np.random.Generator | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        both = np.concatenate(self.base.pairs_at(first, second, rng))
        shown = self.show(both, np.concatenate([first, second]), rng)
        return shown[: len(first)], shown[len(first) :]

    def __len__(self) -> int:
        return len(self.base)

    @property
    def stochastic(self) -> bool:
        return self.base.stochastic

    def sample_index(self, n: int, rng: np.random.Generator) -> np.ndarray:
        return self.base.sample_index(n, rng)

    @property
    def factor_names(self) -> tuple[str, ...]:
        return self.base.factor_names

    @property
    def factor_sizes(self) -> tuple[int, ...] | None:
        return self.base.factor_sizes

    @property
    def factor_kinds(self) -> tuple[Kind, ...]:
        return self.base.factor_kinds

    def factors(self, index: Index) -> np.ndarray:
        return self.base.factors(index)

    def labels(self, index: Index | None = None) -> np.ndarray:
        return self.base.labels(index)

    def draw_pairs(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        return self.base.draw_pairs(n, rng)

    def draw_chains(self, n: int, length: int, rng: np.random.Generator) -> np.ndarray:
        return self.base.draw_chains(n, length, rng)

    @property
    def longest_chain(self) -> int | None:
        return self.base.longest_chain

    @property
    def grid(self) -> FactorSpace | None:
        return self.base.grid

    def follow(self, law: Law, index: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return self.base.follow(law, index, rng)


class Subset(Dataset):
    """A data set on a part of its grid, which is a grid again."""

    space: SubSpace

    def __init__(self, base: Dataset, space: SubSpace) -> None:
        if space.parent != base.space:
            raise UsageError(f"space is no part of the factor space of {base.name!r}; make it by data.subset(...)")
        base.need_uniform()
        self.base, self.space = base, space
        self.shape, self.card, self.name, self.classes = base.shape, base.card, base.name, base.classes

    def __len__(self) -> int:
        return len(self.space)

    @property
    def stochastic(self) -> bool:
        return self.base.stochastic

    def images(self, index: Index, rng: np.random.Generator | None = None) -> np.ndarray:
        return self.base.images(self.space.to_parent(index), rng)

    def labels(self, index: Index | None = None) -> np.ndarray:
        return self.base.labels(self.space.to_parent(np.arange(len(self)) if index is None else index))
