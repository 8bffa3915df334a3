"""Two sprites in one image: what adds up, what hides what, and how the grid is split."""

import numpy as np
import pytest

from unbraid.data import load, split
from unbraid.errors import UsageError


@pytest.fixture(scope="module")
def line():
    return load("two-sprites:line=true")


def second_difference(data, first, other, second, another):
    """Image (a, b) - (a, b') - (a', b) + (a', b'): 0 everywhere if images are a sum of one image per sprite."""
    images = data.images([24 * a + b for a in (first, other) for b in (second, another)]).astype(int)
    return images[0] - images[1] - images[2] + images[3]


def test_images_add_up_exactly_also_where_sprites_overlap(line):
    overlap = line.images([24 * 12 + 12])[0]
    assert overlap.max() == 254  # grey on grey: they do overlap there
    assert not second_difference(line, 12, 2, 12, 20).any()


def test_with_occlusion_they_do_not_and_the_disc_is_in_front():
    hidden = load("two-sprites:line=true,mode=occlude")
    assert second_difference(hidden, 12, 2, 12, 20).any()
    # The middle of both is the disc's white wherever the square is; far apart both show.
    assert hidden.images([24 * 12 + 12])[0, 16, 16, 0] == hidden.images([24 * 2 + 12])[0, 16, 16, 0] == 254
    assert set(np.unique(hidden.images([23]))) >= {0, 127, 254}


def test_both_sprites_have_the_same_area(line):
    # A square of 7 pixels a side covers 49 of them, at half intensity.
    light = line.images(np.arange(576)).sum(axis=(1, 2, 3)) / 127
    assert light == pytest.approx(np.full(576, 98), rel=0.01)


@pytest.mark.parametrize("name", ["two-sprites:line=true", "two-sprites:line=true,mode=occlude", "two-sprites"])
def test_every_image_is_another_one(name):
    data = load(name)
    index = np.arange(0, len(data), max(1, len(data) // 2000))
    images = data.images(index).reshape(len(index), -1)
    assert len(np.unique(images, axis=0)) == len(index)


@pytest.mark.parametrize(
    ("name", "train", "test"), [("two-sprites:line=true", 252, 324), ("two-sprites", 25200, 11664)]
)
def test_a_composition_is_anchored_in_both_sprites(name, train, test):
    # 24^2 - 18^2 = 252; (8^4 - 6^4) * 3^2 = 25,200.
    data = load(name)
    halves = split(data, "composition")
    assert (len(halves.train), len(halves.test)) == (train, test)
    factors = halves.train.factors(np.arange(train))
    for block in np.split(np.arange(factors.shape[1]), 2):
        seen = np.unique(factors[:, block], axis=0)
        assert len(seen) == np.prod(np.array(data.space.sizes)[block])  # every value of either sprite is seen
    assert not halves.published


def test_unknown_modes_are_refused():
    with pytest.raises(UsageError, match=r"mode.*multiply.*add"):
        load("two-sprites:mode=multiply")
