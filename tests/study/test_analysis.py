"""The analyses on synthetic tables whose answers are known."""

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from scipy import stats
from study_toys import DATA, full_table, grid, noise_table, settings

from unbraid.errors import UsageError
from unbraid.study.analysis import (
    ANALYSES,
    METRICS,
    correlation_of_codes,
    correlation_pairs,
    correlation_trend,
    downstream_pairs,
    downstream_vs_metrics,
    metric_agreement,
    metrics_of,
    score_spread,
    strength_curves,
    tasks_of,
    transfer_between_data,
    unsupervised_vs_metrics,
    variance_explained,
)

ONE = ("dsprites",)


def cell(table: pl.DataFrame, **where) -> dict:
    """The one row with these values."""
    found = table.filter(*(pl.col(name) == value for name, value in where.items()))
    assert len(found) == 1
    return found.row(0, named=True)


# Question 1


def test_total_correlation_is_summarised_per_setting_and_representation():
    table = grid(data=ONE, seeds=4, representations=("mean", "sampled"))
    # The four seeds have 0, 1, 2, 3 for mean codes: quartiles 0.75 and 2.25, median 1.5; ten more for sampled ones.
    shift = 10 * (pl.col("representation") == "sampled").cast(pl.Float64)
    curves = correlation_of_codes(table.with_columns(gaussian_total_correlation=pl.col("seed") + shift))
    assert len(curves) == 72
    found = cell(curves, objective="beta-vae", strength=4.0, representation="mean")
    assert (found["low"], found["median"], found["high"], found["runs"]) == (0.75, 1.5, 2.25, 4)
    assert cell(curves, objective="beta-vae", strength=4.0, representation="sampled")["median"] == 11.5


def test_the_trend_of_mean_codes_rises_and_that_of_sampled_codes_falls():
    trend = correlation_trend(full_table())
    assert trend.filter(pl.col("representation") == "mean")["trend"].min() > 0.5
    assert trend.filter(pl.col("representation") == "sampled")["trend"].max() < -0.8
    assert trend["runs"].to_list() == [30] * len(trend)


def test_pairs_join_the_two_representations_of_each_run():
    table = grid(data=ONE, seeds=2, representations=("mean", "sampled")).with_columns(
        gaussian_total_correlation=pl.col("index").cast(pl.Float64)
    )
    pairs = correlation_pairs(table)
    # Rows alternate between mean and sampled, numbered on: a run's sampled number is its mean number plus one.
    assert len(pairs) == 72
    assert (pairs["sampled"] - pairs["mean"] == 1).all()
    # A run that has only one of the two, or no value, is left out.
    gap = pl.when(pl.col("index") == 3).then(None).otherwise(pl.col("gaussian_total_correlation"))
    partial = table.with_columns(gaussian_total_correlation=gap).filter(pl.col("index") != 4)
    assert len(correlation_pairs(partial)) == 70


# Question 2


def test_agreement_is_the_rank_correlation_of_scipy():
    table = full_table().filter(pl.col("data") == "sprites32")
    agreement = metric_agreement(table)
    mean = table.filter(pl.col("representation") == "mean")
    expected = stats.spearmanr(mean.select(METRICS).to_numpy()).statistic
    np.testing.assert_allclose(agreement["correlation"].to_numpy().reshape(6, 6), expected, atol=1e-12)
    assert set(agreement["runs"]) == {180}


def test_agreement_leaves_out_missing_values_pair_by_pair():
    rng = np.random.default_rng(0)
    table = noise_table(data=ONE, seeds=3)
    holes = [
        pl.when(pl.Series(rng.random(len(table)) < 0.3)).then(None).otherwise(pl.col(metric)).alias(metric)
        for metric in METRICS[:3]
    ]
    holed = table.with_columns(holes).with_columns(
        pl.when(pl.col("seed") == 0).then(np.nan).otherwise(pl.col("sap")).alias("sap")
    )
    agreement = metric_agreement(holed)
    for first, second in (("beta_vae", "factor_vae"), ("mig", "sap"), ("modularity", "sap")):
        both = holed.select(first, second).with_columns(pl.all().fill_nan(None)).drop_nulls()
        found = cell(agreement, metric=first, other=second)
        assert found["runs"] == len(both)
        assert found["correlation"] == pytest.approx(stats.spearmanr(both[first], both[second]).statistic)


def test_constant_scores_and_single_runs_have_no_correlation():
    table = noise_table(data=ONE, seeds=1).with_columns(mig=pl.lit(0.5))
    agreement = metric_agreement(table)
    assert cell(agreement, metric="mig", other="sap")["correlation"] is None
    assert cell(agreement, metric="beta_vae", other="sap")["correlation"] is not None
    assert metric_agreement(table.head(2))["correlation"].null_count() == 36


# Question 3


def explained(table: pl.DataFrame, by: str) -> pl.DataFrame:
    return variance_explained(table).filter(pl.col("by") == by)


def test_effects_as_large_as_the_noise_explain_half():
    # Effects and noise are scaled to the same variance over the 1800 runs: R^2 = 1 / (1 + 1).
    table = grid(data=ONE)
    rng = np.random.default_rng(0)
    effects = dict(zip(table["objective"].unique().sort(), rng.standard_normal(6), strict=True))
    effect = np.array([effects[name] for name in table["objective"]])
    columns = {}
    for metric in METRICS:
        noise = rng.standard_normal(len(table))
        columns[metric] = pl.Series((effect - effect.mean()) / effect.std() + (noise - noise.mean()) / noise.std())
    found = explained(table.with_columns(**columns), "objective")
    assert found["runs"].to_list() == [1800] * 6
    np.testing.assert_allclose(found["explained"], 50, atol=3)
    np.testing.assert_allclose(found["adjusted"], 50, atol=3)


def test_noise_is_explained_as_far_as_the_number_of_groups_says():
    table = noise_table(data=ONE, seed=3)
    # (6 - 1) / 1799 = 0.28 % and (36 - 1) / 1799 = 1.95 %; adjusted for it, nothing is left.
    for by, baseline in (("objective", 100 * 5 / 1799), ("objective x strength", 100 * 35 / 1799)):
        found = explained(table, by)
        np.testing.assert_allclose(found["noise"], baseline)
        np.testing.assert_allclose(found["explained"], baseline, atol=1)
        np.testing.assert_allclose(found["adjusted"], 0, atol=1)


def test_the_noise_baseline_counts_the_groups_that_are_there():
    table = noise_table(data=ONE, seeds=2).filter(pl.col("objective").is_in(["beta-vae", "dip-vae-i"]))
    found = variance_explained(table.head(20))
    # 20 rows: 12 of beta-vae (6 strengths), 8 of dip-vae-i (4 strengths).
    assert cell(found, metric="mig", by="objective")["noise"] == pytest.approx(100 * 1 / 19)
    assert cell(found, metric="mig", by="objective x strength")["noise"] == pytest.approx(100 * 9 / 19)


@pytest.mark.parametrize("seed", range(5))
def test_settings_never_explain_less_than_objectives(seed):
    table = full_table(seed).sample(fraction=0.6, seed=seed)
    pairs = explained(table, "objective").join(explained(table, "objective x strength"), on=["data", "metric"])
    assert (pairs["explained"] <= pairs["explained_right"] + 1e-9).all()


def test_variance_explained_is_the_regression_of_scikit_learn():
    from sklearn.linear_model import LinearRegression

    table = full_table(data=ONE)
    mean = table.filter(pl.col("representation") == "mean")
    indicators = mean.select("objective").to_dummies().to_numpy()
    fitted = LinearRegression().fit(indicators, mean["sap"].to_numpy())
    found = cell(variance_explained(table), metric="sap", by="objective")
    assert found["explained"] == pytest.approx(100 * fitted.score(indicators, mean["sap"].to_numpy()))


def test_settings_without_a_strength_form_a_group_and_constant_scores_have_nothing_to_explain():
    table = noise_table(data=ONE, seeds=3).with_columns(strength=pl.lit(None, pl.Float64), sap=pl.lit(0.3))
    table = table.with_columns(seed=pl.col("index"))
    found = variance_explained(table)
    assert cell(found, metric="mig", by="objective x strength")["groups"] == 6
    assert cell(found, metric="sap", by="objective")["explained"] is None


def test_as_many_groups_as_runs_explain_everything_and_the_baseline_says_so():
    found = cell(variance_explained(noise_table(data=ONE, seeds=1)), metric="mig", by="objective x strength")
    assert found["explained"] == pytest.approx(100)
    assert found["noise"] == 100
    assert found["adjusted"] is None


def test_the_spread_keeps_every_measured_score():
    table = noise_table(data=ONE, seeds=2).with_columns(sap=pl.when(pl.col("seed") == 0).then(pl.col("sap")))
    spread = score_spread(table)
    assert len(spread) == 5 * 72 + 36


# Question 4


def test_strength_curves_are_medians_over_seeds():
    table = full_table()
    curves = strength_curves(table)
    rows = table.filter(data="rooms3d-32", objective="factor-vae", strength=40.0, representation="mean")
    found = cell(curves, data="rooms3d-32", objective="factor-vae", strength=40.0, metric="mig")
    assert found["median"] == rows["mig"].median()
    assert found["runs"] == 5


def test_label_free_quantities_are_ranked_against_scores():
    table = full_table().with_columns(udr=-(pl.col("mig") ** 3), kl=pl.col("mig") ** 3)
    found = unsupervised_vs_metrics(table)
    assert set(found["quantity"]) == {
        "reconstruction",
        "kl",
        "elbo",
        "gaussian_total_correlation",
        "regularizer",
        "udr",
    }
    # A monotone function of the score has rank correlation 1, its negative -1.
    assert cell(found, data="sprites32", quantity="kl", metric="mig")["correlation"] == pytest.approx(1)
    assert cell(found, data="sprites32", quantity="udr", metric="mig")["correlation"] == pytest.approx(-1)
    assert "udr" not in set(unsupervised_vs_metrics(table.drop("udr"))["quantity"])


def test_transfer_pairs_runs_and_settings():
    # Setting effects are shared by the data sets, noise of the same variance is not. Runs: correlation of the scores
    # 1/2, as rank correlation of normals (6 / pi) asin(r / 2) = 0.483. Means over 50 seeds: nearly 1.
    table = grid(data=DATA[:2])
    rng = np.random.default_rng(0)
    effects = stats.zscore(rng.standard_normal(36))
    place = {setting: position for position, setting in enumerate(settings())}
    rows = table.select("objective", "strength_name", "strength").iter_rows()
    effect = effects[[place[row] for row in rows]]
    columns = {metric: pl.Series(effect + rng.standard_normal(len(table))) for metric in METRICS}
    table = table.with_columns(**columns)
    runs, means = (transfer_between_data(table, pairing=pairing) for pairing in ("runs", "settings"))
    where = {"metric": "mig", "source": DATA[0], "target": DATA[1]}
    assert cell(runs, **where)["pairs"] == 1800
    assert cell(means, **where)["pairs"] == 36
    across = runs.filter(pl.col("source") != pl.col("target"))["correlation"]
    np.testing.assert_allclose(across, 0.483, atol=0.06)
    assert means["correlation"].min() > 0.9
    # One metric and missing runs: the pairs that remain are counted.
    partial = transfer_between_data(table.filter((pl.col("data") == DATA[0]) | (pl.col("seed") < 3)), metrics=["mig"])
    assert cell(partial, **where)["pairs"] == 108


# Question 5


def test_downstream_results_are_ranked_against_scores():
    table = full_table().with_columns(gbt_1000=pl.col("sap").exp())
    found = downstream_vs_metrics(table)
    assert cell(found, data="sprites32", metric="sap", task="gbt_1000")["correlation"] == pytest.approx(1)
    assert len(found) == 2 * 6 * 10


def test_tasks_are_ordered_by_learner_and_number_of_labels():
    shuffled = full_table().select(
        "gbt_efficiency", "lr_10000", "gbt_10", "lr_100", "lr_efficiency", "lr_10", "gbt_100"
    )
    assert tasks_of(shuffled) == ("lr_10", "lr_100", "lr_10000", "gbt_10", "gbt_100", "lr_efficiency", "gbt_efficiency")


def test_downstream_pairs_leave_out_runs_without_a_result():
    table = full_table().with_columns(gbt_efficiency=pl.when(pl.col("seed") > 0).then(pl.col("gbt_efficiency")))
    assert len(downstream_pairs(table)) == 2 * 36 * 4


# Tables with more conditions


def on(table: pl.DataFrame, *names: str | None) -> pl.DataFrame:
    """The same runs measured on several data sets, ``None`` being their own; scores grow with the place in the list."""
    parts = [table.with_columns(pl.col(*METRICS) + k, on=pl.lit(name, pl.String)) for k, name in enumerate(names)]
    return pl.concat(parts)


@pytest.mark.parametrize("names", [(None, "dots"), ("training", "dots"), ("dots",)])
def test_analyses_look_at_runs_on_their_own_data_or_on_the_only_other(names):
    table = full_table(seeds=2)
    assert metric_agreement(on(table, *names)).equals(metric_agreement(table))


def test_rows_of_other_conditions_are_left_out():
    table = full_table(seeds=2)
    more = table.with_columns(representation=pl.lit(None, pl.String), severity=pl.lit(3))
    mixed = pl.concat([table.with_columns(severity=pl.lit(None, pl.Int32)), more])
    assert correlation_of_codes(mixed).equals(correlation_of_codes(table))
    assert metric_agreement(mixed).equals(metric_agreement(table))


def closer(table: pl.DataFrame) -> pl.DataFrame:
    """The same runs where a measure of its own looked closer at the mean codes of some: three rows for one."""
    table = table.with_columns(level=pl.lit(None, pl.Int32), q=pl.lit(None, pl.Float64))
    chosen = (pl.col("seed") == 0) & (pl.col("representation") == "mean")
    looked = [table.filter(chosen).with_columns(level=pl.lit(k), q=pl.lit(float(k))) for k in (1, 2, 3)]
    return pl.concat([table.filter(~chosen), *looked]).sort("index", maintain_order=True)


@pytest.mark.parametrize("name", ANALYSES)
def test_a_run_counts_once_however_close_another_measure_looked(name):
    table = full_table(seeds=2)
    analysis = ANALYSES[name].table
    assert_frame_equal(analysis(closer(table)), analysis(table))


def test_the_levels_at_which_a_score_differs_are_named():
    table = closer(full_table(seeds=2))
    with pytest.raises(UsageError, match=r"'q' was measured under several conditions \(level\) for one run \(data spr"):
        score_spread(table, metrics=["q"])
    one = table.filter(pl.col("level").is_null() | (pl.col("level") == 2))
    assert score_spread(one, metrics=["q"])["value"].drop_nulls().unique().to_list() == [2.0]


# Bad tables


def again(table: pl.DataFrame) -> pl.DataFrame:
    """As many runs more, with another network."""
    return pl.concat([table, table.with_columns(pl.col("index") + len(table))])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda t: metric_agreement(t.drop("sap")),
            "no column 'sap': add it to the metrics of [measures.disentanglement] (or",
        ),
        (lambda t: variance_explained(t.drop("objective")), "no column 'objective': this is no table of a study"),
        (
            lambda t: unsupervised_vs_metrics(t.drop("elbo")),
            "no column 'elbo': add [measures.losses] to the study's file",
        ),
        (
            lambda t: unsupervised_vs_metrics(t.drop("udr"), quantities=["udr"]),
            "'udr': add [measures.udr] to the study's",
        ),
        (lambda t: correlation_of_codes(t.drop("gaussian_total_correlation")), "gaussian_total_correlation"),
        (lambda t: downstream_vs_metrics(t.select(pl.exclude("^(lr|gbt)_.*$"))), "downstream"),
        (lambda t: downstream_pairs(t.drop("gbt_efficiency")), "'gbt_efficiency': add 'downstream' to the metrics"),
        (lambda t: metric_agreement(t, data="dsprite"), "no row of data set 'dsprite'; it has rooms3d-32, sprites32"),
        (lambda t: metric_agreement(t, representation="median"), "no row of representation 'median'"),
        (lambda t: metric_agreement(t, metrics=["mig"]), "at least two metrics"),
        (lambda t: correlation_pairs(t.filter(representation="mean")), "needs mean and sampled"),
        (lambda t: correlation_pairs(again(t)), "several rows for one run"),
        (lambda t: metric_agreement(again(t)), "several rows for one run"),
        (lambda t: transfer_between_data(t, pairing="seeds"), "pairing must be"),
        (lambda t: metric_agreement(t.drop("representation")), "no codes were scored"),
        (lambda t: metric_agreement(on(t, "dots", "mpi3d")), "scores on dots, mpi3d; keep one of them"),
    ],
)
def test_a_table_that_does_not_do_is_explained(call, message):
    with pytest.raises(UsageError) as error:
        call(full_table(seeds=1))
    assert message in str(error.value)


def test_metrics_of_finds_what_a_small_study_has():
    assert metrics_of(full_table(seeds=1).drop("sap", "beta_vae")) == (
        "factor_vae",
        "mig",
        "dci_disentanglement",
        "modularity",
    )
