"""Random numbers of 16 bits."""

import numpy as np
import pytest
from scipy.stats import norm

from unbraid.corruptions._draws import bits, draws_of, normal_table, normals, uniforms


def of(*indices: int):
    return draws_of(3, "toy", 2, np.array(indices))


def test_bits_are_the_words_of_the_generator_that_belongs_to_the_image():
    counter = draws_of(3, "toy", 2, np.array([5]))[0].bit_generator.state["state"]["counter"]
    assert counter[1] == 5
    assert counter[2] == 2
    words = of(5)[0].bit_generator.random_raw(2)
    expected = [(int(word) >> shift) & 0xFFFF for word in words for shift in (0, 16, 32, 48)]
    assert bits(of(4, 5), 7)[1].tolist() == expected[:7]


def test_one_draw_after_another_is_new():
    draws = of(0)
    assert (bits(draws, 8) != bits(draws, 8)).any()


def test_uniform_and_normal_numbers_have_their_moments():
    uniform, normal = uniforms(of(0, 1), 300, 300), normals(of(0, 1), 300, 300)
    assert uniform.mean() == pytest.approx(0.5, abs=0.005)
    assert uniform.var() == pytest.approx(1 / 12, rel=0.01)
    assert uniform.min() > 0
    assert uniform.max() < 1
    assert normal.mean() == pytest.approx(0, abs=0.01)
    assert normal.std() == pytest.approx(1, abs=0.01)
    assert (normal**4).mean() == pytest.approx(3, rel=0.05)
    assert np.corrcoef(normal[0].ravel(), normal[1].ravel())[0, 1] == pytest.approx(0, abs=0.02)


def test_the_table_of_normal_numbers_is_their_distribution():
    table = normal_table()
    assert norm.cdf(table.astype(float)) == pytest.approx((np.arange(65536) + 0.5) / 65536, abs=1e-6)
    assert float((table.astype(float) ** 2).mean()) == pytest.approx(1, abs=2e-4)
