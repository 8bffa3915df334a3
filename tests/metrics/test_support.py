"""Factorised support: closed forms, an independent implementation, what it cannot see."""

import warnings

import numpy as np
import pytest
import torch
from metric_toys import draws, grid, rotation

from unbraid.errors import UsageError, UsageWarning
from unbraid.metrics import support
from unbraid.objectives.penalties.hfs import all_pairs, support_gaps


def raw(codes):
    """Of all codes at once, as they are."""
    codes = np.asarray(codes, dtype=float)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UsageWarning)
        return support(codes, np.arange(len(codes))[:, None], batch=len(codes), batches=1).parts["raw"]


def test_supports_in_closed_form():
    square = grid(21, 21) / 20
    assert raw(grid(9, 9)) == 0
    assert raw(np.linspace(0, 1, 65)[:, None].repeat(2, 1)) == pytest.approx(0.5)  # (0, 1) from (1/2, 1/2)
    assert raw([[0, 0], [1, 1]]) == 1
    assert raw([[0, 0], [1, 0], [0, 2]]) == 1
    for arm in (0.25, 0.5):
        corner = square[(square <= arm + 1e-9).any(1)]
        assert raw(corner) == pytest.approx((1 - arm) ** 2)


def test_it_is_the_penalty_by_another_way():
    codes = np.random.default_rng(0).normal(size=(40, 4))
    expected = support_gaps(torch.as_tensor(codes), all_pairs(4)).mean().item()
    assert raw(codes) == pytest.approx(expected, rel=1e-9)


def test_neither_scale_nor_order_nor_sign_counts():
    factors = draws((6, 5), 500)
    codes = factors @ np.random.default_rng(1).normal(size=(2, 3))
    score = support(codes, factors, min_spread=0)
    for other in (codes * [100.0, 1.0, 40.0], codes[:, [2, 0, 1]], -codes, codes + 7):
        assert support(other, factors, min_spread=0).value == pytest.approx(score.value)
    assert support(codes * 3, factors).parts["raw"] == pytest.approx(9 * score.parts["raw"])


def test_independent_factors_score_as_their_shuffled_selves_and_mixtures_are_not():
    factors = draws((10, 10), 3_000)
    true = support(factors, factors)
    assert true.value == true.parts["factors"]
    assert true.parts["shuffled"] == pytest.approx(true.value, rel=0.15)
    assert support(factors @ rotation(45), factors).value > 2 * true.value


def test_codes_that_hardly_move_are_left_out():
    factors = draws((2, 2), 500)  # all four cells are in every draw of 64
    faint = np.column_stack([factors, 0.01 * (factors[:, 0] - factors[:, 1])])
    score = support(faint, factors)
    assert score.parts["active"].tolist() == [True, True, False]
    assert score.value == support(factors, factors).value == 0
    assert support(faint, factors, min_spread=0).value > 0


def test_a_warning_says_when_the_truth_looks_worse_than_the_codes():
    # Factors that differ by little: the truth lies along the diagonal, turned by 45 degrees it fills its rectangle.
    rng = np.random.default_rng(0)
    cells = grid(10, 10)
    weights = np.exp(-((cells[:, 0] - cells[:, 1]) ** 2) / (2 * 0.9**2))  # sigma 0.1 of 9 steps
    factors = cells[rng.choice(100, 3_000, p=weights / weights.sum())]
    with pytest.warns(UsageWarning, match="look better than the truth"):
        turned = support(factors @ rotation(45), factors)
    # By a script of its own, each batch of 64 divided by its own deviations: 4.28 and 1.91.
    assert turned.parts["factors"] == pytest.approx(4.28, rel=0.15)
    assert turned.value == pytest.approx(1.91, rel=0.15)


@pytest.mark.parametrize("options", [{"batch": 1}, {"batches": 0}])
def test_draws_of_nothing_are_refused(options):
    with pytest.raises(UsageError, match="batch must be at least 2 and batches at least 1"):
        support(np.eye(3), np.arange(3)[:, None], **options)


def test_codes_that_do_not_move_have_no_support():
    factors = np.indices((4, 5)).reshape(2, -1).T
    for codes in (np.zeros((20, 3)), np.column_stack([factors[:, 0], np.zeros(20)])):
        with pytest.raises(UsageError, match="pairs of codes"):
            support(codes, factors)
