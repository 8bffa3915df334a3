"""What holds of every corruption of every suite, and what corrupt refuses."""

import numpy as np
import pytest
from corruption_toys import distance, pictures

from unbraid.corruptions import IMAGENET_C, IMAGENET_C_HOLDOUT, MNIST_C, Corruption, corrupt, find, register
from unbraid.errors import UsageError

EVERY = [found for suite in (IMAGENET_C, IMAGENET_C_HOLDOUT, MNIST_C) for found in suite.values()]
by_name = pytest.mark.parametrize("corruption", EVERY, ids=lambda found: found.full_name)


def shape_of(corruption: Corruption) -> dict[str, int]:
    return {"size": 28, "channels": 1} if corruption.suite == "mnist-c" else {"size": 32, "channels": 3}


@by_name
def test_shape_type_and_input_are_kept(corruption):
    for size, channels in ((28, 1), (33, 3)):
        images = pictures(2, size, channels)
        before = images.copy()
        for severity in corruption.severities:
            found = corrupt(images, corruption, severity)
            assert found.shape == images.shape
            assert found.dtype == np.uint8
            assert (images == before).all()
            colour = corruption.name == "saturate"  # grey has no saturation
            assert (found != images).any() != (colour and channels == 1), "it does nothing"


@by_name
def test_an_image_looks_the_same_in_every_batch(corruption):
    images = pictures(4, **shape_of(corruption))
    severity = corruption.severities[-1]
    whole = corrupt(images, corruption, severity, seed=3)
    assert (corrupt(images, corruption, severity, seed=3) == whole).all()
    part = corrupt(images[[2, 1]], corruption, severity, seed=3, indices=np.array([2, 1]))
    assert (part == whole[[2, 1]]).all()


@by_name
def test_oblong_images_and_the_smallest(corruption):
    images = pictures(2, 48, 3)[:, :16]
    assert corrupt(images, corruption, corruption.severities[-1]).shape == (2, 16, 48, 3)


@pytest.mark.parametrize("name", ["defocus_blur", "motion_blur", "gaussian_blur", "glass_blur", "snow"])
def test_a_kernel_wider_than_the_image_leaves_an_even_one_as_it_was(name):
    even = np.full((1, 16, 512, 3), 90, np.uint8)  # lengths go with the shorter side, and some reach beyond it
    found = corrupt(even, name, 5)
    assert found.shape == even.shape
    assert name == "snow" or (found == 90).all()


@by_name
def test_it_says_what_it_is(corruption):
    assert corruption.about.endswith(".")
    assert len(corruption.about) < 120
    assert find(corruption.full_name) is corruption


@pytest.mark.parametrize(
    "name", ["gaussian_noise", "shot_noise", "impulse_noise", "brightness", "contrast", "pixelate"]
)
def test_a_greater_severity_moves_images_farther(name):
    images = pictures(4, 64, 3)
    moved = [distance(corrupt(images, name, severity), images) for severity in range(1, 6)]
    assert moved == sorted(moved)
    assert len(set(moved)) == 5


def test_seed_severity_and_name_draw_differently():
    grey = np.full((2, 16, 16, 1), 128, np.uint8)

    def signs(name, severity, seed):
        return (corrupt(grey, name, severity, seed) > 128).ravel()

    first = signs("gaussian_noise", 1, 0)
    others = [signs("gaussian_noise", 1, 1), signs("gaussian_noise", 2, 0), signs("speckle_noise", 1, 0)]
    assert all(0.3 < (first == other).mean() < 0.7 for other in others)
    assert 0.3 < (first[:256] == first[256:]).mean() < 0.7


def test_a_chunk_boundary_changes_nothing(monkeypatch):
    images = pictures(3, 16, 1)
    whole = corrupt(images, "gaussian_noise", 1)
    monkeypatch.setattr("unbraid.corruptions._corrupt._CHUNK", 1)
    assert (corrupt(images, "gaussian_noise", 1) == whole).all()


def test_no_images_give_no_images():
    assert corrupt(np.zeros((0, 16, 16, 1), np.uint8), "gaussian_noise").shape == (0, 16, 16, 1)


GOOD = np.zeros((2, 16, 16, 1), np.uint8)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"images": GOOD / 255}, "images must be uint8.*float64 from 0 to 0; floats in"),
        ({"images": GOOD - 1.5}, "images must be uint8.*float64 from -1.5 to -1.5"),
        ({"images": GOOD.astype(np.int64)}, "images must be uint8.*int64"),
        ({"images": "fog.png"}, "images must be uint8.*<U7"),
        ({"images": np.zeros((2, 16, 16, 4), np.uint8)}, r"1 or 3\], got \[2, 16, 16, 4\]"),
        ({"images": GOOD[..., 0]}, r"shape \[n, height, width, 1 or 3\], got \[2, 16, 16\]"),
        ({"images": np.moveaxis(np.zeros((2, 16, 16, 3), np.uint8), 3, 1)}, "channels come last"),
        ({"images": GOOD[:, :15]}, "16 to 512 pixels.*15 x 16"),
        ({"images": np.zeros((1, 513, 16, 1), np.uint8)}, "513 x 16"),
        ({"severity": 6}, "severity of imagenet-c/gaussian_noise must be one of 1, 2, 3, 4, 5, got 6"),
        ({"severity": 0}, "got 0"),
        ({"severity": 1.5}, "got 1.5"),
        ({"seed": -1}, "seed must be a whole number.*-1"),
        ({"seed": 0.5}, "seed must be a whole number.*0.5"),
        ({"name": "gausian_noise"}, "did you mean 'gaussian_noise'"),
        ({"name": "mnistc/shot_noise"}, "unknown suite of corruptions 'mnistc'; did you mean 'mnist-c'"),
        ({"name": 3}, "name must be that of a corruption"),
        ({"indices": np.array([0])}, "indices must be 2 whole numbers"),
        ({"indices": np.array([0, -1])}, "indices must be 2 whole numbers"),
    ],
)
def test_what_cannot_be_is_refused_in_words(arguments, words):
    with pytest.raises(UsageError, match=words):
        corrupt(**{"images": GOOD, "name": "gaussian_noise", "severity": 1, "seed": 0} | arguments)


def test_an_own_corruption_that_gives_nonsense_is_named():
    def own(name, apply):
        return Corruption(name, "own", "digital", ((),), apply)

    with pytest.raises(
        UsageError, match=r"own/flat must give back an array of shape \(2, 16, 16, 1\), got \(16, 16, 1\)"
    ):
        corrupt(GOOD, own("flat", lambda images, _draws: images[0]))
    with pytest.raises(UsageError, match="own/nan gave numbers that are not finite"):
        corrupt(GOOD, own("nan", lambda images, _draws: np.full(images.shape, np.nan)))
    with pytest.raises(UsageError, match=r"own/wide must give back uint8, or floats in \[0,1\], got int64"):
        corrupt(GOOD, own("wide", lambda images, _draws: np.clip(images.astype(np.int64) + 10, 0, 255)))
    with pytest.raises(UsageError, match="settings of the corruption 'none' are empty"):
        register("none", "digital", [])


def test_the_suites_have_fifteen_names_each_in_the_order_of_the_papers():
    assert len(IMAGENET_C) == len(MNIST_C) == 15
    assert [found.category for found in IMAGENET_C.values()] == (
        ["noise"] * 3 + ["blur"] * 4 + ["weather"] * 4 + ["digital"] * 4
    )
    assert list(MNIST_C)[::7] == ["shot_noise", "brightness", "canny_edges"]
    assert all(found.severities == (1, 2, 3, 4, 5) for found in IMAGENET_C.values())
    assert all(found.severities == (1,) for found in MNIST_C.values())
    assert list(IMAGENET_C_HOLDOUT) == ["speckle_noise", "gaussian_blur", "spatter", "saturate"]
    assert find("fog") is IMAGENET_C["fog"]
    assert find("zigzag") is MNIST_C["zigzag"]
