"""Conclusions about attacks: every verdict from made-up distances, and the page with its tables and pictures."""

import numpy as np
import polars as pl
import pytest

import unbraid
from unbraid.cli.app import main
from unbraid.data import load
from unbraid.robustness import budgets
from unbraid.study.attacked import Attack, judge_attacks, role_of, surely_farther, write_attack_study

RNG = np.random.default_rng(0)
SPREAD = RNG.normal(size=60)
ROLES = {"c": "CNN", "b": "Binary CNN", "n": "nearest neighbour", "m": "Linf-trained", "ba": "Binary ABS", "a": "ABS"}
PUBLISHED = {
    "l0": {"c": 9, "b": 11, "n": 10, "m": 4, "ba": 21.5, "a": 16.5},
    "l2": {"c": 1.1, "b": 0.9, "n": 1.5, "m": 1.4, "ba": 1.3, "a": 2.3},
    "linf": {"c": 0.08, "b": 0.34, "n": 0.19, "m": 0.34, "ba": 0.44, "a": 0.23},
}
ATTACKS = {"l0": ("pointwise", "salt-and-pepper"), "l2": ("ddn", "boundary"), "linf": ("bim", "square")}


def made_up(changed=None, spread=0.05, best=1):
    """Distances around the published medians; the second attack is the nearer one for some models of l2 and linf."""
    rows = []
    for norm, medians in PUBLISHED.items():
        for place, (model, median) in enumerate({**medians, **(changed or {}).get(norm, {})}.items()):
            values = median * np.exp(spread * SPREAD * (1 + 0.3 * place))
            first, second = ATTACKS[norm]
            factor = 10 if norm == "l0" else 1.5
            if norm != "l0" and place % 2 < best:
                first, second = second, first
            for name, times in ((first, 1), (second, factor)):
                rows += [
                    {"model": model, "norm": norm, "attack": name, "image": i, "distance": times * v}
                    for i, v in enumerate(values)
                ]
    return pl.DataFrame(rows)


def climbed(cnn, drawn, of=20):
    rows = [{"model": "c", "success": i < cnn} for i in range(of)]
    return pl.DataFrame(rows + [{"model": "a", "success": i < drawn} for i in range(of)])


def words(found):
    return {one.name: one.verdict.word for one in found}


def test_the_published_medians_give_the_published_conclusions_but_for_the_best_attack_of_l0():
    found = words(judge_attacks(made_up(), ROLES, climbed(20, 0)))
    # Pointwise is the better of two attacks for every model here: in l0 a single attack is the best.
    assert found == dict(zip("abcdegh", ["holds"] * 7, strict=True)) | {"f": "does not hold"}


@pytest.mark.parametrize(
    ("name", "changed", "word"),
    [
        ("a", {"l2": {"m": 3.0}}, "does not hold"),
        ("a", {"l2": {"n": 2.3}}, "undecided"),
        ("b", {"linf": {"m": 0.5}}, "does not hold"),
        ("b", {"linf": {"m": 0.44}}, "undecided"),
        ("c", {"l0": {"b": 30}}, "does not hold"),
        ("c", {"l0": {"b": 16.5}}, "undecided"),
        ("d", {"l0": {"m": 12}}, "does not hold"),
        ("d", {"l0": {"m": 9}}, "undecided"),
        ("e", {"linf": {"b": 0.1}}, "does not hold"),
        ("e", {"linf": {"b": 0.21}}, "undecided"),
    ],
)
def test_other_medians_give_other_verdicts(name, changed, word):
    assert words(judge_attacks(made_up(changed), ROLES))[name] == word


@pytest.mark.parametrize(
    ("cnn", "drawn", "word"),
    [(20, 20, "does not hold"), (1, 0, "does not hold"), (11, 0, "undecided"), (20, 9, "undecided")],
)
def test_climbs_from_noise_are_counted(cnn, drawn, word):
    assert words(judge_attacks(made_up(), ROLES, climbed(cnn, drawn)))["g"] == word


def test_no_attack_is_the_best_everywhere_if_in_each_norm_models_differ():
    table = made_up()
    mixed = table.with_columns(
        pl.when((pl.col("norm") == "l0") & (pl.col("model") == "a") & (pl.col("attack") == "salt-and-pepper"))
        .then(pl.col("distance") / 50)
        .otherwise("distance")
        .alias("distance")
    )
    assert words(judge_attacks(mixed, ROLES))["f"] == "holds"
    assert words(judge_attacks(mixed, ROLES))["h"] == "does not hold"


def test_what_is_missing_is_told():
    few = {name: role for name, role in ROLES.items() if name in "ca"}
    table = made_up().filter(pl.col("model").is_in(list(few)), pl.col("norm") != "linf")
    found = {one.name: one.verdict for one in judge_attacks(table, few)}
    assert found["a"].word == "holds"
    for name, reason in (("b", "Binary ABS"), ("d", "Linf-trained"), ("f", "linf"), ("g", "climbs from noise")):
        assert found[name].word == "cannot say"
        assert reason in found[name].sentence
    # Of two models with one role nobody knows which is meant; what is said of all models is still said.
    found = {one.name: one.verdict for one in judge_attacks(made_up(), {"c": "CNN", "b": "CNN", "a": "ABS"})}
    assert found["a"].word == "cannot say"
    assert "there are several" in found["a"].sentence
    assert found["h"].word == "holds"


def test_medians_that_are_infinite_are_farther_than_any_and_as_far_as_another():
    near, never = np.ones(40), np.full(40, np.inf)
    assert surely_farther(never, near) is True
    assert surely_farther(near, never) is False
    assert surely_farther(never, never) is None
    assert surely_farther(3.1 * near, near, times=3) is True
    assert surely_farther(never, never, times=3) is None
    # Where Linf training gains nothing, a threshold cannot give most of it.
    table = made_up({"linf": {"m": 0.05, "b": 0.08}})
    assert words(judge_attacks(table, ROLES))["e"] == "undecided"
    table = made_up({"linf": {"m": np.inf, "b": np.inf}})
    assert words(judge_attacks(table, ROLES))["e"] == "holds"


def test_the_command_writes_a_page_with_roles_findings_and_pictures(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(budgets.BUDGETS, "quick", {"l2": {"fgm": {"levels": 5}, "deepfool": {"steps": 5}}})
    monkeypatch.setitem(budgets.DISTAL_STEPS, "quick", 2)
    blobs = load("blobs16")
    told = {"factor": "x", "steps": 60, "progress": "none", "learning_rate": 0.01}
    runs = {
        "plain": unbraid.train("classifier", blobs, net="mlp:width=16", out=tmp_path / "plain", **told),
        "black": unbraid.train("classifier", blobs, net="binarised:net=mlp", out=tmp_path / "black", **told),
    }
    assert [role_of(run) for run in runs.values()] == ["CNN", "Binary CNN"]
    assert role_of(runs["plain"], "neighbour") == "nearest neighbour"
    asked = ["robustness", "attack", *(str(run.path) for run in runs.values()), "--norms", "l2", "--images", "12"]
    monkeypatch.setitem(budgets.DEAR, "quick", {"l2": {"deepfool": None}})
    assert main([*asked, "--also", "neighbour", "--distal", "3", "--out", str(tmp_path / "out")]) == 0
    capsys.readouterr()
    page = (tmp_path / "out" / "report.md").read_text()
    assert "| l2 (1.5) | fgm |" in page
    assert "| l2 (1.5) | **all** |" in page
    assert "plain: classifier on blobs16, 60 steps" in page
    (spared,) = [line for line in page.splitlines() if "was not attacked by" in line]
    assert "neighbour" in spared
    assert spared.endswith("was not attacked by deepfool in l2")
    assert "Not asked by this study: (a)" in page
    for name in ("curves", "nearest", "climbs"):
        assert (tmp_path / "out" / f"{name}.png").stat().st_size > 1000
        assert f"({name}.png)" in page
    models = pl.read_csv(tmp_path / "out" / "models.csv")
    assert models["role"].to_list() == ["CNN", "Binary CNN", "nearest neighbour"]
    distances = pl.read_parquet(tmp_path / "out" / "distances.parquet")
    assert len(distances) == (2 * 2 + 1) * 12
    # Models whose posterior may be flat on noise are climbed along the score of the class, too.
    climbs = pl.read_parquet(tmp_path / "out" / "climbs.parquet")
    assert climbs.group_by("along").len().sort("along").rows() == [("probability", 9), ("score", 3)]
    assert climbs.filter(along="score")["model"].unique().to_list() == ["nearest neighbour"]
    assert "| nearest neighbour, along its score | " in page


def test_a_single_image_that_was_wrong_as_it_is_has_a_page_without_errors_of_its_mean(tmp_path):
    about = {"norm": ["l2"], "attack": ["ddn"], "image": [3], "label": [0], "distance": [0.0], "guess": [1]}
    blocks = pl.DataFrame({**about, "refuted": [False], "picture": [bytes(16)]})
    bounds = pl.DataFrame({"image": [3], "label": [0], "right": [False], "l2": [0.0], "coupled": [0.0], "linf": [0.0]})
    one = Attack("one", "", "trained for a moment", blocks, None, bounds)
    page = write_attack_study(
        tmp_path, [one], {3: np.zeros((4, 4, 1), np.uint8)}, "toys", budget="quick", command="unbraid"
    )
    assert "| one | 0.000 | 0.000 | 0 | 1 | 0 |" in page.read_text()


@pytest.mark.parametrize(("data", "beside"), [("mnist:split=test", True), ("fashion-mnist:split=test", False)])
def test_published_distances_stand_beside_those_of_the_same_data_only(tmp_path, data, beside):
    about = {"norm": ["l2"], "attack": ["ddn"], "image": [3], "label": [0], "distance": [1.0], "guess": [1]}
    blocks = pl.DataFrame({**about, "refuted": [False], "picture": [bytes(16)]})
    one = Attack("one", "CNN", "trained for a moment", blocks)
    path = write_attack_study(
        tmp_path, [one], {3: np.zeros((4, 4, 1), np.uint8)}, data, budget="quick", command="unbraid"
    )
    page = path.read_text()
    assert ("\\[1.1 / 8\\]" in page) == ("Schott et al. (2019)" in page) == beside
