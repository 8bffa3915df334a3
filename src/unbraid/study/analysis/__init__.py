"""The questions of a study, each a function from the table of runs to a table, with a plot of that table.

Five are those of Locatello et al. (2019), the sixth is which method ranks first, asked as Klindt et al. (2021) do.
A table has one row per run and condition, such as the representation; it may be partial: runs, settings and data sets
can be missing.
"""

from unbraid.study.analysis._style import save_figure
from unbraid.study.analysis._table import METRICS, counted_once, metrics_of, tasks_of
from unbraid.study.analysis.comparison import (
    COMPARED,
    mean_ranks,
    method_of,
    method_scores,
    published_scores,
    rank_methods,
    rank_tests,
)
from unbraid.study.analysis.comparison_views import markdown_scores, plot_mean_ranks, plot_method_scores
from unbraid.study.analysis.control import judge_control, permuted_control, permuted_pairs
from unbraid.study.analysis.correlated_codes import (
    correlation_of_codes,
    correlation_pairs,
    correlation_trend,
    plot_correlation_of_codes,
    plot_correlation_pairs,
)
from unbraid.study.analysis.correlated_pair import correlated_pair
from unbraid.study.analysis.downstream import (
    downstream_pairs,
    downstream_vs_metrics,
    plot_downstream_pairs,
    plot_downstream_vs_metrics,
)
from unbraid.study.analysis.everything import ANALYSES, QUESTIONS, Analysis, Answer, answer_all
from unbraid.study.analysis.factors_found import FOUND, factors_found
from unbraid.study.analysis.few_labels import few_label_selection, plot_few_label_selection
from unbraid.study.analysis.findings import Finding, findings, judge_findings
from unbraid.study.analysis.measured import measured_means
from unbraid.study.analysis.metric_agreement import metric_agreement, plot_metric_agreement
from unbraid.study.analysis.model_selection import (
    UNSUPERVISED,
    plot_strength_curves,
    plot_transfer_between_data,
    plot_unsupervised_vs_metrics,
    strength_curves,
    transfer_between_data,
    unsupervised_vs_metrics,
)
from unbraid.study.analysis.reasoning import plot_reasoning_vs_metrics, reasoning_vs_metrics
from unbraid.study.analysis.run_tests import run_tests
from unbraid.study.analysis.score_spread import plot_spread_by_objective, plot_spread_by_strength, score_spread
from unbraid.study.analysis.seeds import (
    Above,
    Alike,
    AtLeast,
    Below,
    Condition,
    jackknife,
    over_seeds,
    without_seeds,
)
from unbraid.study.analysis.transfer_trials import plot_transfer_trials, transfer_trials
from unbraid.study.analysis.unified import adjusted, matrix_or_aggregation
from unbraid.study.analysis.variance_explained import plot_variance_explained, variance_explained

__all__ = [
    "ANALYSES",
    "COMPARED",
    "FOUND",
    "METRICS",
    "QUESTIONS",
    "UNSUPERVISED",
    "Above",
    "Alike",
    "Analysis",
    "Answer",
    "AtLeast",
    "Below",
    "Condition",
    "Finding",
    "adjusted",
    "answer_all",
    "correlated_pair",
    "correlation_of_codes",
    "correlation_pairs",
    "correlation_trend",
    "counted_once",
    "downstream_pairs",
    "downstream_vs_metrics",
    "factors_found",
    "few_label_selection",
    "findings",
    "jackknife",
    "judge_control",
    "judge_findings",
    "markdown_scores",
    "matrix_or_aggregation",
    "mean_ranks",
    "measured_means",
    "method_of",
    "method_scores",
    "metric_agreement",
    "metrics_of",
    "over_seeds",
    "permuted_control",
    "permuted_pairs",
    "plot_correlation_of_codes",
    "plot_correlation_pairs",
    "plot_downstream_pairs",
    "plot_downstream_vs_metrics",
    "plot_few_label_selection",
    "plot_mean_ranks",
    "plot_method_scores",
    "plot_metric_agreement",
    "plot_reasoning_vs_metrics",
    "plot_spread_by_objective",
    "plot_spread_by_strength",
    "plot_strength_curves",
    "plot_transfer_between_data",
    "plot_transfer_trials",
    "plot_unsupervised_vs_metrics",
    "plot_variance_explained",
    "published_scores",
    "rank_methods",
    "rank_tests",
    "reasoning_vs_metrics",
    "run_tests",
    "save_figure",
    "score_spread",
    "strength_curves",
    "tasks_of",
    "transfer_between_data",
    "transfer_trials",
    "unsupervised_vs_metrics",
    "variance_explained",
    "without_seeds",
]
