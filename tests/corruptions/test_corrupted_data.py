"""Data sets under corruptions."""

import numpy as np
import pytest

from unbraid import data
from unbraid.corruptions import Corrupted, corrupt, register
from unbraid.errors import UsageError
from unbraid.training import describe_data

CHAIN = "gaussian_noise:severity=3 then jpeg_compression:severity=2"


@pytest.fixture(scope="module")
def clean():
    return data.load("sprites16")


@pytest.fixture(scope="module")
def noisy(clean):
    return Corrupted(clean, CHAIN, seed=3)


def test_images_are_those_of_corrupt_by_their_position(clean, noisy):
    index = np.array([40, 7, 7, 300])
    expected = corrupt(clean.images(index), CHAIN, seed=3, indices=index)
    assert (noisy.images(index) == expected).all()
    assert (noisy.images(index[1:2]) == expected[1:2]).all()


def test_a_corruption_of_corrupted_data_draws_anew():
    # Variances of independent noises add up: twice that of one. The same noise twice would have four times.
    index, name = np.arange(200), "gaussian_noise"
    grey = data.from_arrays(np.full((200, 16, 16, 1), 128, np.uint8))
    once = Corrupted(grey, name, seed=3)
    for base in (once, once.part(np.arange(200))):
        twice = Corrupted(base, name, seed=3).images(index).astype(float)
        assert (twice == corrupt(grey.images(index), f"{name} then {name}", seed=3)).all()
        assert np.var(twice) == pytest.approx(2 * np.var(once.images(index).astype(float)), rel=0.05)
    other = Corrupted(once, "fog", seed=3).images(index)  # what was not done before is that of a clean data set
    assert (other == corrupt(once.images(index), "fog", seed=3)).all()


def test_all_else_passes_through(clean, noisy):
    index = np.array([3, 99])
    assert (len(noisy), noisy.shape, noisy.space) == (len(clean), clean.shape, clean.space)
    assert (noisy.factors(index) == clean.factors(index)).all()
    assert noisy.factor_names == clean.factor_names
    digits = data.from_arrays(np.zeros((4, 16, 16), np.uint8), labels=np.array([0, 1, 1, 0]))
    assert Corrupted(digits, "fog").labels([1, 3]).tolist() == [1, 0]
    assert not noisy.stochastic
    assert noisy.name == "sprites16-gaussian_noise-3-then-jpeg_compression-2"
    assert CHAIN in noisy.card.title


@pytest.mark.parametrize(
    "options",
    ["", ",shape=0,scale=1+2", ",part=5::30", ",split=composition,side=test", ",split=random,part=::20"],
)
def test_an_image_looks_the_same_in_every_part_and_split(noisy, options):
    some = data.load(f"sprites16:corruption={CHAIN},corruption_seed=3{options}")
    index = np.arange(min(len(some), 3))
    factors = some.factors(index) if not options.startswith(",shape") else None
    seen = some.images(index)
    if factors is not None:
        assert (noisy.images(noisy.space.index(factors)) == seen).all()
    again = data.load(some.recipe.name, **some.recipe.options)
    assert (again.images(index) == seen).all()
    assert describe_data(again) == describe_data(some)


def test_a_part_is_corrupted_as_the_whole_and_knows_its_recipe(clean, noisy):
    part = clean.part(slice(2, None, 11))
    spoiled = Corrupted(part, CHAIN, seed=3)
    assert (spoiled.images([0, 4]) == noisy.images([2, 46])).all()
    again = data.load(spoiled.recipe.name, **spoiled.recipe.options)
    assert (again.images([0, 4]) == spoiled.images([0, 4])).all()


def test_what_no_name_could_load_again_has_no_recipe(clean, noisy):
    assert Corrupted(clean.subset(shape=0), "fog").recipe is None, "by name the whole is corrupted first"
    assert Corrupted(noisy, "fog").recipe is None
    assert Corrupted(data.from_arrays(np.zeros((2, 16, 16), np.uint8)), "fog").recipe is None


def test_the_two_images_of_a_pair_are_corrupted_each_for_itself(noisy):
    first, second = np.array([1, 2]), np.array([5, 1])
    one, other = noisy.pairs_at(first, second)
    assert (one == noisy.images(first)).all()
    assert (other == noisy.images(second)).all()


def test_corrupted_data_have_another_fingerprint(clean, noisy):
    found = {describe_data(one)["fingerprint"] for one in (clean, noisy, Corrupted(clean, CHAIN, seed=4))}
    assert len(found) == 3


def test_an_own_corruption_goes_by_its_name():
    @register("test-inverted", "digital")
    def inverted(images, _draws):
        """White where black was."""
        return 255 - images

    seen = data.load("sprites16:corruption=test-inverted").images([5])
    assert (seen == 255 - data.load("sprites16").images([5])).all()


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("sprites16:corruption=foog", "did you mean 'fog'"),
        ("sprites16:corruption=fog:severity=6", "severity of imagenet-c/fog must be one of"),
        ("sprites16:corruption_seed=2", "corruption_seed needs corruption"),
        ("sprites16:corruption=fog,corruption_seed=x", "option 'corruption_seed' of corruption.*must be int"),
        ("sprites16:corruptio=fog", "did you mean 'corruption'"),
        ("digits8:corruption=fog", "digits8 must be 16 to 512 pixels.*8 x 8"),
        ("spheres:corruption=fog", "a corruption needs images"),
    ],
)
def test_what_cannot_be_corrupted_is_refused(name, words):
    with pytest.raises(UsageError, match=words):
        data.load(name)
