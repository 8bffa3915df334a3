"""Every analysis draws: whole tables, small ones, tables with holes."""

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


@pytest.mark.parametrize("name", ANALYSES)
def test_every_analysis_gives_a_table_and_a_plot(name):
    analysis = ANALYSES[name]
    found = analysis.table(full_table(seeds=3))
    assert len(found) > 0
    if analysis.plot is not None:
        figure = analysis.plot(found)
        # Drawing finds overflowing layouts and missing glyphs, which are warnings and so errors here.
        figure.canvas.draw()


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
        assert answer.missing == ""
        if answer.figure is not None:
            answer.figure.canvas.draw()


def test_objectives_of_ones_own_are_drawn_too():
    renamed = full_table(seeds=2).with_columns(objective="my-" + pl.col("objective"))
    for name in ("strength_curves", "score_spread"):
        ANALYSES[name].plot(ANALYSES[name].table(renamed)).canvas.draw()


def test_violins_per_strength():
    spread = score_spread(full_table(seeds=14))
    plot_spread_by_strength(spread, objective="factor-vae", metric="factor_vae").canvas.draw()
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
