"""Running averages of batch normalisation are part of a model: saved, resumed, inherited, and used to encode."""

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

import unbraid
from unbraid import objectives
from unbraid.data import make_stream
from unbraid.errors import UsageError
from unbraid.training import Hook, open_run, train_together

FILE = "checkpoint.safetensors"
OBJECTIVE = objectives.make("beta-tcvae-sampled", {"net": "conv-bn", "latents": 3, "learning_rate": 1e-3})


def train(dots, out, **options):
    return unbraid.train(OBJECTIVE, dots, out=out, batch_size=16, progress="none", **options)


def averages(run):
    return {name: value for name, value in load_file(run.path / FILE).items() if "running" in name}


def test_resuming_ends_with_the_same_bytes(dots, tmp_path):
    train(dots, tmp_path / "parts", steps=3)
    parts = train(dots, tmp_path / "parts", steps=6)
    whole = train(dots, tmp_path / "whole", steps=6)
    assert (parts.path / FILE).read_bytes() == (whole.path / FILE).read_bytes()


def test_what_a_hook_encodes_does_not_move_the_averages(dots, tmp_path):
    modes = []
    images = torch.rand(4, 1, 16, 16, generator=torch.Generator().manual_seed(0))

    def look(moment):
        modes.append(moment.model.training)
        moment.objective.encode(moment.model, images)
        return {"nothing": 0.0}

    watched = averages(train(dots, tmp_path / "watched", steps=3, hooks=[Hook(look, every=1)]))
    alone = averages(train(dots, tmp_path / "alone", steps=3))
    assert modes == [False] * 3
    assert all(value.equal(watched[name]) for name, value in alone.items())


def test_encoding_uses_the_saved_averages_whatever_else_is_in_the_batch(dots, tmp_path):
    run = train(dots, tmp_path, steps=5)
    found = averages(run)
    assert len(found) == 12  # mean and variance of three layers in either network for 16 x 16 pixels
    # Five steps of momentum 0.1 from mean 0 and variance 1.
    assert all(value.abs().max() > 0 for value in found.values())
    assert not any((value == 1).all() for name, value in found.items() if name.endswith("var"))
    images = dots.images(np.arange(7))
    again = open_run(tmp_path)
    np.testing.assert_allclose(again.encode(images)[2:3], again.encode(images[2:3]), atol=1e-5)
    # Encoding changes nothing.
    assert not again.model.training
    np.testing.assert_array_equal(again.encode(images), open_run(tmp_path).encode(images))


def test_a_run_inherits_the_averages_of_the_one_it_begins_from(dots, tmp_path):
    # As a member of a population does that takes over another one.
    donor = train(dots, tmp_path / "donor", steps=4)
    heir = train(dots, tmp_path / "heir", steps=4, start=donor.path, seed=5)
    assert all(value.equal(averages(heir)[name]) for name, value in averages(donor).items())


def test_models_of_a_member_train_one_after_the_other(dots, tmp_path):
    def together(way):
        return train_together(
            OBJECTIVE,
            dots,
            outs=[tmp_path / way / str(number) for number in range(2)],
            seeds=[1, 2],
            stream=make_stream("images", dots, 16, 7),
            steps=2,
            batch_size=16,
            way=way,
        )

    assert all(run.finished for run in together("auto"))
    with pytest.raises(UsageError, match="cannot be stacked"):
        together("stacked")


def test_batches_of_one_image_are_refused(dots, tmp_path):
    with pytest.raises(UsageError, match="batch_size must be at least 2"):
        unbraid.train(OBJECTIVE, dots, out=tmp_path, steps=1, batch_size=1, progress="none")
