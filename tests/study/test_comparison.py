"""Which method is ahead: means, ranks, marks and permutation tests on tables with known answers."""

import numpy as np
import polars as pl
import pytest
from scipy import stats

from unbraid.errors import UsageError
from unbraid.study.analysis import (
    judge_control,
    markdown_scores,
    mean_ranks,
    method_scores,
    permuted_control,
    plot_mean_ranks,
    plot_method_scores,
    published_scores,
    rank_methods,
    rank_tests,
    run_tests,
)
from unbraid.study.published import load


def runs(values: dict[str, dict[str, list[float]]], metric: str = "mig") -> pl.DataFrame:
    """A study's table: data set -> method (objective or ``objective name strength``) -> a value per seed."""
    rows = []
    for data, methods in values.items():
        for method, scores in methods.items():
            objective, *strength = method.split()
            name, number = (strength[0], float(strength[1])) if strength else (None, None)
            rows += [(data, objective, name, number, seed, "mean", score) for seed, score in enumerate(scores)]
    columns = ["data", "objective", "strength_name", "strength", "seed", "representation", metric]
    return pl.DataFrame(rows, schema=columns, orient="row")


def cells(ranked: dict[str, list[float]]) -> pl.DataFrame:
    """Means of methods in cells 0, 1, 2, ... without spread."""
    rows = [
        (f"data {cell}", "mig", method, mean, 0.0, 3)
        for method, means in ranked.items()
        for cell, mean in enumerate(means)
    ]
    return rank_methods(pl.DataFrame(rows, schema=["data", "metric", "method", "mean", "sd", "runs"], orient="row"))


def test_published_tables_give_the_published_mean_ranks():
    # The 24 cells of tables 1 and 2: 3 x 7 scores and 3 x MCC.
    found = mean_ranks(published_scores((1, 2)))
    assert found["cells"].to_list() == [24] * 3
    assert found["method"].to_list() == ["slow-vae", "ada-gvae", "pcl"]
    assert found["mean_rank"].round(3).to_list() == [1.479, 2.125, 2.396]


def test_published_means_and_deviations_give_the_published_marks():
    best = published_scores((1, 2)).filter(mark="best")
    uni, lap = "dsprites @ protocol=uni", "dsprites @ protocol=lap"
    assert set(best.select("data", "metric", "method").rows()) == {
        (uni, "mig", "slow-vae"),
        (uni, "mcc", "slow-vae"),
        (uni, "modularity", "pcl"),
        (lap, "beta_vae", "slow-vae"),
        (lap, "mig", "slow-vae"),
        (lap, "dci_disentanglement", "slow-vae"),
        (lap, "modularity", "slow-vae"),
        ("kitti-masks:max_gap=5", "mcc", "slow-vae"),
    }


def test_the_permuted_control_differs_in_three_scores():
    # Table 21 sets two rows apart by data set; taken as two methods on one data set, three scores differ.
    table = published_scores((21,)).drop("rank", "mark")
    both = rank_methods(table.with_columns(method=pl.col("data"), data=pl.lit("natural sprites")))
    assert both.filter(mark="best").select("metric", "method").rows() == [
        (metric, "natural-sprites-discrete") for metric in ("beta_vae", "factor_vae", "sap")
    ]


def test_published_rows_are_counted():
    # Tables 16 to 20: 5 data sets x 9 rows x 6 scores; table 14: 12 rows x 7 scores.
    counts = dict(load("slow_comparison").group_by("table").len().iter_rows())
    assert counts == {1: 63, 2: 9, 14: 84, 15: 18, **dict.fromkeys(range(16, 21), 54), 21: 14, 22: 2}
    assert load("slow_sources").filter(method="slow-flow")["mcc"].to_list() == [0.997, 0.987, 0.982, 0.975, 0.975]


def test_means_and_marks_are_those_of_the_runs():
    a, b, c = [0.9, 0.8, 0.85], [0.5, 0.4, 0.45], [0.44, 0.5, 0.41]
    found = method_scores(runs({"sprites32 @ protocol=lap": {"slow-vae": a, "pm-vae gamma 10": b, "pcl": c}}))
    assert found["method"].to_list() == ["slow-vae", "pm-vae gamma 10", "pcl"]
    assert found["mean"].to_list() == pytest.approx([0.85, 0.45, 0.45])
    assert found["sd"].to_list() == pytest.approx([np.std(x, ddof=1) for x in (a, b, c)])
    assert found["runs"].to_list() == [3, 3, 3]
    assert found["stand_in"].to_list() == [True] * 3  # sprites32 imitates dSprites
    assert found["rank"].to_list() == [1, 2.5, 2.5]  # equal means share ranks 2 and 3
    assert stats.ttest_ind(a, b).pvalue < 0.05 < stats.ttest_ind(b, c).pvalue
    assert found["mark"].to_list() == ["best", None, None]


def test_marks_need_more_than_one_run_and_some_spread():
    alone = method_scores(runs({"d": {"pcl": [0.9], "vae": [0.1]}}))
    assert alone["mark"].null_count() == 2
    assert alone["stand_in"].null_count() == 2  # a data set that is not known by name
    assert cells({"a": [0.9], "b": [0.1]})["mark"].null_count() == 2


def test_only_the_methods_asked_for_are_ranked():
    table = runs({"d": {"pcl": [0.9, 0.8], "vae": [0.5, 0.6], "ae": [0.1, 0.2]}})
    assert method_scores(table, methods=["vae", "ae"])["rank"].to_list() == [1, 2]
    with pytest.raises(UsageError, match="did you mean 'pcl'"):
        method_scores(table, methods=["plc"])


def test_always_winning_in_five_cells_has_p_value_two_in_thirty_two():
    # Of the 2^5 ways to swap ranks, only "none" and "all" give a difference of mean ranks as large as 1.
    found = rank_tests(cells({"good": [0.9] * 5, "bad": [0.1] * 5}))
    assert found["difference"].to_list() == [-1]
    assert found["p_value"].to_list() == [2 / 32]


def test_equal_records_have_p_value_one():
    found = rank_tests(cells({"a": [0.9, 0.1, 0.9, 0.1], "b": [0.1, 0.9, 0.1, 0.9]}))
    assert found["difference"].to_list() == [0]
    assert found["p_value"].to_list() == [1]


def test_random_swaps_agree_with_all_swaps():
    rng = np.random.default_rng(0)
    table = cells(
        {"a": list(rng.uniform(size=10) + 0.3), "b": list(rng.uniform(size=10)), "c": list(rng.uniform(size=10))}
    )
    exact = rank_tests(table, permutations=2**10)["p_value"].to_numpy()
    drawn = rank_tests(table, permutations=1023, seed=1)["p_value"].to_numpy()
    # Standard error of a share near 0.2 over 1023 draws is 0.0125.
    np.testing.assert_allclose(drawn, exact, atol=0.06)


def test_a_cell_that_a_method_lacks_is_left_out_of_the_ranks():
    table = pl.concat(
        [
            runs({"d": {"pcl": [0.9, 0.8], "vae": [0.5, 0.6]}}),
            runs({"e": {"pcl": [0.1, 0.2]}}),
        ]
    )
    assert mean_ranks(method_scores(table))["cells"].to_list() == [1, 1]
    with pytest.raises(UsageError, match="no data set and score has all of the 2 methods"):
        mean_ranks(method_scores(runs({"d": {"pcl": [0.1, 0.2]}, "e": {"vae": [0.1, 0.2]}})))


def test_a_method_alone_is_first_and_compared_with_none():
    alone = method_scores(runs({"d": {"pcl": [0.1, 0.2]}}))
    assert mean_ranks(alone).row(0) == ("pcl", 1.0, 1.0, 1.0, 1)
    assert len(rank_tests(alone)) == 0


def test_markdown_has_a_table_per_data_set_with_marks():
    scores = method_scores(runs({"d": {"slow-vae": [0.9, 0.8, 0.85], "pm-vae gamma 10": [0.5, 0.4, 0.45]}}))
    assert markdown_scores(scores).splitlines() == [
        "**d**",
        "",
        "| method | MIG |",
        "|---|---|",
        "| SlowVAE | **85.0 (5.0)** |",
        "| PM-VAE gamma 10 | *45.0 (5.0)* |",
    ]


def test_comparisons_are_drawn():
    scores = published_scores((1, 2))
    assert len(plot_method_scores(scores).axes) == 6 * 7
    shown = plot_mean_ranks(mean_ranks(scores)).axes[0]
    assert [text.get_text() for text in shown.get_yticklabels()] == ["SlowVAE", "Ada-GVAE", "PCL"]


def scored(first: list[list[float]], second: list[list[float]]) -> pl.DataFrame:
    """Runs of two methods on one data set, each with one value per score."""
    rows = [
        {
            "data": "d",
            "objective": name,
            "strength_name": None,
            "strength": None,
            "seed": seed,
            "representation": "mean",
        }
        | dict(zip(("mig", "sap", "mcc", "modularity"), values, strict=False))
        for name, runs in (("pcl", first), ("vae", second))
        for seed, values in enumerate(runs)
    ]
    return pl.DataFrame(rows, schema_overrides={"strength_name": pl.String, "strength": pl.Float64})


def test_four_scores_of_the_same_runs_are_not_four_times_the_evidence():
    better, worse = [0.9, 0.8, 0.7], [0.3, 0.2, 0.1]
    one = run_tests(scored([[v] for v in better], [[v] for v in worse]))
    four = run_tests(scored([[v] * 4 for v in better], [[v] * 4 for v in worse]))
    # 3 of 6 runs can be handed out in 20 ways, of which this one and its mirror image are as extreme; ranks 2 and 5.
    for found in (one, four):
        assert found.row(0, named=True) == {
            "first": "pcl", "second": "vae", "difference": -3.0, "p_value": 0.1, "least": 0.1, "runs": 6,
            "cells": found["cells"][0],
        }  # fmt: skip
    # The test over cells calls the same four cells 2 in 16.
    assert rank_tests(method_scores(scored([[v] * 4 for v in better], [[v] * 4 for v in worse])))["p_value"][0] == 0.125


def test_handing_out_runs_at_random_agrees_with_all_ways():
    rng = np.random.default_rng(0)
    table = scored((rng.uniform(size=(6, 3)) + 0.2).tolist(), rng.uniform(size=(6, 3)).tolist())
    exact = run_tests(table, permutations=924)["p_value"][0]  # 12 choose 6
    drawn = run_tests(table, permutations=923)["p_value"][0]
    assert drawn == pytest.approx(exact, abs=0.05)
    same = run_tests(scored([[0.1], [0.9]], [[0.9], [0.1]]))
    assert same["p_value"].to_list() == [1.0]


def controlled(natural: list[float], permuted: list[float]) -> pl.DataFrame:
    """Runs of one method on both kinds of transitions; two scores."""
    rows = [
        {"data": data, "objective": "slow-vae", "strength_name": None, "strength": None, "seed": seed}
        | {"representation": "mean", "mig": value, "sap": value / 2}
        for data, values in (("natural-sprites:size=32", natural), ("natural-sprites:size=32,permuted=1", permuted))
        for seed, value in enumerate(values)
    ]
    return pl.DataFrame(rows, schema_overrides={"strength_name": pl.String, "strength": pl.Float64})


def test_the_control_sets_natural_beside_permuted_transitions_and_tests_whole_runs():
    high, low = [0.6, 0.65, 0.7, 0.62, 0.66], [0.3, 0.35, 0.32, 0.31, 0.36]
    table = controlled(high, low)
    found = permuted_control(table)
    assert found["metric"].to_list() == ["mig", "sap"]
    assert found["difference"][0] == pytest.approx(np.mean(low) - np.mean(high))
    assert (found["high"] < 0).all()
    key = ("natural-sprites:size=32", "slow-vae")
    # 10 runs fall into two fives in 252 ways; this one and its mirror image are the extremes.
    assert judge_control(table)[key].word == "holds"
    assert judge_control(table)[key].numbers["p"] == pytest.approx(2 / 252)
    assert judge_control(controlled(low, high))[key].word == "does not hold"
    assert judge_control(controlled([0.3, 0.5, 0.4], [0.45, 0.35, 0.42]))[key].word == "undecided"
    with pytest.raises(UsageError, match="slow-control"):
        permuted_control(scored([[0.1]], [[0.2]]))
