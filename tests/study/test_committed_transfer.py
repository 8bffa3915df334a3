"""The committed matrix of biases: its page and its words follow from its table."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from unbraid.report.transfer.shown import shown, signed
from unbraid.transfer import judge_published, matrices_of, tell_published, tell_verdicts

HERE = Path(__file__).parents[2] / "docs" / "studies" / "transfer"
pytestmark = pytest.mark.skipif(not (HERE / "table.parquet").exists(), reason="the study is not committed yet")


@pytest.fixture(scope="module")
def table():
    return pl.read_parquet(HERE / "table.parquet")


@pytest.fixture(scope="module")
def page():
    return (HERE / "report.md").read_text(encoding="utf-8")


def test_it_is_as_large_as_it_says(table):
    for domain, least in (("affine-digits", 12), ("rooms3d-32", 8)):
        found = matrices_of(table)[domain]
        few = {one.scenario for row in found.effects.values() for one in row.values() if len(one.seeds) < 3}
        assert few <= {"invariance"}  # which has no number where most searches fail
        whole = [sum(len(one.seeds) >= 3 for one in row.values()) for row in found.effects.values()]
        assert sum(count >= 10 for count in whole) >= least
    assert len(matrices_of(table)["affine-digits"].combinations) >= 6


def test_verdicts_and_combinations_of_the_page_are_those_of_the_table(table, page):
    for domain, found in matrices_of(table).items():
        part = page.split(f"\n## {domain}\n")[1].split("\n## ")[0]
        assert tell_verdicts(found.verdicts)[1:] in part
        for bias, judged in found.verdicts.items():
            assert f"| {bias} | {judged.word} | {judged.sentence}" in part
        for (first, second), judged in found.combinations.items():
            assert f"| {first} | {second} | {judged.word} | {judged.sentence}" in part


def test_published_outcomes_of_the_page_are_judged_from_the_table(table, page):
    for domain, found in matrices_of(table).items():
        part = page.split(f"\n## {domain}\n")[1].split("\n## ")[0]
        assert tell_published(judge_published(found, table)) in part
        for one in judge_published(found, table):
            sentence, word = one.verdict.sentence.replace("|", "/"), one.verdict.word
            assert f"{sentence} | {'**does not hold**' if word == 'does not hold' else word} |" in part


SAID = {
    ("affine-digits", "gaussian-noise", "noise"): "+39",
    ("affine-digits", "gaussian-noise", "composition"): "−11",
    ("rooms3d-32", "gaussian-noise", "noise"): "+12",
    ("rooms3d-32", "gaussian-noise", "composition"): "−10",
    ("rooms3d-32", "gaussian-noise", "extrapolation"): "−27",
    ("affine-digits", "gaussian-noise", "iid"): "−4",
    ("affine-digits", "linf-training", "linf"): "+349",
    ("affine-digits", "linf-training", "iid"): "−18",
    ("rooms3d-32", "linf-training", "linf"): "+232",
    ("rooms3d-32", "linf-training", "iid"): "0",
    ("affine-digits", "binarised", "linf"): "+504",
    ("affine-digits", "beta-vae", "few-labels"): "+19",
    ("affine-digits", "pcl", "few-labels"): "+37",
    ("rooms3d-32", "beta-vae", "few-labels"): "+23",
    ("rooms3d-32", "slow-vae", "few-labels"): "+40",
    ("rooms3d-32", "pcl", "few-labels"): "+54",
    ("affine-digits", "spatial-transformer", "iid"): "+3",
    ("affine-digits", "spatial-transformer", "extrapolation"): "+3",
    ("affine-digits", "spatial-transformer", "geometry"): "+6",
    ("affine-digits", "spatial-transformer", "l2"): "+29",
    ("affine-digits", "spatial-transformer", "few-labels"): "−2",
    ("affine-digits", "abs-exact", "distal"): "+52",
}
"""What docs/transfer.md says of cells, in its words."""


def test_what_is_said_of_the_study_is_what_was_found(table):
    every = matrices_of(table)
    found = {place: signed(shown(every[place[0]].effects[place[1]][place[2]])[0]) for place in SAID}
    assert found == SAID
    text = (
        (HERE.parents[1] / "transfer.md").read_text(encoding="utf-8").split("## What came of it")[1].split("\n## ")[0]
    )
    assert all(number.lstrip("+−") in text for number in found.values())
    digits, rooms = every["affine-digits"], every["rooms3d-32"]
    for one, broad in ((digits, ["speckle"]), (rooms, ["linf-training"])):
        words = {bias: judged.word for bias, judged in one.verdicts.items()}
        assert "transferable" not in words.values()
        assert [bias for bias, word in words.items() if word == "broad"] == broad
    means = {bias: np.mean(list(digits.values[bias]["iid"].values())) for bias in ("abs", "vanilla")}
    assert {bias: round(100 * mean) for bias, mean in means.items()} == {"abs": 61, "vanilla": 94}
    words = [judged.word for judged in digits.combinations.values()]
    assert (words.count("orthogonal"), words.count("exclusive"), len(words)) == (1, 5, 6)
    held = [sum(one.verdict.word == "holds" for one in judge_published(each, table)) for each in (digits, rooms)]
    assert held == [4, 0]
    pair = [digits.effects[bias]["linf"].differences for bias in ("binarised", "linf-training")]
    assert (pair[0] > pair[1] / 2).all()
    assert rooms.effects["beta-vae"]["few-labels"].word == "unchanged"
    for each in (digits, rooms):  # representations: nothing but few labels is better, but for a corruption or two
        for bias in ("beta-vae", "slow-vae", "pcl"):
            better = {one.scenario for one in each.effects[bias].values() if one.word == "better"}
            assert better <= {"few-labels", "noise", "strokes"}
            assert not better & {"composition", "interpolation", "extrapolation"}
