"""The committed studies of bijective classifiers: their pages and words follow from their tables."""

from pathlib import Path

import polars as pl
import pytest

from unbraid.study.invariance import Bijective, judge_invariance

HERE = Path(__file__).parents[2] / "docs" / "studies" / "invariance"
CE, STRONG, WEAK = ("firevnet", None), ("ice", 2.0), ("ice", 0.05)


def read(name):
    return pl.read_parquet(HERE / name / "table.parquet")


@pytest.mark.parametrize(("name", "runs"), [("digits", 9), ("clothes", 6), ("spheres", 3)])
def test_verdicts_of_the_pages_are_those_of_their_tables(name, runs):
    table = read(name)
    assert table["index"].n_unique() == runs
    page = (HERE / name / "report.md").read_text(encoding="utf-8").replace("\\", "")
    for one in judge_invariance(table):
        assert f"{one.verdict.sentence} | {one.verdict.word}".replace(" | does", " | **does") in page


def test_the_words_about_digits_are_true():
    table = read("digits")
    words = {(one.name, "0.05" in one.text): one.verdict.word for one in judge_invariance(table)}
    assert words == {
        ("a", False): "holds",
        ("b", False): "holds",
        ("c", False): "does not hold",
        ("d", False): "holds",
        ("b", True): "does not hold",
        ("c", True): "undecided",
        ("d", True): "does not hold",
    }
    runs = Bijective.of(table)["mnist"]

    def means(score, digits=1):
        return [round(runs.mean(way, score), digits) for way in (CE, STRONG, WEAK)]

    assert means("nuisance_test_error") == [2.2, 11.0, 4.8]
    assert means("logit_test_error") == [1.8, 6.9, 3.1]
    assert means("metamer_as_logits", 0) == [3, 39, 4]
    assert means("metamer_as_donor", 0) == [73, 18, 86]
    assert means("nuisance_information")[1] == 1.9
    gaps = [runs.mean(way, "logit_test_error") - runs.mean(way, "logit_train_error") for way in (CE, STRONG)]
    assert [round(gap, 1) for gap in gaps] == [0.4, 0.2]
    rise = next(one.verdict.numbers for one in judge_invariance(table) if one.name == "b")
    assert [round(rise[f"points {end}"], 1) for end in ("low", "high")] == [8.5, 9.2]
    assert table["proxy_test_error"].mean() == pytest.approx(0.016, abs=0.0005)


def test_the_words_about_clothes_are_true():
    table = read("clothes")
    words = {one.name: one.verdict.word for one in judge_invariance(table)}
    assert words == {"a": "does not hold", "b": "undecided", "c": "does not hold", "d": "holds"}
    runs = Bijective.of(table)["fashion-mnist"]

    def means(score, digits=1):
        return [round(runs.mean(way, score), digits) for way in (CE, STRONG)]

    assert means("nuisance_test_error") == [12.9, 18.5]
    assert means("logit_test_error") == [12.2, 15.9]
    assert [round(100 - runs.mean(CE, f"{one}_test_error"), 1) for one in ("nuisance", "logit")] == [87.1, 87.8]
    assert means("metamer_as_logits", 0) == [8, 47]
    assert means("metamer_as_donor", 0) == [42, 11]
    rise = next(one.verdict.numbers for one in judge_invariance(table) if one.name == "b")
    assert [round(rise[f"points {end}"], 1) for end in ("low", "high")] == [4.1, 7.2]
    assert table["proxy_test_error"].mean() == pytest.approx(0.132, abs=0.0005)


def test_the_words_about_spheres_are_true():
    (runs,) = Bijective.of(read("spheres")).values()
    assert runs.mean(CE, "logit_test_error") == runs.mean(CE, "nuisance_test_error") == 0


def test_the_words_about_redundant_numbers_are_true():
    table = pl.read_csv(HERE / "toy.csv")

    def ends(way, score):
        found = table.filter(way=way)[score]
        assert len(found) == 3
        return [round(100 * end, 1) for end in (found.min(), found.max())]

    for way in ("CE", "iCE", "iCE without likelihood"):
        low, high = ends(way, "logit_accuracy")
        assert 99.6 <= low <= high <= 99.8
    assert ends("CE", "nuisance_accuracy") == [99.6, 99.7]
    assert [round(end) for end in ends("iCE", "nuisance_accuracy")] == [58, 67]
    assert [round(end) for end in ends("iCE without likelihood", "nuisance_accuracy")] == [69, 72]
    assert ends("iCE", "metamer_agreement") == [99.4, 99.8]
    kept = {way: table.filter(way=way)["metamer_agreement"].to_list() for way in ("CE", "iCE without likelihood")}
    assert [round(100 * one) for one in kept["CE"]] == [57, 96, 71]
    assert [round(100 * one) for one in kept["iCE without likelihood"][:2]] == [77, 89]
    assert round(100 * kept["iCE without likelihood"][2], 1) == 99.7
