"""What every data set offers: a shape, a length, a card, images by index; factors, classes and pairs if it has them.

Code that uses data asks the data set (``has_factors``, ``has_labels``, ``space is not None``, ``has_transitions``) and
never of what class it is: wrappers and parts offer whatever the data set inside them offers.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from unbraid.data.space import Choice, FactorSpace, Kind, check_index
from unbraid.errors import UsageError

if TYPE_CHECKING:
    from unbraid.data.part import Indices, Part
    from unbraid.data.splits.side import Side
    from unbraid.data.wrapper import Subset

__all__ = ["Card", "Dataset", "FactorDataset", "ImageDataset", "Index", "LabelledDataset", "Law", "Recipe", "Shape"]

Shape = tuple[int, ...]
"""Height, width, channels of images; the length alone of vectors."""
Index = np.ndarray | Sequence[int]
"""Positions, integers ``[n]``."""


class Law(Protocol):
    """How factors move, as :class:`unbraid.data.motion.transitions.Protocol` says it."""

    def step(self, factors: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """From factor rows ``[n, K]`` to those they move to."""

    def within(self, values: Sequence[Sequence[int]]) -> Law:
        """The same law where each factor may take these values only."""


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


class Dataset(ABC):
    """Images (or vectors) by index, with factors, classes and transitions where there are any.

    Images are uint8 ``[n, h, w, c]``; they become floats only inside a network. Vectors are float32 ``[n, d]``.
    """

    name: str = "own"
    shape: Shape
    card: Card = Card("own data")
    recipe: Recipe | None = None
    """How to load it again; ``None`` for data that lives only in memory."""
    space: FactorSpace | None = None
    """The grid of factors where positions are the points of one: image ``i`` shows ``space.factors([i])``."""
    classes: tuple[str, ...] = ()
    """Names of the classes; none where images have no labels."""
    side: Side | None = None
    """Of which split this is a side, or a part of one; ``None`` if of none."""
    uniform: bool = True
    """Whether all images are drawn alike; :meth:`sample_index` and :meth:`follow` say how otherwise."""
    has_transitions: bool = False
    """Whether it knows itself which images follow each other, as tracks do: see :meth:`draw_pairs`."""

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def images(self, index: Index, rng: np.random.Generator | None = None) -> np.ndarray:
        """The images at these positions; data sets that draw something anew at every access take it from ``rng``."""

    @property
    def stochastic(self) -> bool:
        """Whether an image depends on ``rng`` as well as on its index."""
        return False

    def sample_index(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """``n`` independent uniform positions."""
        return rng.integers(len(self), size=n)

    @property
    def factor_names(self) -> tuple[str, ...]:
        """The factors; none where they are not known or all fixed."""
        return () if self.space is None else self.space.names

    @property
    def factor_sizes(self) -> tuple[int, ...] | None:
        """How many values each factor has; ``None`` if they were measured and lie on a continuum."""
        return () if self.space is None else self.space.sizes

    @property
    def factor_kinds(self) -> tuple[Kind, ...]:
        """``ordinal``, ``categorical`` or ``periodic``, for each factor."""
        if self.space is not None:
            return self.space.kinds
        ordinal: Kind = "ordinal"
        return (ordinal,) * len(self.factor_names)

    @property
    def has_factors(self) -> bool:
        """Whether there are factors that vary and are known."""
        return bool(self.factor_names)

    def factors(self, index: Index) -> np.ndarray:
        """Factors ``[n, K]`` of the images at these positions: int64, or floats where they were measured."""
        if self.space is None:
            raise UsageError(f"data set {self.name!r} has no known factors; choose one that has, such as 'sprites32'")
        return self.space.factors(index)

    @property
    def has_labels(self) -> bool:
        """Whether every image belongs to one of ``classes``."""
        return bool(self.classes)

    def labels(self, index: Index | None = None) -> np.ndarray:
        """The classes of the images at these positions, or of all: int64 ``[n]``, numbers of entries of ``classes``."""
        raise UsageError(f"data set {self.name!r} has no classes; choose one that has, such as 'digits8'")

    def sample(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """``n`` independent draws: factors ``[n, K]`` and images ``[n, h, w, c]``."""
        if self.space is None:
            index = self.sample_index(n, rng)
            return self.factors(index), self.images(index, rng)
        factors = self.space.sample(n, rng)
        return factors, self.images(self.space.index(factors), rng)

    def need_space(self, what: str = "this") -> FactorSpace:
        """The grid of factors, or an error that says that ``what`` cannot do without one."""
        if self.space is None:
            raise UsageError(f"{what} needs data on a full grid of factors, which {self.name!r} is not")
        return self.space

    def need_uniform(self) -> None:
        """Raise an error if images are drawn by a law over all of them, which some of them alone would not have."""
        if not self.uniform:
            raise UsageError(
                f"{self.name!r} is drawn by a law over its whole grid, which a part of it or a side of a split would "
                "lose; choose correlate= or a part"
            )

    @property
    def has_pictures(self) -> bool:
        """Whether it shows images that can be drawn; vectors cannot."""
        return len(self.shape) == 3

    def need_pictures(self, what: str) -> None:
        """Raise an error that says that ``what`` cannot be drawn of vectors."""
        if not self.has_pictures:
            raise UsageError(f"{what} needs images to draw; {self.name!r} holds vectors of {self.shape[0]} numbers")

    def subset(self, **choices: Choice) -> Subset:
        """The same images on a smaller grid: ``data.subset(shape=0, orientation=slice(None, None, 4))``."""
        from unbraid.data.wrapper import Subset

        return Subset(self, self.need_space("a choice of factor values").select(**choices))

    def part(self, index: Index | slice | Indices) -> Part:
        """Some images by position, in any order: ``data.part(slice(None, None, 7))``, ``data.part([3, 1])``."""
        from unbraid.data.part import Part

        return Part(self, index)

    def in_whole(self) -> tuple[Dataset, np.ndarray | None]:
        """The data set that this is a part of and the positions of its images there; itself if it is a whole one."""
        return self, None

    def origin(self, index: Index) -> np.ndarray:
        """By which positions these images are known in the data set they were taken from, however often."""
        return np.asarray(index, dtype=np.int64)

    def draw_pairs(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Positions of ``n`` pairs of images that follow each other."""
        raise self._no_transitions()

    def draw_chains(self, n: int, length: int, rng: np.random.Generator) -> np.ndarray:
        """Positions ``[n, length]`` of images that follow each other."""
        raise self._no_transitions()

    @property
    def longest_chain(self) -> int | None:
        """How many images follow each other at most; ``None`` where nothing limits it."""
        return None

    def pairs_at(
        self, first: np.ndarray, second: np.ndarray, rng: np.random.Generator | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Both images of pairs at these positions, for training; a data set may change the two of a pair alike."""
        both = self.images(np.concatenate([first, second]), rng)
        return both[: len(first)], both[len(first) :]

    def pair_images(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """``n`` pairs for training: first images, second images, positions of the first."""
        first, second = self.draw_pairs(n, rng)
        return *self.pairs_at(first, second, rng), first

    @property
    def grid(self) -> FactorSpace | None:
        """The grid on which :meth:`follow` moves: the own one, or that of the data set which this is a part of."""
        return self.space

    def follow(self, law: Law, index: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Where a step on the :attr:`grid` leads from these positions; -1 if that image is not in this data set."""
        space = self.need_space("a step from factors to factors")
        return space.index(law.step(space.factors(index), rng))

    def _no_transitions(self) -> UsageError:
        return UsageError(f"data set {self.name!r} does not say which images follow each other; 'pedestrians' does")

    def _repr_html_(self) -> str:
        sizes = self.factor_sizes or ("measured",) * len(self.factor_names)
        factors = ", ".join(f"{name} {size}" for name, size in zip(self.factor_names, sizes, strict=True))
        rows = {
            "data set": self.name,
            "images": f"{len(self):,} of {'x'.join(map(str, self.shape))}",
            "factors": factors or "none",
            "grid": "full" if self.space is not None else "no",
            "classes": ", ".join(self.classes[:20]) + (", ..." if len(self.classes) > 20 else "") or "none",
        }
        cells = "".join(f"<tr><th>{key}</th><td>{escape(value)}</td></tr>" for key, value in rows.items())
        return f"<table>{cells}</table>"

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r}: {len(self):,} images {'x'.join(map(str, self.shape))}>"


ImageDataset = Dataset


class FactorDataset(Dataset):
    """Images on a known grid of factors: image ``i`` shows the factor values ``space.factors([i])``."""

    space: FactorSpace

    def __len__(self) -> int:
        return len(self.space)


class LabelledDataset(Dataset):
    """Images with a class label each; a subclass sets ``classes`` and their numbers ``_labels``, int64 ``[n]``."""

    _labels: np.ndarray

    def __len__(self) -> int:
        return len(self._labels)

    def labels(self, index: Index | None = None) -> np.ndarray:
        return self._labels if index is None else self._labels[check_index(index, len(self))]
