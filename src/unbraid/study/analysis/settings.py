"""Is one setting best on every data set and by every score, as far as seeds can tell?"""

from __future__ import annotations

import polars as pl

from unbraid.errors import UsageError
from unbraid.evaluation import Verdict, verdict
from unbraid.study.analysis._table import SETTING, metrics_of, rows_of

__all__ = ["best_everywhere"]


def best_everywhere(table: pl.DataFrame) -> Verdict:
    """Whether no setting is best everywhere: is the one with the best mean rank beaten somewhere, beyond luck?

    In every cell (data set and score) it is compared with all other settings by one-sided Welch tests at 5 %, divided
    by the number of tests: the best of many noisy means is always ahead of a given one. Best in every cell: does not
    hold. Behind, but nowhere significantly: undecided.
    """
    from scipy.stats import ttest_ind_from_stats

    metrics = metrics_of(table, own=False)
    rows = rows_of(table, metrics)
    long = rows.unpivot(metrics, index=["data", *SETTING], variable_name="metric", value_name="value").drop_nulls(
        "value"
    )
    value = pl.col("value")
    means = long.group_by("data", "metric", *SETTING, maintain_order=True).agg(
        mean=value.mean(), sd=value.std(), runs=value.len()
    )
    if means.select(SETTING).n_unique() < 2:
        raise UsageError("the table cannot say: it has one setting only")
    ranked = means.with_columns(rank=pl.col("mean").rank("average", descending=True).over("data", "metric"))
    order = ranked.group_by(SETTING, maintain_order=True).agg(pl.col("rank").mean()).sort("rank", maintain_order=True)
    best = order.select(SETTING).row(0)
    mine = pl.all_horizontal([pl.col(name).eq_missing(pl.lit(part)) for name, part in zip(SETTING, best, strict=True)])
    joined = ranked.filter(~mine).join(ranked.filter(mine), on=["data", "metric"], suffix="_best")
    cells = ranked.filter(mine).filter(pl.col("rank") > 1)
    tests, beaten = len(joined), 0
    for _, cell in joined.group_by("data", "metric"):
        tried = cell.filter((pl.col("runs") > 1) & (pl.col("runs_best") > 1) & (pl.col("sd") + pl.col("sd_best") > 0))
        worst = min(
            (
                float(ttest_ind_from_stats(*numbers, equal_var=False, alternative="greater").pvalue)
                for numbers in tried.select("mean", "sd", "runs", "mean_best", "sd_best", "runs_best").rows()
            ),
            default=1.0,
        )
        beaten += worst < 0.05 / tests
    objectives = ranked.filter(pl.col("rank") < 1.5)["objective"].n_unique()
    total = ranked.select("data", "metric").n_unique()
    name = " ".join(str(part) if not isinstance(part, float) else f"{part:g}" for part in best if part is not None)
    text = (
        f"the best mean rank has {name}; another setting is ahead of it in {len(cells)} of {total} (data set, score) "
        f"cells, in {beaten} beyond luck; settings of {objectives} objectives are first somewhere"
    )
    holds = True if beaten else False if not len(cells) else None
    return verdict(holds, text, behind=len(cells), beaten=beaten, cells=total)
