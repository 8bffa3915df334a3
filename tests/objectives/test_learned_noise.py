"""Noise learned against a frozen classifier, what is watched, and norms to compare with."""

import numpy as np
import pytest
import torch

from unbraid.errors import UsageError
from unbraid.nets import NoiseGenerator, NoiseRestart, project_l2
from unbraid.objectives import matching_eps, train_generator
from unbraid.objectives.learned_noise import monitor


def brightness(images):
    """Two classes: dark images and bright ones."""
    level = 8 * (images.mean((1, 2, 3)) - 0.5)
    return torch.stack([-level, level], 1)


def batches(count=3):
    noise = torch.Generator().manual_seed(0)
    bright = 0.3 + 0.4 * (torch.arange(40) % 2)
    images = [bright[:, None, None, None] + 0.1 * torch.rand(40, 1, 8, 8, generator=noise) for _ in range(count)]
    return [(part.clamp(0, 1), torch.arange(40) % 2) for part in images]


def test_learned_noise_finds_the_weakness_that_normal_noise_misses():
    # Normal noise leaves the mean alone; shifting it flips the classes. Of bright images alone, darkening is best.
    images, labels = batches(1)[0]
    bright = [(images[1::2], labels[1::2])]

    def loss(generator):
        noisy = project_l2(bright[0][0], generator.sample(bright[0][0].shape, torch.Generator().manual_seed(1)), 2.0)
        return torch.nn.functional.cross_entropy(brightness(noisy), bright[0][1]).item()

    generator = NoiseGenerator(1)
    before = loss(generator)
    report = train_generator(generator, brightness, bright, 2.0, rate=0.02, steps=60, seed=0)
    assert loss(generator) > before + 0.5
    assert report.bright < -0.15  # of at most 2 / 8 on 64 pixels
    assert report.unreached == 0
    assert all(weights.grad is None for weights in generator.parameters())


def test_the_same_seed_gives_the_same_generator_and_batches_come_again():
    def trained(given, seed=0):
        generator = NoiseGenerator(1)
        train_generator(generator, brightness, given, 1.0, steps=5, seed=seed)
        return torch.nn.utils.parameters_to_vector(generator.parameters())

    few = batches(2)
    assert torch.equal(trained(few), trained([*few, *few, *few]))
    assert torch.equal(trained(few), trained(few[place % 2] for place in range(9)))
    assert not torch.equal(trained(few), trained(few, seed=1))


def test_what_is_watched():
    images = torch.zeros(4, 1, 2, 2)
    images[:, :, 0] = 1.0
    noisy = images.clone()
    noisy[:, :, 0] = 0.2  # strokes lose 0.8 each, sqrt(2 * 0.64) = 1.13 in all
    noisy[0, 0, 1, 0] = 0.6
    found = monitor(images, noisy, 1.2)  # the first is moved by sqrt(1.28 + 0.36) = 1.28
    assert {name: round(value.item(), 4) for name, value in found.items()} == {
        "unreached": 0.75,
        "bright": -0.8,
        "dark": 0.075,
    }
    assert NoiseRestart(0, 1.0, *(value.item() for value in found.values())).erases
    assert not NoiseRestart(0, 1.0, 0.0, -0.6, 0.1).erases
    assert not NoiseRestart(0, 1.0, 0.3, -0.2, 0.2).erases


def test_norms_of_clipped_normal_noise():
    # Black 28x28 images: 28 sqrt(E min(max(n / 2, 0), 1)^2) = 9.50; floats and bytes agree.
    black = np.zeros((300, 28, 28, 1), np.uint8)
    assert matching_eps(black) == pytest.approx(9.5, abs=0.05)
    assert matching_eps(torch.zeros(300, 1, 28, 28)) == pytest.approx(matching_eps(black), rel=1e-6)
    assert matching_eps(black, sigma=0.08) == pytest.approx(1.58, abs=0.02)
    with pytest.raises(UsageError, match="images must be uint8"):
        matching_eps(torch.zeros(2, 1, 4, 4) + 7)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"classify": lambda images: brightness(images) * float("nan")}, "loss on noisy images is nan"),
        ({"batches": []}, "at least one batch of images, got none"),
        ({"eps": -1.0}, "eps must be a positive number"),
        ({"steps": 0}, "steps must be at least 1, got 0"),
        ({"batches": [(torch.zeros(2, 3, 8, 8), torch.zeros(2, dtype=torch.int64))]}, r"noise of shape \(n, 1, height"),
    ],
)
def test_what_cannot_be_trained_is_refused(change, message):
    given = {"generator": NoiseGenerator(1), "classify": brightness, "batches": batches(1), "eps": 1.0, "steps": 2}
    with pytest.raises(UsageError, match=message):
        train_generator(**{**given, **change})


def test_a_network_in_training_mode_stays_as_it_is():
    network = torch.nn.Sequential(torch.nn.BatchNorm2d(1), torch.nn.Flatten(), torch.nn.Linear(64, 2))
    before = {name: value.clone() for name, value in network.state_dict().items()}
    train_generator(NoiseGenerator(1), network, batches(), 1.0, steps=2)
    assert all(torch.equal(value, before[name]) for name, value in network.state_dict().items())
    assert network.training
    assert all(weight.requires_grad and weight.grad is None for weight in network.parameters())
