"""Tables of smallest distances: stored by blocks, read again, counted as the paper counts."""

import json

import numpy as np
import polars
import pytest

import unbraid
from unbraid.cli.app import main
from unbraid.data import load
from unbraid.errors import UsageError
from unbraid.robustness import Target, attack_blocks, attack_table, attacks, budgets, smallest

DATA = load("blobs16")
QUICK = {"l2": {"fgm": {"levels": 10}, "deepfool": {}}, "l0": {"salt-and-pepper": {"restarts": 1}}}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "plain"
    options = {"net": "mlp:width=16", "factor": "x", "steps": 60, "progress": "none", "learning_rate": 0.01}
    return unbraid.train("classifier", DATA, out=folder, **options)


def test_blocks_are_attacked_once_and_what_is_lost_again(run, tmp_path, monkeypatch):
    monkeypatch.setattr(smallest, "BLOCK", 4)
    monkeypatch.setitem(budgets.BUDGETS, "quick", QUICK)
    asked = []
    found = attack_blocks(Target(run, DATA, folder=tmp_path, images=6), ("l2", "l0"), say=asked.append)
    assert found.shape == (18, 8)
    assert len(asked) == 6  # three attacks, two blocks each
    files = sorted(tmp_path.rglob("*.parquet"))
    assert [path.stem for path in files] == ["000000", "000004"] * 3
    # The numbers are those of the attack itself, whatever the block.
    images, labels = DATA.images(found["image"][:6].to_numpy()), found["label"][:6].to_numpy()
    alone = attacks.fgm(run, images, labels, norm="l2", levels=10)
    np.testing.assert_allclose(found["distance"][:6], alone.distances, rtol=1e-4)
    asked.clear()
    files[1].unlink()
    again = attack_blocks(Target(run, DATA, folder=tmp_path, images=6), ("l2", "l0"), say=asked.append)
    assert len(asked) == 1
    assert again.equals(found)
    attack_blocks(Target(run, DATA, folder=tmp_path, images=6, seed=1), ("l2",), say=asked.append)
    assert len(asked) == 5  # another seed is another question


def test_the_table_counts_medians_accuracies_and_the_nearest_of_all():
    one, two = [0.0, 1, 2, np.inf], [0.0, 3, 1.4, 4]
    blocks = polars.DataFrame(
        {"norm": ["l2"] * 8, "attack": ["one"] * 4 + ["two"] * 4, "image": [0, 1, 2, 3] * 2, "distance": one + two}
    )
    table = attack_table(blocks)
    assert table["attack"].to_list() == ["one", "two", "all"]
    # Medians are the mean of the two in the middle; of both, 0, 1, 1.4 and 4 are the nearest.
    assert table["median"].to_list() == [1.5, 2.2, 1.2]
    # At 1.5: 2 and inf; 3 and 4; 4.
    assert table["accuracy"].to_list() == [50, 50, 25]
    with pytest.raises(UsageError, match="same images for every attack"):
        attack_table(blocks[:7])


def test_budgets_name_attacks_that_there_are_with_options_that_they_have():
    assert budgets.BUDGETS.keys() == budgets.DEAR.keys() == budgets.FEW.keys() == budgets.DISTAL_STEPS.keys()
    for norms in budgets.BUDGETS.values():
        assert set(norms) == set(budgets.BOUNDS)
        for norm, known in norms.items():
            for name, options in known.items():
                attack = attacks.get(name)
                assert norm in attack.norms
                assert set(options) <= set(attack.options)


def test_models_that_are_dear_to_ask_meet_every_kind_of_attack_and_some_of_them_shorter():
    norms = ["l0", "l2", "linf"]
    for budget in ("quick", "study"):
        plain, dear = budgets.budget_of(norms, budget), budgets.budget_of(norms, budget, dear=True)
        assert {norm: set(plain[norm]) - set(dear[norm]) for norm in norms} == (
            {"l0": set(), "l2": {"pointwise"}, "linf": set()}
            if budget == "quick"
            else {"l0": set(), "l2": {"pointwise", "apgd"}, "linf": {"apgd"}}
        )
        for norm in norms:  # gradients are masked or not: attacks that do without are always among them
            needs = {attacks.get(name).needs for name in dear[norm]}
            assert {"gradient", "decision"} <= needs or (norm == "linf" and {"gradient", "scores"} <= needs)
    plain, dear = budgets.budget_of(norms, "quick"), budgets.budget_of(norms, "quick", dear=True, substitute=True)
    assert dear["linf"]["square"]["steps"] < plain["linf"]["square"]["steps"]
    assert dear["linf"]["transfer"] == {}
    assert "transfer" not in dear["l0"]
    plain, dear = budgets.budget_of(norms, "full"), budgets.budget_of(norms, "full", dear=True)
    for norm in norms:  # gradients that are estimated ask more than even this budget has
        estimated = {name for name in plain[norm] if name.endswith("-estimated")}
        assert dear[norm] == {name: told for name, told in plain[norm].items() if name not in estimated}


def test_the_full_budget_has_every_attack_that_there_is_in_every_norm_that_it_has():
    found = budgets.budget_of(["l0", "l2", "linf"], "full", draws=True, substitute=True)
    left = {(name, norm) for name in attacks.names() for norm in attacks.get(name).norms if name not in found[norm]}
    assert left == {(name, norm) for name in ("bim-estimated", "mim-estimated") for norm in ("l2", "linf")}
    for norm, known in budgets.BUDGETS["study"].items():
        assert set(known) <= set(budgets.BUDGETS["full"][norm])


def test_models_that_draw_meet_latent_descent_and_no_others_do():
    for budget in budgets.BUDGETS:
        found = budgets.budget_of(["l0", "l2", "linf"], budget, dear=True, draws=True)
        assert [norm for norm, known in found.items() if "latent-descent" in known] == ["l2"]
        assert "latent-descent" not in budgets.budget_of(["l2"], budget, dear=True)["l2"]


def test_the_command_prints_a_table_and_says_what_cannot_be(run, tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(budgets.BUDGETS, "quick", QUICK)
    asked = ["robustness", "attack", str(run.path), "--norms", "l2", "--images", "3", "--out", str(tmp_path)]
    assert main(asked) == 0
    said = capsys.readouterr().out
    assert "Median distance / accuracy at the bound in %, 3 images of blobs16" in said
    assert [line.split()[2] for line in said.splitlines() if line.startswith("l2 (1.5)")] == ["fgm", "deepfool", "all"]
    assert main([*asked, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["distances"]
    assert [row["attack"] for row in told] == ["fgm", "deepfool", "all"]
    assert polars.read_parquet(tmp_path / "distances.parquet")["model"].unique().to_list() == ["plain"]
    assert main([*asked[:3], "--norms", "l7"]) != 0
    assert "--norms l7: name some of l0, l2, linf" in capsys.readouterr().err
    with pytest.raises(UsageError, match="unknown budget"):
        Target(run, DATA, "huge", folder=tmp_path)
