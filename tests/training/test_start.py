"""Beginning a run from another one's weights."""

import hashlib
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from dots import Dots
from unbraid import objectives
from unbraid.data import from_arrays
from unbraid.errors import UsageError
from unbraid.training import train

OPTIONS = {"net": "mlp:width=16", "latents": 3}


def run(out, steps, *, rate=1e-3, **more):
    objective = objectives.make("beta-vae", {**OPTIONS, "learning_rate": rate})
    return train(objective, Dots(), out=out, steps=steps, progress="none", precision="fp32", **more)


def test_a_run_begins_with_the_donors_weights_optimiser_and_step_in_storage_of_its_own(tmp_path):
    run(tmp_path / "donor", 20)
    donor = (tmp_path / "donor" / "checkpoint.safetensors").read_bytes()
    copy = run(tmp_path / "copy", 20, rate=1e-2, seed=5, batch_size=32, start=tmp_path / "donor")
    # A budget that the donor has used up already: nothing is trained, so every tensor must be the donor's.
    assert copy.info["step"] == 20
    tensors, copied = (load_file(tmp_path / name / "checkpoint.safetensors") for name in ("donor", "copy"))
    assert tensors.keys() == copied.keys()
    assert all(tensors[name].equal(copied[name]) for name in tensors)
    run(tmp_path / "copy", 30, rate=1e-2, seed=5, batch_size=32, start=tmp_path / "donor")
    assert (tmp_path / "donor" / "checkpoint.safetensors").read_bytes() == donor
    assert not load_file(tmp_path / "copy" / "checkpoint.safetensors").popitem()[1].equal(tensors.popitem()[1])


def test_the_learning_rate_is_the_new_runs_own(tmp_path):
    # Adam's moments are inherited with the weights, so that the first update is proportional to the learning rate.
    run(tmp_path / "donor", 20)
    before = load_file(tmp_path / "donor" / "checkpoint.safetensors")["model/encoder.1.weight"]
    moved = {}
    for rate in (1e-3, 2e-3):
        run(tmp_path / str(rate), 21, rate=rate, start=tmp_path / "donor")
        moved[rate] = load_file(tmp_path / str(rate) / "checkpoint.safetensors")["model/encoder.1.weight"] - before
    ratio = moved[2e-3].norm() / moved[1e-3].norm()
    assert float(ratio) == pytest.approx(2, rel=1e-3)


def weights(path):
    return {
        name: value for name, value in load_file(path / "checkpoint.safetensors").items() if name.startswith("model/")
    }


def test_in_part_only_the_named_weights_are_taken_and_the_rest_begins_anew(tmp_path):
    donor = run(tmp_path / "donor", 20)
    plain = run(tmp_path / "plain", 1, seed=5)
    heir = run(tmp_path / "heir", 1, seed=5, start=donor.path, parts=("encoder",))
    assert heir.info["step"] == 1
    moved = {"plain": 0.0, "donor": 0.0}
    for name, value in weights(heir.path).items():
        near = "donor" if name.startswith("model/encoder") else "plain"
        # One step of Adam moves a weight by the learning rate at most; its own history starts with this run.
        distance = (value - weights(tmp_path / near)[name]).abs().max().item()
        assert distance <= (1 if near == "donor" else 2) * 1.001e-3, name
        moved[near] = max(moved[near], distance)
    assert moved["donor"] > 0
    assert load_file(heir.path / "checkpoint.safetensors")["optimizer/model/0/step"] == 1
    assert heir.info["start"] == {
        "path": str(donor.path),
        "step": 20,
        "checkpoint": hashlib.sha256((donor.path / "checkpoint.safetensors").read_bytes()).hexdigest()[:16],
        "parts": ["encoder"],
    }
    assert plain.info["start"] is None


@pytest.mark.parametrize("parts", [(), ("encoder", "decoder")])
def test_a_run_that_began_from_another_resumes_to_the_same_bytes_without_it(tmp_path, parts):
    run(tmp_path / "donor", 20)
    whole = run(tmp_path / "whole", 60, seed=5, start=tmp_path / "donor", parts=parts)
    run(tmp_path / "broken", 37, seed=5, start=tmp_path / "donor", parts=parts)
    (tmp_path / "donor").rename(tmp_path / "moved")
    broken = run(tmp_path / "broken", 60, seed=5, start=tmp_path / "donor", parts=parts)
    for name in ("checkpoint.safetensors", "history.csv"):
        assert (broken.path / name).read_bytes() == (whole.path / name).read_bytes(), name
    assert broken.info["start"]["step"] == 20


def test_a_run_goes_on_as_it_began_or_not_at_all(tmp_path):
    donor = run(tmp_path / "donor", 5).path
    stranger = run(tmp_path / "stranger", 5, seed=1).path
    run(tmp_path / "heir", 3, start=donor, parts=("encoder",))
    for other, words in (
        (
            {"start": stranger, "parts": ("encoder",)},
            "began with encoder of .*donor, now asked .* encoder of .*stranger",
        ),
        ({}, "began with encoder of .*donor, now asked to begin with new weights"),
        ({"start": donor}, "now asked to begin with all of .*donor"),
        ({"start": donor, "parts": ("decoder",)}, "now asked to begin with decoder of"),
    ):
        with pytest.raises(UsageError, match=words):
            run(tmp_path / "heir", 6, **other)
    with pytest.raises(UsageError, match="began with new weights, now asked to begin with all of"):
        run(donor, 6, start=tmp_path / "heir")
    # The donor may move, train on where it was, or go.
    moved = shutil.copytree(donor, tmp_path / "moved")
    run(donor, 6)
    shutil.rmtree(stranger)
    for number, place in enumerate((moved, donor, stranger), 4):
        assert run(tmp_path / "heir", number, start=place, parts=("encoder",)).info["step"] == number


def test_what_cannot_be_taken_is_named(tmp_path):
    donor = run(tmp_path / "donor", 1).path
    for options, words in (
        ({"parts": ("encoder",)}, "parts = encoder of which run"),
        ({"start": donor, "parts": "encoder"}, r"parts must be a sequence of names such as \('encoder',\)"),
        ({"start": donor, "parts": ("encodr",)}, "unknown part of this model 'encodr'; did you mean 'encoder'"),
        ({"start": tmp_path / "none", "parts": ()}, "cannot start from .*none: it has no checkpoint"),
    ):
        with pytest.raises(UsageError, match=words):
            run(tmp_path / "heir", 1, **options)
    wider = objectives.make("beta-vae", {"net": "mlp:width=16", "latents": 4})
    with pytest.raises(UsageError, match=r"decoder.0.weight has shape \(16, 3\), expected \(16, 4\)"):
        train(wider, Dots(), out=tmp_path / "heir", steps=1, progress="none", start=donor, parts=("decoder",))
    factor = objectives.make("factor-vae", {**OPTIONS, "discriminator_width": 8})
    with pytest.raises(UsageError, match=r"unknown part of the model in .*donor.*'discriminator'"):
        train(factor, Dots(), out=tmp_path / "heir", steps=1, progress="none", start=donor, parts=("discriminator",))
    # Nothing of these attempts is in the way of the right one.
    assert run(tmp_path / "heir", 1, start=donor, parts=("decoder",)).finished


def test_a_run_that_died_before_its_first_checkpoint_takes_the_start_as_it_is_then(tmp_path):
    donor = run(tmp_path / "donor", 5).path
    heir = run(tmp_path / "heir", 6, start=donor)
    (heir.path / "checkpoint.safetensors").unlink()
    (heir.path / "history.csv").unlink()
    run(donor, 8)
    assert run(tmp_path / "heir", 9, start=donor).info["start"]["step"] == 8


def test_the_command_starts_from_a_part(tmp_path, capsys):
    from unbraid.cli.app import main

    donor = run(tmp_path / "donor", 5).path
    plugin = Path(__file__).parents[1] / "dots.py"
    words = ["train", "beta-vae", "--plugin", str(plugin), "--data", "dots", "--net", "mlp:width=16", "--latents", "3"]
    words += ["--steps", "2", "--progress", "none", "--start", str(donor), "--parts", "encoder, decoder"]
    assert main([*words, "--out", str(tmp_path / "heir")]) in (0, None)
    assert json.loads((tmp_path / "heir" / "run.json").read_text())["start"]["parts"] == ["encoder", "decoder"]
    assert "finished at step 2" in capsys.readouterr().out


@pytest.mark.parametrize("net", ["cnn:width=4", "mlp:width=8", "resnet", "set-encoder", "coordconv"])
def test_a_predictor_begins_with_the_trunk_of_one_for_other_factors(tmp_path, net):
    # Three factors there, two here: all but the last layer is taken, which is new.
    images = np.random.default_rng(0).integers(0, 256, (32, 16, 16, 1), dtype=np.uint8)
    elsewhere = from_arrays(images, np.random.default_rng(1).integers(0, 3, (32, 3)))
    objective = objectives.make("regressor", {"net": net})
    settings = {"progress": "none", "batch_size": 8}
    donor = train(objective, elsewhere, out=tmp_path / "donor", steps=3, **settings)
    # A rate of next to nothing keeps what a run began with, up to the last digits.
    still = objectives.make("regressor", {"net": net, "learning_rate": 1e-12})
    settings |= {"steps": 1}
    heir = train(still, Dots(), out=tmp_path / "heir", start=donor.path, parts=["trunk"], **settings)
    fresh = train(still, Dots(), out=tmp_path / "fresh", **settings)
    theirs, ours, new = (run.model.state_dict() for run in (donor, heir, fresh))
    trunk = heir.model.trunk()
    assert set(ours) - set(trunk) == {name for name in ours if theirs[name].shape != ours[name].shape}
    for name, value in ours.items():
        torch.testing.assert_close(value, (theirs if name in trunk else new)[name], atol=1e-9, rtol=1e-6)
    assert heir.info["start"]["parts"] == ["trunk"]
    wider = objectives.make("regressor", {"net": "mlp:width=9"})
    with pytest.raises(UsageError, match=r"does not fit|has shape"):
        train(wider, Dots(), out=tmp_path / "other", start=donor.path, parts=["trunk"], **settings)
