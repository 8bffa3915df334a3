"""What a data set offers to scores: how its images are drawn, and which factors they can be compared with.

There are four cases. On a full grid of factors every score applies. Factors in a table (a part of a grid) are numbers
too, but no score can choose their values. Measured factors lie on a continuum, so that only their order counts. And
there may be none.
"""

from collections.abc import Iterable, Mapping, Sequence, Sized
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from unbraid.errors import UsageError
from unbraid.metrics._encode import Representation, Space, check_space, is_stochastic
from unbraid.metrics._registry import Metric, choose

__all__ = ["PlainData", "Source", "allowed_metrics", "has_no_factors", "source_of", "without_factors"]


class PlainData(Protocol):
    """Images to draw from, as :class:`unbraid.data.Dataset` offers them."""

    def images(self, index: Any, rng: np.random.Generator | None = None) -> np.ndarray: ...
    def sample_index(self, n: int, rng: np.random.Generator) -> np.ndarray: ...


@dataclass(frozen=True)
class Source:
    """A data set as scores see it."""

    data: Any
    space: Space | None = None
    """The grid, if there is one."""
    names: tuple[str, ...] = ()
    """The factors, whether on a grid or not."""
    kinds: tuple[str, ...] = ()
    measured: bool = False

    def draw(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """Positions of ``n`` independent images."""
        if self.space is not None:
            return self.space.index(self.space.sample(n, rng))
        index: np.ndarray = self.data.sample_index(n, rng)
        return index

    def factors(self, index: np.ndarray) -> np.ndarray:
        """Integers ``[n, K]``: the factors of images by position, or the ranks of measured ones among these."""
        if self.space is not None:
            return self.space.factors(index)
        found: np.ndarray = self.data.factors(index)
        return _ranks(found) if self.measured else found

    def varying(self, drawn: Mapping[str, np.ndarray]) -> tuple[dict[str, np.ndarray], list[int]]:
        """Factors of each of the samples, and which of all the factors they are: those that vary in the first.

        On a grid and where they were measured these are all.
        """
        if not self.names:
            return {}, []
        found = {part: self.factors(index) for part, index in drawn.items()}
        if self.space is not None or self.measured:
            return found, list(range(len(self.names)))
        first = next(iter(found.values()))
        kept = [k for k in range(len(self.names)) if np.ptp(first[:, k]) > 0]
        if not kept:
            raise UsageError(f"no factor varies among the images drawn from {self.data!r}: nothing to score against")
        return {part: values[:, kept] for part, values in found.items()}, kept

    def applicable(self, chosen: Sequence[Metric], representation: Representation, *, by_name: bool) -> list[Metric]:
        """Those of the chosen scores that make sense on the data; others that were asked for by name are refused."""
        if self.space is not None:
            return list(chosen)
        if not self.names:
            return self._of_codes(chosen, representation, by_name=by_name)
        if self.measured:
            fitting = [entry for entry in chosen if entry.by_rank or entry.needs == "codes"]
            why = "needs factors on a grid, and those of this data set were measured; scores by rank apply, such as mcc"
        else:
            fitting = [entry for entry in chosen if entry.needs != "interventions"]
            why = _NO_CHOICE
        refused = [entry for entry in chosen if entry not in fitting]
        if refused and by_name:
            raise UsageError(f"{refused[0].name} {why}")
        return fitting

    def _of_codes(self, chosen: Sequence[Metric], representation: Representation, *, by_name: bool) -> list[Metric]:
        fitting = without_factors(chosen, by_name=by_name)
        single = isinstance(self.data, Sized) and len(self.data) == 1
        if single and representation == "mean" and not is_stochastic(self.data):
            if by_name:
                raise UsageError(
                    "the data set shows a single image; a score of codes needs at least two different ones"
                )
            return []
        return fitting


_NO_CHOICE = (
    "chooses factor values itself and needs an image for every combination of them, which a part of a data set has "
    "not; scores of samples apply, such as mig and dci"
)


def source_of(data: Any) -> Source:
    """A data set as scores see it; what has neither factors nor images to draw is refused."""
    names = tuple(getattr(data, "factor_names", ()))
    if getattr(data, "space", None) is not None:
        return Source(data) if not data.space.names else _on_grid(data)
    if names and _all_fixed(data):
        return Source(data)
    if names:
        sizes = getattr(data, "factor_sizes", None)
        kinds = tuple(getattr(data, "factor_kinds", ("ordinal",) * len(names)))
        return Source(data, names=names, kinds=kinds, measured=sizes is None)
    return Source(data) if hasattr(data, "sample_index") else _on_grid(data)


def _all_fixed(data: Any) -> bool:
    """Whether all images have the same factors; most data sets show at their first ones that they have not."""
    if not hasattr(data, "__len__"):
        return False
    first = data.factors(np.array([0]))
    blocks = (np.arange(begin, min(begin + 4096, len(data))) for begin in range(0, len(data), 4096))
    return all((data.factors(block) == first).all() for block in blocks)


def _on_grid(data: Any) -> Source:
    space = check_space(data)
    return Source(data, space, tuple(space.names), tuple(space.kinds))


def has_no_factors(data: Any) -> bool:
    """Whether a data set offers images and nothing to score against: it knows no factors, or all of them are fixed."""
    return not source_of(data).names


def allowed_metrics(
    names: Iterable[str], data: Any, representation: Representation = "mean", *, by_name: bool = False
) -> list[str]:
    """Those of these scores that make sense on a data set: all on a grid of factors, fewer where there is none.

    With ``by_name`` those that make none are refused.
    """
    fitting = source_of(data).applicable(choose(names, ()), representation, by_name=by_name)
    return [entry.name for entry in fitting]


def without_factors(chosen: Sequence[Metric], *, by_name: bool) -> list[Metric]:
    """Those of the chosen scores that look at codes alone; others that were asked for by name are refused."""
    refused = [entry.name for entry in chosen if entry.needs != "codes"]
    if refused and by_name:
        alone = ", ".join(entry.name for entry in choose("all", ("codes",)))
        raise UsageError(
            f"there are no factors to score against, which {', '.join(refused)} cannot do without; "
            f"scores of the codes alone: {alone}"
        )
    return [entry for entry in chosen if entry.needs == "codes"]


def _ranks(values: np.ndarray) -> np.ndarray:
    """Each column's values by their place among the distinct ones."""
    return np.stack([np.unique(column, return_inverse=True)[1].reshape(-1) for column in values.T], 1)
