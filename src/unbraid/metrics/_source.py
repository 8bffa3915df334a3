"""What a data set offers to scores: how its images are drawn, and which factors they can be compared with.

There are four cases. On a full grid of factors every score applies. Factors in a table (a part of a grid, measured
ones) are known too, but no score can choose their values. Classes are a factor where there is no other. And there may
be none.
"""

from collections.abc import Iterable, Mapping, Sequence, Sized
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from unbraid.errors import UsageError
from unbraid.metrics._encode import Representation, Space, check_space, is_stochastic
from unbraid.metrics._registry import Metric, choose

__all__ = [
    "PlainData",
    "Source",
    "allowed_metrics",
    "has_no_factors",
    "impossible_metrics",
    "scored_by",
    "source_of",
    "without_factors",
]


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
    by_class: bool = False
    """Whether the class of an image is taken for its factor."""

    def draw(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """Positions of ``n`` independent images."""
        if self.space is not None:
            return self.space.index(self.space.sample(n, rng))
        index: np.ndarray = self.data.sample_index(n, rng)
        return index

    def factors(self, index: np.ndarray) -> np.ndarray:
        """The factors ``[n, K]`` of images by position: integers, or floats where they were measured."""
        if self.space is not None:
            return self.space.factors(index)
        found: np.ndarray = self.data.labels(index)[:, None] if self.by_class else self.data.factors(index)
        return found

    def varying(self, drawn: Mapping[str, np.ndarray]) -> tuple[dict[str, np.ndarray], list[int]]:
        """Factors of each of the samples, and which of all the factors they are: those that vary in the first.

        On a grid these are all.
        """
        if not self.names:
            return {}, []
        found = {part: self.factors(index) for part, index in drawn.items()}
        if self.space is not None:
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
        fitting = [entry for entry in chosen if entry.needs != "interventions"]
        refused = [entry for entry in chosen if entry not in fitting]
        if refused and by_name:
            raise UsageError(f"{refused[0].name} {NO_CHOICE}")
        return fitting

    def impossible(self, chosen: Sequence[Metric]) -> dict[str, str]:
        """Those of the chosen scores that would have to choose factor values where none can be chosen, and why."""
        if self.space is not None or not self.names:
            return {}
        return {entry.name: f"it {NO_CHOICE}" for entry in chosen if entry.needs == "interventions"}

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


NO_CHOICE = (
    "chooses factor values itself and needs an image for every combination of them, which these data have not; "
    "scores of samples apply, such as mig and dci"
)


def source_of(data: Any) -> Source:
    """A data set as scores see it; what has neither factors nor images to draw is refused."""
    names = tuple(getattr(data, "factor_names", ()))
    if getattr(data, "space", None) is not None:
        return Source(data) if not data.space.names else _on_grid(data)
    if names and _all_fixed(data):
        return Source(data)
    if names:
        return Source(data, names=names, kinds=tuple(getattr(data, "factor_kinds", ("ordinal",) * len(names))))
    if getattr(data, "has_labels", False) and len(data.classes) > 1:
        return Source(data, names=("class",), kinds=("categorical",), by_class=True)
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


def impossible_metrics(names: str | Iterable[str], data: Any) -> dict[str, str]:
    """Those of these scores that need a full grid of factors where the data know factors but no grid, and why."""
    return source_of(data).impossible(choose(names, ("interventions",)))


def scored_by(data: Any) -> str:
    """What scores compare codes with, in a word: ``grid``, ``table``, ``class`` or ``nothing``."""
    source = source_of(data)
    if not source.names:
        return "nothing"
    return "class" if source.by_class else "table" if source.space is None else "grid"


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
