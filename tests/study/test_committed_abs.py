"""The committed attacks on analysis by synthesis and its rivals: pages and words follow from their tables."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from unbraid.data import load
from unbraid.data.files.root import find_file
from unbraid.robustness import BOUNDS, attacks, fooled_within, masking_doubts, median_interval
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


@pytest.mark.parametrize("name", SETS)
def test_doubts_that_follow_from_distances_stand_in_the_page(name):
    _, tables = read(name)
    page = (HERE / name / "report.md").read_text(encoding="utf-8").replace("\\", "")
    for (model, norm), part in tables["distances"].group_by(["model", "norm"]):
        found = {attack: one.sort("image")["distance"].to_numpy() for (attack,), one in part.group_by(["attack"])}
        kinds = {attack: attacks.get(attack).needs for attack in found}
        white = {attack: found[attack] for attack in sorted(found) if kinds[attack] == "gradient"}
        black = {attack: found[attack] for attack in sorted(found) if kinds[attack] in ("decision", "scores")}
        if norm == "l0":  # as attack_doubts does
            black = {attack: one + 1 for attack, one in black.items()}
        for doubt in masking_doubts(white, black):
            assert f"- Doubt about {model} in {norm}: {doubt}" in page


def test_the_words_about_where_abs_becomes_sure_are_true():
    found = {}
    for name in ("latents", "clothes"):
        climbs = read(name)[1]["climbs"].filter(along="score")
        found |= {model: part for (model,), part in climbs.group_by(["model"])}
    sure = {model: int(part["success"].sum()) for model, part in found.items()}
    assert (sure["abs-32"], sure["fashion-mnist-abs"], sure["nearest neighbour"]) == (9, 4, 10)
    assert round(found["abs-32"]["steps"].median()) == 112
    assert found["fashion-mnist-abs"].filter(label=8)["success"].to_list() == [True]


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


def test_the_words_about_clothes_are_true():
    roles, tables = read("clothes")
    table, known = tables["distances"], {role: model for model, role in roles.items()}
    words = " ".join((HERE / "README.md").read_text(encoding="utf-8").split("## Clothes")[1].split("## How")[0].split())
    verdicts = {one.name: one.verdict.word for one in judge_attacks(table, roles, tables["climbs"])}
    assert verdicts == dict.fromkeys("cfg", "holds") | dict.fromkeys("abdeh", "undecided")
    found = {(role, norm): nearest(table, model, norm) for role, model in known.items() for norm in BOUNDS}

    def medians(norm):
        return {role: float(f"{np.median(found[role, norm]):.3g}") for role in known}

    named = {role: (found[role, "l2"] > 0).mean() for role in known}
    assert named == pytest.approx({
        "CNN": 0.92, "ABS": 0.87, "nearest neighbour": 0.87, "Binary CNN": 0.86, "Linf-trained": 0.86,
        "Binary ABS": 0.83,
    })  # fmt: skip
    assert medians("l2") == {
        "ABS": 1.56, "Linf-trained": 1.32, "nearest neighbour": 0.961, "Binary ABS": 0.718, "CNN": 0.395,
        "Binary CNN": 0.195,
    }  # fmt: skip
    assert medians("linf") == {
        "Binary ABS": 0.159, "Linf-trained": 0.151, "ABS": 0.102, "Binary CNN": 0.0745, "nearest neighbour": 0.0679,
        "CNN": 0.0225,
    }  # fmt: skip
    assert medians("l0") == {
        "ABS": 14, "Binary ABS": 14, "nearest neighbour": 8, "CNN": 5, "Linf-trained": 5, "Binary CNN": 4
    }  # fmt: skip
    intervals = [("ABS", "l2", "1.17 to 1.85"), ("Linf-trained", "l2", "1.19 to 1.64")]
    intervals += [("Binary ABS", "linf", "0.124 to 0.206"), ("Linf-trained", "linf", "0.135 to 0.163")]
    intervals += [("ABS", "l0", "9.5 to 17"), ("Binary ABS", "l0", "10 to 18")]
    for role, norm, shown in (*intervals, ("Linf-trained", "l0", "4 to 7.5"), ("CNN", "l0", "4 to 5")):
        low, high = median_interval(found[role, norm])
        assert shown == f"{low:.3g} to {high:.3g}"
        assert shown in words
    stand = {(role, bound): (found[role, "linf"] > bound).mean() for role in named for bound in (0.1, 0.2)}
    assert [stand["Linf-trained", 0.1], stand["Binary ABS", 0.1]] == pytest.approx([0.76, 0.66])
    assert [stand["Linf-trained", 0.2], stand["Binary ABS", 0.2]] == pytest.approx([0.19, 0.43])
    climbs = {role: tables["climbs"].filter(model=model, along="probability") for role, model in known.items()}
    assert {role: part["success"].sum() for role, part in climbs.items()} == {
        "CNN": 10, "Linf-trained": 9, "Binary CNN": 10, "ABS": 0, "Binary ABS": 10, "nearest neighbour": 2
    }  # fmt: skip
    assert climbs["Binary ABS"]["steps"].median() == 3
    assert climbs["Binary ABS"]["eta"].unique().to_list() == [0]
    bounds = tables["bounds"].filter(model=known["ABS"])
    assert [round(bounds[name].mean(), 3) for name in ("l2", "coupled")] == [0.272, 0.551]
    assert round(bounds["linf"].median(), 3) == 0.003
    means = pl.read_csv(HERE / "clothes" / "bounds_by_seed.csv")["l2"]
    assert len(means) == 10
    assert [f"{end:.4f}" for end in (means.min(), means.max())] == ["0.2714", "0.2723"]


@pytest.mark.parametrize(("name", "share"), [("mnist", 2.1), ("fashion-mnist", 8.7)])
def test_so_many_pixels_lie_next_to_the_threshold(name, share):
    if find_file(f"{name.replace('-', '_')}/t10k-images-idx3-ubyte.gz") is None:
        pytest.skip(f"the files of {name} are not at hand")
    data = load(f"{name}:split=test")
    apart = np.abs(data.images(np.arange(len(data))).astype(np.int16) - 127.5)
    assert round(100 * float((apart <= 25.5).mean()), 1) == share


def test_the_words_about_the_likelihood_are_true():
    _, tables = read("ablations")
    found = nearest(tables["distances"], "abs-bernoulli", "l2")
    assert [f"{float(end):.2f}" for end in (np.median(found), *median_interval(found))] == ["0.66", "0.57", "0.79"]
    assert (found > BOUNDS["l2"]).mean() == pytest.approx(0.04)
    assert (found > 0).sum() == 99
    assert round(float(np.median(nearest(tables["distances"], "mnist-abs", "l2"))), 2) == 2.10


def test_the_words_about_the_size_of_the_latents_are_true():
    many, few = (read(name)[1]["distances"] for name in ("latents", "digits"))
    found, usual = nearest(many, "abs-32", "l2"), nearest(few, "mnist-abs", "l2")
    assert set(many["image"]) == set(few["image"])
    assert [f"{float(end):.2f}" for end in (np.median(found), *median_interval(found))] == ["2.10", "1.89", "2.24"]
    assert (found > BOUNDS["l2"]).mean() == pytest.approx(0.83)
    assert ((found > 0).sum(), (usual > 0).sum()) == (98, 100)
    assert round(float(np.median(found) - np.median(usual)), 2) == -0.01
    drawn = np.random.default_rng(0).integers(0, 100, (2000, 100))
    apart = np.median(found[drawn], axis=1) - np.median(usual[drawn], axis=1)
    assert [round(float(end), 2) for end in np.quantile(apart, [0.025, 0.975])] == [-0.18, 0.16]
