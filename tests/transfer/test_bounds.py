"""Bounds of attacks: as large as random noise that a plain model bears."""

import math

import numpy as np
import pytest

from unbraid.errors import UsageError
from unbraid.transfer import noise_bound
from unbraid.transfer.bounds import noisy

GREY = np.full((200, 8, 8, 1), 128, np.uint8)


@pytest.mark.parametrize(("norm", "size"), [("l0", 7), ("l2", 0.8), ("linf", 0.1)])
def test_noise_has_the_size_that_was_asked_for(norm, size):
    moved = noisy(GREY, norm, size).astype(float) / 255 - 128 / 255
    flat = moved.reshape(len(moved), -1)
    found = {"l0": (flat != 0).sum(1), "l2": np.linalg.norm(flat, axis=1), "linf": np.abs(flat).max(1)}[norm]
    assert found == pytest.approx(size, rel=0.03)


def test_the_bound_is_where_a_threshold_on_the_noise_lets_a_tenth_through():
    # The model is right while the largest change of a pixel is below a limit of its own image: 0.1, 0.2, ... 0.9 or 1.
    # Noise of linf size s is borne by the images whose limit lies above s; 9 of 10 limits do as long as s < 0.2.
    limits = np.repeat(np.arange(1, 11) / 10, 20)

    def predict(images):
        change = np.abs(images.astype(float) / 255 - 128 / 255).reshape(len(images), -1).max(1)
        return np.eye(2)[(change >= limits).astype(int)]

    labels = np.zeros(200, int)
    assert noise_bound(predict, GREY, labels, "linf") == pytest.approx(0.2, abs=0.005)


def test_pixels_are_counted_whole():
    def predict(images):  # wrong once ten pixels have changed
        return np.eye(2)[((images != 128).reshape(len(images), -1).sum(1) >= 10).astype(int)]

    assert noise_bound(predict, GREY, np.zeros(200, int), "l0") == 9.0


def test_models_that_are_too_weak_or_never_fall_have_no_such_bound():
    def never(images):
        return np.tile([1.0, 0.0], (len(images), 1))

    assert math.isnan(noise_bound(never, GREY, np.ones(200, int), "l2"))
    assert noise_bound(never, GREY, np.zeros(200, int), "l2") == 8.0  # the whole way: sqrt(64 pixels)
    with pytest.raises(UsageError, match="accuracy"):
        noise_bound(never, GREY, np.zeros(200, int), "l2", accuracy=1.5)
    with pytest.raises(UsageError, match="norm"):
        noise_bound(never, GREY, np.zeros(200, int), "l7")
