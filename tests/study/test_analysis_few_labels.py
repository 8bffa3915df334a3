"""Choosing a model by a few labels: correlation with the study's scores, and regret."""

import numpy as np
import polars as pl
import pytest

from unbraid.errors import UsageError
from unbraid.study.analysis import few_label_selection, plot_few_label_selection


def table_of(mig, validated, **more) -> pl.DataFrame:
    """A row per run with its scores, and one per run and number of labels with the validation score."""
    runs = len(mig)
    about = pl.DataFrame(
        {"index": range(runs), "data": ["one"] * runs, "objective": ["beta-vae"] * runs, "seed": range(runs)}
    ).with_columns(strength_name=pl.lit("beta"), strength=pl.lit(4.0))
    scores = about.with_columns(representation=pl.lit("mean"), mig=pl.Series(mig), **more)
    parts = [scores]
    for labels, values in validated.items():
        rows = about.with_columns(labels=pl.lit(labels), labeller=pl.lit("exact"), validation_mig=pl.Series(values))
        parts.append(rows)
    return pl.concat(parts, how="diagonal")


def test_choosing_with_all_labels_costs_nothing():
    mig = np.random.default_rng(0).random(30)
    row = few_label_selection(table_of(mig, {1000: mig})).row(0, named=True)
    assert row["correlation"] == pytest.approx(1)
    assert row["regret"] == 0
    assert row["best"] == row["chosen"] == mig.max()
    assert row["at_random"] == pytest.approx(mig.max() - mig.mean())
    assert row["runs"] == 30


def test_regret_is_what_the_chosen_run_lacks():
    # By 100 labels run 1 wins: .7 - .5. By 1000 runs 0 and 2 tie, and a coin decides: .7 - (.2 + .7) / 2.
    table = table_of([0.2, 0.5, 0.7, 0.1], {100: [0.1, 0.9, 0.3, 0.2], 1000: [0.9, 0.1, 0.9, 0.2]})
    found = {row["labels"]: row for row in few_label_selection(table).iter_rows(named=True)}
    assert found[100]["regret"] == pytest.approx(0.2)
    assert found[1000]["regret"] == pytest.approx(0.25)
    # Ranks 2 3 4 1 against 1 4 3 2: 1 - 6 (1 + 1 + 1 + 1) / (4 * 15).
    assert found[100]["correlation"] == pytest.approx(0.6)


def test_runs_without_a_number_are_left_out_and_lower_may_be_better():
    table = table_of(
        [0.2, 0.5, 0.7, 0.1],
        {100: [0.1, None, float("nan"), 0.2]},
        unfairness=pl.Series([0.3, 0.2, 0.1, 0.4]),
    )
    row = few_label_selection(table, metrics=["unfairness"]).row(0, named=True)
    # Of runs 0 and 3 the second is chosen, whose unfairness is .1 above the best of the two.
    assert (row["chosen"], row["best"]) == (0.4, 0.3)
    assert row["regret"] == pytest.approx(0.1)
    assert row["correlation"] is None
    assert row["runs"] == 2


def test_a_table_whose_runs_have_one_or_the_other_is_refused():
    table = table_of([0.2, 0.5, 0.7], {100: [0.1, 0.9, 0.3]})
    apart = table.with_columns(seed=pl.when(pl.col("labels").is_null()).then("seed").otherwise(pl.col("seed") + 10))
    with pytest.raises(UsageError, match="no run of the table has a validation and a score beside it"):
        few_label_selection(apart)


def test_tables_without_the_measure_say_what_to_add():
    with pytest.raises(UsageError, match=r"no column 'labels': add \[measures.validation\]"):
        few_label_selection(table_of([0.1, 0.2], {}))
    with pytest.raises(UsageError, match="none of the study's scores"):
        few_label_selection(table_of([0.1, 0.2], {100: [0.1, 0.2]}).drop("mig"))
    twice = table_of([0.1, 0.2], {100: [0.1, 0.2]})
    again = twice.with_columns(validation_mig=pl.col("validation_mig") + 0.1).drop_nulls("labels")
    with pytest.raises(UsageError, match="measured one run several times under labels, labeller"):
        few_label_selection(pl.concat([twice, again]))


def test_the_plot_shows_the_correlations_in_percent():
    mig = np.random.default_rng(0).random(12)
    found = few_label_selection(table_of(mig, {100: mig[::-1], 1000: mig}))
    figure = plot_few_label_selection(found)
    drawn = sorted(text.get_text() for axis in figure.axes for text in axis.texts)
    assert "100" in drawn
    assert len(drawn) == 2
