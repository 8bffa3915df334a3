"""The committed benchmark: its page and its words follow from its tables."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from unbraid.study.generalization import beside_published, judge_findings, judge_statements, read_tables

HERE = Path(__file__).parents[2] / "docs" / "studies" / "generalization"


BENCHMARKS = {"dsprites-90": "small-dsprites", "rooms3d": "small-rooms"}


@pytest.fixture(scope="module")
def found():
    return read_tables(HERE / "dsprites-90" / "tables", "small-dsprites")


@pytest.fixture(scope="module")
def rooms():
    return read_tables(HERE / "rooms3d" / "tables", "small-rooms")


@pytest.mark.parametrize("data", BENCHMARKS)
def test_verdicts_of_the_page_are_those_of_its_tables(data):
    found = read_tables(HERE / data / "tables", BENCHMARKS[data])
    text = (HERE / data / "report.md").read_text(encoding="utf-8")
    verdicts = [*judge_findings(found), *judge_statements(found)]
    assert len(found.scores) == 108
    for one in verdicts:
        assert f"{one.verdict.sentence.replace('|', '/')} |" in text
    for row in beside_published(found).iter_rows(named=True):
        assert f"{row['mean']:.1f} ± {row['sd']:.1f}".replace("-", "−") in text


def test_the_words_about_sprites_are_true(found):
    words = {one.name: one.verdict for one in judge_findings(found)}
    said = [(name, words[name].word) for name in ("a", "b", "c", "d1", "d2")]
    told = ["holds", "holds", "does not hold", "undecided", "holds"]
    assert said == list(zip(("a", "b", "c", "d1", "d2"), told, strict=True))
    cnn = dict(beside_published(found).filter(model="CNN").select("split", "mean").rows())
    order = ("random", "interpolation", "extrapolation", "composition")
    assert [round(cnn[split]) for split in order] == [97, 98, 70, 20]
    alone = found.modularity.filter(split="extrapolation").group_by("model").agg(pl.col("ood", "id").mean())
    assert alone["ood"].mean() == pytest.approx(0.19, abs=0.005)
    assert alone["id"].mean() == pytest.approx(0.73, abs=0.005)
    others = {model: round(value, 2) for model, value in alone.sort("id").select("model", "id").rows()}
    assert list(others.items())[:3] == [("MLP", 0.51), ("SlowVAE", 0.53), ("BetaVAE", 0.6)]
    assert list(others.items())[-2:] == [("CNN", 0.87), ("Rotation-EQ", 0.92)]
    towards = found.towards.filter(pl.col("split") == "extrapolation", pl.col("kind") != "read-out")
    for column, share in (("below", 0.88), ("inside", 0.42)):
        assert np.average(towards[column], weights=towards["images"]) == pytest.approx(share, abs=0.005)
    leave = towards.group_by("model").agg(pl.col("inside").mean()).filter(pl.col("inside") < 0.4)["model"]
    assert set(leave) == {"CNN", "Rotation-EQ", "Spatial Transformer"}
    pairs = found.similarity.filter(pl.col("first") < pl.col("second"))
    means = pairs.group_by("first", "second").agg(pl.col("pooled").mean())
    truth = (pl.col("first") == "truth") | (pl.col("second") == "truth")
    assert means.filter(~truth)["pooled"].mean() == pytest.approx(0.48, abs=0.005)
    assert means.filter(truth)["pooled"].mean() == pytest.approx(0.01, abs=0.005)
    assert words["d1"].numbers["Spearman"] == pytest.approx(-0.01, abs=0.005)
    assert words["d2"].numbers["mean lead"] == pytest.approx(-0.28, abs=0.005)
    dci = found.scores.drop_nulls("dci").group_by("model", "split").agg(pl.col("dci").mean())
    assert dci.filter(model="BetaVAE")["dci"].max() < 0.21
    assert dci.filter(pl.col("model") != "BetaVAE")["dci"].min() > 0.3
    failed = found.scores.filter(pl.col("r2_train") < 0.2)
    assert sorted(failed.select("model", "split").rows()) == [
        ("Rotation-EQ", split) for split in ("composition", "interpolation", "random")
    ]
    beyond = found.scores.filter(split="extrapolation").group_by("model").agg(pl.col("r2").mean()).sort("r2")
    assert beyond["model"][-1] == "Rotation-EQ"
    assert round(100 * beyond["r2"][-1]) == 77


def test_the_words_about_rooms_are_true(rooms):
    words = {one.name: one.verdict for one in judge_findings(rooms)}
    said = {name: words[name].word for name in ("a", "b", "c", "d1", "d2")}
    assert said == {"a": "holds", "b": "holds", "c": "holds", "d1": "holds", "d2": "undecided"}
    means = rooms.chosen.group_by("split", "model").agg(pl.col("r2").mean())
    medians = {split: round(100 * value) for split, value in means.group_by("split").agg(pl.col("r2").median()).rows()}
    assert medians == {"random": 99, "composition": 93, "interpolation": 96, "extrapolation": 47}
    worst = means.sort("r2").group_by("model", maintain_order=True).first()
    assert worst["split"].to_list() == ["extrapolation"] * 9
    assert {one.name: one.verdict.word for one in judge_statements(rooms)}["hardest split"] == "holds"
    alone = rooms.modularity.filter(split="extrapolation").group_by("model").agg(pl.col("ood", "id").mean())
    assert alone["ood"].mean() == pytest.approx(-0.96, abs=0.005)
    assert alone["id"].mean() == pytest.approx(0.90, abs=0.005)
    towards = rooms.towards.filter(pl.col("split") == "extrapolation", pl.col("kind") != "read-out")
    for column, share in (("below", 0.95), ("inside", 0.79)):
        assert np.average(towards[column], weights=towards["images"]) == pytest.approx(share, abs=0.005)
    pairs = rooms.similarity.filter(pl.col("first") < pl.col("second"))
    pooled = pairs.group_by("first", "second").agg(pl.col("pooled").mean())
    truth = (pl.col("first") == "truth") | (pl.col("second") == "truth")
    assert pooled.filter(~truth)["pooled"].mean() == pytest.approx(0.72, abs=0.005)
    assert pooled.filter(truth)["pooled"].mean() == pytest.approx(-0.54, abs=0.005)
    assert words["d1"].numbers["Spearman"] == pytest.approx(0.32, abs=0.005)
    assert "random 0.48, composition 0.63, interpolation 0.42, extrapolation 0.60" in words["d1"].sentence
    assert words["d2"].numbers["mean lead"] == pytest.approx(-0.11, abs=0.005)
    inside = dict(means.filter(split="random").select("model", "r2").rows())
    assert [round(100 * inside[name]) for name in ("BetaVAE", "SlowVAE", "PCL")] == [87, 74, 97]
