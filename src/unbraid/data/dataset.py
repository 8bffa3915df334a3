"""What every data set offers: a shape, a length, a card, and uint8 images by index."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from unbraid.data.space import Choice, FactorSpace, SubSpace
from unbraid.errors import UsageError

__all__ = ["Card", "FactorDataset", "ImageDataset", "LabelledDataset", "Shape", "Subset", "Wrapper"]

Shape = tuple[int, int, int]
"""Height, width, channels."""


@dataclass(frozen=True)
class Card:
    """Where a data set comes from and what to know before trusting a number computed on it."""

    title: str
    source: str = "own data"
    licence: str = "unknown"
    citation: str = ""
    traps: tuple[str, ...] = ()
    stands_in_for: str = ""
    """The published set a procedural one imitates, with how it differs."""


@dataclass(frozen=True)
class Recipe:
    """The arguments of :func:`unbraid.data.load` that give a data set back."""

    name: str
    options: dict[str, Any] = field(default_factory=dict)


class ImageDataset(ABC):
    """Images by index. Images are uint8 ``[n, h, w, c]``; they become floats only inside a network."""

    name: str = "own"
    shape: Shape
    card: Card = Card("own data")
    recipe: Recipe | None = None
    """How to load it again; ``None`` for data that lives only in memory."""

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def images(self, index: np.ndarray | Sequence[int], rng: np.random.Generator | None = None) -> np.ndarray:
        """The images at these positions; data sets that draw something anew at every access take it from ``rng``."""

    @property
    def stochastic(self) -> bool:
        """Whether an image depends on ``rng`` as well as on its index."""
        return False

    def sample_index(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """``n`` independent uniform positions."""
        return rng.integers(len(self), size=n)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r}: {len(self):,} images {'x'.join(map(str, self.shape))}>"


class FactorDataset(ImageDataset):
    """Images with a known grid of factors: image ``i`` shows the factor values ``space.factors([i])``."""

    space: FactorSpace

    def __len__(self) -> int:
        return len(self.space)

    def sample(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """``n`` independent draws: factors ``[n, K]`` and images ``[n, h, w, c]``."""
        factors = self.space.sample(n, rng)
        return factors, self.images(self.space.index(factors), rng)

    def subset(self, **choices: Choice) -> "Subset":
        """The same images on a smaller grid: ``data.subset(shape=0, orientation=slice(None, None, 4))``."""
        return Subset(self, self.space.select(**choices))


class LabelledDataset(ImageDataset):
    """Images with a class label each, integers ``0..len(classes)-1``."""

    labels: np.ndarray
    classes: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.labels)


class Wrapper(FactorDataset):
    """A factor data set that shows another one differently; a subclass overrides what differs."""

    def __init__(self, base: FactorDataset) -> None:
        self.base = base
        self.space = base.space
        self.shape = base.shape
        self.card = base.card
        self.name = base.name

    @property
    def stochastic(self) -> bool:
        return self.base.stochastic

    def images(self, index: np.ndarray | Sequence[int], rng: np.random.Generator | None = None) -> np.ndarray:
        return self.base.images(index, rng)


class Subset(Wrapper):
    """A data set on a part of its grid."""

    def __init__(self, base: FactorDataset, space: SubSpace) -> None:
        if space.parent != base.space:
            raise UsageError(f"space is no part of the factor space of {base.name!r}; make it by data.subset(...)")
        super().__init__(base)
        self.space: SubSpace = space

    def images(self, index: np.ndarray | Sequence[int], rng: np.random.Generator | None = None) -> np.ndarray:
        return self.base.images(self.space.to_parent(index), rng)
