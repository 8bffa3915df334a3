"""One strength of each model that was trained with several: the most disentangled on what it was trained on."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np
import polars as pl

from unbraid.study.generalization.trained import Trained

__all__ = ["selected", "unmeasured"]


def selected(runs: Sequence[Trained]) -> set[int]:
    """The runs of each model's selected strength, by index.

    Selected is, for every data set and split, the strength with the highest DCI disentanglement of the training side,
    averaged over seeds (Schott et al., 2022, appendix); where DCI is not known, the first.
    """
    groups: dict[tuple[str, ...], dict[float | None, list[Trained]]] = defaultdict(lambda: defaultdict(list))
    for run in runs:
        groups[run.data, run.split, run.model.name][run.strength].append(run)
    chosen: set[int] = set()
    for strengths in groups.values():
        best = max(strengths.values(), key=lambda own: _mean([run.dci for run in own]))
        chosen |= {run.index for run in best}
    return chosen


def unmeasured(scores: pl.DataFrame) -> pl.DataFrame:
    """Models of several strengths of which none has a known DCI: ``data``, ``split``, ``model``, ``strength`` taken."""
    groups = scores.group_by("data", "split", "model", maintain_order=True).agg(
        several=pl.col("strength").n_unique() > 1,
        unknown=pl.col("dci").is_null().all(),
        strength=pl.col("strength").filter(pl.col("selected")).first(),
    )
    return groups.filter("several", "unknown").select("data", "split", "model", "strength")


def _mean(values: Sequence[float | None]) -> float:
    known = [value for value in values if value is not None and not np.isnan(value)]
    return float(np.mean(known)) if known else -np.inf
