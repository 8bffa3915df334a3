"""Scores by name: what each needs, where it lies, which way is better, what pages call it."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from inspect import signature
from typing import Any, Literal, TypeVar, cast

from numpy.typing import ArrayLike

from unbraid.errors import UsageError
from unbraid.metrics._interventions import Plan
from unbraid.metrics._measured import cut, cuts_factors
from unbraid.metrics._score import Score
from unbraid.registry import Registry, summary

__all__ = ["METRICS", "POSITIVE", "UNIT", "Metric", "Needs", "choose", "register"]

Needs = Literal["codes", "sample", "train and test", "interventions", "models"]
"""What a score is computed from: codes alone, codes with factors (one sample or two), an encoder, several models."""

UNIT = (0.0, 1.0)
POSITIVE = (0.0, math.inf)


@dataclass(frozen=True)
class Metric:
    """A score's entry in the list."""

    name: str
    function: Callable[..., Any]
    """From codes (and factors) to a :class:`Score` or a number."""
    needs: Needs = "sample"
    range: tuple[float, float] = (-math.inf, math.inf)
    title: str = ""
    """As papers write it, for headings and axes."""
    short: str = ""
    """For a narrow column."""
    about: str = ""
    """What it asks, in half a sentence."""
    parts: Mapping[str, str] = field(default_factory=dict)
    """Titles of those parts of the score that stand in tables and plots of their own."""
    higher_is_better: bool = True
    measured: bool = False
    """Whether it takes measured, continuous factors as they are; the others see them cut into bins."""
    usual: bool = True
    """Whether it is one of ``"all"``; the others are asked for by name."""
    counts: bool = False
    """Whether it counts and grows more exact with samples at little cost."""
    discrete: Mapping[str, Any] = field(default_factory=dict)
    """Its options for codes of a few values each, which are counted as they are."""
    plan: Callable[..., Plan] | None = None
    """Of an interventional score: from a factor space and a :class:`Sampling` to what it wants to see."""

    def score(
        self,
        codes: ArrayLike,
        factors: ArrayLike | None = None,
        *,
        test: tuple[ArrayLike, ArrayLike] | None = None,
        kinds: Sequence[str] | None = None,
        seed: int = 0,
        options: Mapping[str, Any] | None = None,
    ) -> Score:
        """The score of arrays: the function is given what it takes, and a plain number becomes a :class:`Score`."""
        if self.needs in ("interventions", "models"):
            raise UsageError(f"{self.name} is not computed from codes and factors; call its function itself")
        takes = signature(self.function).parameters
        offered = {"kinds": kinds, "seed": seed} | ({"test": test} if self.needs == "train and test" else {})
        arguments = {name: value for name, value in offered.items() if name in takes} | dict(options or {})
        said: dict[str, Any] = {}
        if self.needs != "codes" and not self.measured:
            factors, arguments["test"], said = cut(factors, arguments.get("test"))
            if "test" not in takes:
                del arguments["test"]
        found = self.function(*((codes,) if self.needs == "codes" else (codes, factors)), **arguments)
        if isinstance(found, Score):
            return found.with_settings(**said)
        try:
            return Score(self.name, float(found), settings={**(options or {}), "seed": seed, **said})
        except (TypeError, ValueError) as error:
            raise UsageError(
                f"metric {self.name!r} must return a Score or a number, got {type(found).__name__}"
            ) from error


_ORDER = (
    *("beta_vae", "factor_vae", "mig", "dci", "sap", "modularity", "explicitness", "irs", "mcc"),
    *("disentanglement_score", "infomec", "dci_es", "mig_sup", "jemmig", "dcimig", "r2"),
    *("gaussian_total_correlation", "wasserstein_correlation", "pairwise_mutual_information", "downstream"),
    *("unified", "med", "edi", "support", "reduced", "block_r2", "tmex", "strong", "unfairness", "pida", "udr"),
)
METRICS: Registry[Metric] = Registry("metric", first=_ORDER)
"""All scores by name, in the order of tables: those of the published studies first, those of one's own last."""

Function = TypeVar("Function", bound=Callable[..., Any])


def register(
    name: str,
    *,
    needs: Needs | None = None,
    range: tuple[float, float] = (-math.inf, math.inf),  # noqa: A002 (the word of Metric's field)
    title: str = "",
    short: str = "",
    about: str = "",
    parts: Mapping[str, str] | None = None,
    higher_is_better: bool = True,
    measured: bool = False,
    usual: bool = True,
    counts: bool = False,
    discrete: Mapping[str, Any] | None = None,
    plan: Callable[..., Plan] | None = None,
) -> Callable[[Function], Function]:
    """Decorator: make a function from codes (and factors) to a :class:`Score` or a number known as a metric.

    What it needs is read off its arguments unless it is said: ``codes`` alone, ``codes, factors``, or those with a
    second sample ``test=(codes, factors)``. It is also given ``seed`` and ``kinds`` (of the factors) if it takes them.
    Measured factors, which are floats, reach it as they are with ``measured``, and otherwise cut into bins.
    A score that is not ``usual`` is computed when it is named, and not with ``"all"``; one that ``counts`` is given
    more samples where a preset has them. For models whose codes are of a few values each it gets the options
    ``discrete``, by default ``binning="values"`` if it cuts bins. An interventional one, a function of ``encode,
    data``, says by ``plan`` which images it wants to see, so that all of them are encoded together.
    Without a ``title`` it is shown by its name; without ``about`` by the first paragraph of its docstring.

    >>> import numpy as np
    >>> from unbraid.metrics import score_codes
    >>> @register("codes_per_factor", title="Codes per factor")
    ... def codes_per_factor(codes, factors):
    ...     return codes.shape[1] / factors.shape[1]
    >>> grid = np.indices((3, 4)).reshape(2, -1).T
    >>> score_codes(grid, grid, metrics="codes_per_factor")
    {'codes_per_factor': codes_per_factor 1.00}
    """

    def keep(function: Function) -> Function:
        kind = needs or _needs(function)
        counted = {"binning": "values"} if "binning" in signature(function).parameters else {}
        if kind in ("sample", "train and test") and not measured:
            function = cast(Function, cuts_factors(function))
        METRICS.add(
            name,
            Metric(
                name=name,
                function=function,
                needs=kind,
                range=range,
                title=title or name,
                short=short or title or name,
                about=about or summary(function).rstrip("."),
                parts=parts or {},
                higher_is_better=higher_is_better,
                measured=measured,
                usual=usual,
                counts=counts,
                discrete=counted if discrete is None else discrete,
                plan=plan,
            ),
            home=function,
        )
        return function

    return keep


def choose(names: str | Iterable[str], needs: Iterable[Needs]) -> list[Metric]:
    """The entries asked for, in the order of the list.

    ``"all"``, alone or among names, are the usual ones that make do with ``needs``.
    """
    allowed = tuple(needs)
    asked = [names] if isinstance(names, str) else list(names)
    wanted = {METRICS[name].name for name in asked if name != "all"}
    usual = {entry.name for entry in METRICS.values() if entry.usual and entry.needs in allowed}
    wanted |= usual if "all" in asked else set()
    return [entry for entry in METRICS.values() if entry.name in wanted]


def _needs(function: Callable[..., Any]) -> Needs:
    takes = list(signature(function).parameters)
    if not takes:
        raise UsageError(f"a metric is a function of codes, or of codes and factors; {function} takes nothing")
    if len(takes) == 1 or takes[1] != "factors":
        return "codes"
    return "train and test" if "test" in takes else "sample"
