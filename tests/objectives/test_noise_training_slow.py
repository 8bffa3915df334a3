"""Noise training at work on MNIST: learned noise is the stronger one, and training with noise helps where it should."""

import numpy as np
import pytest
import torch

import unbraid
from unbraid.data import from_arrays, load
from unbraid.errors import UsageError
from unbraid.nets import NoiseGenerator, project_l2
from unbraid.objectives import augment, make, train_generator
from unbraid.robustness import noise_distance

pytestmark = pytest.mark.slow

NET = {"net": "small-cnn"}
TUNED = {**NET, "optimizer": "sgd", "learning_rate": 0.02}
STEPS = 400
"""Ten epochs of 4,000 images in batches of 100."""


@pytest.fixture(scope="module")
def digits():
    try:
        data = load("mnist")
    except UsageError as error:
        pytest.skip(str(error))
    rows = np.random.default_rng(0).permutation(len(data))[:5000]
    images, labels = data.images(rows), data.labels(rows)
    train = from_arrays(images[:4000], labels=labels[:4000])
    return train, torch.from_numpy(images[4000:]).permute(0, 3, 1, 2).float() / 255, torch.from_numpy(labels[4000:])


@pytest.fixture(scope="module")
def runs(digits, tmp_path_factory):
    """A clean start, and ten more epochs: clean, with normal noise, and with adversarial noise."""
    folder = tmp_path_factory.mktemp("runs")

    def go(name, steps, options, **more):
        objective = make("classifier", options)
        return unbraid.train(
            objective, digits[0], out=folder / name, steps=steps, batch_size=100, progress="none", **more
        )

    start = go("start", 320, {**NET, "learning_rate": 1e-3})
    more = {"start": folder / "start", "parts": ("net",)}
    ways = {
        "clean": [],
        "gnt": ["gaussian-noise:sigma=0.5"],
        "ant": ["ant:eps=5,every=80,restart_steps=80"],
    }
    found = {name: go(name, STEPS, {**TUNED, "augment": texts}, **more) for name, texts in ways.items()}
    return {"start": start, **found}


def accuracy(run, images, labels):
    with torch.no_grad():
        return (run.classifier()(images).argmax(1) == labels).float().mean().item()


def batches(digits, seed):
    train, rng = digits[0], np.random.default_rng(seed)
    while True:
        rows = rng.integers(len(train), size=100)
        images = torch.from_numpy(train.images(rows)).permute(0, 3, 1, 2).float() / 255
        yield images, torch.from_numpy(train.labels(rows))


def learned(run, digits, eps, steps, rate, seed=0):
    generator = NoiseGenerator(1, generator=torch.Generator().manual_seed(seed))
    report = train_generator(generator, run.classifier(), batches(digits, seed), eps, rate, steps, seed)
    return generator, report


def under(run, digits, delta, eps):
    _, images, labels = digits
    return accuracy(run, project_l2(images, delta.detach(), eps), labels)


def median_distance(run, digits, delta):
    return noise_distance(run.classifier(), digits[1], digits[2], delta.numpy()).median


def test_learned_noise_is_stronger_than_normal_noise_of_the_same_norm(runs, digits):
    shape, noise = digits[1].shape, torch.Generator().manual_seed(5)
    normal, uniform = torch.randn(shape, generator=noise), torch.rand(shape, generator=noise) - 0.5
    generator, _ = learned(runs["start"], digits, 10.0, 250, 1e-3)
    with torch.no_grad():
        delta = generator.sample(shape, noise)
    assert under(runs["start"], digits, delta, 10.0) < under(runs["start"], digits, normal, 10.0) - 0.1
    distances = [median_distance(runs["start"], digits, part) for part in (delta, normal, uniform)]
    assert distances[0] < distances[1]
    assert distances[2] == pytest.approx(distances[1], rel=0.02)


def test_the_monitor_tells_noise_that_erases(runs, digits):
    assert learned(runs["start"], digits, 10.0, 400, 1e-3)[1].erases
    assert not learned(runs["start"], digits, 5.0, 400, 1e-3)[1].erases


def shifted(digits):
    """Brighter images, salt and pepper on 17 %, normal noise."""
    _, images, _ = digits
    noise = torch.Generator().manual_seed(7)
    salt = torch.rand(images.shape, generator=noise)
    impulse = torch.where(salt < 0.085, 0.0, torch.where(salt < 0.17, 1.0, images))
    return {
        "brightness": (images + 0.5).clamp(0, 1),
        "impulse": impulse,
        "gaussian": augment.make("gaussian-noise:sigma=0.5")(images, noise),
    }


def test_gaussian_noise_training_helps_where_it_should(runs, digits):
    _, images, labels = digits
    clean, gnt = runs["clean"], runs["gnt"]
    assert accuracy(gnt, images, labels) > accuracy(clean, images, labels) - 0.01
    for name, changed in shifted(digits).items():
        assert accuracy(gnt, changed, labels) > accuracy(clean, changed, labels), name
    normal = torch.randn(images.shape, generator=torch.Generator().manual_seed(5))
    assert median_distance(gnt, digits, normal) > 1.2 * median_distance(clean, digits, normal)


def test_adversarial_noise_training_withstands_a_new_generator(runs, digits):
    _, images, labels = digits
    clean, gnt, ant = runs["clean"], runs["gnt"], runs["ant"]
    assert accuracy(ant, images, labels) > accuracy(clean, images, labels) - 0.01
    for name, changed in shifted(digits).items():
        assert accuracy(ant, changed, labels) > accuracy(clean, changed, labels), name
    found = {}
    for name, run in (("gnt", gnt), ("ant", ant)):
        generator, _ = learned(run, digits, 5.0, 250, 1e-3)
        with torch.no_grad():
            delta = generator.sample(images.shape, torch.Generator().manual_seed(5))
        found[name] = under(run, digits, delta, 5.0)
    assert found["ant"] > found["gnt"]
