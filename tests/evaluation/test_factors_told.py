"""What codes tell of each factor, apart or mixed."""

import numpy as np
import pytest

from unbraid import evaluation
from unbraid.errors import UsageError
from unbraid.evaluation import as_run, measure


def asked(encode, data, **settings):
    run = as_run(encode)
    scores = measure(run, data, evaluation.make("factors", {"train": 400, "test": 200, **settings}))["factors"].rows[0][
        1
    ]
    return {name: float(score) for name, score in scores.items()}


def centres(images):
    """Where the dot is: x and y."""
    weight = images.sum(3).astype(float)
    places = np.arange(images.shape[1])
    rows, columns = weight.sum(2) @ places, weight.sum(1) @ places
    return np.stack([columns, rows], axis=1) / weight.sum((1, 2))[:, None]


def test_a_code_of_one_factor_tells_of_this_one_alone(dots):
    found = asked(lambda images: centres(images)[:, 1:], dots)
    assert set(found) == {"r2", "r2_x", "r2_y"}
    assert found["r2_y"] > 0.98
    assert found["r2_x"] < 0.1
    assert found["r2"] == pytest.approx((found["r2_x"] + found["r2_y"]) / 2)


def test_turned_codes_tell_all_the_same(dots):
    # It asks what is there, not whether it is apart.
    found = asked(lambda images: centres(images) @ np.array([[1, 1], [1, -1]]), dots)
    assert min(found["r2_x"], found["r2_y"]) > 0.9


def test_too_few_images_are_refused():
    with pytest.raises(UsageError, match="test must be at least 10, got 3"):
        evaluation.make("factors", {"test": 3})
