"""Climbs from noise: sure models are reached, those that are even away from data are not."""

import numpy as np
import pytest
import torch
from torch import nn

from unbraid.errors import UsageError
from unbraid.robustness import distal
from unbraid.robustness.synthesis import PUBLISHED, Calibration

SHAPE = (1, 8, 8)


def network():
    """A small network with weights as large as those of a trained one."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ELU(), nn.Flatten(), nn.Linear(144, 10))
    with torch.no_grad():
        model[3].weight.mul_(10)
    return model


class Energies(nn.Module):
    """Minus squared distances to ten images that are black but for a row: what analysis by synthesis says."""

    def __init__(self):
        super().__init__()
        self.drawn = nn.Parameter(torch.zeros(10, 28 * 28))
        with torch.no_grad():
            for row in range(10):
                self.drawn[row, 28 * row : 28 * (row + 1)] = 1

    def forward(self, images):
        return -((images.flatten(1)[:, None] - self.drawn) ** 2).sum(2)


def test_a_network_is_made_sure_of_noise_within_the_step_limit():
    model = network()
    found = distal(model, SHAPE, count=3, steps=500)
    assert found.success.all()
    assert (found.labels == 1).all()
    assert (found.steps > 0).all()
    assert (found.steps < 500).all()
    assert ((found.images >= 0) & (found.images <= 1)).all()
    chances = model(found.images).softmax(1)[:, 1].detach().numpy()
    np.testing.assert_allclose(found.confidence, chances, rtol=1e-5)
    assert (chances >= 0.9).all()
    assert "3 of 3 images of noise" in str(found)


def test_along_the_score_a_model_that_explains_images_is_sure_of_one_of_the_class():
    model = Energies()
    even = PUBLISHED
    stuck = distal(model, (1, 28, 28), label=4, count=3, calibration=even, steps=400)
    assert not stuck.success.any()
    assert (stuck.steps == 0).all()
    found = distal(model, (1, 28, 28), label=4, count=3, calibration=even, steps=400, along="score")
    assert found.success.all()
    assert ((found.steps > 50) & (found.steps < 400)).all()
    drawn = model.drawn[4].reshape(1, 28, 28)
    assert ((found.images - drawn).flatten(1).norm(dim=1) < 0.7 * (0.5 - drawn).norm()).all()
    with pytest.raises(UsageError, match="along must be 'probability' or 'score', got 'energy'"):
        distal(model, (1, 28, 28), along="energy")


def test_a_slope_too_small_to_move_a_pixel_ends_a_climb_and_a_larger_one_does_not():
    # With momentum 0.95 steps grow to 20 times the slope; half a unit in the last place of a pixel near 0.5 is 3e-8.
    asked = []

    def tilted(slope):
        def model(images):
            asked.append(len(images))
            return torch.stack([0 * images.sum((1, 2, 3)), slope * images.double().sum((1, 2, 3))], 1)

        return model

    never = distal(tilted(1e-12), SHAPE, label=1, count=2, steps=50)
    assert never.steps.tolist() == [0, 0]
    assert len(asked) < 10
    later = distal(tilted(3e-8), SHAPE, label=1, count=2, steps=50)
    assert later.steps.tolist() == [50, 50]


def test_the_model_that_verifies_decides_when_a_climb_is_over():
    model = network()

    def boasting(images):
        return 3 * model(images)

    alone, verified = (distal(boasting, SHAPE, count=3, steps=500, verify=judge) for judge in (None, model))
    assert verified.success.all()
    assert (verified.steps >= alone.steps).all()
    assert (verified.steps > alone.steps).any()
    chances = model(verified.images).softmax(1)[:, 1].detach().numpy()
    np.testing.assert_allclose(verified.confidence, chances, rtol=1e-5)
    assert (chances >= 0.9).all()
    never = distal(boasting, SHAPE, count=3, steps=20, verify=lambda images: 0 * model(images))
    assert not never.success.any()
    np.testing.assert_allclose(never.confidence, 0.1)


def test_a_posterior_that_is_even_away_from_data_is_not_climbed():
    # A noise image is about 784 / 3 from black ones: exp(-0.56 * 250) is nothing beside eta, every class has 1/10,
    # and its logarithm has no slope: it is over at once.
    found = distal(Energies(), (1, 28, 28), count=3, calibration=PUBLISHED, steps=50)
    assert not found.success.any()
    assert (found.confidence <= 0.101).all()
    assert found.steps.tolist() == [0, 0, 0]
    # Without eta the same energies, though as far, are told apart: a row of 28 pixels is worth 56 nats.
    assert distal(Energies(), (1, 28, 28), count=1, calibration=Calibration(1.0), steps=300).success.all()


def test_functions_without_gradients_are_climbed_by_moving_pixels():
    model = network()

    def bytes_only(images):
        with torch.no_grad():
            return model(torch.from_numpy(images).permute(0, 3, 1, 2).float() / 255).numpy()

    found = distal(bytes_only, SHAPE, [1, 7], steps=60)
    assert found.labels.tolist() == [1, 7]
    assert found.success.all()


def test_the_step_limit_ends_a_climb_and_the_seed_decides_where_it_begins():
    model = network()
    short = distal(model, SHAPE, count=2, steps=1, rate=1e-6)
    assert not short.success.any()
    assert short.steps.tolist() == [1, 1]
    same, other = (distal(model, SHAPE, count=2, steps=1, rate=1e-6, seed=seed) for seed in (0, 1))
    assert torch.equal(short.images, same.images)
    assert not torch.equal(short.images, other.images)
    assert not torch.equal(short.images[0], short.images[1])


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"shape": (8, 8)}, "shape must be"),
        ({"count": 0}, "at least 1"),
        ({"steps": 0}, "at least 1"),
        ({"confidence": 1.0}, "confidence must lie"),
        ({"momentum": 1.0}, "momentum from 0"),
        ({"label": -1}, "label must be a class"),
        ({"label": 10}, "there is a class 10"),
    ],
)
def test_what_cannot_be_meant_is_told(asked, message):
    with pytest.raises(UsageError, match=message):
        distal(network(), **{"shape": SHAPE, **asked})
