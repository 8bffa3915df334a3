"""The list of scores: what each needs, where it lies, which way is better."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib import import_module
from typing import Literal

from unbraid.errors import unknown_name
from unbraid.metrics._score import Score

__all__ = ["METRICS", "Metric", "Needs", "choose", "metric"]

Needs = Literal["codes", "sample", "train and test", "interventions", "models"]
"""What a score is computed from: codes alone, codes with factors (one sample or two), an encoder, several models."""


@dataclass(frozen=True)
class Metric:
    """A score's entry in the list; ``function`` imports it when asked for."""

    name: str
    needs: Needs
    range: tuple[float, float]
    about: str
    higher_is_better: bool = True
    uses_kinds: bool = False
    by_rank: bool = False
    """Whether it sees nothing of the factors but their order, and so applies to measured, continuous ones."""
    module: str = ""

    @property
    def function(self) -> Callable[..., Score]:
        """The function of this name in :mod:`unbraid.metrics`."""
        found: Callable[..., Score] = getattr(import_module(f"unbraid.metrics.{self.module or self.name}"), self.name)
        return found


_UNIT = (0.0, 1.0)
_POSITIVE = (0.0, math.inf)

METRICS: dict[str, Metric] = {
    entry.name: entry
    for entry in (
        Metric("beta_vae", "interventions", _UNIT, "which factor do pairs of images share, by logistic regression"),
        Metric("factor_vae", "interventions", _UNIT, "which factor does a group of images share, by the stillest code"),
        Metric("mig", "sample", _UNIT, "gap between the two codes that know most about a factor"),
        Metric("dci", "train and test", _UNIT, "concentration of boosted trees' importances per code and per factor"),
        Metric("sap", "train and test", _UNIT, "gap between the two codes that best predict a factor", uses_kinds=True),
        Metric("modularity", "sample", _UNIT, "does a code inform about one factor only"),
        Metric("explicitness", "train and test", _UNIT, "ROC area of logistic regressions on all codes"),
        Metric("irs", "sample", _UNIT, "does a code stay while other factors change"),
        Metric(
            "mcc",
            "sample",
            _UNIT,
            "mean correlation of factors with their matched codes",
            uses_kinds=True,
            by_rank=True,
        ),
        Metric(
            "disentanglement_score",
            "sample",
            _UNIT,
            "gap between the two codes that best predict a factor by nearest neighbours",
            uses_kinds=True,
        ),
        Metric("infomec", "sample", _UNIT, "modularity, compactness and explicitness as shares of information"),
        Metric("dci_es", "train and test", (-1.0, 1.0), "how small a probe reads the factors", uses_kinds=True),
        Metric("mig_sup", "sample", _UNIT, "gap between the two factors a code knows most about"),
        Metric("jemmig", "sample", _UNIT, "MIG that charges codes for what else they say"),
        Metric("dcimig", "sample", _UNIT, "share of the factors' entropy in codes that serve one factor"),
        Metric("r2", "train and test", (-math.inf, 1.0), "variance of factors explained linearly", uses_kinds=True),
        Metric(
            "gaussian_total_correlation",
            "codes",
            _POSITIVE,
            "correlation of the codes with each other, in nats",
            higher_is_better=False,
            module="correlation",
        ),
        Metric(
            "wasserstein_correlation",
            "codes",
            _POSITIVE,
            "distance of the codes from uncorrelated ones",
            higher_is_better=False,
            module="correlation",
        ),
        Metric(
            "pairwise_mutual_information",
            "codes",
            _POSITIVE,
            "mean information between two codes, in nats",
            higher_is_better=False,
            module="correlation",
        ),
        Metric("downstream", "train and test", _UNIT, "accuracy of classifiers on few and many labels"),
        Metric("udr", "models", _UNIT, "agreement of models trained alike, without factors"),
    )
}


def metric(name: str) -> Metric:
    """The entry of this name, or an error with the nearest one."""
    if name not in METRICS:
        raise unknown_name("metric", name, METRICS)
    return METRICS[name]


def choose(names: str | Iterable[str], needs: Iterable[Needs]) -> list[Metric]:
    """The entries asked for, in the order of the list; ``"all"`` are those that make do with ``needs``."""
    allowed = tuple(needs)
    if names == "all":
        return [entry for entry in METRICS.values() if entry.needs in allowed]
    wanted = {metric(name).name for name in ([names] if isinstance(names, str) else names)}
    return [entry for entry in METRICS.values() if entry.name in wanted]
