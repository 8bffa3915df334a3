"""Can a model be chosen with a few labels, also coarse or wrong ones? (Locatello et al., 2020, few labels)"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import polars as pl

from unbraid.errors import UsageError
from unbraid.metrics import METRICS as REGISTERED
from unbraid.study.analysis._heat import draw_heat_maps
from unbraid.study.analysis._joined import joined
from unbraid.study.analysis._style import styled
from unbraid.study.analysis._table import METRICS, correlate, metrics_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["few_label_selection", "plot_few_label_selection"]

PREFIX = "validation_"
_GROUP = ("data", "labels", "labeller")


def few_label_selection(
    table: pl.DataFrame,
    *,
    validations: Sequence[str] | None = None,
    metrics: Sequence[str] | None = None,
    data: str | None = None,
    representation: str = "mean",
) -> pl.DataFrame:
    """What the scores of the measure ``validation`` say of the study's scores, and what choosing by them costs.

    One row per data set, number of labels, labeller, ``validation`` score and ``metric``: their rank ``correlation``
    over runs; the ``best`` value of the metric, that of the run ``chosen`` by the validation score (the mean of those
    that share first place), their difference ``regret``, and ``at_random``, the regret of taking any run.
    """
    chosen = _validations(table) if validations is None else tuple(validations)
    scores = metrics_of(table) if metrics is None else tuple(metrics)
    if not scores:
        raise UsageError(f"the table has none of the study's scores to choose for; add one of {', '.join(METRICS)}")
    rows = joined(
        table, _GROUP[1:], chosen, scores, measure="validation", data=data, representation=representation
    ).sort(*_GROUP, maintain_order=True)
    if not len(rows):
        raise UsageError("no run of the table has a validation and a score beside it; measure both, of the same runs")
    found = correlate(rows, chosen, scores, ("validation", "metric"), _GROUP)
    regrets = [
        (*keys, validation, metric, *_regret(group.select(validation, metric).drop_nulls(), validation, metric))
        for keys, group in rows.group_by(_GROUP, maintain_order=True)
        for validation in chosen
        for metric in scores
    ]
    schema = {name: rows.schema[name] for name in _GROUP} | {"validation": pl.String, "metric": pl.String}
    schema |= dict.fromkeys(("best", "chosen", "regret", "at_random"), pl.Float64())
    return found.join(
        pl.DataFrame(regrets, schema=schema, orient="row"),
        on=[*_GROUP, "validation", "metric"],
        maintain_order="left",
    )


@styled
def plot_few_label_selection(found: pl.DataFrame) -> Figure:
    """Heat maps in percent of :func:`few_label_selection`, one per data set, number of labels and labeller."""
    panel = pl.format("{}, {} {} labels", "data", "labels", "labeller")
    return draw_heat_maps(found.with_columns(panel=panel), "validation", "metric", "panel")


def _validations(table: pl.DataFrame) -> tuple[str, ...]:
    found = [name for name in table.columns if name.removeprefix(PREFIX) in REGISTERED and name.startswith(PREFIX)]
    return tuple(found) or (f"{PREFIX}mig",)  # which is then said to be missing


def _regret(rows: pl.DataFrame, validation: str, metric: str) -> tuple[float | None, ...]:
    """Best, chosen, what was lost, and what is lost on average."""
    if not len(rows):
        return None, None, None, None
    way = _sign(metric)
    by, values = _sign(validation.removeprefix(PREFIX)) * rows[validation].to_numpy(), rows[metric].to_numpy()
    best, chosen = way * (way * values).max(), values[by == by.max()].mean()
    return float(best), float(chosen), float(way * (best - chosen)), float(way * (best - values.mean()))


def _sign(metric: str) -> int:
    return 1 if metric not in REGISTERED or REGISTERED[metric].higher_is_better else -1
