"""Factor spaces and sub-spaces."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unbraid.data import FactorSpace
from unbraid.errors import UsageError

SPACE = FactorSpace(("shape", "angle", "x"), (3, 8, 5), ("categorical", "periodic", "ordinal"))


@given(st.lists(st.integers(1, 6), min_size=1, max_size=5))
def test_index_and_factors_are_inverse_and_the_last_factor_is_fastest(sizes):
    space = FactorSpace(tuple(f"f{k}" for k in range(len(sizes))), tuple(sizes), ("ordinal",) * len(sizes))
    index = np.arange(len(space))
    rows = space.factors(index)
    assert (space.index(rows) == index).all()
    assert (rows == np.indices(sizes).reshape(len(sizes), -1).T).all()


def test_a_space_without_factors_has_one_point():
    space = SPACE.select(shape=2, angle=7, x=4)
    index = np.zeros(3, dtype=np.int64)
    assert len(space) == 1
    assert space.factors(index).shape == space.sample(3, np.random.default_rng(0)).shape == (3, 0)
    assert space.factors(index).dtype == np.int64
    assert (space.index(space.factors(index)) == index).all()
    assert (space.to_parent(index) == SPACE.index([[2, 7, 4]])).all()


def test_samples_are_uniform_and_independent():
    rows = SPACE.sample(60_000, np.random.default_rng(0))
    counts = np.bincount(SPACE.index(rows), minlength=len(SPACE))
    # 120 cells of 500 expected; chi-square with 119 degrees of freedom has mean 119, deviation 15.4.
    assert ((counts - 500) ** 2 / 500).sum() < 119 + 5 * 15.4


def test_a_sub_space_points_to_the_right_places_of_its_parent():
    part = SPACE.select(shape=2, angle=slice(1, None, 3), x=[4, 0])
    assert part.names == ("angle", "x")
    assert part.sizes == (3, 2)
    expected = [[2, angle, x] for angle in (1, 4, 7) for x in (4, 0)]
    assert (SPACE.factors(part.to_parent(np.arange(len(part)))) == expected).all()


def test_a_part_of_a_circle_is_no_circle():
    assert SPACE.select(angle=slice(0, 4)).kinds == ("categorical", "ordinal", "ordinal")
    assert SPACE.select(shape=0).kinds == ("periodic", "ordinal")


def test_sub_spaces_nest():
    inner = SPACE.select(angle=[1, 3, 5]).select(angle=2, shape=[2, 0])
    assert inner.names == ("shape", "x")
    rows = SPACE.factors(inner.parent.to_parent(inner.to_parent(np.arange(len(inner)))))
    assert set(rows[:, 1]) == {5}
    assert list(dict.fromkeys(rows[:, 0].tolist())) == [2, 0]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: FactorSpace(("a",), (3, 4), ("ordinal",)), "differ in length"),
        (lambda: FactorSpace(("a", "a"), (3, 4), ("ordinal",) * 2), "repeat"),
        (lambda: FactorSpace(("a",), (0,), ("ordinal",)), "at least one value"),
        (lambda: FactorSpace(("a",), (3,), ("ordnal",)), "did you mean 'ordinal'"),
        (lambda: SPACE.index([[0, 0, 5]]), "'x' takes 0..4"),
        (lambda: SPACE.index([[0, 0]]), r"must be \[n, 3\]"),
        (lambda: SPACE.index([[0.5, 0, 0]]), "integers"),
        (lambda: SPACE.factors([120]), "0..119"),
        (lambda: SPACE.factors([[1]]), "one-dimensional"),
        (lambda: SPACE.select(shap=1), "did you mean 'shape'"),
        (lambda: SPACE.select(shape=3), "distinct values of 0..2"),
        (lambda: SPACE.select(shape=[]), "distinct values"),
        (lambda: SPACE.select(shape=[1, 1]), "distinct values"),
    ],
)
def test_wrong_use_is_named(call, words):
    with pytest.raises(UsageError, match=words):
        call()
