"""Rank correlations of abstract reasoning with scores, per number of samples."""

import numpy as np
import polars as pl
import pytest

from unbraid.errors import UsageError
from unbraid.study.analysis import plot_reasoning_vs_metrics, reasoning_vs_metrics

SAMPLES = (1024, 10_016)


def table_of(mig, few, many, *, accuracy="accuracy") -> pl.DataFrame:
    """Per run: its score, accuracies at two sizes, and the row that the measure gives once."""
    runs = len(mig)
    about = pl.DataFrame(
        {"index": range(runs), "data": ["one"] * runs, "objective": ["beta-vae"] * runs, "seed": range(runs)}
    ).with_columns(strength_name=pl.lit("beta"), strength=pl.lit(4.0))
    parts = [about.with_columns(representation=pl.lit("mean"), mig=pl.Series(mig))]
    for samples, values in zip(SAMPLES, (few, many), strict=True):
        parts.append(about.with_columns(pl.lit(samples).alias("samples"), pl.Series(values).alias(accuracy)))
    area = (np.array(few) + np.array(many)) / 2
    parts.append(about.with_columns(samples=pl.lit(0), area=pl.Series(area), answers_only=pl.lit(0.3)))
    return pl.concat(parts, how="diagonal")


def test_correlations_stand_by_the_number_of_samples():
    # Few samples: the same order as the score. Many: ranks 2 1 3 4, so 1 - 6 (1 + 1) / (4 * 15) = .8.
    table = table_of([0.1, 0.2, 0.3, 0.4], [0.2, 0.3, 0.35, 0.6], [0.8, 0.7, 0.9, 0.95])
    found = {row["samples"]: row for row in reasoning_vs_metrics(table).iter_rows(named=True)}
    assert list(found) == [1024, 10_016, None]
    assert found[1024]["correlation"] == pytest.approx(1)
    assert found[10_016]["correlation"] == pytest.approx(0.8)
    # Areas .5 .5 .625 .775 have ranks 1.5 1.5 3 4: 4.5 / sqrt(5 * 4.5).
    assert found[None]["correlation"] == pytest.approx(4.5 / np.sqrt(22.5))
    assert found[1024]["accuracy"] == pytest.approx(0.3625)
    assert {row["runs"] for row in found.values()} == {4}
    assert {row["answers_only"] for row in found.values()} == {0.3}


def test_another_accuracy_in_the_table_does_not_matter():
    values = [0.1, 0.2, 0.3], [0.3, 0.2, 0.1], [0.5, 0.6, 0.7]
    table = table_of(*values, accuracy="reasoning_accuracy").with_columns(accuracy=pl.lit(0.5))
    found = reasoning_vs_metrics(table)
    assert found["correlation"].to_list()[:2] == pytest.approx([-1, 1])


def test_the_plot_has_the_sizes_and_the_area():
    table = table_of([0.1, 0.2, 0.3], [0.3, 0.2, 0.1], [0.5, 0.6, 0.7])
    figure = plot_reasoning_vs_metrics(reasoning_vs_metrics(table))
    shown = [tick.get_text() for tick in figure.axes[0].get_xticklabels()]
    assert [text.split("\n")[0] for text in shown] == ["1024", "10016", "mean accuracy over log samples"]


def test_tables_without_the_measure_say_what_to_add():
    table = table_of([0.1, 0.2], [0.1, 0.2], [0.1, 0.2])
    with pytest.raises(UsageError, match=r"add \[measures.reasoning\]"):
        reasoning_vs_metrics(table.drop("area"))
    with pytest.raises(UsageError, match="none of the study's scores"):
        reasoning_vs_metrics(table.drop("mig"))
