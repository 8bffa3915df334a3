"""The study's conclusions as checks: which of them a table of runs reproduces, by rules stated beside the verdicts."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
import polars as pl

from unbraid.errors import UsageError
from unbraid.evaluation import Verdict, verdict
from unbraid.study.analysis._table import metrics_of
from unbraid.study.analysis.correlated_codes import correlation_pairs, correlation_trend
from unbraid.study.analysis.downstream import downstream_vs_metrics
from unbraid.study.analysis.metric_agreement import metric_agreement
from unbraid.study.analysis.model_selection import strength_curves, transfer_between_data, unsupervised_vs_metrics
from unbraid.study.analysis.transfer_trials import transfer_trials
from unbraid.study.analysis.variance_explained import variance_explained
from unbraid.study.published import load

__all__ = ["Finding", "findings", "judge_findings"]

_WEAKER = "annealed-vae"
"""Its strength is a capacity: larger means less regularisation, so the study leaves it out of trends."""


@dataclass(frozen=True)
class Finding:
    """A conclusion of the study, the rule by which it counts as reproduced, and what a table says of it."""

    question: int
    text: str
    rule: str
    verdict: Verdict


def judge_findings(table: pl.DataFrame) -> list[Finding]:
    """The conclusions of Locatello et al. (2019) against a table of runs.

    Where the table lacks what a rule needs, the verdict cannot say and tells what is missing. There are none for a
    table with fewer than two of the study's objectives: its conclusions are about their comparison.
    """
    found: list[Finding] = []
    compared = set(table["objective"]) & set(load("sweep")["objective"])
    for question, text, rule, check in _FINDINGS if len(compared) > 1 else ():
        try:
            judged = check(table)
        except UsageError as error:
            judged = Verdict("cannot say", {}, str(error))
        found.append(Finding(question, text, rule, judged))
    return found


def findings(table: pl.DataFrame) -> pl.DataFrame:
    """:func:`judge_findings` as a table: the rule, what was ``measured``, and ``holds``, null where it cannot say."""
    columns = {
        "question": pl.Int64,
        "finding": pl.String,
        "rule": pl.String,
        "measured": pl.String,
        "holds": pl.Boolean,
    }
    rows = [
        (one.question, one.text, one.rule, one.verdict.sentence, one.verdict.holds) for one in judge_findings(table)
    ]
    return pl.DataFrame(rows, schema=columns, orient="row")


def _trend(representation: str, sign: int, exceptions: Iterable[str] = ()) -> Callable[[pl.DataFrame], Verdict]:
    def check(table: pl.DataFrame) -> Verdict:
        trends = correlation_trend(table).drop_nulls("trend")
        trends = trends.filter(
            pl.col("representation") == representation, ~pl.col("objective").is_in([_WEAKER, *exceptions])
        )
        trends = _some(trends, "no objective was run at several strengths")
        agree = trends.filter(pl.col("trend") * sign > 0)
        text = (
            f"{len(agree)} of {len(trends)} (objective, data set) pairs; rank correlation with the strength "
            f"{_range(trends['trend'])}"
        )
        return verdict(len(agree) > len(trends) / 2, text, agree=len(agree), pairs=len(trends))

    return check


def _mean_codes_stay_correlated(table: pl.DataFrame) -> Verdict:
    pairs = _some(correlation_pairs(table), "no run has both representations")
    share = 100 * _mean((pairs["mean"] > pairs["sampled"]).cast(pl.Float64))
    return verdict(share > 75, f"{share:.0f} % of {len(pairs)} runs", percent=share, runs=len(pairs))


def _metrics_agree(table: pl.DataFrame) -> Verdict:
    pairs = _pairs(table).filter((pl.col("metric") != "modularity") & (pl.col("other") != "modularity"))
    positive = pairs.filter(pl.col("correlation") > 0)
    text = f"{len(positive)} of {len(pairs)} pairs; rank correlation {_range(pairs['correlation'])}"
    return verdict(len(positive) > 0.75 * len(pairs), text, positive=len(positive), pairs=len(pairs))


def _strong_pairs(table: pl.DataFrame) -> Verdict:
    pairs = _pairs(table)
    names = {("beta_vae", "factor_vae"), ("dci_disentanglement", "mig")}
    strong = pl.Series([tuple(sorted(row)) in names for row in pairs.select("metric", "other").rows()])
    if not strong.any():
        raise UsageError("the table lacks one of beta_vae, factor_vae, mig, dci")
    inside, outside = (_mean(pairs.filter(chosen)["correlation"]) for chosen in (strong, ~strong))
    text = f"mean rank correlation {inside:.2f} within these pairs, {outside:.2f} within others"
    return verdict(inside > outside, text, inside=inside, outside=outside)


def _pairs(table: pl.DataFrame) -> pl.DataFrame:
    agreement = metric_agreement(table, metrics=metrics_of(table, own=False)).drop_nulls("correlation")
    return _some(agreement.filter(pl.col("metric") < pl.col("other")), "fewer than two scores")


def _objective_is_not_all(table: pl.DataFrame) -> Verdict:
    explained = variance_explained(table, metrics=metrics_of(table, own=False))
    means = dict(explained.group_by("by").agg(pl.col("adjusted").mean()).rows())
    objective, setting = means["objective"], means["objective x strength"]
    text = f"objective {objective:.0f} %, objective and strength {setting:.0f} %, seeds the rest (adjusted for noise)"
    text = f"{text}; published, unadjusted: 37 % and 59 %"
    return verdict(objective < 50 and setting > objective, text, objective=objective, setting=setting)


def _no_best_setting(table: pl.DataFrame) -> Verdict:
    curves = strength_curves(table, metrics=metrics_of(table, own=False)).drop_nulls("median")
    best = curves.sort("median", descending=True).group_by("data", "metric", maintain_order=True).first()
    winners = best.select("objective", "strength").unique()
    objectives = best["objective"].n_unique()
    text = (
        f"{len(winners)} different settings of {objectives} objectives are best in {len(best)} (data set, score) cells"
    )
    return verdict(len(winners) > 1 and objectives > 1, text, settings=len(winners), objectives=objectives)


def _no_label_free_rule(table: pl.DataFrame) -> Verdict:
    found = unsupervised_vs_metrics(table, metrics=metrics_of(table, own=False)).drop_nulls("correlation")
    # A usable rule would have one sign and some size wherever it is asked.
    worst = found.group_by("quantity", maintain_order=True).agg(
        (pl.col("correlation") * pl.col("correlation").mean().sign()).min().alias("least"),
        pl.col("correlation").mean().alias("mean"),
    )
    best = _some(worst, "no label-free quantity").sort("least", descending=True).row(0, named=True)
    text = (
        f"the steadiest is {best['quantity']}: rank correlation {best['mean']:+.2f} on average, "
        f"but at worst {best['least']:+.2f} in that direction"
    )
    return verdict(best["least"] < 0.3, text, mean=best["mean"], least=best["least"])


def _settings_do_not_transfer(table: pl.DataFrame) -> Verdict:
    found = transfer_between_data(table, metrics=metrics_of(table, own=False)).drop_nulls("correlation")
    found = _some(found.filter(pl.col("source") < pl.col("target")), "one data set only")
    mean = _mean(found["correlation"])
    text = f"rank correlation over runs {_range(found['correlation'])}, mean {mean:.2f}"
    return verdict(mean < 0.5, text, mean=mean)


def _trials(table: pl.DataFrame) -> Verdict:
    found = {
        (row["metric"], row["data"]): row
        for row in transfer_trials(table, metrics=metrics_of(table, own=False)).to_dicts()
    }
    home, away = found["same", "same"], found["other", "other"]
    if home["percent"] is None or away["percent"] is None:
        raise UsageError("the trials need two data sets and two scores")
    text = ", ".join(
        f"{metric} score and {data} data {row['percent']:.1f} %"
        for (metric, data), row in found.items()
        if row["percent"] is not None
    )
    gains = home["percent"] - home["chance"], away["percent"] - away["chance"]
    text = f"{text}; chance {away['chance']:.1f} %"
    return verdict(gains[0] > 10 and gains[1] < gains[0] / 2, text, home=gains[0], away=gains[1])


def _downstream(column: str, rule: Callable[[float], bool]) -> Callable[[pl.DataFrame], Verdict]:
    def check(table: pl.DataFrame) -> Verdict:
        found = downstream_vs_metrics(table, metrics=metrics_of(table, own=False)).drop_nulls("correlation")
        tasks = [task for task in found["task"].unique() if task.startswith("gbt_")]
        sizes = sorted((task for task in tasks if task != "gbt_efficiency"), key=lambda task: int(task[4:]))
        task = sizes[-1] if column == "accuracy" and sizes else "gbt_efficiency"
        chosen = _some(found.filter(pl.col("task") == task), f"no column {task}")["correlation"]
        median = float(np.median(chosen.to_numpy()))
        text = f"rank correlation with {task} over scores and data sets {_range(chosen)}, median {median:.2f}"
        return verdict(rule(median), text, median=median)

    return check


def _some(frame: pl.DataFrame, otherwise: str) -> pl.DataFrame:
    if not len(frame):
        raise UsageError(f"the table cannot say: {otherwise}")
    return frame


def _mean(values: pl.Series) -> float:
    return float(values.to_numpy().mean())


def _range(values: pl.Series) -> str:
    numbers = values.to_numpy()
    return f"{numbers.min():+.2f} to {numbers.max():+.2f}"


_FINDINGS: tuple[tuple[int, str, str, Callable[[pl.DataFrame], Verdict]], ...] = (
    (1, "Sampled codes get less correlated with the strength", "for most objectives", _trend("sampled", -1)),
    (
        1,
        "Mean codes get more correlated with the strength",
        "for most objectives (DIP-VAE-I, which penalises just that, left out)",
        _trend("mean", 1, ["dip-vae-i"]),
    ),
    (1, "Mean codes are more correlated than sampled ones", "in more than 75 % of runs", _mean_codes_stay_correlated),
    (2, "Scores other than modularity agree mildly", "more than 75 % of pairs correlate positively", _metrics_agree),
    (
        2,
        "BetaVAE and FactorVAE scores agree, and MIG and DCI, more than others",
        "higher mean rank correlation",
        _strong_pairs,
    ),
    (
        3,
        "Seeds and strength outweigh the objective",
        "the objective explains less than half of the variance, strength adds to it",
        _objective_is_not_all,
    ),
    (4, "No setting is best everywhere", "the best settings and their objectives differ", _no_best_setting),
    (
        4,
        "No label-free quantity tells good models",
        "none correlates by 0.3 or more in one direction everywhere",
        _no_label_free_rule,
    ),
    (
        4,
        "What is good on one data set need not be on another",
        "mean rank correlation below 0.5",
        _settings_do_not_transfer,
    ),
    (
        4,
        "The best setting wins with another seed, hardly elsewhere",
        "10 points above chance at home, less than half of that gain on other data and score",
        _trials,
    ),
    (
        5,
        "Scores go with downstream accuracy",
        "median rank correlation above 0.2",
        _downstream("accuracy", lambda median: median > 0.2),
    ),
    (
        5,
        "Scores do not go with a gain in label efficiency",
        "median rank correlation below 0.2",
        _downstream("efficiency", lambda median: median < 0.2),
    ),
)
