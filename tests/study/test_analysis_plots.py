"""Every analysis draws: whole tables, small ones, tables with holes."""

import re

import numpy as np
import polars as pl
import pytest
from PIL import Image
from study_toys import full_table

from unbraid.errors import UsageError
from unbraid.study.analysis import (
    ANALYSES,
    METRICS,
    answer_all,
    plot_spread_by_strength,
    save_figure,
    score_spread,
    transfer_trials,
)

SHOWN = {
    "correlation_of_codes": "median",
    "correlation_pairs": "mean",
    "metric_agreement": "correlation",
    "variance_explained": "explained",
    "score_spread": "value",
    "strength_curves": "median",
    "unsupervised_vs_metrics": "correlation",
    "transfer_between_data": "correlation",
    "transfer_of_settings": "correlation",
    "transfer_trials": "percent",
    "downstream_vs_metrics": "correlation",
    "downstream_pairs": "result",
    "method_scores": "mean",
    "mean_ranks": "mean_rank",
}
"""The column of an analysis that its plot is about."""


def drawn(figure) -> np.ndarray:
    """All coordinates and written numbers of a figure; drawing also finds overflowing layouts and missing glyphs."""
    figure.canvas.draw()
    found: list[float] = []
    for axis in figure.axes:
        found += [number for line in axis.lines for number in np.ravel(line.get_xydata())]
        found += [patch.get_height() for patch in axis.patches]
        for collection in axis.collections:
            found += np.ma.filled(collection.get_offsets(), np.nan).ravel().tolist()
            found += [number for path in collection.get_paths() for number in path.vertices.ravel()]
        found += [float(text) for one in axis.texts for text in re.findall(r"-?\d+", one.get_text())]
    return np.array(found, dtype=float)


def expected(name: str, table: pl.DataFrame) -> np.ndarray:
    """The numbers that must be seen in the plot of an analysis."""
    if name in ("correlation_of_codes", "strength_curves"):
        table = table.filter(pl.col("objective") != "annealed-vae")  # whose strength is not comparable
    values = table[SHOWN[name]].drop_nulls()
    if SHOWN[name] == "correlation":
        return np.round(100 * values.to_numpy())
    if name == "score_spread":  # violins reach from the smallest to the largest
        groups = table.group_by("data", "objective", "metric").agg(
            low=pl.col("value").min(), high=pl.col("value").max()
        )
        return np.concatenate([groups["low"].to_numpy(), groups["high"].to_numpy()])
    return values.to_numpy()


@pytest.mark.parametrize("name", ANALYSES)
def test_every_analysis_gives_a_table_and_a_plot_of_its_numbers(name):
    analysis = ANALYSES[name]
    found = analysis.table(full_table(seeds=3))
    assert len(found) > 0
    assert (analysis.plot is not None) == (name in SHOWN)
    if analysis.plot is not None:
        seen, wanted = drawn(analysis.plot(found)), expected(name, found)
        assert len(wanted) > 0
        nearest = np.abs(seen[:, None] - wanted).min(axis=0, where=np.isfinite(seen)[:, None], initial=np.inf)
        assert nearest.max() < 1e-9


def tiny() -> pl.DataFrame:
    """What a smoke study leaves: two objectives, two strengths, two seeds, a run lost, some scores never computed."""
    table = full_table(data=("mini-sprites",), seeds=2).filter(
        pl.col("objective").is_in(["beta-vae", "beta-tcvae"]) & pl.col("strength").is_in([1.0, 4.0])
    )
    lost = (pl.col("objective") == "beta-vae") & (pl.col("strength") == 4.0) & (pl.col("seed") == 1)
    return table.filter(~lost).drop("udr", "sap", "beta_vae").select(pl.exclude("^(lr|gbt)_.*$"))


def test_a_tiny_study_answers_all_it_can_and_says_what_is_missing(tmp_path):
    answers = {answer.name: answer for answer in answer_all(tiny(), tmp_path, plots=(".svg",))}
    assert set(answers) == set(ANALYSES)
    for name, answer in answers.items():
        if name.startswith("downstream"):
            assert "downstream" in answer.missing
            assert answer.table is None
        elif name in ("transfer_between_data", "transfer_of_settings"):
            assert "two data sets" in answer.missing
            assert answer.table is None
        else:
            assert answer.missing == ""
            assert (tmp_path / f"{name}.csv").exists()
    assert "<svg" in (tmp_path / "metric_agreement.svg").read_text()


def test_a_study_without_the_six_scores_still_ranks_its_methods():
    kept = [name for name in full_table(seeds=2).columns if name not in METRICS and "ceiling" not in name]
    table = full_table(seeds=2).select(kept).with_columns(mcc=pl.int_range(pl.len()) / 1000)
    answers = {answer.name: answer for answer in answer_all(table)}
    assert "add one of beta_vae" in answers["variance_explained"].missing
    assert set(answers["mean_ranks"].table["method"]) == set(answers["method_scores"].table["method"])


def test_one_run_does_not_stop_the_plots():
    for answer in answer_all(full_table(data=("mini-sprites",), seeds=1).head(2)):
        assert answer.missing == "" or (
            answer.name in ("transfer_between_data", "transfer_of_settings") and "two data sets" in answer.missing
        )
        if answer.figure is not None:
            answer.figure.canvas.draw()
            assert answer.figure.axes


def test_objectives_of_ones_own_are_drawn_too():
    renamed = full_table(seeds=2).with_columns(objective="my-" + pl.col("objective"))
    legend = ANALYSES["strength_curves"].plot(ANALYSES["strength_curves"].table(renamed)).legends[0]
    assert {text.get_text() for text in legend.get_texts()} >= {"my-beta-vae", "my-factor-vae"}
    spread = ANALYSES["score_spread"].table(renamed)
    figure = ANALYSES["score_spread"].plot(spread)
    figure.canvas.draw()
    names = [text.get_text() for text in figure.axes[-1].get_xticklabels()]
    assert sorted(names) == spread["objective"].unique().sort().to_list()


def test_violins_per_strength():
    spread = score_spread(full_table(seeds=14))
    seen = drawn(plot_spread_by_strength(spread, objective="factor-vae", metric="factor_vae"))
    for _, runs in spread.filter(objective="factor-vae", metric="factor_vae").group_by("data", "strength"):
        assert np.abs(seen - runs["value"].max()).min() < 1e-9
    with pytest.raises(UsageError, match="no run of objective 'factorvae'"):
        plot_spread_by_strength(spread, objective="factorvae", metric="factor_vae")


@pytest.mark.parametrize("ending", [".png", ".svg", ".pdf"])
def test_the_same_figure_gives_the_same_bytes(tmp_path, ending):
    found = transfer_trials(full_table(seeds=2), trials=200)
    files = [save_figure(ANALYSES["transfer_trials"].plot(found), tmp_path / f"{n}{ending}") for n in "ab"]
    assert files[0].read_bytes() == files[1].read_bytes()
    if ending == ".png":
        with Image.open(files[0]) as picture:
            assert picture.width > 600


def test_other_endings_are_refused(tmp_path):
    figure = ANALYSES["transfer_trials"].plot(transfer_trials(full_table(seeds=2), trials=50))
    with pytest.raises(UsageError, match=r"\.png, \.svg or \.pdf"):
        save_figure(figure, tmp_path / "a.jpg")
