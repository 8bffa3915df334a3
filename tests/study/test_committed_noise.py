"""The committed study of noise training: its page and its words follow from its table."""

from pathlib import Path

import polars as pl
import pytest

from unbraid.nets import build_predictor
from unbraid.study.noise import Trained, beside_published, judge_noise

HERE = Path(__file__).parents[2] / "docs" / "studies" / "noise"


@pytest.fixture(scope="module")
def table():
    return pl.read_parquet(HERE / "digits" / "table.parquet")


@pytest.fixture(scope="module")
def trained(table):
    return Trained.of(table)["mnist"]


def test_verdicts_and_cells_of_the_page_are_those_of_its_table(table, trained):
    page = (HERE / "digits" / "report.md").read_text(encoding="utf-8").replace("\\", "")
    assert table["index"].n_unique() == 30
    judged = [one for one in judge_noise(table) if one.verdict.word != "cannot say"]
    assert [one.name for one in judged] == ["a", "c", "d", "e", "f", "g", "h", "i1", "i2", "j"]
    for one in judged:
        assert f"{one.verdict.sentence} | {one.verdict.word}".replace(" | does", " | **does") in page
    for kind, digits in (("mnist-c", 1), ("noise-distance", 2), ("mnist-adversarial", 1)):
        for row in beside_published(trained, kind).iter_rows(named=True):
            assert f"{row['mean']:.{digits}f} ± {row['sd']:.{digits}f}" in page


def test_the_words_about_it_are_true(table, trained):
    words = {one.name: one.verdict.word for one in judge_noise(table)}
    assert {name for name, word in words.items() if word == "holds"} == {"d", "i1", "j"}
    assert {name for name, word in words.items() if word == "does not hold"} == {"h"}
    means = {way: round(trained.mean(way), 1) for way in trained.ways}
    assert [means[way] for way in ("vanilla", "GNT 0.5", "ANT1x1", "Linf trained")] == [84.7, 90.0, 88.8, 74.7]
    assert means["ANT1x1 + stylised"] == 88.4
    assert [round(trained.without_noise(way), 1) for way in ("GNT 0.5", "GNT mult")] == [88.7, 88.4]

    def under(corruption, *ways):
        return [round(trained.accuracy(way, [corruption])) for way in ways]

    assert under("brightness", "clean, longer", "GNT 0.5", "Linf trained") == [81, 98, 22]
    assert under("fog", "clean, longer", "GNT 0.5") == [52, 89]
    assert under("impulse_noise", "Linf trained") == [54]
    assert under("contrast", "GNT mult", "GNT 0.5") == [66, 45]
    assert under("snow", "ANT1x1", "ANT3x3") == [98, 98]
    for blur in ("glass_blur", "motion_blur"):
        assert trained.accuracy("GNT mult", [blur]) > trained.accuracy("GNT 0.5", [blur]) + 1
    far = {way: [round(trained.distance(way, kind), 1) for kind in ("learned", "gaussian")] for way in trained.ways}
    assert far["vanilla"] == [8.2, 11.3]
    assert far["GNT 0.5"] == [7.2, 14.9]
    assert [far[way][0] for way in ("ANT1x1", "clean, longer", "ANT3x3")] == [8.4, 8.1, 8.9]
    told = {one.name: one.verdict.numbers for one in judge_noise(table)}
    assert told["a"]["noise"] == pytest.approx(2.8, abs=0.05)
    assert [round(told["a"][f"other corruptions{end}"], 1) for end in ("", " low", " high")] == [5.7, -0.2, 11.6]
    gains = [told["j"][f"{way} in {norm}"] for way in ("GNT 0.5", "ANT1x1") for norm in ("l2", "linf")]
    assert (round(min(gains)), round(max(gains))) == (25, 37)
    assert abs(told["f"]["points ahead"]) < 0.5
    assert abs(told["g"]["points ahead"]) < 0.5
    assert round(told["i1"]["points ahead"]) == -10
    change = {
        name: trained.accuracy("Linf trained", [name]) - trained.accuracy("clean, longer", [name])
        for name in trained.corruptions
    }
    assert [round(change[name]) for name in ("brightness", "contrast")] == [-58, -40]
    assert min(change, key=change.get) == "brightness"
    assert change["fog"] > 0


def test_the_words_about_the_standard_deviation_are_true():
    table = pl.read_parquet(HERE / "sigmas" / "table.parquet")
    assert table["index"].n_unique() == 30
    (found,) = (one for one in judge_noise(table) if one.name == "b")
    page = (HERE / "sigmas" / "report.md").read_text(encoding="utf-8").replace("\\", "")
    assert f"{found.verdict.sentence} | {found.verdict.word}" in page
    assert found.verdict.word == "undecided"
    trained = Trained.of(table)["mnist"]
    means = [round(trained.mean(f"GNT {sigma}"), 1) for sigma in ("0.08", "0.38", "0.5", "1")]
    assert means == [85.7, 90.3, 90.3, 88.0]
    smaller = ("0.08", "0.12", "0.18", "0.26")
    assert max(smaller, key=lambda sigma: trained.mean(f"GNT {sigma}")) == "0.26"
    told = found.verdict.numbers
    assert [round(told[f"above larger {end}"], 1) for end in ("low", "high")] == [0.8, 2.7]
    assert [round(told[f"above smaller {end}"], 2) for end in ("low", "high")] == [-0.03, 2.3]


def test_the_words_about_clothes_are_true():
    table = pl.read_parquet(HERE / "clothes" / "table.parquet")
    assert table["index"].n_unique() == 15
    page = (HERE / "clothes" / "report.md").read_text(encoding="utf-8").replace("\\", "")
    judged = {one.name: one.verdict for one in judge_noise(table) if one.verdict.word != "cannot say"}
    for found in judged.values():
        assert f"{found.sentence} | {found.word}".replace(" | does", " | **does") in page
    words = {name: found.word for name, found in judged.items()}
    assert words == {"a": "holds", "c": "undecided", "d": "does not hold", "e": "holds"}
    trained = Trained.of(table)["fashion-mnist"]
    assert [round(trained.accuracy(way, ["none"]), 1) for way in ("clean, longer", "GNT 0.5")] == [91.1, 89.3]
    assert [round(trained.mean(way), 1) for way in ("GNT 0.5", "clean, longer")] == [61.0, 57.3]
    assert [round(trained.without_noise(way), 1) for way in ("GNT 0.5", "GNT mult")] == [57.4, 58.4]
    gain = judged["a"].numbers
    assert [round(gain[f"other corruptions{end}"], 1) for end in ("", " low", " high")] == [1.7, 0.2, 3.2]
    assert round(gain["noise"], 1) == 16.8
    far = {way: [trained.distance(way, kind) for kind in ("learned", "gaussian")] for way in trained.ways}
    assert far["vanilla"] == pytest.approx([7.75, 7.85], abs=0.005)
    assert [round(number, 1) for number in far["GNT 0.5"]] == [8.8, 14.0]
    assert [round(far[way][0], 1) for way in ("ANT1x1", "clean, longer")] == [9.8, 7.2]


def test_its_network_has_the_size_it_says():
    net = build_predictor("small-cnn", (28, 28, 1), 10)
    assert sum(weights.numel() for weights in net.parameters()) == 215_370
