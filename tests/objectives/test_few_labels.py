"""Streams with a second batch, and the methods that learn from a few labelled images."""

import numpy as np
import pytest
import torch

import unbraid
from unbraid.data import FewLabelsStream, TwoBatchStream, from_arrays, make_stream
from unbraid.errors import UsageError
from unbraid.objectives import BetaVAE, Inputs, Problem, S2BetaVAE

SMALL = {"net": "mlp:width=64", "latents": 3}


def test_the_first_batch_is_that_of_the_plain_stream(dots):
    plain = make_stream("images", dots, 16, 3)(5)
    for kind in ("two-batches", "few-labels:labels=10"):
        batch = make_stream(kind, dots, 16, 3)(5)
        assert (batch.images == plain.images).all()
        assert batch.partners.shape == plain.images.shape
        assert (batch.partners != plain.images).any()


def test_batches_depend_on_seed_and_step_only(dots):
    for make in (lambda: TwoBatchStream(dots, 8, 1), lambda: FewLabelsStream(dots, 8, 1, labels=30)):
        first, again = make(), make()
        assert (first(7).partners == again(7).partners).all()
        assert (first(7).partners != first(8).partners).any()


def test_labelled_images_come_from_a_fixed_set_with_their_own_factors(dots):
    stream = FewLabelsStream(dots, 64, 0, labels=20)
    assert len(set(stream.labelled)) == 20
    seen = set()
    for step in range(30):
        batch = stream(step)
        index = dots.space.index(batch.partner_factors)
        assert (dots.images(index) == batch.partners).all()
        seen |= set(index)
    assert seen == set(stream.labelled)  # 1920 draws miss one of 20 with probability 20 * 0.95^1920 < 1e-40
    assert set(FewLabelsStream(dots, 64, 9, labels=20).labelled) == seen  # another run, the same labels
    assert set(FewLabelsStream(dots, 64, 0, labels=20, label_seed=1).labelled) != seen


def test_options_of_the_objective_reach_the_stream(dots):
    stream = make_stream(S2BetaVAE(labels=7, label_seed=2).needs, dots, 4, 0)
    assert isinstance(stream, FewLabelsStream)
    assert (stream.labelled == FewLabelsStream(dots, 4, 0, labels=7, label_seed=2).labelled).all()


def test_what_cannot_be_labelled_is_refused(dots, tmp_path):
    images = dots.images(np.arange(144))
    with pytest.raises(UsageError, match=r"labels must lie in 1\.\.144.*got 1000"):
        unbraid.train(S2BetaVAE(**SMALL), dots, steps=1, out=tmp_path / "a")
    with pytest.raises(UsageError, match="needs data with known factors"):
        unbraid.train(S2BetaVAE(**SMALL), from_arrays(images), steps=1, out=tmp_path / "b")
    with pytest.raises(UsageError, match="no known factors"):
        FewLabelsStream(from_arrays(images), 4, 0, labels=10)
    with pytest.raises(UsageError, match="latents must be at least the number of factors, 2, got 1"):
        S2BetaVAE(latents=1).build(Problem((16, 16, 1), 144, factor_sizes=(12, 12)), torch.Generator())
    objective = S2BetaVAE(**SMALL)
    model = objective.build(Problem((16, 16, 1), 144, factor_sizes=(12, 12)), torch.Generator().manual_seed(0))
    with pytest.raises(UsageError, match="needs a stream of labelled images"):
        objective.loss(model, Inputs(torch.zeros(2, 1, 16, 16)), 0, torch.Generator())


def test_labels_tie_the_first_latents_to_the_factors(dots, tmp_path):
    options = {"steps": 400, "progress": "none"}
    shared = {"beta": 1.0, "learning_rate": 3e-3, **SMALL}
    labelled = S2BetaVAE(labels=100, gamma_sup=10.0, **shared)
    runs = [
        unbraid.train(labelled, dots, out=tmp_path / "labelled", **options),
        unbraid.train(BetaVAE(**shared), dots, out=tmp_path / "plain", **options),
    ]
    codes = [run.encode(dots.images(np.arange(144))) for run in runs]
    factors = dots.space.factors(np.arange(144))
    aligned, free = (np.corrcoef(code[:, :2].T, factors.T)[[0, 1], [2, 3]] for code in codes)
    assert (aligned > 0.9).all()  # rising with the factor, on all images
    assert (free < 0.5).any()
