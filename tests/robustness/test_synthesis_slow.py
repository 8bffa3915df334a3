"""Analysis by synthesis at work on MNIST: a small run, and what it and a CNN withstand."""

import numpy as np
import pytest
import torch

import unbraid
from unbraid.data import from_arrays, load
from unbraid.errors import UsageError
from unbraid.objectives import make
from unbraid.robustness import attacks, distal
from unbraid.robustness.synthesis import PUBLISHED, Binarised, calibrate, posterior

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def digits():
    try:
        train, test = load("mnist:split=train"), load("mnist:split=test")
    except UsageError as error:
        pytest.skip(str(error))
    rows = np.random.default_rng(0).permutation(len(train))[:4000]
    images = torch.from_numpy(test.images(np.arange(200))).permute(0, 3, 1, 2).float() / 255
    truth = torch.from_numpy(test.labels(np.arange(200)).astype(np.int64))
    return train.images(rows), train.labels(rows), images, truth


@pytest.fixture(scope="module")
def models(digits, tmp_path_factory):
    """ABS with 60 epochs of about 400 digits of each class; CNNs with 4 epochs, one of them of thresholded digits."""
    images, labels, *_ = digits
    folder = tmp_path_factory.mktemp("runs")

    def go(name, objective, pixels, **options):
        given = from_arrays(pixels, labels=labels)
        return unbraid.train(objective, given, out=folder / name, progress="none", **options).classifier()

    options = {"learning_rate": 2e-3, "anneal_steps": 225, "samples": 1000, "iterations": 30}
    cnn = make("classifier", {"net": "abs-cnn", "learning_rate": 1e-3})
    binary = (255 * (images >= 128)).astype(np.uint8)
    return {
        "abs": go("abs", make("abs", options), images, steps=375, batch_size=64),
        "cnn": go("cnn", cnn, images, steps=160, batch_size=100),
        "binary cnn": Binarised(go("binary", cnn, binary, steps=160, batch_size=100)),
    }


def accuracy(model, images, truth):
    with torch.no_grad():
        return (model(images).argmax(1) == truth).float().mean().item()


def test_abs_names_digits_and_withstands_longer_changes_than_a_cnn(digits, models):
    *_, images, truth = digits
    assert accuracy(models["abs"], images, truth) >= 0.93
    assert accuracy(models["cnn"], images, truth) >= 0.93
    plain = attacks.ddn(models["cnn"], images, truth, steps=50).distances
    few, own = images[:20], truth[:20]
    tried = [
        attacks.ddn(models["abs"], few, own, steps=20).distances,
        attacks.latent_descent(models["abs"], few, own, step=0.1, steps=30).distances,
    ]
    best = np.minimum(*(np.asarray(one) for one in tried))
    assert np.median(best) >= 1.5 * np.median(np.asarray(plain))


def test_a_threshold_alone_withstands_small_changes_of_all_pixels(digits, models):
    *_, images, truth = digits
    found = {
        name: np.median(np.asarray(attacks.bim(models[name], images[:100], truth[:100], norm="linf").distances))
        for name in ("cnn", "binary cnn")
    }
    assert found["binary cnn"] >= 3 * found["cnn"]


def test_its_posterior_must_be_calibrated_and_is_even_on_noise(digits, models):
    *_, images, truth = digits
    with torch.no_grad():
        scores = models["abs"](images).numpy()
        noise = torch.rand(20, 1, 28, 28, generator=torch.Generator().manual_seed(0))
        unknown = models["abs"](noise).numpy()
    # The published numbers fit the published weights; energies of so small a model are higher.
    assert np.median(posterior(scores, PUBLISHED).max(1)) < 0.8
    fitted = calibrate(scores, truth.numpy())
    assert np.median(posterior(scores, fitted).max(1)) == pytest.approx(0.9, abs=0.002)
    assert posterior(unknown, fitted).max() <= 0.101
    # Nothing to climb there; a CNN is made sure of the same noise.
    stuck = distal(models["abs"], (1, 28, 28), label=1, count=3, calibration=fitted, steps=10)
    assert (stuck.confidence <= 0.101).all()
    sure = distal(models["cnn"], (1, 28, 28), label=1, count=3, steps=1000)
    assert sure.success.all()
    assert (sure.confidence >= 0.9 * (1 - 1e-6)).all()
