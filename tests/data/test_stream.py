"""Streams: batches that depend on the seed and the step alone."""

import subprocess
import sys

import numpy as np
import pytest

from unbraid.data import IndependentStream, Purpose, counter_rng, load, make_stream, names, parse
from unbraid.errors import UsageError


def test_a_batch_is_the_same_in_any_order_and_process(dots):
    stream = IndependentStream(dots, 8, seed=3)
    batches = [stream(step).index for step in (5, 0, 5)]
    assert (batches[0] == batches[2]).all()
    assert (batches[0] != batches[1]).any()
    script = "from unbraid.data import counter_rng; rng = counter_rng(3, 5); print(rng.integers(144, size=8).tolist())"
    told = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert str(batches[0].tolist()) == told.strip()


def test_batches_are_independent_uniform_draws(dots):
    stream = IndependentStream(dots, 64, seed=0)
    index = np.concatenate([stream(step).index for step in range(500)])
    counts = np.bincount(index, minlength=144)
    # 32,000 draws into 144 cells; chi-square with 143 degrees of freedom has deviation 16.9.
    assert abs(((counts - 32_000 / 144) ** 2 / (32_000 / 144)).sum() - 143) < 5 * 16.9
    first, second = index[:-64], index[64:]
    assert abs(np.corrcoef(first, second)[0, 1]) < 5 / np.sqrt(len(first))


def test_seeds_steps_and_purposes_give_different_numbers():
    draws = [counter_rng(*key).integers(2**62) for key in [(0, 0), (1, 0), (0, 1), (0, 0, 1), (2**40, 7)]]
    assert len(set(draws)) == len(draws)


def test_a_batch_carries_the_factors_of_its_images(dots):
    batch = IndependentStream(dots, 16, seed=1)(0)
    assert (dots.space.index(batch.factors) == batch.index).all()
    assert (dots.images(batch.index) == batch.images).all()
    assert batch.labels is None


def test_labels_come_with_labelled_images():
    digits = load("digits8")
    batch = IndependentStream(digits, 32, seed=0)(0)
    assert (digits.labels()[batch.index] == batch.labels).all()
    assert batch.factors is None


def test_noisy_images_repeat_with_the_step_and_differ_between_steps():
    stream = IndependentStream(load("noisy-mini-sprites", shape=0, scale=0, x=0, y=[0]), 2, seed=0)
    assert (stream(4).images == stream(4).images).all()
    assert (stream(4).images != stream(5).images).any()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda data: IndependentStream(data, 0, 0), "batch_size must be at least 1"),
        (lambda data: make_stream("image", data, 1, 0), "did you mean 'images'"),
        (lambda _: counter_rng(-1, 0), "seed must lie in 0"),
        (lambda _: load("sprites33"), "did you mean 'sprites32'"),
        (lambda _: load("mini-sprites", shapes=1), "did you mean 'shape'"),
        (lambda _: parse("sprites32:shape"), "cannot read 'shape'"),
    ],
)
def test_wrong_use_is_named(dots, call, words):
    with pytest.raises(UsageError, match=words):
        call(dots)


@pytest.mark.parametrize(
    "options",
    [{"shape": 1}, {"x": slice(None, None, 2)}, {"x": slice(1, 5)}, {"scale": [0, 2], "shape": 0}, {}],
)
def test_a_recipe_gives_the_same_data_set_back(options):
    data = load("mini-sprites", **options)
    again = load(data.recipe.name, **data.recipe.options)
    assert again.space == data.space
    assert (again.images([0, 1, 5]) == data.images([0, 1, 5])).all()


def test_every_name_is_listed_once_with_dashes():
    assert len(names()) == len(set(names()))
    assert all("_" not in name for name in names())
    assert load("mini_sprites").recipe.name == "mini-sprites"


def test_purposes_keep_their_numbers():
    # Runs and populations of earlier versions are resumed with these.
    numbers = {"STREAM": 0, "INIT": 1, "NOISE": 2, "SECOND": 3, "LABELLED": 4, "PAIRS": 5, "FOUND": 21, "SELECT": 22}
    numbers |= {"PREPARED": 6, "MATRICES": 7, "SCORED": 31, "SCORED_LABELS": 32, "CORRUPTED": 41, "SURROGATE": 77}
    numbers |= {"DIRECTION": 51, "RESAMPLED": 52, "ATTACK": 53, "GENERATOR": 54, "VALIDATED": 8}
    assert {purpose.name: purpose.value for purpose in Purpose} == numbers
    assert counter_rng(3, 4, Purpose.PAIRS).integers(1 << 60) == counter_rng(3, 4, 5).integers(1 << 60)
