"""Random numbers of 16 bits."""

import numpy as np
import pytest
from scipy.stats import chisquare, kstest, norm

from unbraid.corruptions._draws import bits, draws_of, each, integers, normal_table, normals, uniforms


def of(*indices: int):
    return draws_of(3, "toy", 2, np.array(indices))


def test_the_generator_of_an_image_counts_from_its_number_and_severity():
    counter = draws_of(3, "toy", 2, np.array([5]))[0].bit_generator.state["state"]["counter"]
    assert counter[1] == 5
    assert counter[2] == 2


def test_words_are_splitmix64_from_a_key_of_the_image():
    def splitmix(state):
        while True:
            state = (state + 0x9E3779B97F4A7C15) % 2**64
            word = state
            word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
            word = (word ^ (word >> 27)) * 0x94D049BB133111EB % 2**64
            yield word ^ (word >> 31)

    # The first words of the seed 1234567, as the generator's authors and others print them.
    assert [word for _, word in zip(range(2), splitmix(1234567), strict=False)] == [
        6457827717110365317,
        3203168211198807973,
    ]
    draws = of(4, 5)
    stream = splitmix(int(draws._keys[1]))
    words = [next(stream) for _ in range(5)]
    assert draws.words(2)[1].tolist() == words[:2]
    expected = [(word >> shift) & 0xFFFF for word in words[2:4] for shift in (0, 16, 32, 48)]
    assert bits(draws, 7)[1].tolist() == expected[:7]
    assert of(5).words(1)[0, 0] == words[0], "whatever else is in the batch"


def test_keys_differ_in_seed_name_severity_image_and_repetition():
    asked = [(3, "toy", 2, 5, 0), (4, "toy", 2, 5, 0), (3, "boy", 2, 5, 0), (3, "toy", 1, 5, 0), (3, "toy", 2, 6, 0)]
    asked.append((3, "toy", 2, 5, 1))
    keys = {int(draws_of(seed, name, s, np.array([n]), again)._keys[0]) for seed, name, s, n, again in asked}
    assert len(keys) == 6


def test_whole_numbers_are_equally_likely_and_uniform_ones_spread_evenly():
    found = integers(of(*range(200)), -5, 5, 300).ravel()
    assert chisquare(np.bincount(found + 5, minlength=10)).pvalue > 1e-3
    assert (found.min(), found.max()) == (-5, 4)
    degrees = each(of(*range(4000)), -45, 45)
    assert kstest(degrees, "uniform", (-45, 90)).pvalue > 1e-3
    assert kstest(uniforms(of(*range(4000)), 1)[:, 0], "uniform").pvalue > 1e-3, "the first of each image"


def test_no_number_tells_of_its_neighbours():
    normal = normals(of(*range(50)), 40, 40)
    for left, right in (
        (normal[:, :, 1:], normal[:, :, :-1]),
        (normal[:, 1:], normal[:, :-1]),
        (normal[1:], normal[:-1]),
    ):
        assert np.corrcoef(left.ravel(), right.ravel())[0, 1] == pytest.approx(0, abs=0.015)
    bytewise = np.bincount(bits(of(*range(50)), 40, 40).astype("<u2").view(np.uint8).ravel(), minlength=256)
    assert chisquare(bytewise).pvalue > 1e-3


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
