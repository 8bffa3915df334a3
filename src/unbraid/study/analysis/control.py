"""Natural transitions against the permuted control, in which factors move independently (Klindt et al., 2021)."""

from __future__ import annotations

import polars as pl

from unbraid.errors import UsageError
from unbraid.evaluation import Verdict, verdict
from unbraid.study.analysis._table import rows_of
from unbraid.study.analysis.comparison import COMPARED, method_of
from unbraid.study.analysis.run_tests import run_tests

__all__ = ["judge_control", "permuted_control", "permuted_pairs"]

_OPTION = "permuted=1"


def permuted_pairs(names: list[str]) -> dict[str, str]:
    """The data sets that are there twice: as they are, and with ``permuted=1``.

    >>> permuted_pairs(["natural-sprites:size=32", "sprites32", "natural-sprites:permuted=1,size=32"])
    {'natural-sprites:size=32': 'natural-sprites:permuted=1,size=32'}
    """
    return {_plain(name): name for name in names if _OPTION in name and _plain(name) in names}


def permuted_control(table: pl.DataFrame) -> pl.DataFrame:
    """Means of every method and score on natural and on permuted transitions, and a t-test of their difference.

    ``difference`` is permuted less natural, ``low`` and ``high`` its 95 % interval by Welch's test. The published test
    is this one; of its seven scores the same runs give all, so :func:`judge_control` asks once for all of them.
    """
    from scipy.stats import ttest_ind

    metrics = [name for name in COMPARED if name in table.columns]
    rows = rows_of(table, metrics).with_columns(method_of())
    found = []
    for natural, permuted in _pairs(table).items():
        for (method,), part in rows.group_by("method", maintain_order=True):
            for metric in metrics:
                first, second = (part.filter(data=name)[metric].drop_nulls().to_numpy() for name in (permuted, natural))
                if min(len(first), len(second)) < 2 or first.std() + second.std() == 0:
                    continue
                test = ttest_ind(first, second, equal_var=False)
                interval = test.confidence_interval()
                numbers = (second.mean(), first.mean(), first.mean() - second.mean(), interval.low, interval.high)
                found.append((natural, method, metric, *numbers, test.pvalue))
    columns = ["data", "method", "metric", "natural", "permuted", "difference", "low", "high", "p_value"]
    kinds = [pl.String] * 3 + [pl.Float64] * 6
    return pl.DataFrame(found, schema=dict(zip(columns, kinds, strict=True)), orient="row")


def judge_control(table: pl.DataFrame) -> dict[tuple[str, str], Verdict]:
    """By data set and method: does taking the dependence of factors away not help? Runs are tested whole.

    Yes if runs on natural transitions are ahead by all scores together, no if those on permuted ones are, undecided if
    the runs do not tell.
    """
    metrics = [name for name in COMPARED if name in table.columns]
    found = {}
    for natural, permuted in _pairs(table).items():
        both = table.filter(pl.col("data").is_in([natural, permuted])).with_columns(method_of())
        for method in both["method"].unique(maintain_order=True).to_list():
            named = pl.when(pl.col("data") == natural).then(pl.lit("natural")).otherwise(pl.lit("permuted"))
            here = both.filter(pl.col("method") == method).with_columns(
                objective=named, strength=None, strength_name=None, data=pl.lit(natural)
            )
            if here["objective"].n_unique() < 2:
                continue
            test = run_tests(here.drop("method"), metrics=metrics, methods=["natural", "permuted"]).row(0, named=True)
            holds = None if test["p_value"] >= 0.05 else bool(test["difference"] < 0)
            ahead = "natural" if test["difference"] < 0 else "permuted"
            sentence = (
                f"{ahead} transitions are ahead by {abs(test['difference']):.2f} ranks of {test['runs']} runs in "
                f"{test['cells']} scores (p = {test['p_value']:.3f}; these many runs could give {test['least']:.2g})"
            )
            found[natural, method] = verdict(holds, sentence, difference=test["difference"], p=test["p_value"])
    return found


def _pairs(table: pl.DataFrame) -> dict[str, str]:
    pairs = permuted_pairs(table["data"].unique(maintain_order=True).to_list())
    if not pairs:
        raise UsageError(
            "no data set is there both as it is and with permuted=1; add one, such as "
            "natural-sprites-discrete and natural-sprites-discrete:permuted=1, or run the preset slow-control"
        )
    return pairs


def _plain(name: str) -> str:
    """The name without the option."""
    head, colon, options = name.partition(":")
    rest = ",".join(word for word in options.split(",") if word != _OPTION)
    return head + (colon + rest if rest else "")
