"""From one point of a factor grid to the next: the LOC, UNI and LAP protocols (Locatello et al., 2020; Klindt et al.).

LOC draws 1 to D-1 factors anew, half of the time a single one. UNI changes 1 to D-1 factors at once, each to any other
value. LAP lets every factor take a step with Laplace weights,
small ones more often; categories stay. All work on whole batches of factor rows.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from copy import copy
from functools import cached_property, partial
from math import comb
from typing import Any

import numpy as np

from unbraid.data.space import FactorSpace
from unbraid.errors import UsageError, unknown_name

__all__ = ["PROTOCOLS", "Laplace", "Located", "Protocol", "Uniform", "protocol"]

Cumulative = Callable[[int, slice | np.ndarray], np.ndarray]
"""From a factor and some rows of a batch to their cumulative weights ``[n, values]``."""


class Protocol(ABC):
    """A law of transitions on a factor grid."""

    space: FactorSpace

    @abstractmethod
    def step(self, factors: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """The factor rows int64 ``[n, K]`` that these rows move to."""

    @abstractmethod
    def within(self, values: Sequence[Sequence[int]]) -> "Protocol":
        """The same law where each factor may take these values only, numbered as before; others get no weight."""

    def pairs(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """``n`` rows drawn uniformly from the grid, and where each moves to."""
        first = self.space.sample(n, rng)
        return first, self.step(first, rng)

    @abstractmethod
    def change_probabilities(self) -> np.ndarray:
        """For each factor, the probability that it changes, averaged over the grid: ``[K]``."""

    @abstractmethod
    def change_counts(self) -> np.ndarray:
        """The law of how many factors change at once: ``[K + 1]``, entry c for c changes."""

    def expected_changes(self) -> float:
        """The mean number of factors that change."""
        return float(self.change_probabilities().sum())


class Uniform(Protocol):
    """UNI: k factors, k uniform on 1..D-1 unless given, each to a new value; categories change too."""

    def __init__(self, space: FactorSpace, *, changes: int | None = None) -> None:
        self._free = np.flatnonzero(np.array(space.sizes) > 1)
        most = len(self._free)
        if most == 0:
            raise UsageError("no factor of the grid has two values, so nothing can change")
        if changes is not None and not 1 <= changes <= most:
            raise UsageError(f"changes must lie in 1..{most}, the factors that vary; got {changes}")
        self.space, self.changes = space, changes
        self._counts = np.array([changes]) if changes else np.arange(1, max(most, 2))

    def step(self, factors: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        k = rng.choice(self._counts, size=(len(factors), 1))
        # The k largest of independent uniform numbers are a uniform choice of k factors.
        rank = rng.random((len(factors), len(self._free))).argsort(axis=1).argsort(axis=1)
        sizes = np.array(self.space.sizes)[self._free]
        away = rng.integers(1, sizes, size=rank.shape)  # 1..size-1 further around: any value but the present one
        second = factors.copy()
        second[:, self._free] = (factors[:, self._free] + np.where(rank < k, away, 0)) % sizes
        return second

    def within(self, values: Sequence[Sequence[int]]) -> Protocol:
        return _Within(self.space, partial(Uniform, changes=self.changes), values)

    def change_probabilities(self) -> np.ndarray:
        found = np.zeros(len(self.space.sizes))
        found[self._free] = self._counts.mean() / len(self._free)
        return found

    def change_counts(self) -> np.ndarray:
        found = np.zeros(len(self.space.sizes) + 1)
        found[self._counts] = 1 / len(self._counts)
        return found


class Located(Protocol):
    """LOC (Locatello et al., 2020): k factors are drawn anew, the present value included; categories too.

    k is 1 with probability one half and otherwise uniform on 1..D-1. Fewer than k factors may change, and none.
    """

    def __init__(self, space: FactorSpace) -> None:
        self.space, self._free = space, np.flatnonzero(np.array(space.sizes) > 1)
        if not len(self._free):
            raise UsageError("no factor of the grid has two values, so nothing can change")
        self._counts = np.arange(1, max(len(self._free), 2))
        self._chances = 0.5 / len(self._counts) + 0.5 * (self._counts == 1)

    def step(self, factors: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        k = rng.choice(self._counts, size=(len(factors), 1), p=self._chances)
        rank = rng.random((len(factors), len(self._free))).argsort(axis=1).argsort(axis=1)
        anew = rng.integers(0, np.array(self.space.sizes)[self._free], size=rank.shape)
        second = factors.copy()
        second[:, self._free] = np.where(rank < k, anew, factors[:, self._free])
        return second

    def within(self, values: Sequence[Sequence[int]]) -> Protocol:
        return _Within(self.space, Located, values)

    def change_probabilities(self) -> np.ndarray:
        found = np.zeros(len(self.space.sizes))
        chosen = float(self._counts @ self._chances) / len(self._free)
        found[self._free] = chosen * (1 - 1 / np.array(self.space.sizes)[self._free])
        return found

    def change_counts(self) -> np.ndarray:
        # found[k, c]: the sum over all sets of k factors of the probability that c of them change.
        most = len(self._free)
        found = np.zeros((most + 1, most + 1))
        found[0, 0] = 1.0
        for size in np.array(self.space.sizes)[self._free]:
            drawn = found[:-1] / size
            drawn[:, 1:] += found[:-1, :-1] * (1 - 1 / size)
            found[1:] += drawn
        sets = np.array([comb(most, int(k)) for k in self._counts])
        law = (self._chances / sets) @ found[self._counts]
        return np.pad(law, (0, len(self.space.sizes) + 1 - len(law)))


class _Within(Protocol):
    """A law among some values of each factor: that of the grid which they make, in the numbers of the whole one."""

    def __init__(
        self, space: FactorSpace, law: Callable[[FactorSpace], Protocol], values: Sequence[Sequence[int]]
    ) -> None:
        kept = dict(zip(space.names, map(sorted, values), strict=True))
        self.space, self._law = space, law(space.select(**kept))
        self._values = [np.array(chosen) for chosen in kept.values()]

    def within(self, values: Sequence[Sequence[int]]) -> Protocol:
        ranks = zip(self._values, values, strict=True)
        inner = self._law.within([np.searchsorted(kept, sorted(chosen)).tolist() for kept, chosen in ranks])
        return _Within(self.space, lambda _: inner, [chosen.tolist() for chosen in self._values])

    def pairs(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        first, second = self._law.pairs(n, rng)
        return self._numbers(first), self._numbers(second)

    def step(self, factors: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        columns = zip(self._values, factors.T, strict=True)
        ranks = np.stack([np.searchsorted(chosen, column) for chosen, column in columns], axis=1)
        return self._numbers(self._law.step(ranks, rng))

    def _numbers(self, ranks: np.ndarray) -> np.ndarray:
        return np.stack([chosen[column] for chosen, column in zip(self._values, ranks.T, strict=True)], axis=1)

    def change_probabilities(self) -> np.ndarray:
        return self._law.change_probabilities()

    def change_counts(self) -> np.ndarray:
        return self._law.change_counts()


class Laplace(Protocol):
    """LAP: a factor with n values at m goes to j with weight ``exp(-|j - m| rate / ln n)``, within its range.

    Categories (or the factors named in ``frozen``) never change. If nothing would change, one factor drawn at random
    is redrawn without its present value; ``allow_static`` (LAP-NC) keeps such pairs instead. ``rate=None`` draws a
    rate from 1..10 for every pair. A periodic factor does not wrap around, as in the published protocol.
    """

    def __init__(
        self,
        space: FactorSpace,
        *,
        rate: float | None = 1.0,
        allow_static: bool = False,
        frozen: Iterable[str] | None = None,
    ) -> None:
        if rate is not None and not rate > 0:
            raise UsageError(f"rate must be positive, got {rate}")
        names = [name for name, kind in zip(space.names, space.kinds, strict=True) if kind == "categorical"]
        if frozen is not None:
            names = list(frozen)
            for name in names:
                if name not in space.names:
                    raise unknown_name("frozen factor", name, space.names)
        self._moving = [
            position
            for position, (name, size) in enumerate(zip(space.names, space.sizes, strict=True))
            if name not in names and size > 1
        ]
        if not self._moving:
            raise UsageError(
                f"no factor of ({', '.join(space.names)}) can move under LAP: they are categories or have one value; "
                "use protocol uni, or name the frozen factors"
            )
        self.space, self.rate, self.allow_static = space, rate, allow_static
        self._allowed: list[np.ndarray] | None = None

    def within(self, values: Sequence[Sequence[int]]) -> Protocol:
        sizes = zip(self.space.sizes, values, strict=True)
        law = copy(self)
        law.__dict__.pop("_cumulative", None)
        law._allowed = [np.isin(np.arange(size), chosen) for size, chosen in sizes]
        law._moving = [k for k in self._moving if len(values[k]) > 1]
        if not law._moving:
            raise UsageError("no factor that may move under LAP has two values left; use protocol uni")
        return law

    def pairs(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        if self._allowed is None:
            return super().pairs(n, rng)
        first = np.stack([rng.choice(np.flatnonzero(allowed), n) for allowed in self._allowed], axis=1)
        return first, self.step(first, rng)

    def step(self, factors: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        if self.rate is None:
            rate = rng.uniform(1, 10, size=len(factors))
            return self._step(factors, rng, lambda k, rows: self._weighted(k, factors[rows, k], rate[rows]))
        tables = self._cumulative
        return self._step(factors, rng, lambda k, rows: tables[k][factors[rows, k]])

    def _step(self, factors: np.ndarray, rng: np.random.Generator, cumulative: Cumulative) -> np.ndarray:
        second = factors.copy()
        everything = slice(None)
        for k in self._moving:
            second[:, k] = _draw(cumulative(k, everything), rng)
        if not self.allow_static:
            still = np.flatnonzero((second == factors).all(axis=1))
            if len(still):
                chosen = rng.choice(self._moving, size=len(still))
                for k in np.unique(chosen):
                    rows = still[chosen == k]
                    second[rows, k] = _draw(_without(cumulative(k, rows), factors[rows, k]), rng)
        return second

    @cached_property
    def _cumulative(self) -> dict[int, np.ndarray]:
        """For each moving factor the cumulative weights ``[from, to]``."""
        found = {}
        for k in self._moving:
            values = np.arange(self.space.sizes[k])
            found[k] = self._weighted(k, values, np.full(len(values), self.rate))
        return found

    def _weighted(self, k: int, present: np.ndarray, rate: np.ndarray) -> np.ndarray:
        size = self.space.sizes[k]
        away = np.abs(np.arange(size) - present[:, None])
        weights = np.exp(-away * rate[:, None] / np.log(size))
        if self._allowed is not None:
            weights = weights * self._allowed[k]
        return (weights / weights.sum(axis=1, keepdims=True)).cumsum(axis=1)

    def _stay(self) -> list[np.ndarray]:
        """For each moving factor the probability of staying at each of its values."""
        if self.rate is None:
            raise UsageError("exact change counts need a fixed rate")
        tables = self._cumulative
        stay = {k: np.diff(tables[k], axis=1, prepend=0.0).diagonal() for k in self._moving}
        return [stay[k] if self._allowed is None else stay[k][self._allowed[k]] for k in self._moving]

    def static_probability(self) -> float:
        """The probability that no factor moves before a change is forced; what LAP-NC keeps."""
        return float(np.prod([stay.mean() for stay in self._stay()]))

    def change_probabilities(self) -> np.ndarray:
        found = np.zeros(len(self.space.sizes))
        found[self._moving] = [1 - stay.mean() for stay in self._stay()]
        if not self.allow_static:
            found[self._moving] += self.static_probability() / len(self._moving)
        return found

    def change_counts(self) -> np.ndarray:
        # Values are uniform and independent, so are the changes: a product of Bernoulli laws.
        found = np.ones(1)
        for stay in self._stay():
            found = np.convolve(found, [stay.mean(), 1 - stay.mean()])
        if not self.allow_static:
            found[1] += found[0]
            found[0] = 0.0
        return np.pad(found, (0, len(self.space.sizes) + 1 - len(found)))


def _draw(cumulative: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """One value per row of cumulative weights."""
    total = cumulative[:, -1:]
    # Rounding must not push a threshold up to the total: it would pick a value of no weight.
    threshold = np.minimum(rng.random(total.shape) * total, np.nextafter(total, 0))
    return (cumulative <= threshold).sum(axis=1)


def _without(cumulative: np.ndarray, present: np.ndarray) -> np.ndarray:
    """The same weights with each row's present value left out."""
    weights = np.diff(cumulative, axis=1, prepend=0.0)
    weights[np.arange(len(weights)), present] = 0.0
    return weights.cumsum(axis=1)


PROTOCOLS: dict[str, Callable[..., Protocol]] = {
    "uni": Uniform,
    "loc": Located,
    "lap": Laplace,
    "lap-nc": lambda space, **options: Laplace(space, allow_static=True, **options),
}
"""By the names the tables of results use."""


def protocol(name: str, space: FactorSpace, **options: Any) -> Protocol:
    """The protocol of this name on a grid: ``protocol("lap", data.space, rate=1)``."""
    if name not in PROTOCOLS:
        raise unknown_name("protocol of transitions", name, PROTOCOLS)
    try:
        return PROTOCOLS[name](space, **options)
    except TypeError as error:
        raise UsageError(f"protocol {name!r} does not take {', '.join(options)}: {error}") from error
