"""The published settings by name, the experiments on real pictures, and what they say of data without factors."""

import shlex
from pathlib import Path

import numpy as np
import polars
import pytest

from unbraid.cli.app import main
from unbraid.data import load
from unbraid.errors import UsageError
from unbraid.objectives import options_of
from unbraid.theory import PRESETS, agreement, agreement_trials, fit, image_trials, judge, preset, run_trials
from unbraid.training import open_run, train


def needs(name):
    try:
        return load(name)
    except UsageError as error:
        pytest.skip(str(error))


def test_presets_have_the_steps_and_weights_of_the_published_table():
    # 50 epochs of 80 % of 737,280 images in batches of 128; 400 and 500 epochs of 60,000.
    assert preset("dsprites").steps() == 50 * 589_824 // 128
    assert [preset(name).steps() for name in ("mnist", "fashion-mnist")] == [187_500, 234_375]
    model = preset("mnist").objective("vae").build(_problem((28, 28, 1)), _generator())
    # Hidden layers 400 and 500-500 of 784 pixels and six latents, biases everywhere, mean and log variance.
    weights = 785 * 400 + 401 * 12 + 7 * 500 + 501 * 500 + 501 * 784
    assert sum(p.numel() for p in model.parameters()) == weights
    model = preset("dsprites").objective("ae").build(_problem((64, 64, 1)), _generator())
    weights = 4097 * 1200 + 1201 * 1200 + 1201 * 5 + 6 * 1200 + 2 * 1201 * 1200 + 1201 * 4096
    assert sum(p.numel() for p in model.parameters()) == weights
    for name, plan in PRESETS.items():
        for column in plan.models:
            options = options_of(plan.objective(column))
            assert options["optimizer"] == ("adagrad" if name in ("dsprites", "mnist", "fashion-mnist") else "adam")
    line = load("synth-linear")
    assert preset("synth-linear").objective("beta-vae", line).beta == pytest.approx(1e-4 * line.scale**2)
    with pytest.raises(UsageError, match="mnist"):
        preset("mnists")


def _problem(shape):
    from unbraid.objectives import Problem

    return Problem(shape, 100)


def _generator():
    import torch

    return torch.Generator().manual_seed(0)


def test_the_command_of_a_preset_trains_the_same_objective(tmp_path):
    needs("mnist")
    words = shlex.split(preset("mnist").command("full-beta-vae", str(tmp_path / "run")))
    assert words[0] == "unbraid"
    words[words.index("--steps") + 1] = "1"
    assert main([*words[1:], "--progress", "none", "--json"]) == 0
    assert open_run(tmp_path / "run").objective == preset("mnist").objective("full-beta-vae")


def test_pictures_without_factors_have_a_distance_and_no_score(tmp_path):
    needs("mnist")
    rows = run_trials(image_trials("mnist", tmp_path, seeds=1, steps=2), tmp_path / "trials")
    assert rows["model"].to_list() == ["vae", "ae", "full-beta-vae", "random"]
    assert rows["ds"].null_count() == rows["mig"].null_count() == 4
    untrained = rows.filter(rows["model"] == "random")
    # Six random columns of many rows lie about as far from orthogonal as a random rotation: 1.91, at most 2.665.
    assert 1.2 < untrained["distance"].item() < 2.665
    assert (tmp_path / "runs" / "mnist-vae-seed0" / "run.json").exists()
    with pytest.raises(UsageError, match="pictures"):
        next(image_trials("blobs16", tmp_path))


def test_a_run_is_judged_as_a_model_in_memory_is(tmp_path):
    from unbraid.objectives import BetaVAE

    data = load("blobs16")
    objective = BetaVAE(beta=0.1, net="mlp:width=16", latents=2, learning_rate=1e-2)
    found = judge(train(objective, data, out=tmp_path / "run", steps=60, batch_size=64, progress="none"), data)
    assert len(found.codes) == len(data)
    row = found.to_row()
    assert 0 <= row["ds"] <= 1
    # The mean image is the sigmoid s of logits, so that its columns are those of the logits times s (1 - s).
    other = fit(objective, data, steps=0)
    import torch

    decoder = other.model.decoder
    codes = torch.as_tensor(other.codes[:1], dtype=torch.float32)
    logits = torch.autograd.functional.jacobian(lambda z: decoder(z).flatten(), codes)[:, 0].double().numpy()
    image = torch.sigmoid(decoder(codes)).flatten().double().detach().numpy()
    assert np.allclose(other.jacobians[0], (image * (1 - image))[:, None] * logits, atol=1e-6)


def test_restarts_stop_in_turn_and_their_agreement_is_a_rank_correlation(tmp_path):
    trials = list(agreement_trials("blobs16", tmp_path, seeds=6, steps=10))
    assert [trial.setting["steps"] for trial in trials] == [2, 6, 10] * 2
    rows = [{"distance": d, "ds": s} for d, s in ((0.1, 0.9), (0.2, 0.8), (0.3, 0.1), (None, 0.5))]
    assert agreement(rows) == (-1.0, 3)
    with pytest.raises(UsageError, match="three restarts"):
        agreement(rows[:2])
    with pytest.raises(UsageError, match="agreement"):
        next(agreement_trials("mnist", tmp_path))


def test_the_agreement_command_writes_the_correlation_and_the_points(tmp_path, capsys):
    assert main(f"theory study agreement --seeds 6 --steps 200 --out {tmp_path}".split()) == 0
    assert "Rank correlation of distance and score over" in (tmp_path / "agreement.md").read_text()
    assert (tmp_path / "agreement_points.png").read_bytes()[:4] == b"\x89PNG"
    assert main(f"theory study images --model ae --out {tmp_path}".split()) == 2
    assert "--model belongs to manipulation" in capsys.readouterr().err


def test_the_page_tells_the_correlation_of_its_table():
    page = Path(__file__).parents[2] / "docs" / "studies" / "vae_pca"
    correlation, count = agreement(polars.read_csv(page / "agreement.csv").to_dicts())
    text = (page / "report.md").read_text(encoding="utf-8")
    assert f"Rank correlation of distance and score over {count} restarts: {correlation:.2f}." in text
    assert f"over {count} restarts it has a rank correlation of {correlation:.2f} with the score" in text


@pytest.mark.slow
def test_restarts_with_orthogonal_decoders_separate_the_factors(tmp_path):
    rows = run_trials(agreement_trials("blobs16", tmp_path, seeds=24), tmp_path / "trials").to_dicts()
    correlation, count = agreement(rows)
    assert count >= 20
    assert correlation < -0.5
