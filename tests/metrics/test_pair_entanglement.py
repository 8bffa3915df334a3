"""A pair of factors that share codes, and its repair."""

import numpy as np
import pytest

from unbraid.errors import UsageError
from unbraid.metrics import dci, entanglement_of, pair_entanglement, repair_pair

SIZES = (10, 10, 5, 4)


def drawn(n, rng):
    return rng.integers(SIZES, size=(n, 4))


def mixed(factors, rng, angle=45):
    """Codes in [-1, 1], the first two turned."""
    middle = (np.array(SIZES) - 1) / 2
    codes = (factors - middle) / middle
    c, s = np.cos(np.radians(angle)), np.sin(np.radians(angle))
    codes[:, :2] = codes[:, :2] @ np.array([[c, s], [-s, c]])
    return codes + 0.01 * rng.normal(size=codes.shape)


def test_the_pair_stands_beside_the_median_of_the_others():
    # Factors 0 and 1 share code 1 at .5; 2 joins 0 by code 0 at .2, and so 1 by way of 0 at .2; 3 joins at .1.
    matrix = np.array([[0.9, 0, 0.2, 0], [0.6, 0.5, 0, 0.1], [0, 0, 0.8, 0], [0, 0, 0, 0.7]])
    assert pair_entanglement(matrix, (0, 1)) == (0.5, pytest.approx(0.1))  # of .2 .2 .1 .1 .1
    assert pair_entanglement(matrix, (2, 1)) == (0.2, pytest.approx(0.1))  # of .5 .2 .1 .1 .1
    assert pair_entanglement(matrix, (0, 1))[0] == entanglement_of(matrix)[0, 1]
    strength, others = pair_entanglement(matrix[:2, :2], (0, 1))
    assert strength == 0.5
    assert np.isnan(others)


def test_repair_of_a_turn_by_45_degrees_takes_its_entanglement_away():
    rng = np.random.default_rng(0)
    train, test, labelled = (drawn(n, rng) for n in (1500, 300, 100))
    codes = [mixed(factors, rng) for factors in (train, test)]
    matrix = dci(codes[0], train, test=(codes[1], test)).parts["importance"]
    before, others = pair_entanglement(matrix, (0, 1))
    assert before == pytest.approx(0.485, abs=0.005)
    assert others < 0.04
    few = mixed(labelled, rng)
    told = dci(few, labelled, test=(few, labelled)).parts["importance"]
    repair = repair_pair(few, labelled, told, (0, 1))
    assert set(repair.codes) == {0, 1}
    mended = [repair(part) for part in codes]
    after, _ = pair_entanglement(dci(mended[0], train, test=(mended[1], test)).parts["importance"], (0, 1))
    assert after == pytest.approx(0, abs=0.005)
    # A turn is undone: both codes are the factors, and the other codes stay what they are.
    np.testing.assert_allclose(mended[0][:, list(repair.codes)], train[:, :2], atol=0.3)
    assert (mended[0][:, 2:] == codes[0][:, 2:]).all()


def test_the_codes_that_matter_most_for_the_pair_are_replaced():
    factors = np.indices((4, 4)).reshape(2, -1).T
    codes = np.column_stack([np.zeros(16), factors[:, 1] - factors[:, 0], np.ones(16), factors.sum(1)]).astype(float)
    repair = repair_pair(codes, factors, [[0.1, 0], [0.3, 0.5], [0, 0.2], [0.6, 0.3]], (1, 0))
    assert repair.codes == (3, 1)  # sums .9 and .8
    found = repair(codes)
    np.testing.assert_allclose(found[:, [3, 1]], factors[:, [1, 0]], atol=1e-9)
    assert (codes[:, 3] == factors.sum(1)).all()  # the argument is left alone


def test_what_is_no_pair_is_refused():
    with pytest.raises(UsageError, match=r"pair must be two different factors of 0\.\.1, got \(1, 1\)"):
        pair_entanglement(np.eye(2), (1, 1))
    factors = np.indices((2, 2)).reshape(2, -1).T
    with pytest.raises(UsageError, match=r"pair must be two different factors of 0\.\.1, got \(0, 2\)"):
        repair_pair(factors, factors, np.eye(2), (0, 2))
    with pytest.raises(UsageError, match=r"matrix must be \[2, 2\] here, got shape \(3, 2\)"):
        repair_pair(factors, factors, np.ones((3, 2)), (0, 1))
    with pytest.raises(UsageError, match="needs two codes to be told by"):
        repair_pair(factors[:, :1], factors, np.ones((1, 2)), (0, 1))
    for pair in ((0, 1, 1), (0.0, 1.0), (0,), (True, False)):
        with pytest.raises(UsageError, match="pair must be two different factors"):
            pair_entanglement(np.eye(2), pair)


def test_a_matrix_that_tells_nothing_is_refused():
    factors = np.indices((2, 2, 2)).reshape(3, -1).T
    with pytest.raises(UsageError, match="finite numbers from 0 on"):
        repair_pair(factors, factors, np.full((3, 3), np.nan), (0, 1))
    with pytest.raises(UsageError, match=r"only zeros for the pair \(0, 1\)"):
        repair_pair(factors, factors, np.diag([0, 0, 1]), (0, 1))


def test_a_factor_beside_the_pair_need_not_vary():
    factors = np.indices((2, 2, 1)).reshape(3, -1).T
    assert set(repair_pair(factors[:, :2], factors, np.eye(3)[:2], (0, 1)).codes) == {0, 1}
    with pytest.raises(UsageError, match="takes the single value 0"):
        repair_pair(factors[:, :2], factors, np.eye(3)[:2], (0, 2))
