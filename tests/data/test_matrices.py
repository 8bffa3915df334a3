"""Matrices to reason about: one answer fits, and in fair ones the answers alone tell nothing."""

import numpy as np
import pytest

from unbraid.data import Cells, IdentityFactors, Rules, accepted_share, make_stream, quantised_sizes, solve, votes
from unbraid.data.matrices import looks_ruled
from unbraid.errors import UsageError

ABSTRACT, SHAPES = (5, 6, 3, 3, 4, 4), (10, 10, 10, 4, 4, 4)


def draw(sizes, mode, active, n=4000, seed=0):
    return Rules(sizes, mode, active).draw(n, np.random.default_rng(seed))


@pytest.mark.parametrize("active", [0, 1, 2, 3])
@pytest.mark.parametrize("mode", ["easy", "hard", "fair"])
@pytest.mark.parametrize("sizes", [ABSTRACT, SHAPES, (2, 6, 3, 1)])
def test_the_rule_solver_finds_the_one_answer_that_fits(sizes, mode, active):
    if (sizes, active) == ((2, 6, 3, 1), 3):
        with pytest.raises(UsageError, match=r"no 3 of factors with \[2, 6, 3, 1\] values can be active"):
            Rules(sizes, mode, active)
        return
    found = draw(sizes, mode, active, 1000)
    fits = solve(found.context, found.answers)
    assert (fits.sum(axis=1) == 1).all()
    assert (fits.argmax(axis=1) == found.solution).all()
    assert (found.active.sum(axis=1) == active).all() if active else set(found.active.sum(axis=1)) <= {1, 2, 3}
    assert all(len(np.unique(answers, axis=0)) == 6 for answers in found.answers)
    assert (found.panels < np.array(sizes)).all()
    assert np.bincount(found.solution, minlength=6).min() > 100


@pytest.mark.parametrize("size", [3, 4, 5, 6, 10])
def test_rows_of_other_factors_are_taken_as_often_as_counted(size):
    # Both rows constant (1/s² each) or both without repetition ((s-1)(s-2)/s² each) are drawn anew.
    rows = np.random.default_rng(0).integers(size, size=(40_000, 2, 3, 1))
    assert 1 - looks_ruled(rows).mean() == pytest.approx(accepted_share(size), abs=0.01)


@pytest.mark.parametrize("active", [0, 1, 2, 3])
@pytest.mark.parametrize("sizes", [ABSTRACT, SHAPES])
def test_answers_alone_are_worth_nothing_in_fair_matrices(sizes, active):
    found = draw(sizes, "fair", active, 8000)
    assert votes(found.answers, found.solution) == pytest.approx({"most": 1 / 6, "least": 1 / 6}, abs=0.02)


@pytest.mark.parametrize(
    ("mode", "active", "vote", "shares"),
    [("easy", 1, "least", (0.32, 0.27)), ("hard", 2, "most", (0.38, 0.43)), ("hard", 3, "most", (0.55, 0.64))],
)
def test_answers_alone_give_published_matrices_away(mode, active, vote, shares):
    for sizes, share in zip((ABSTRACT, SHAPES), shares, strict=True):
        found = draw(sizes, mode, active, 8000)
        assert votes(found.answers, found.solution)[vote] == pytest.approx(share, abs=0.03)


def test_a_batch_shows_the_panels_of_its_matrices_below_each_other():
    data = IdentityFactors((10, 8, 6))
    stream = make_stream("matrices:mode=hard,active=1", data, 5, 3)
    batch, drawn = stream(7), stream.matrices(7)
    assert batch.images.shape == (5, 14, 1, 3)
    # Five of ten, of eight and of six values: q stands for floor(q s / 5).
    expected = drawn.panels * np.array([10, 8, 6]) // 5
    np.testing.assert_array_equal(batch.images[:, :, 0], expected)
    np.testing.assert_array_equal(batch.labels, drawn.solution)
    assert stream(7).images.tobytes() == batch.images.tobytes() != stream(8).images.tobytes()


def test_cells_are_vectors_on_a_grid():
    codes = np.random.default_rng(0).normal(size=(60, 2)).astype(np.float32)
    data = Cells(codes, (3, 4, 5))
    np.testing.assert_array_equal(data.images([59, 0]), codes[[59, 0]])
    assert make_stream("matrices", data, 4, 0)(0).images.shape == (4, 28)
    with pytest.raises(UsageError, match=r"codes must be \[60, d\]"):
        Cells(codes[:-1], (3, 4, 5))


def test_published_sets_have_their_numbers_of_values():
    assert quantised_sizes((5, 6, 3, 6, 32, 32)) == ABSTRACT
    assert quantised_sizes((10, 10, 10, 8, 4, 15)) == SHAPES
    assert quantised_sizes((12, 3)) == (5, 3)


@pytest.mark.parametrize(
    ("options", "message"),
    [("mode=fare", "did you mean 'fair'"), ("active=4", "active must be"), ("values=3+3", "values must say for each")],
)
def test_wrong_settings_are_refused(options, message):
    with pytest.raises(UsageError, match=message):
        make_stream(f"matrices:{options}", IdentityFactors((10, 8, 6)), 5, 0)
