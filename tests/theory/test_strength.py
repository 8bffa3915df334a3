"""Stronger penalties on a perturbed data set, and restarts one by one."""

import polars
import pytest

from unbraid.errors import UsageError
from unbraid.report.theory import draw_restarts, draw_trials, factor_table, summarise_trials, trial_table
from unbraid.theory import manipulation_trials, run_trials, strength_trials

FEW = {"seeds": 1, "steps": 3, "restarts": 2, "net": "mlp:width=8", "pattern_steps": 1, "methods": ("beta-vae",)}
FEW |= {"warm_up": 2}


def test_strengths_multiply_beta_and_share_perturbation_and_runs(tmp_path):
    manipulated = run_trials(manipulation_trials("mini-sprites", tmp_path, **FEW), tmp_path / "trials")
    before = sorted(path.name for path in (tmp_path / "runs").iterdir())
    trials = list(strength_trials("mini-sprites", tmp_path, strengths=(1.0, 2.0), **FEW))
    betas = [trial.run.args[0].beta for trial in trials]
    assert betas == [4.0, 8.0]
    rows = run_trials(trials, tmp_path / "strength")
    assert rows["strength"].to_list() == [1.0, 2.0]
    assert rows["mig"][0] == manipulated.filter(manipulated["variant"] == "perturbed")["mig"].item()
    added = {path.name for path in (tmp_path / "runs").iterdir()} - set(before)
    assert added == {"beta-vae-x2-perturbed"}
    assert {"factor_vae", "sap", "gap", "advantage", "mig_x"} <= set(rows.columns)
    with pytest.raises(UsageError, match="strength"):
        next(strength_trials("mini-sprites", tmp_path, **FEW | {"methods": ("pcl",)}))
    with pytest.raises(UsageError, match="positive"):
        next(strength_trials("mini-sprites", tmp_path, strengths=(0.0,), **FEW))


def test_restarts_of_other_length_make_the_pattern_and_are_recorded(tmp_path):
    trials = manipulation_trials("mini-sprites", tmp_path, **FEW | {"restart_steps": 2, "methods": ("factor-vae",)})
    first = next(trials)
    assert first.setting["restart_steps"] == 2
    assert (tmp_path / "runs" / "beta-vae-original-2" / "0" / "run.json").exists()
    assert first.run.args[0].gamma == 7.0
    with pytest.raises(UsageError, match="restart_steps"):
        next(manipulation_trials("mini-sprites", tmp_path, **FEW))


def table(**columns):
    return polars.DataFrame({"data": ["rooms"] * 4, "model": ["beta-vae"] * 4, "gap": [1.0] * 4, **columns})


def test_models_that_gave_a_factor_up_do_not_count(tmp_path):
    # Of four restarts two are over-pruned: the mean is that of 0.2 and 0.4, and half of them are left out.
    scores = {name: [0.2, 0.4, 0.9, 0.9] for name in ("mig", "dci", "factor_vae", "sap")}
    rows = table(strength=[2.0] * 4, pruned=[False, False, True, True], **scores)
    (cell,) = summarise_trials("strength", rows).to_dicts()
    assert cell["mig"] == pytest.approx(0.3)
    assert (cell["trials"], cell["mig_count"], cell["pruned"]) == (4, 2, 0.5)
    assert "0.300 ± 0.141 (2)" in trial_table("strength", rows)
    draw_trials("strength", rows, tmp_path / "a.png")
    assert (tmp_path / "a.png").read_bytes()[:4] == b"\x89PNG"


def test_factors_are_compared_one_by_one_and_only_those_a_data_set_has(tmp_path):
    variants = ["original", "original", "perturbed", "noise"]
    rows = table(variant=variants, mig=[0.9, 0.7, 0.2, 0.6], mig_wall=[0.8, 0.6, 0.1, 0.5], mig_shape=[None] * 4)
    assert factor_table(rows).splitlines()[2:] == ["| rooms | beta-vae | wall | 0.700 | 0.100 | 0.500 |"]
    draw_restarts(rows, tmp_path / "a.png")
    assert (tmp_path / "a.png").read_bytes()[:4] == b"\x89PNG"
