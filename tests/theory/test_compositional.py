"""The compositional contrast: pixels of one block, of several, and brute force."""

from itertools import combinations

import numpy as np
import pytest
import torch

from unbraid import nets
from unbraid.errors import UsageError
from unbraid.theory import compositional_contrast, decoder_jacobian


def test_it_is_the_sum_over_pixels_and_pairs_of_products_of_norms():
    rng = np.random.default_rng(0)
    jacobians, sizes = rng.normal(size=(4, 7, 6)), (1, 3, 2)
    places = [slice(0, 1), slice(1, 4), slice(4, 6)]
    for jacobian, found in zip(jacobians, compositional_contrast(jacobians, sizes), strict=True):
        expected = sum(
            np.linalg.norm(row[a]) * np.linalg.norm(row[b]) for row in jacobian for a, b in combinations(places, 2)
        )
        assert found == pytest.approx(expected)


def test_it_is_zero_exactly_where_every_pixel_has_one_block():
    alone = np.array([[1.0, 2.0, 0.0], [0.0, 0.0, 5.0], [0.0, 0.0, 0.0]])
    assert compositional_contrast(alone, (2, 1)) == 0
    assert compositional_contrast(alone, (1, 2)) == 2  # the first pixel has both: 1 * 2
    assert compositional_contrast(alone, (3,)) == 0  # one block has no other
    assert compositional_contrast(3 * alone, (1, 2)) == 18
    # Turning a block within itself changes nothing.
    c, s = np.cos(0.7), np.sin(0.7)
    turned = np.array([[1.0, 0.3, 2.0]]) @ np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])
    assert compositional_contrast(turned, (2, 1)) == pytest.approx(2 * np.hypot(1, 0.3))


def test_a_sum_of_blocks_is_not_enough_for_it():
    _, decoder = nets.build("additive:net=mlp:width=8,blocks=2", (8, 8, 1), 2)
    jacobian = decoder_jacobian(decoder, torch.randn(3, 2, generator=torch.Generator().manual_seed(0)))
    assert (compositional_contrast(jacobian, (1, 1)) > 0).all()


def test_the_channels_of_a_pixel_are_one():
    # Of two pixels, red first: red depends on A (1 and 2), green on B (3) in the first pixel only: 1 * 3 + 2 * 0.
    jacobian = np.array([[1.0, 0.0], [2.0, 0.0], [0.0, 3.0], [0.0, 0.0]])
    assert compositional_contrast(jacobian, (1, 1)) == 0
    assert compositional_contrast(jacobian, (1, 1), channels=2) == 3
    assert compositional_contrast(jacobian[[0, 0, 3, 0]], (1, 1), channels=2) == 0
    _, decoder = nets.build("mlp:width=8", (4, 4, 3), 3)
    found = decoder_jacobian(decoder, torch.randn(2, 3, generator=torch.Generator().manual_seed(0)))
    images = found.reshape(2, 3, 16, 3)
    expected = sum(
        np.linalg.norm(images[:, :, n, :1], axis=(1, 2)) * np.linalg.norm(images[:, :, n, 1:], axis=(1, 2))
        for n in range(16)
    )
    np.testing.assert_allclose(compositional_contrast(found, (1, 2), channels=3), expected)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_jacobians_of_a_diverged_decoder_are_refused(bad):
    with pytest.raises(UsageError, match="1 of 4 entries that are NaN or infinite"):
        compositional_contrast([[1.0, bad], [0.0, 1.0]], (1, 1))


@pytest.mark.parametrize("channels", [0, 2, 1.0, True])
def test_channels_that_are_none_are_refused(channels):
    with pytest.raises(UsageError, match="channels must be a whole number that divides the 3 outputs"):
        compositional_contrast(np.ones((3, 4)), (2, 2), channels=channels)


@pytest.mark.parametrize(
    ("shape", "blocks"),
    [((3, 4), (2, 1)), ((3, 4), ()), ((3, 4), (4, 0)), ((4,), (4,)), ((3, 4), (1.5, 2.5)), ((3, 2), (True, True))],
)
def test_blocks_that_are_none_are_refused(shape, blocks):
    with pytest.raises(UsageError, match=r"blocks must be|jacobians must be"):
        compositional_contrast(np.ones(shape), blocks)
