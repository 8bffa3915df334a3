"""The smallest noise that changes a decision, against distances that can be computed."""

import numpy as np
import pytest
import torch
from classifier_toys import brightest_quarter, pictures, says
from torch import nn

from unbraid.errors import UsageError
from unbraid.robustness import NoiseDistance, first_to_fall, noise, noise_distance


def linear(weights: torch.Tensor, bias: float) -> nn.Module:
    """Two classes: the second where ``weights . x > bias``."""
    net = nn.Sequential(nn.Flatten(), nn.Linear(weights.numel(), 2)).to(weights.dtype)
    net[1].weight.data[:] = torch.stack([-weights.flatten(), weights.flatten()]) / 2
    net[1].bias.data[:] = torch.tensor([bias, -bias]) / 2
    return net


GREY = torch.full((30, 1, 6, 6), 0.5)
RNG = np.random.default_rng(0)
WEIGHTS = torch.from_numpy(RNG.standard_normal((1, 6, 6)).astype(np.float32))
NONE = np.zeros(30, int)


def test_the_distance_to_a_plane_is_the_margin_over_the_speed_along_the_noise():
    # w . (x + eta u) = b at eta = (b - w . x) / (w . u), if that is before all pixels reach their bounds together at
    # eta / 6 = 0.5; never where u leads away.
    directions = RNG.choice([-1.0, 1.0], (30, 1, 6, 6)).astype(np.float32)
    speed = (directions / 6 * WEIGHTS.numpy()).sum(axis=(1, 2, 3))
    margin = 1.5 * float(np.median(np.abs(speed)))
    found = noise_distance(linear(WEIGHTS, float((WEIGHTS * 0.5).sum()) + margin), GREY, NONE, 5 * directions)
    reached = (speed > 0) & (margin / np.abs(speed) < 3)
    assert 3 < reached.sum() < (speed > 0).sum()
    np.testing.assert_allclose(found.distances[reached], margin / speed[reached], atol=1e-3)
    assert np.isinf(found.distances[~reached]).all()
    assert found.direction == "ndarray"


def test_wrong_without_noise_is_zero_and_never_wrong_is_infinite():
    labels = np.array([0, 1] * 15)
    found = noise_distance(says(0, 2), GREY, labels)
    np.testing.assert_array_equal(found.distances, np.where(labels == 0, np.inf, 0))
    assert (found.misclassified, found.unmoved) == (0.5, 0.5)
    assert found.interval[1] == np.inf
    flat = noise_distance(linear(WEIGHTS, 100.0), GREY, NONE, np.zeros((1, 6, 6), np.float32))
    assert flat.unmoved == 1


def test_noise_grows_until_every_pixel_is_at_its_bound():
    # The decision hangs on a pixel that moves by 1e-4 of the noise: it takes a length of 4,000 to move it by 0.4.
    weights = torch.zeros(1, 6, 6)
    weights[0, 0, 0] = 1
    along = torch.ones(1, 6, 6)
    along[0, 0, 0] = 1e-4 * 35**0.5
    found = noise_distance(linear(weights, 0.9), GREY, NONE, along)
    np.testing.assert_allclose(found.distances, np.sqrt(35 * 0.5**2 + 0.4**2), rtol=1e-4)
    just = noise_distance(linear(weights, 0.9999), GREY[:1], NONE[:1], along)
    assert np.isfinite(just.distances).all()


def test_noise_of_all_kinds_is_drawn_by_the_number_of_the_image(monkeypatch):
    class Doubled:
        def sample(self, shape, generator):
            return 2 * torch.randn(shape, generator=generator)

    net = linear(WEIGHTS, float((WEIGHTS * GREY[0]).sum()) + 0.3)
    kinds = ["gaussian", "uniform", Doubled()]
    whole = [noise_distance(net, GREY, NONE, kind, seed=4) for kind in kinds]
    np.testing.assert_array_equal(whole[0].distances, noise_distance(net, GREY, NONE, seed=4).distances)
    monkeypatch.setattr(noise, "BATCH", 7)
    parts = [noise_distance(net, GREY, NONE, kind, seed=4) for kind in kinds]
    for first, second in zip(whole, parts, strict=True):
        np.testing.assert_allclose(first.distances, second.distances, rtol=1e-5)
    assert not np.array_equal(whole[0].distances, whole[2].distances)
    assert not np.array_equal(whole[0].distances, noise_distance(net, GREY, NONE, seed=5).distances)


def test_uniform_noise_is_as_strong_as_gaussian_of_the_same_length():
    images, labels = torch.full((400, 1, 12, 12), 0.5), np.zeros(400, int)
    weights = torch.from_numpy(RNG.standard_normal((1, 12, 12)).astype(np.float32))
    net = linear(weights, float((weights * 0.5).sum()) + 0.5)
    both = [noise_distance(net, images, labels, kind).distances for kind in ("gaussian", "uniform")]
    quarters = [np.quantile(found, 0.25, method="lower") for found in both]
    assert quarters[0] == pytest.approx(quarters[1], rel=0.2)


def test_a_function_on_bytes_is_measured_by_what_it_sees():
    images, labels = pictures()
    right = brightest_quarter(images).argmax(axis=1) == labels
    found = noise_distance(brightest_quarter, images, labels)
    assert (found.distances[~right] == 0).all()
    moved = found.distances[right & np.isfinite(found.distances)]
    squares = (255 * moved) ** 2
    np.testing.assert_allclose(squares, np.round(squares), atol=1e-2)  # sums of squares of whole numbers
    assert len(moved) > 20


def test_the_interval_covers_the_median_of_the_distances_law():
    # Of 100 draws of 60 exponential numbers, whose median is log 2, about 95 % of intervals hold it.
    rng, held = np.random.default_rng(0), 0
    for trial in range(100):
        low, high = NoiseDistance("m", "gaussian", rng.exponential(size=60), {"seed": trial}).interval
        held += low <= np.log(2) <= high
    assert 88 <= held <= 100


def test_the_first_to_fall_are_seen_where_they_fall():
    images, labels = pictures(side=8)
    weights = torch.from_numpy(RNG.standard_normal((1, 8, 8)).astype(np.float32))
    net = linear(weights, float((weights * 0.45).sum()))
    named = net(torch.from_numpy(np.moveaxis(images, 3, 1) / np.float32(255))).argmax(1).numpy()
    labels = np.where(np.arange(40) < 3, 1 - named, named)
    found = noise_distance(net, images, labels, "uniform", seed=2)
    fallen = first_to_fall(net, images, labels, found.distances, "uniform", seed=2, count=5)
    assert [one.distance for one in fallen] == sorted(found.distances[found.distances > 0])[:5]
    for one in fallen:
        assert (one.truth, one.guess) == (labels[one.row], 1 - labels[one.row])
        assert 0.5 <= one.confidence < 0.6  # just beyond the border
        moved = np.linalg.norm((one.image.astype(float) - images[one.row]) / 255)
        assert moved == pytest.approx(one.distance, abs=8 * 0.5 / 255)
    assert first_to_fall(net, images, labels, np.full(40, np.inf)) == []


def test_it_shows_itself():
    found = NoiseDistance("m", "uniform", np.array([0.0, 2.0, np.inf]))
    assert "uniform noise of L2 2" in str(found)
    assert found.table().row(0, named=True)["unmoved"] == pytest.approx(1 / 3)
    assert "33.3 % never change" in found._repr_html_()


@pytest.mark.parametrize(
    ("images", "labels", "asked", "message"),
    [
        (4 * GREY, NONE, {}, "must lie in \\[0, 1\\], got 2 to 2"),
        (GREY - 1, NONE, {}, "must lie in \\[0, 1\\], got -0.5"),
        (GREY * np.nan, NONE, {}, "must lie in \\[0, 1\\], got nan"),
        (GREY.permute(0, 2, 3, 1), NONE, {}, "channels come first in float images"),
        (np.zeros((30, 1, 6, 6), np.uint8), NONE, {}, "channels come last in uint8 images"),
        (GREY[:, 0], NONE, {}, "got float32 \\[30, 6, 6\\]"),
        (
            torch.zeros(30, 1, 6, 6, dtype=torch.int64),
            NONE,
            {},
            "floats \\[n, channels, height, width\\] in \\[0, 1\\], got int64",
        ),
        (GREY, NONE[:4], {}, "labels must be 30 whole numbers"),
        (GREY, NONE + 2, {}, "scores of 2 classes, and there is a class 2"),
        (GREY, NONE, {"direction": "gausian"}, "did you mean 'gaussian'"),
        (GREY, NONE, {"direction": np.zeros((2, 6, 6), np.float32)}, "or floats \\[30, 1, 6, 6\\] or \\[1, 6, 6\\]"),
        (GREY, NONE, {"direction": np.full((1, 6, 6), np.nan)}, "must be finite"),
    ],
)
def test_what_cannot_be_meant_is_told(images, labels, asked, message):
    with pytest.raises(UsageError, match=message):
        noise_distance(linear(WEIGHTS, 0.0), images, labels, **asked)


def test_scores_that_are_none_are_told():
    class Broken(nn.Module):
        def forward(self, images):
            return torch.full((len(images), 2), torch.nan)

    with pytest.raises(UsageError, match="Broken gives scores that are no numbers"):
        noise_distance(Broken(), GREY, NONE)
