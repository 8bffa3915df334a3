"""Learning curves: what codes know of each factor during training, and the CPU time it took."""

import time

import numpy as np
import polars as pl
import pytest

from unbraid.data import from_arrays
from unbraid.errors import UsageError
from unbraid.evaluation import learning_curve, learning_hook
from unbraid.objectives import make
from unbraid.training import Moment, train

OPTIONS = {"batch_size": 16, "progress": "none", "checkpoint_seconds": 1e9}
KINDS = ["categorical", "ordinal"]
NAMES = ["step", "seconds", "r2", "r2_x", "r2_y", "mig", "active"]


def test_a_curve_has_every_factor_and_training_ends_with_the_same_weights(dots, tmp_path):
    objective = make("beta-vae", {"net": "mlp:width=16", "latents": 3})
    hook = learning_hook(dots, every=5, images=60)
    watched = train(objective, dots, out=tmp_path / "a", steps=17, hooks=[hook], **OPTIONS)
    plain = train(objective, dots, out=tmp_path / "b", steps=17, **OPTIONS)
    curve = learning_curve(watched)
    assert curve.columns == NAMES
    assert curve["step"].to_list() == [5, 10, 15]
    assert (curve["seconds"].diff().drop_nulls() > 0).all()
    assert curve["r2"].to_numpy() == pytest.approx((curve["r2_x"] + curve["r2_y"]).to_numpy() / 2)
    images = dots.images(np.arange(20))
    assert np.array_equal(watched.encode(images), plain.encode(images))


def test_codes_that_hold_one_factor_know_this_one_alone(dots):
    # An encoder that gives the centre of mass of the rows: y is known all but exactly, x not at all.
    class Rows:
        name = "rows"

        def encode(self, model, images):
            rows = images.sum((1, 3)) @ model
            return (rows / images.sum((1, 2, 3)))[:, None]

    import torch

    hook = learning_hook(dots, images=900)
    found = hook.call(Moment(1, Rows(), torch.arange(16.0), torch.device("cpu")))
    assert found["r2_y"] > 0.99
    assert found["r2_x"] < 0.1
    assert found["mig"] == pytest.approx(0.5, abs=0.1)  # the whole gap of one factor of two
    assert "active" not in found  # no posterior


def test_time_is_that_of_training_alone_and_goes_on_after_a_break(dots, tmp_path, monkeypatch):
    # A clock of 10 ms per step and a second per look: 100 ms until step 10, 200 ms until step 20, however it is cut.
    now = [0.0]
    monkeypatch.setattr(time, "process_time", lambda: now[0])
    objective = make("vae", {"net": "mlp:width=8", "latents": 2})
    hook = learning_hook(dots, every=10, images=60)

    class Ticking(type(objective)):
        def loss(self, *args):
            now[0] += 0.01
            return super().loss(*args)

    from unbraid.evaluation import learning

    looked = learning.mig

    def slow_look(*args, **options):
        now[0] += 1.0
        return looked(*args, **options)

    monkeypatch.setattr(learning, "mig", slow_look)
    ticking = Ticking(net="mlp:width=8", latents=2)
    train(ticking, dots, out=tmp_path, steps=14, hooks=[hook], **OPTIONS)
    now[0] += 100  # another process, later
    run = train(ticking, dots, out=tmp_path, steps=20, hooks=[learning_hook(dots, every=10, images=60)], **OPTIONS)
    assert learning_curve(run)["seconds"].to_list() == pytest.approx([0.1, 0.2])


def test_without_factors_or_a_curve_there_is_an_answer(dots, tmp_path):
    bare = from_arrays(np.zeros((40, 16, 16, 1), np.uint8))
    with pytest.raises(UsageError, match="learning curves ask for known factors"):
        learning_hook(bare)
    with pytest.raises(UsageError, match="images must be at least 30, got 5"):
        learning_hook(dots, images=5)
    run = train(make("vae", {"net": "mlp:width=8", "latents": 2}), dots, out=tmp_path, steps=2, **OPTIONS)
    with pytest.raises(UsageError, match="has no learning curve; train with --watch learning"):
        learning_curve(run)
    assert isinstance(run.evaluations(), pl.DataFrame)


def test_curves_tell_how_often_a_category_is_named():
    # Images of one grey level per class: the code is the level, so each class is known; the order of levels is not x.
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, 400)
    images = np.broadcast_to((80 * labels)[:, None, None, None], (400, 8, 8, 1)).astype(np.uint8)
    data = from_arrays(images, factors=np.column_stack([labels, rng.integers(0, 4, 400)]), kinds=KINDS)

    class Level:
        name = "level"

        def encode(self, model, images):
            return images.mean((1, 2, 3))[:, None]

    import torch

    found = learning_hook(data, images=300).call(Moment(1, Level(), None, torch.device("cpu")))
    category, order = (f"accuracy_{name}" for name in data.factor_names)
    assert found[category] == 1
    assert order not in found
