"""The table of a matrix says all that its page says, and published outcomes are judged by rules."""

import json
from dataclasses import replace

import polars as pl
import pytest

from unbraid.engines import InlineEngine
from unbraid.errors import UsageError
from unbraid.report.transfer import matrix_page, write_matrices
from unbraid.report.transfer.markdown import matrix_markdown
from unbraid.transfer import (
    Budget,
    Plan,
    bounds_of,
    cell_table,
    judge_published,
    matrices_of,
    matrix,
    run_matrix,
    with_twins,
)


@pytest.fixture
def folder(small, tmp_path):  # noqa: ARG001
    told = {"all": {"images": 30}, "linf": {"images": 10, "budget": "smoke"}}
    scenarios = ("iid", "noise", "linf")
    made = Plan("test", ("mini-sprites",), with_twins(["gaussian-noise"]), scenarios, (0, 1, 2), Budget(steps=3), told)
    return run_matrix(made, tmp_path, engine=InlineEngine(), progress="none")


def test_matrices_of_the_table_are_those_of_the_folder(folder, tmp_path):
    again, there = matrices_of(cell_table(folder))["mini-sprites"], matrix(folder)
    assert again.to_json() == there.to_json()
    written = write_matrices(folder, tmp_path / "report")
    assert {"report.html", "report.md", "table.parquet"} <= {path.name for path in written}
    assert matrices_of(pl.read_parquet(tmp_path / "report" / "table.parquet"))["mini-sprites"].to_json() == (
        there.to_json()
    )
    page = (tmp_path / "report" / "report.md").read_text(encoding="utf-8")
    for bias, judged in there.verdicts.items():
        assert f"| {bias} | {judged.word} | {judged.sentence}" in page
    with pytest.raises(UsageError, match="columns"):
        matrices_of(pl.DataFrame({"bias": ["vanilla"]}))


def test_the_page_says_how_long_encoders_and_drawings_are_trained(folder):
    longer = replace(folder.plan, budget=Budget(steps=3, encoding=4.0, drawing=2.0))
    text = matrix_markdown(longer, cell_table(folder), {"mini-sprites": matrix(folder)}, "made by hand")
    assert "3 steps of 64 images (encoders 12, analysis by synthesis 6)" in text


def test_accuracy_at_the_bound_is_counted_from_the_stored_distances(folder, monkeypatch):
    # A model of three steps is right on too few images for the rule: a bound of 0 asks who is right at all.
    assert bounds_of(folder, "mini-sprites") == {}
    monkeypatch.setattr("unbraid.transfer.table.bounds_of", lambda *_: {"linf": 0.0})
    table = cell_table(folder).filter(scenario="linf", bias="vanilla", seed=0)
    details = json.loads(table["details"][0])
    assert details["accuracy_at_bound"] == pytest.approx(1 - details["misclassified"])
    assert details["bound"] == 0.0


def row(**cells):
    return {name: {seed: value + 0.001 * seed for seed in range(3)} for name, value in cells.items()}


def test_published_outcomes_are_judged_by_their_rules():
    values = {
        "vanilla": row(iid=0.99, noise=0.8, blur=0.8, l0=9.0, linf=0.1),
        "linf-training": row(iid=0.99, noise=0.6, blur=0.8, l0=4.0, linf=0.3),
        "binarised": row(iid=0.99, noise=0.8, blur=0.8, l0=9.0, linf=0.28),
        "ant1x1": row(iid=0.99, noise=0.9, blur=0.8, l0=9.0, linf=0.1),
        "stylised": row(iid=0.99, noise=0.8, blur=0.8, l0=9.0, linf=0.1),
    }
    words = {one.published: one.verdict.word for one in judge_published(matrix(values, "own"))}
    assert words["ANT is specific"] == "holds"
    assert words["L∞ training overfits"] == "holds"
    assert words["L∞ training lowers the L0 distance (4 against 9 pixels)"] == "holds"
    assert words["L∞ training lowers accuracy under corruptions (75.6 against 86.9 %)"] == "holds"
    assert words["thresholding alone gives most of the L∞ robustness"] == "holds"  # 0.18 of 0.2
    assert words["ABS is specific"] == "cannot say"
    assert words["ANT and stylised images are orthogonal"] == "cannot say"
    weak = {**values, "binarised": row(iid=0.99, linf=0.15)}  # 0.05 of 0.2
    words = {one.published: one.verdict.word for one in judge_published(matrix(weak, "own"))}
    assert words["thresholding alone gives most of the L∞ robustness"] == "does not hold"


def test_a_gaussian_likelihood_is_judged_against_drawings_that_must_match():
    text = "a Gaussian likelihood and analysis by synthesis, which rejects what it cannot draw, are symbiotic"
    values = {
        "vanilla": row(l0=9.0, l2=1.3, distal=0.1),
        "abs-exact": row(l0=2.0, l2=0.5, distal=1.0),
        "abs": row(l0=16.0, l2=2.3, distal=1.0),
    }
    seen = [
        {one.published: one.verdict.word for one in judge_published(matrix(told, "own"))}[text]
        for told in (values, values | {"abs": row(l0=16.0, l2=2.3, distal=0.5)}, {"vanilla": row(l0=9.0)})
    ]
    assert seen == ["holds", "does not hold", "cannot say"]


def test_the_loss_under_fog_is_read_from_the_details():
    def cell(bias, scenario, **details):
        return {"domain": "affine-digits", "bias": bias, "scenario": scenario, "seed": 0, "value": 0.5,
                "seconds": 1.0, "details": json.dumps(details)}  # fmt: skip

    rows = [
        cell("vanilla", "weather", fog=0.9, brightness=0.9), cell("vanilla", "noise", shot_noise=0.9),
        cell("linf-training", "weather", fog=0.2, brightness=0.5), cell("linf-training", "noise", shot_noise=0.9),
    ]  # fmt: skip
    table = pl.DataFrame(rows)
    found = judge_published(matrices_of(table)["affine-digits"], table)[-1]
    assert found.verdict.word == "holds"
    assert found.verdict.numbers["fog"] == pytest.approx(-0.7)
    other = table.with_columns(details=pl.col("details").str.replace('"brightness": 0.5', '"brightness": 0.1'))
    assert judge_published(matrices_of(other)["affine-digits"], other)[-1].verdict.word == "does not hold"


def test_a_matrix_without_its_vanilla_twin_says_what_there_is(folder, tmp_path):
    both = {"gaussian-noise": row(noise=0.9), "binarised": row(noise=0.8), "gaussian-noise+binarised": row(noise=0.9)}
    found = matrix(both, "own")
    assert found.combinations == {}
    assert {one.word for one in found.verdicts.values()} == {"cannot say"}
    for path in (folder.path / "cells" / "mini-sprites" / "vanilla").rglob("*.json"):
        path.unlink()
    write_matrices(folder, tmp_path / "report")
    assert (tmp_path / "report" / "report.md").exists()


def test_what_cannot_stand_alone_is_paired_with_vanilla():
    values = {
        "vanilla": row(iid=0.9, l2=1.0, composition=0.5),
        "slow-vae": row(iid=0.9, l2=1.0, composition=0.6),
        "slow-vae+verified": row(iid=0.9, l2=2.0, composition=0.6),
    }
    found = matrix(values, "own")
    assert list(found.combinations) == [("slow-vae", "verified")]
    assert found.combination("slow-vae", "verified").word == "symbiotic"  # +1 against 0 + 0
    cells = pl.DataFrame({"domain": [], "bias": [], "scenario": [], "details": []}, schema=dict.fromkeys(
        ("domain", "bias", "scenario", "details"), pl.String))  # fmt: skip
    page = matrix_page([found], cells=cells)
    assert "Two at once" in page
    assert "Beside what was published" in page
