"""The study's conclusions as checks: which of them a table of runs reproduces, by rules stated beside the verdicts."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from unbraid.errors import UsageError
from unbraid.evaluation import Verdict
from unbraid.study.analysis._table import counted_once, metrics_of
from unbraid.study.analysis.correlated_codes import correlation_pairs, correlation_trend
from unbraid.study.analysis.downstream import downstream_vs_metrics
from unbraid.study.analysis.metric_agreement import metric_agreement
from unbraid.study.analysis.model_selection import transfer_between_data, unsupervised_vs_metrics
from unbraid.study.analysis.seeds import Above, Below, Condition, over_seeds
from unbraid.study.analysis.settings import best_everywhere
from unbraid.study.analysis.transfer_trials import transfer_trials
from unbraid.study.analysis.variance_explained import GROUPINGS, adjusted_share, variance_explained
from unbraid.study.published import imitated, load

__all__ = ["Finding", "findings", "judge_findings"]

_WEAKER = "annealed-vae"
"""Its strength is a capacity: larger means less regularisation, so the study leaves it out of trends."""
_APART = "modularity"
"""Agrees with no other score, in the study either: judged apart, lest it decide alone."""

PERCENT = (0.0, 100.0)
PUBLISHED_RUNS, PUBLISHED_GROUPS = 1800, {"objective": 6, "objective x strength": 36}
"""Runs per data set of Locatello et al. (2019), and how many groups explained their scores."""


@dataclass(frozen=True)
class Finding:
    """A conclusion of the study, the rule by which it counts as reproduced, and what a table says of it."""

    question: int
    text: str
    rule: str
    verdict: Verdict


def judge_findings(table: pl.DataFrame) -> list[Finding]:
    """The conclusions of Locatello et al. (2019) against a table of runs.

    A conclusion holds, or does not, if the interval over seeds of every number it rests on lies on one side of the
    rule's limit; else it is undecided (:func:`unbraid.study.analysis.over_seeds`). Settings that are the same model
    count once. Where the table lacks what a rule needs, the verdict cannot say and tells what is missing. There are
    none for a table with fewer than two of the study's objectives: its conclusions are about their comparison.
    """
    found: list[Finding] = []
    compared = set(table["objective"]) & set(load("sweep")["objective"])
    for question, text, rule, check in _FINDINGS if len(compared) > 1 else ():
        # Trends are about each objective by itself, so there the same model may be a part of two.
        rows = table if question == 1 else counted_once(table)
        try:
            judged = check(rows) if check is best_everywhere else over_seeds(rows, check)
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


Judged = tuple[str, list[Condition]]
"""What was measured, in words, and the numbers that decide."""


def _trend(representation: str, sign: int, exceptions: Iterable[str] = ()) -> Callable[[pl.DataFrame], Judged]:
    def check(table: pl.DataFrame) -> Judged:
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
        return text, [Above("share", 100 * len(agree) / len(trends), 50, PERCENT, counted=True)]

    return check


def _mean_codes_stay_correlated(table: pl.DataFrame) -> Judged:
    pairs = _some(correlation_pairs(table), "no run has both representations")
    share = 100 * _mean((pairs["mean"] > pairs["sampled"]).cast(pl.Float64))
    return f"{share:.0f} % of {len(pairs)} runs", [Above("percent", share, 75, PERCENT, counted=True)]


def _metrics_agree(table: pl.DataFrame) -> Judged:
    pairs = _pairs(table)
    about = (pl.col("metric") == _APART) | (pl.col("other") == _APART)
    apart, pairs = pairs.filter(about), pairs.filter(~about)
    positive = _some(pairs, "fewer than two scores").filter(pl.col("correlation") > 0)
    text = f"{len(positive)} of {len(pairs)} pairs; rank correlation {_range(pairs['correlation'])}"
    if len(apart):
        text += f"; Modularity with the others {_range(apart['correlation'])}"
    return text, [Above("percent", 100 * len(positive) / len(pairs), 75, PERCENT, counted=True)]


def _strong_pairs(table: pl.DataFrame) -> Judged:
    pairs = _pairs(table).filter((pl.col("metric") != _APART) & (pl.col("other") != _APART))
    names = {("beta_vae", "factor_vae"), ("dci_disentanglement", "mig")}
    strong = pl.Series([tuple(sorted(row)) in names for row in pairs.select("metric", "other").rows()])
    if not strong.any() or strong.all():
        raise UsageError("the table lacks one of beta_vae, factor_vae, mig, dci, or all others")
    inside, outside = (_mean(pairs.filter(chosen)["correlation"]) for chosen in (strong, ~strong))
    text = f"mean rank correlation {inside:.2f} within these pairs, {outside:.2f} within others (Modularity left out)"
    return text, [Above("difference", inside - outside, 0)]


def _pairs(table: pl.DataFrame) -> pl.DataFrame:
    agreement = metric_agreement(table, metrics=metrics_of(table, own=False)).drop_nulls("correlation")
    return _some(agreement.filter(pl.col("metric") < pl.col("other")), "fewer than two scores")


def _objective_is_not_all(table: pl.DataFrame) -> Judged:
    every = variance_explained(table, metrics=metrics_of(table, own=False))
    explained = _some(every.filter(pl.col("metric") != _APART), "no score but Modularity")
    adjusted = _by_grouping(explained, "adjusted")
    if None in adjusted:
        raise UsageError("no setting has two runs; the study needs several seeds")
    objective, setting = (float(value or 0) for value in adjusted)
    printed = load("variance_explained").with_columns(
        adjusted=adjusted_share("explained", PUBLISHED_RUNS, pl.col("by").replace_strict(PUBLISHED_GROUPS))
    )
    names = {name: name for name in set(explained["data"]) & set(printed["data"])} | imitated(explained, printed)
    alike = printed.filter(pl.col("data").is_in(list(names.values())), pl.col("metric").is_in(explained["metric"]))
    text = f"objective {objective:.0f} %, objective and strength {setting:.0f} %, seeds the rest (adjusted for noise)"
    unadjusted = f"; unadjusted {_shares(explained, 'explained')}"
    if len(alike):
        where = ", ".join(sorted(set(alike["data"])))
        text += f", against {_shares(alike, 'adjusted')} published, adjusted alike, for the same scores on {where}"
        unadjusted += f" against {_shares(alike, 'explained')}"
    apart = every.filter(pl.col("metric") == _APART)
    text += unadjusted + (f"; Modularity apart: {_shares(apart, 'adjusted')}, adjusted" if len(apart) else "")
    return text, [Below("objective", objective, 50), Above("added by strength", setting - objective, 0)]


def _by_grouping(explained: pl.DataFrame, column: str) -> list[float | None]:
    """Means over scores and data sets of what the objective explains, and of what the setting does."""
    means = dict(explained.group_by("by").agg(pl.col(column).mean()).rows())
    return [means[by] for by in GROUPINGS]


def _shares(explained: pl.DataFrame, column: str) -> str:
    return " and ".join("nothing" if value is None else f"{value:.0f} %" for value in _by_grouping(explained, column))


def _no_label_free_rule(table: pl.DataFrame) -> Judged:
    found = unsupervised_vs_metrics(table, metrics=metrics_of(table, own=False)).drop_nulls("correlation")
    apart, found = found.filter(pl.col("metric") == _APART), found.filter(pl.col("metric") != _APART)
    # A usable rule would have one sign and some size wherever it is asked.
    steadiness = (
        _some(found, "no label-free quantity")
        .group_by("quantity", maintain_order=True)
        .agg(
            (pl.col("correlation") * pl.col("correlation").mean().sign()).min().alias("least"),
            pl.col("correlation").mean().alias("mean"),
        )
    )
    ordered = steadiness.sort("least", descending=True).rows(named=True)
    best = ordered[0]
    text = (
        f"the steadiest is {best['quantity']}: rank correlation {best['mean']:+.2f} on average, "
        f"but at worst {best['least']:+.2f} in that direction"
    )
    others = [f"{row['quantity']} {row['mean']:+.2f} and {row['least']:+.2f}" for row in ordered[1:]]
    text += f"; mean and worst of the others: {', '.join(others)}" if others else ""
    text += "" if "udr" in set(steadiness["quantity"]) else "; UDR was not measured"
    if len(apart):
        here = apart.filter(pl.col("quantity") == best["quantity"])["correlation"]
        text += f". With Modularity, left out of this, {best['quantity']} has {_range(here)}" if len(here) else ""
    return text, [Below(f"worst of {best['quantity']}", best["least"], 0.3)]


def _settings_do_not_transfer(table: pl.DataFrame) -> Judged:
    found = transfer_between_data(table, metrics=metrics_of(table, own=False)).drop_nulls("correlation")
    found = _some(found.filter(pl.col("source") < pl.col("target")), "one data set only")
    mean = _mean(found["correlation"])
    return f"rank correlation over runs {_range(found['correlation'])}, mean {mean:.2f}", [Below("mean", mean, 0.5)]


def _trials(table: pl.DataFrame) -> Judged:
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
    return text, [Above("gain at home", gains[0], 10), Below("gain elsewhere less half", gains[1] - gains[0] / 2, 0)]


def _downstream(column: str, decide: Callable[[str, float, float], Condition]) -> Callable[[pl.DataFrame], Judged]:
    def check(table: pl.DataFrame) -> Judged:
        found = downstream_vs_metrics(table, metrics=metrics_of(table, own=False)).drop_nulls("correlation")
        tasks = [task for task in found["task"].unique() if task.startswith("gbt_")]
        sizes = sorted((task for task in tasks if task != "gbt_efficiency"), key=lambda task: int(task[4:]))
        task = sizes[-1] if column == "accuracy" and sizes else "gbt_efficiency"
        found = _some(found.filter(pl.col("task") == task), f"no column {task}")
        chosen = _some(found.filter(pl.col("metric") != _APART), "no score but Modularity")["correlation"]
        median = float(np.median(chosen.to_numpy()))
        text = f"rank correlation with {task} over scores and data sets {_range(chosen)}, median {median:.2f}"
        apart = found.filter(pl.col("metric") == _APART)["correlation"]
        text += f"; Modularity apart: {_range(apart)}" if len(apart) else ""
        return text, [decide("median", median, 0.2)]

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


_FINDINGS: tuple[tuple[int, str, str, Callable[[pl.DataFrame], Any]], ...] = (
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
        "higher mean rank correlation (Modularity left out)",
        _strong_pairs,
    ),
    (
        3,
        "Seeds and strength outweigh the objective",
        "the objective explains less than half of the variance, strength adds to it (Modularity left out)",
        _objective_is_not_all,
    ),
    (
        4,
        "No setting is best everywhere",
        "the best on average is somewhere behind by more than seeds explain (Welch's t-tests, corrected)",
        best_everywhere,
    ),
    (
        4,
        "No label-free quantity tells good models",
        "none correlates by 0.3 or more in one direction with every score but Modularity, on every data set",
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
        _downstream("accuracy", Above),
    ),
    (
        5,
        "Scores do not go with a gain in label efficiency",
        "median rank correlation below 0.2",
        _downstream("efficiency", Below),
    ),
)
