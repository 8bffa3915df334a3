"""Beginning a run from another one's weights."""

import pytest
from safetensors.torch import load_file

from dots import Dots
from unbraid import objectives
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
