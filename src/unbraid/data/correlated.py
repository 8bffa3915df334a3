"""Factors that depend on each other: any grid drawn by a law in which chosen pairs go together.

The law is that of Träuble et al. (2021) and Roth et al. (2023): ``p(v)`` is proportional to the product over pairs of
``exp(-(c_a - c_b)^2 / (2 sigma^2))`` with ``c = v / (size - 1)``; all else is uniform.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from unbraid.data.dataset import Dataset, Law
from unbraid.data.space import Choice, FactorSpace
from unbraid.data.wrapper import Wrapper
from unbraid.data.wrappers import register_wrapper
from unbraid.errors import UsageError, unknown_name

__all__ = ["Correlated", "PairLaw", "correlated", "named_pairs"]

MOST_CELLS = 1 << 22
"""Combinations of factors that hang together, at most; a confounder of dSprites has 737,280."""

_SHAPES = {
    "s1": "floor_hue+wall_hue",
    "s2": "shape+scale",
    "s3": "shape+wall_hue",
    "d1": "scale+floor_hue;shape+wall_hue",
    "d2": "scale+shape;floor_hue+wall_hue",
    "t1": "scale+orientation;shape+wall_hue;object_hue+floor_hue",
    "t2": "object_hue+orientation;shape+scale;floor_hue+wall_hue",
    "conf1": "shape+*",
    "conf2": "wall_hue+*",
}
_ARM = {
    "s1": "camera_height+background_color",
    "s2": "object_color+object_size",
    "s3": "horizontal_axis+vertical_axis",
    "d1": "object_color+object_shape;horizontal_axis+vertical_axis",
    "d2": "object_color+horizontal_axis;object_shape+vertical_axis",
    "t1": "object_color+background_color;camera_height+horizontal_axis;object_shape+vertical_axis",
    "t2": "object_color+object_shape;horizontal_axis+vertical_axis;background_color+camera_height",
    "conf1": "object_shape+*",
    "conf2": "horizontal_axis+*",
}
_SPRITES = {
    "s1": "shape+scale",
    "s2": "x+y",
    "s3": "shape+y",
    "d1": "shape+x;scale+y",
    "d2": "shape+scale;x+y",
    "conf1": "shape+*",
    "conf2": "x+*",
}
_NAMED = (_SHAPES, _ARM, _SPRITES)
"""The pairs of Roth et al. (2023) on Shapes3D, MPI3D and dSprites; ``*`` is every other factor."""


def named_pairs(space: FactorSpace) -> dict[str, str]:
    """The published pairs that a grid has the factors for, by their name.

    >>> from unbraid.data import load
    >>> named_pairs(load("sprites16").space)["d1"]
    'shape+x;scale+y'
    """
    for table in _NAMED:
        asked = {name for pairs in table.values() for pair in pairs.split(";") for name in pair.split("+")} - {"*"}
        if asked <= set(space.names):
            return table
    return {}


@dataclass(frozen=True)
class PairLaw:
    """What is known in closed form of two factors: their joint table ``[size_a, size_b]``."""

    names: tuple[str, str]
    table: np.ndarray

    @property
    def marginals(self) -> tuple[np.ndarray, np.ndarray]:
        return self.table.sum(axis=1), self.table.sum(axis=0)

    @property
    def correlation(self) -> float:
        """Pearson's, of the numbers of the values."""
        (p, q), (n, m) = self.marginals, self.table.shape
        a, b = np.arange(n) - np.arange(n) @ p, np.arange(m) - np.arange(m) @ q
        return float(a @ self.table @ b / np.sqrt((a**2 @ p) * (b**2 @ q)))

    @property
    def information(self) -> float:
        """Mutual information in nats."""
        independent = np.outer(*self.marginals)
        some = self.table > 0
        return float((self.table[some] * np.log(self.table[some] / independent[some])).sum())


class Correlated(Wrapper):
    """A data set whose images are drawn by a law in which pairs of factors go together.

    Images, factors and the grid stay what they are: scores, which draw from the grid themselves, see all combinations
    alike, as they should. Pairs of images follow the law too: the second is taken with the probability of its factors.

    >>> from unbraid.data import load
    >>> data = Correlated(load("mini-sprites"), [("x", "y")], sigma=0.2)
    >>> data.name, round(data.pair_law("x", "y").correlation, 2)
    ('mini-sprites-x~y@0.2', 0.82)
    """

    def __init__(
        self, base: Dataset, pairs: Sequence[tuple[str, str]], *, sigma: float = 0.1, inverse: bool = False
    ) -> None:
        base.need_uniform()
        super().__init__(base)
        self.uniform = False
        space = base.need_space("a correlation of factors")
        if not sigma > 0:
            raise UsageError(f"sigma must be above 0 (infinity is no correlation), got {sigma}")
        if not pairs:
            raise UsageError("correlate needs at least one pair of factors: correlate=FACTOR+FACTOR")
        for name in (name for pair in pairs for name in pair):
            if name not in space.names:
                raise unknown_name(f"factor of {base.name!r}", name, space.names)
        if any(a == b for a, b in pairs):
            raise UsageError(f"a factor cannot be correlated with itself, got {pairs}")
        self.pairs, self.sigma, self.inverse = tuple(pairs), float(sigma), inverse
        self._places = [(space.names.index(a), space.names.index(b)) for a, b in pairs]
        self._groups = _connected(self._places)
        for group in self._groups:
            cells = int(np.prod([space.sizes[k] for k in group]))
            if cells > MOST_CELLS:
                names = ", ".join(space.names[k] for k in group)
                raise UsageError(f"{names} have {cells:,} combinations together, more than {MOST_CELLS:,}: thin them")
        self._laws = [self._law(group) for group in self._groups]
        self._sums = [np.cumsum(law.ravel()) for law in self._laws]
        sign = "~-" if inverse else "~"
        self.name = f"{base.name}-{'-'.join(f'{a}{sign}{b}' for a, b in pairs)}@{sigma:g}"
        told = [self.pair_law(a, b) for a, b in pairs]
        words = "; ".join(
            f"{a} and {b} have correlation {law.correlation:.2f} and {law.information:.2f} nats in common"
            for (a, b), law in zip(pairs, told, strict=True)
        )
        traps = (f"Its images are not drawn alike: {words}. Marginals are uneven; scores draw from the whole grid.",)
        self.card = replace(base.card, title=f"{base.card.title}, correlated", traps=(*traps, *base.card.traps))

    def density(self, factors: np.ndarray) -> np.ndarray:
        """The law at factor rows ``[n, K]``, up to a constant: 1 where the factors of all pairs agree."""
        assert self.space is not None
        scaled = factors / np.maximum(np.array(self.space.sizes) - 1, 1)
        exponent = np.zeros(len(factors))
        for a, b in self._places:
            other = 1 - scaled[:, b] if self.inverse else scaled[:, b]
            exponent += (scaled[:, a] - other) ** 2
        found: np.ndarray = np.exp(-exponent / (2 * self.sigma**2))
        return found

    def pair_law(self, first: str, second: str) -> PairLaw:
        """The joint law of two factors, exactly."""
        space = self.need_space()
        for name in (first, second):
            if name not in space.names:
                raise unknown_name(f"factor of {self.base.name!r}", name, space.names)
        a, b = space.names.index(first), space.names.index(second)
        for group, law in zip(self._groups, self._laws, strict=True):
            if a in group and b in group:
                others = tuple(axis for axis, k in enumerate(group) if k not in (a, b))
                table = law.sum(axis=others)
                return PairLaw((first, second), table if group.index(a) < group.index(b) else table.T)
        return PairLaw((first, second), np.outer(self.marginal(first), self.marginal(second)))

    def marginal(self, factor: str) -> np.ndarray:
        """The probability of each value of a factor, exactly."""
        space = self.need_space()
        if factor not in space.names:
            raise unknown_name(f"factor of {self.base.name!r}", factor, space.names)
        k = space.names.index(factor)
        for group, law in zip(self._groups, self._laws, strict=True):
            if k in group:
                found: np.ndarray = law.sum(axis=tuple(axis for axis, other in enumerate(group) if other != k))
                return found
        return np.full(space.sizes[k], 1 / space.sizes[k])

    def sample_index(self, n: int, rng: np.random.Generator) -> np.ndarray:
        space = self.need_space()
        factors = space.sample(n, rng)
        for group, law, sums in zip(self._groups, self._laws, self._sums, strict=True):
            cells = np.searchsorted(sums, rng.random(n) * sums[-1], side="right")
            factors[:, list(group)] = np.stack(np.unravel_index(cells, law.shape), axis=1)
        return space.index(factors)

    def follow(self, law: Law, index: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Steps of the law, each taken with the density of where it leads: exact where steps redraw uniformly."""
        index = np.asarray(index, dtype=np.int64)
        found, left = np.full(len(index), -1), np.arange(len(index))
        for _ in range(200):
            proposed = self.base.follow(law, index[left], rng)
            taken = (proposed >= 0) & (rng.random(len(left)) < self.density(self.factors(np.maximum(proposed, 0))))
            found[left[taken]] = proposed[taken]
            left = left[~taken]
            if not len(left):
                break
        return found  # -1 where no step was taken: the caller draws that pair again

    def subset(self, **choices: Choice) -> Correlated:  # type: ignore[override]
        """The same law on a smaller grid, scaled to the values that are left."""
        smaller = self.base.subset(**choices)
        for name in (name for pair in self.pairs for name in pair):
            if name not in smaller.space.names:
                raise UsageError(f"factor {name!r} is correlated with another; it cannot be fixed as well")
        return Correlated(smaller, self.pairs, sigma=self.sigma, inverse=self.inverse)

    def _law(self, group: tuple[int, ...]) -> np.ndarray:
        assert self.space is not None
        shape = tuple(self.space.sizes[k] for k in group)
        rows = np.zeros((int(np.prod(shape)), len(self.space.sizes)), dtype=np.int64)
        rows[:, list(group)] = np.indices(shape).reshape(len(shape), -1).T
        exponent = np.zeros(len(rows))
        scaled = rows / np.maximum(np.array(self.space.sizes) - 1, 1)
        for a, b in self._places:
            if a in group:
                exponent += (scaled[:, a] - (1 - scaled[:, b] if self.inverse else scaled[:, b])) ** 2
        weights = np.exp(-exponent / (2 * self.sigma**2))
        return (weights / weights.sum()).reshape(shape)


@register_wrapper
def correlated(data: Dataset, correlate: str, sigma: float | None = None, inverse: bool = False) -> Correlated:
    """The data set with factors that go together: ``shape+scale``, several pairs joined by ``;``, or a published name.

    Its parameters are the options that every data set on a grid has by this: ``sprites32:correlate=x+y,sigma=0.2``,
    ``shapes3d:correlate=d1``. ``shape+*`` pairs a factor with every other one. Without ``sigma`` it is 0.1, or 0.2 for
    a confounder, as published.
    """
    space = data.need_space("a correlation of factors")
    known = named_pairs(space)
    text = known.get(correlate, correlate)
    if "+" not in text:
        raise unknown_name("correlate", correlate, known, "Or pairs of factors: correlate=FACTOR+FACTOR;FACTOR+FACTOR")
    pairs: list[tuple[str, str]] = []
    for words in filter(None, (part.strip() for part in text.split(";"))):
        first, _, second = words.partition("+")
        others = [name for name in space.names if name != first] if second == "*" else [second]
        pairs += [(first.strip(), other.strip()) for other in others]
    usual = 0.2 if "*" in text else 0.1
    return Correlated(data, pairs, sigma=usual if sigma is None else sigma, inverse=inverse)


def _connected(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, ...]]:
    """Factors that hang together by pairs, group by group."""
    groups: list[set[int]] = []
    for pair in pairs:
        touched = [group for group in groups if group & set(pair)]
        groups = [group for group in groups if group not in touched] + [set(pair).union(*touched)]
    return [tuple(sorted(group)) for group in groups]
