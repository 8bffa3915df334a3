"""Experiments as trials: resumed, tabulated, drawn, and through the command."""

import json
from dataclasses import replace

import polars
import pytest

from unbraid.cli.app import main
from unbraid.data import SyntheticLinear
from unbraid.errors import UsageError
from unbraid.metrics import METRICS
from unbraid.objectives import AE, FactorVAE, LinearVAE
from unbraid.report.theory.trials import summarise_trials, trial_table
from unbraid.theory import Trial, fit, manipulation_trials, pca_trials, read_trials, run_trials


def test_finished_trials_are_not_run_again_and_other_settings_are_refused(tmp_path):
    ran = []

    def trial(seed, steps):
        return Trial(f"a-seed{seed}", {"seed": seed, "steps": steps}, lambda: ran.append(seed) or {"mig": 0.5})

    run_trials([trial(0, 10)], tmp_path)
    rows = run_trials([trial(0, 10), trial(1, 10)], tmp_path)
    assert ran == [0, 1]
    assert rows["seed"].to_list() == [0, 1]
    assert read_trials(tmp_path).height == 2
    with pytest.raises(UsageError, match="steps = 10, now asked for 20"):
        run_trials([trial(0, 20)], tmp_path)
    with pytest.raises(UsageError, match="no finished trial"):
        read_trials(tmp_path / "nothing")


def test_a_failed_trial_leaves_no_row(tmp_path):
    def fail():
        raise RuntimeError

    with pytest.raises(RuntimeError):
        run_trials([Trial("a", {}, fail)], tmp_path)
    assert not list(tmp_path.glob("*.json"))


def test_a_cell_is_mean_and_deviation_over_what_is_there():
    # 1 and 3 have mean 2 and standard deviation sqrt(2); the third trial has no distance.
    rows = polars.DataFrame(
        {"ratio": [1.0] * 3, "distance": [1.0, 3.0, None], "ds": [0.5] * 3, "ds_literal": [0.5] * 3}
        | {"degenerate": [None] * 3},
        schema_overrides={"degenerate": polars.Float64},
    )
    (cell,) = summarise_trials("degeneracy", rows).to_dicts()
    assert cell["distance"] == 2
    assert cell["distance_sd"] == pytest.approx(2**0.5)
    text = trial_table("degeneracy", rows).splitlines()[-1]
    assert text == "| 1.0 | 3 | 2.000 ± 1.414 (2) | 0.500 ± 0.000 | 0.500 ± 0.000 | – |"


def test_scores_have_the_titles_of_their_metrics(monkeypatch):
    monkeypatch.setitem(METRICS._things, "mig", replace(METRICS["mig"], title="Gap of information"))
    rows = polars.DataFrame(
        {"data": ["a"], "model": ["b"], "variant": ["c"], "mig": [0.5], "dci": [0.5], "active": [2]}
    )
    head, _, row = trial_table("manipulation", rows).splitlines()
    assert head.startswith("| data | model | variant | trials | Gap of information | DCI disentanglement | FactorVAE")
    assert row == "| a | b | c | 1 | 0.500 | 0.500 | – | – | 2.000 | – |"  # a table of an earlier version lacks some


def test_every_experiment_names_each_of_its_trials_once():
    for experiment, count in (("orthogonality", 8), ("degeneracy", 3), ("polarised", 4)):
        names = [trial.name for trial in pca_trials(experiment, seeds=2)]
        assert len(names) == len(set(names)) == 2 * count
    with pytest.raises(UsageError, match="experiment"):
        next(pca_trials("alignment"))


def test_an_untrained_model_and_one_without_posterior_have_rows_too():
    data = SyntheticLinear()
    row = fit(AE(net="linear", latents=2, likelihood="gaussian"), data, steps=0).to_row()
    assert (row["active"], row["kl_error"], row["polarised_share"]) == (2, None, None)
    assert 0 <= row["distance"] <= 1.0824
    found = fit(LinearVAE(latents=2), data, steps=3, polish=1, watch=2)
    assert len(found.kl_errors) == 2
    assert found.active.size == 0  # after four steps no code has moved
    assert found.to_row()["distance"] is None


def test_the_command_writes_table_and_picture_and_goes_on(tmp_path, capsys):
    words = ["theory", "study", "degeneracy", "--seeds", "1", "--steps", "3", "--out", str(tmp_path)]
    assert main(words) == 0
    assert (tmp_path / "degeneracy.png").read_bytes()[:4] == b"\x89PNG"
    assert polars.read_csv(tmp_path / "degeneracy.csv").height == 3
    capsys.readouterr()
    assert main([*words, "--json"]) == 0
    assert [row["ratio"] for row in json.loads(capsys.readouterr().out)] == [1.0, 1.2, 1.5]
    assert main([*words, "--data", "sprites32"]) == 2
    assert "manipulation" in capsys.readouterr().err


def test_manipulation_compares_original_perturbed_and_noise(tmp_path):
    few = {"seeds": 1, "steps": 3, "restarts": 2, "net": "mlp:width=8", "pattern_steps": 1, "methods": ("beta-vae",)}
    few |= {"warm_up": 2}
    rows = run_trials(manipulation_trials("mini-sprites", tmp_path, **few), tmp_path / "trials")
    assert rows["variant"].to_list() == ["original", "perturbed", "noise"]
    assert rows["mig"].is_between(0, 1).all()
    assert (tmp_path / "perturbation" / "perturbation.json").exists()
    again = run_trials(manipulation_trials("mini-sprites", tmp_path, **few), tmp_path / "trials")
    assert again.equals(rows)
    for change in ({"pattern_steps": 2}, {"restarts": 3}, {"steps": 4}):
        with pytest.raises(UsageError, match=f"{next(iter(change))} = .*its own --out"):
            next(manipulation_trials("mini-sprites", tmp_path, **few | change))


def test_both_players_of_a_game_learn():
    objective = FactorVAE(
        net="mlp:width=8", latents=2, likelihood="gaussian", discriminator_width=8, discriminator_depth=1
    )
    data = SyntheticLinear()
    before, after = (fit(objective, data, steps=steps, images=20).model for steps in (0, 5))
    for part in ("encoder", "decoder", "discriminator"):
        moved = [
            not old.equal(new)
            for old, new in zip(
                before.get_submodule(part).parameters(), after.get_submodule(part).parameters(), strict=True
            )
        ]
        assert all(moved), part
