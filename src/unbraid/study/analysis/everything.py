"""All analyses by name, and all of them at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from unbraid.errors import UsageError
from unbraid.files import make_folders, save_table
from unbraid.sharing import spreadsheet
from unbraid.study.analysis._style import save_figure
from unbraid.study.analysis._table import METRICS, SCORED, counted_once, metrics_of
from unbraid.study.analysis.comparison import mean_ranks, method_scores
from unbraid.study.analysis.comparison_views import plot_mean_ranks, plot_method_scores
from unbraid.study.analysis.correlated_codes import (
    correlation_of_codes,
    correlation_pairs,
    correlation_trend,
    plot_correlation_of_codes,
    plot_correlation_pairs,
)
from unbraid.study.analysis.downstream import (
    downstream_pairs,
    downstream_vs_metrics,
    plot_downstream_pairs,
    plot_downstream_vs_metrics,
)
from unbraid.study.analysis.metric_agreement import metric_agreement, plot_metric_agreement
from unbraid.study.analysis.model_selection import (
    plot_strength_curves,
    plot_transfer_between_data,
    plot_unsupervised_vs_metrics,
    strength_curves,
    transfer_between_data,
    unsupervised_vs_metrics,
)
from unbraid.study.analysis.run_tests import run_tests
from unbraid.study.analysis.score_spread import plot_spread_by_objective, score_spread
from unbraid.study.analysis.transfer_trials import plot_transfer_trials, transfer_trials
from unbraid.study.analysis.variance_explained import plot_variance_explained, variance_explained
from unbraid.study.published import load

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["ANALYSES", "QUESTIONS", "Analysis", "Answer", "answer_all"]

QUESTIONS = {
    1: "Does the penalty make the codes uncorrelated?",
    2: "Do the scores agree with each other?",
    3: "How much do the objective and its strength matter?",
    4: "Can a model be chosen without labels?",
    5: "Does it help a later task?",
    6: "Which method is ahead?",
}
"""What the analyses are about, by number."""


@dataclass(frozen=True)
class Analysis:
    """One way of asking one of the study's questions."""

    question: int
    title: str
    table: Callable[..., pl.DataFrame]
    """From the study's table to the answer."""
    plot: Callable[..., Figure] | None = None
    """From the answer to a picture."""
    by_metric: bool = True
    """Whether ``table`` takes ``metrics``."""
    published: str | None = None
    """The published table to set beside the answer."""
    once: bool = True
    """Whether settings that are the same model count once: not where each objective is shown by itself."""
    own: bool = True
    """Whether scores of one's own may stand beside the study's six: not where the answer mixes all scores."""

    def answer(self, table: pl.DataFrame) -> pl.DataFrame:
        """The answer over those scores that the table has."""
        if self.once:
            table = counted_once(table)
        if not self.by_metric:
            return self.table(table)
        metrics = metrics_of(table, own=self.own)
        if not metrics:
            names = ", ".join(METRICS)
            raise UsageError(f"none of the study's scores was computed; add one of {names} to {SCORED}")
        return self.table(table, metrics=metrics)


@dataclass(frozen=True)
class Answer:
    """What came of an analysis: a table and a figure, or why there is none."""

    name: str
    analysis: Analysis
    table: pl.DataFrame | None
    figure: Figure | None = None
    missing: str = ""


def _ranks_of_methods(table: pl.DataFrame) -> pl.DataFrame:
    return mean_ranks(method_scores(table))


def _transfer_of_settings(table: pl.DataFrame, **options: Any) -> pl.DataFrame:
    return transfer_between_data(table, pairing="settings", **options)


ANALYSES: dict[str, Analysis] = {
    "correlation_of_codes": Analysis(
        1, "Correlation of codes against strength", correlation_of_codes, plot_correlation_of_codes, False, once=False
    ),
    "correlation_pairs": Analysis(
        1, "Correlation of mean and of sampled codes", correlation_pairs, plot_correlation_pairs, False
    ),
    "correlation_trend": Analysis(1, "Trend of correlation with strength", correlation_trend, None, False, once=False),
    "metric_agreement": Analysis(2, "Agreement of scores", metric_agreement, plot_metric_agreement),
    "variance_explained": Analysis(
        3,
        "Variance explained by objective and strength",
        variance_explained,
        plot_variance_explained,
        published="variance_explained",
    ),
    "score_spread": Analysis(3, "Spread of scores by objective", score_spread, plot_spread_by_objective, once=False),
    "strength_curves": Analysis(4, "Scores against strength", strength_curves, plot_strength_curves, once=False),
    "unsupervised_vs_metrics": Analysis(
        4, "Label-free quantities against scores", unsupervised_vs_metrics, plot_unsupervised_vs_metrics
    ),
    "transfer_between_data": Analysis(
        4, "Transfer between data sets, run by run", transfer_between_data, plot_transfer_between_data
    ),
    "transfer_of_settings": Analysis(
        4, "Transfer between data sets, means of settings", _transfer_of_settings, plot_transfer_between_data
    ),
    "transfer_trials": Analysis(
        4,
        "Does the best setting win elsewhere?",
        transfer_trials,
        plot_transfer_trials,
        published="transfer_trials",
        own=False,
    ),
    "downstream_vs_metrics": Analysis(
        5, "Downstream accuracy and efficiency against scores", downstream_vs_metrics, plot_downstream_vs_metrics
    ),
    "downstream_pairs": Analysis(
        5, "Efficiency against the FactorVAE score", downstream_pairs, plot_downstream_pairs, False
    ),
    "method_scores": Analysis(6, "Methods on every data set and score", method_scores, plot_method_scores, False),
    "mean_ranks": Analysis(6, "Mean ranks of methods", _ranks_of_methods, plot_mean_ranks, False),
    "rank_tests": Analysis(6, "Permutation tests of ranks, each run with all its scores", run_tests, None, False),
}
"""All analyses, in the order of the questions."""


def answer_all(
    table: pl.DataFrame, folder: str | Path | None = None, *, plots: tuple[str, ...] = (".png", ".svg")
) -> list[Answer]:
    """Every analysis of a table, over those of the six scores that it has and scores of one's own.

    An analysis for which columns are missing says so in ``missing`` and does not stop the others. With a ``folder`` the
    tables are written as CSV and the plots with these endings, under the analysis's name.
    """
    answers = []
    for name, analysis in ANALYSES.items():
        try:
            found = analysis.answer(table)
            figure = _draw(analysis, found)
        except UsageError as error:
            answers.append(Answer(name, analysis, None, missing=str(error)))
            continue
        answers.append(Answer(name, analysis, found, figure))
        if folder is not None:
            place = Path(folder)
            make_folders(place)
            save_table(spreadsheet(found), place / f"{name}.csv")
            if figure is not None:
                for ending in plots:
                    save_figure(figure, place / f"{name}{ending}")
    return answers


def _draw(analysis: Analysis, found: pl.DataFrame) -> Figure | None:
    if analysis.plot is None or not len(found):
        return None
    beside = {"published": load(analysis.published)} if analysis.published else {}
    return analysis.plot(found, **beside)
