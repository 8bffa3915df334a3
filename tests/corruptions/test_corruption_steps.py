"""Several corruptions one after the other."""

import numpy as np
import pytest
from corruption_toys import pictures

from unbraid.corruptions import IMAGENET_C, MNIST_C, Corruption, Step, corrupt, read_steps
from unbraid.errors import UsageError

IMAGES = pictures(3, 20, 1)


@pytest.mark.parametrize(
    "chain",
    [
        "snow:severity=3 then gaussian_noise:severity=2",
        " snow:severity=3   then\tgaussian_noise ",
        ["snow:severity=3", "gaussian_noise"],
        ["snow:severity=3 then gaussian_noise:severity=2"],
        [Step(IMAGENET_C["snow"], 3), IMAGENET_C["gaussian_noise"]],
    ],
)
def test_a_chain_is_one_call_after_the_other(chain):
    numbers = np.array([7, 1, 4])
    first = corrupt(IMAGES, "snow", 3, seed=5, indices=numbers)
    expected = corrupt(first, "gaussian_noise", 2, seed=5, indices=numbers)
    assert (corrupt(IMAGES, chain, 2, seed=5, indices=numbers) == expected).all()
    assert (expected != corrupt(corrupt(IMAGES, "gaussian_noise", 2, 5), "snow", 3, 5)).any(), "the order matters"


def test_the_same_step_twice_draws_anew():
    # Two independent noises of the same variance: their sum varies twice as much, that of one noise twice four times.
    grey = np.full((4, 64, 64, 1), 128, np.uint8)
    once, twice = (
        (corrupt(grey, name).astype(float) - 128).var()
        for name in ("gaussian_noise", "gaussian_noise then gaussian_noise")
    )
    assert twice / once == pytest.approx(2, rel=0.05)


def test_steps_are_written_as_they_are_read():
    text = "mnist-c/fog:severity=1 then fog:severity=4 then zigzag:severity=1"
    steps = read_steps(text)
    assert [step.corruption for step in steps] == [MNIST_C["fog"], IMAGENET_C["fog"], MNIST_C["zigzag"]]
    assert " then ".join(map(str, steps)) == text
    stranger = Corruption("fog", "own", "weather", ((),), lambda images, _draws: images)
    assert stranger.short_name == "own/fog", "the bare name is somebody else's"


@pytest.mark.parametrize(
    ("chain", "words"),
    [
        ("fog:severity=6", "severity of imagenet-c/fog must be one of 1, 2, 3, 4, 5, got 6"),
        ("fog then mnist-c/fog:severity=2", "severity of mnist-c/fog must be one of 1, got 2"),
        ("fog:strength=3", "unknown option of corruption 'fog': 'strength'. Known: severity"),
        ("fog then", "unknown corruption 'fog then'"),
        ("fog then snwo", "did you mean 'snow'"),
        ("fog:3", "cannot read '3' in 'fog:3'"),
        ([], "name is an empty list"),
        ([3], "name must be that of a corruption"),
    ],
)
def test_a_wrong_step_is_named(chain, words):
    with pytest.raises(UsageError, match=words):
        corrupt(IMAGES, chain)
