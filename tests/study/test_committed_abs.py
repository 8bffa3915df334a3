"""The committed attacks on analysis by synthesis and its rivals: pages and words follow from their tables."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from unbraid.robustness import BOUNDS, fooled_within, median_interval
from unbraid.study.attacked import judge_attacks

HERE = Path(__file__).parents[2] / "docs" / "studies" / "abs"
SETS = sorted(path.parent.name for path in HERE.glob("*/report.md"))


def read(name):
    models = pl.read_csv(HERE / name / "models.csv", schema_overrides={"role": pl.String})
    tables = {file.stem: pl.read_parquet(file) for file in (HERE / name).glob("*.parquet")}
    return dict(zip(models["model"], models["role"].fill_null(""), strict=True)), tables


def nearest(table, model, norm):
    rows = table.filter(model=model, norm=norm).group_by("image").agg(pl.col("distance").min()).sort("image")
    return rows["distance"].to_numpy()


def test_digits_are_there():
    assert "digits" in SETS


@pytest.mark.parametrize("name", SETS)
def test_all_models_met_the_same_hundred_images(name):
    roles, tables = read(name)
    table = tables["distances"]
    assert set(table["model"]) == set(roles)
    for (_, norm, attack), part in table.group_by(["model", "norm", "attack"]):
        assert part["image"].n_unique() == len(part) == 100, (norm, attack)
    assert table["image"].n_unique() == 100
    assert not table["distance"].is_nan().any()


@pytest.mark.parametrize("name", SETS)
def test_verdicts_of_the_pages_are_those_of_their_tables(name):
    roles, tables = read(name)
    page = (HERE / name / "report.md").read_text(encoding="utf-8").replace("\\", "")
    if sum(bool(role) for role in roles.values()) < 2:
        assert "Findings about attacks" not in page
        return
    for one in judge_attacks(tables["distances"], roles, tables.get("climbs")):
        if one.verdict.word == "cannot say":
            assert one.verdict.sentence in page
        else:
            assert f"{one.verdict.sentence} | {one.verdict.word}".replace(" | does", " | **does") in page


@pytest.mark.parametrize("name", SETS)
def test_no_attack_came_nearer_than_a_bound(name):
    _, tables = read(name)
    if "bounds" not in tables:
        return
    for (model,), part in tables["bounds"].group_by(["model"]):
        for norm, column in (("l2", "coupled"), ("linf", "linf")):
            assert fooled_within(nearest(tables["distances"], model, norm), part.sort("image")[column]) == 0


@pytest.mark.parametrize("name", SETS)
def test_medians_and_accuracies_of_all_stand_in_the_page(name):
    _, tables = read(name)
    page = (HERE / name / "report.md").read_text(encoding="utf-8")
    table = tables["distances"]
    for norm in table["norm"].unique():
        (row,) = [line for line in page.splitlines() if line.startswith(f"| {norm} (") and "| **all** |" in line]
        for model in table["model"].unique():
            found = nearest(table, model, norm)
            median = np.median(found)
            shown = "inf" if np.isinf(median) else f"{median:.3g}"
            assert f"**{shown} / {100 * (found > BOUNDS[norm]).mean():.0f}**" in row


def test_the_words_about_digits_are_true():
    roles, tables = read("digits")
    table, known = tables["distances"], {role: model for model, role in roles.items()}
    words = " ".join((HERE / "README.md").read_text(encoding="utf-8").split())
    verdicts = {one.name: one.verdict.word for one in judge_attacks(table, roles, tables["climbs"])}
    assert verdicts == dict.fromkeys("abcdefh", "holds") | {"g": "undecided"}

    def medians(norm, digits):
        return {role: round(float(np.median(nearest(table, model, norm))), digits) for role, model in known.items()}

    assert medians("l2", 2) == {
        "ABS": 2.10, "nearest neighbour": 1.53, "Linf-trained": 1.46, "Binary ABS": 1.22, "CNN": 1.04,
        "Binary CNN": 0.93,
    }  # fmt: skip
    assert medians("linf", 3) == {
        "Binary ABS": 0.416, "Binary CNN": 0.347, "Linf-trained": 0.329, "ABS": 0.191, "nearest neighbour": 0.172,
        "CNN": 0.073,
    }  # fmt: skip
    assert medians("l0", 1) == {
        "ABS": 13, "Binary ABS": 13, "nearest neighbour": 10, "CNN": 7, "Binary CNN": 7, "Linf-trained": 5
    }  # fmt: skip
    intervals = [("ABS", "l2", "1.90 to 2.31"), ("Binary ABS", "linf", "0.375 to 0.431"), ("ABS", "l0", "12 to 15")]
    for role, norm, shown in (*intervals, ("Linf-trained", "l0", "4 to 5"), ("CNN", "l0", "6 to 8")):
        low, high = median_interval(nearest(table, known[role], norm))
        assert [f"{float(end):.3g}" for end in shown.split(" to ")] == [f"{low:.3g}", f"{high:.3g}"]
        assert shown in words
    assert (nearest(table, known["ABS"], "l2") > 1.5).mean() == pytest.approx(0.75)
    stand = [(nearest(table, known[role], "linf") > 0.3).mean() for role in ("Linf-trained", "Binary ABS")]
    assert stand == pytest.approx([0.90, 0.78])
    sure = {model: int(part["success"].sum()) for (model,), part in tables["climbs"].group_by(["model"])}
    assert {role: sure[model] for role, model in known.items()} == {
        "CNN": 8, "Linf-trained": 10, "Binary CNN": 2, "ABS": 0, "Binary ABS": 0, "nearest neighbour": 0
    }  # fmt: skip
    bounds = {role: tables["bounds"].filter(model=known[role]) for role in ("ABS", "Binary ABS")}
    assert [round(bounds["ABS"][name].mean(), 3) for name in ("l2", "coupled")] == [0.511, 0.897]
    assert round(bounds["ABS"]["linf"].median(), 3) == 0.038
    assert [round(bounds["Binary ABS"][name].mean(), 3) for name in ("seen_l2", "seen_coupled", "l2")] == [
        0.439, 0.766, 0.009
    ]  # fmt: skip


def test_the_words_about_the_likelihood_are_true():
    _, tables = read("ablations")
    found = nearest(tables["distances"], "abs-bernoulli", "l2")
    assert [f"{float(end):.2f}" for end in (np.median(found), *median_interval(found))] == ["0.66", "0.57", "0.79"]
    assert (found > BOUNDS["l2"]).mean() == pytest.approx(0.04)
    assert (found > 0).sum() == 99
    assert round(float(np.median(nearest(tables["distances"], "mnist-abs", "l2"))), 2) == 2.10
