"""Unified scores, independent groups and the merge tree."""

import itertools

import numpy as np
import pytest
from metric_toys import draws

from unbraid.errors import UsageError
from unbraid.metrics import dci, entanglement_of, evaluate, groups_of, merges_of, mig, modularity, sap, unified
from unbraid.metrics.unified import AGGREGATIONS, MATRICES, aggregate

WORKED = np.array([[0.9, 0.1], [0.2, 0.8], [0.0, 0.3]])


def test_the_worked_example():
    # At .9 only code 0 and factor 0; from .8 both factors have codes of their own; the .2 joins all.
    found = groups_of(WORKED)
    np.testing.assert_array_equal(found.thresholds, [0.9, 0.8, 0.3, 0.2, 0.1, 0])
    np.testing.assert_array_equal(found.groups, [1, 2, 2, 1, 1, 1])
    np.testing.assert_array_equal(found.discovered, [1, 2, 2, 2, 2, 2])
    # One group for .1, two for .6, one for .2; trapezoids give the same here.
    assert found.area == pytest.approx(1.5)
    assert np.trapezoid(found.groups[::-1], found.thresholds[::-1]) == pytest.approx(1.5)
    assert found.most == 2
    assert entanglement_of(WORKED)[0, 1] == 0.2


def test_the_ends():
    assert groups_of(np.eye(5)).most == 5
    assert groups_of(np.eye(5)).area == pytest.approx(5)
    ones = groups_of(np.ones((5, 5)))
    assert (ones.most, ones.discovered[-1]) == (1, 5)
    zeros = groups_of(np.zeros((4, 5)))
    assert (zeros.most, zeros.discovered.max(), zeros.area) == (0, 0, 0)
    assert not entanglement_of(np.zeros((4, 5))).any()
    assert merges_of(entanglement_of(np.eye(3))) == []
    assert groups_of(np.eye(3) + 1e-17).area == pytest.approx(3)  # dust


@pytest.mark.parametrize("seed", range(5))
def test_entanglement_is_the_widest_path_and_an_ultrametric(seed):
    rng = np.random.default_rng(seed)
    matrix = rng.random((4, 5)) * (rng.random((4, 5)) > 0.4)
    found = entanglement_of(matrix)
    # Brute force: the largest of the smallest entries over all paths, by Floyd and Warshall on the bipartite graph.
    d, factors = matrix.shape
    width = np.zeros((d + factors, d + factors))
    width[:d, d:], width[d:, :d] = matrix, matrix.T
    for middle in range(d + factors):
        width = np.maximum(width, np.minimum(width[:, middle : middle + 1], width[middle : middle + 1]))
    off = ~np.eye(factors, dtype=bool)
    np.testing.assert_array_equal(found[off], width[d:, d:][off])
    for a, b, c in itertools.product(range(factors), repeat=3):
        assert found[a, c] >= min(found[a, b], found[b, c])
    np.testing.assert_array_equal(entanglement_of(matrix[rng.permutation(4)]), found)
    np.testing.assert_array_equal(entanglement_of(np.vstack([matrix, np.zeros(5)])), found)


def test_merges_join_all_factors_that_ever_meet_strongest_first():
    merges = merges_of(entanglement_of([[0.9, 0.5, 0.1], [0.0, 0.8, 0.0], [0.0, 0.0, 0.7]]))
    assert merges == [(0.5, (0,), (1,)), (0.1, (0, 1), (2,))]


def test_groups_count_components_as_a_search_does():
    rng = np.random.default_rng(1)
    matrix = rng.integers(0, 4, size=(5, 4)) / 4  # ties
    found = groups_of(matrix)
    for threshold, groups in zip(found.thresholds, found.groups, strict=True):
        edges = (matrix >= threshold) & (matrix > 0)
        left, count = set(zip(*np.nonzero(edges), strict=True)), 0
        while left:
            count, inside = count + 1, {left.pop()}
            while grown := {e for e in left if any(e[0] == i[0] or e[1] == i[1] for i in inside)}:
                inside |= grown
                left -= grown
        assert groups == count


def test_the_five_native_combinations_are_the_scores_themselves():
    factors = draws((3, 4, 5), 1500)
    codes = factors @ np.random.default_rng(0).normal(size=(3, 4)) + 0.2 * np.random.default_rng(1).normal(
        size=(1500, 4)
    )
    train, test = (codes[:1000], factors[:1000]), (codes[1000:], factors[1000:])
    parts = unified(*train, test=test).parts
    boosted = dci(*train, test=test).parts
    assert parts["importance_dci_d"] == boosted["disentanglement"]
    assert parts["importance_dci_c"] == boosted["completeness"]
    assert parts["information_mig"] == float(mig(*train))
    assert parts["information_modularity"] == float(modularity(*train))
    assert parts["accuracy_sap"] == float(sap(*train, test=test))
    assert sum(isinstance(parts[f"{m}_{a}"], float) for m in MATRICES for a in AGGREGATIONS) == 15


def test_a_duplicated_code_has_no_gap_but_its_own_groups():
    found = aggregate(np.vstack([np.eye(5), np.eye(5)]), np.ones(5))
    assert (found["mig"], found["sap"], found["modularity"], found["dci_d"]) == pytest.approx((0, 0, 1, 1))
    assert groups_of(np.vstack([np.eye(5), np.eye(5)])).most == 5


def test_groups_of_the_accuracy_are_those_of_what_exceeds_chance():
    # The constant code guesses 1/3 and 1/4 everywhere, which would join all factors at 1/4.
    factors = draws((3, 4), 900)
    codes = np.column_stack([factors, np.zeros(900)])
    merging = unified(codes, factors).parts["accuracy_merging"]
    assert merging["most"] == 2
    assert merging["entanglement"][0, 1] < 0.08


def test_boosters_and_machines_are_fitted_once_for_all_scores(monkeypatch):
    from metric_toys import FactorPixels, identity

    from unbraid.metrics import _boosting

    fits = []
    grow = _boosting._as_columns
    monkeypatch.setattr(_boosting, "_as_columns", lambda codes: fits.append(len(codes)) or grow(codes))
    scores = evaluate(identity, FactorPixels((3, 4)), ["dci", "unified"], train=300, test=100)
    assert fits.count(300) == 2  # one per factor
    assert scores["unified"].parts["importance_dci_d"] == float(scores["dci"])


def test_a_matrix_that_is_none_is_refused():
    for wrong in ([1.0, 2.0], [[np.nan]], [[-1.0]], np.zeros((0, 3))):
        with pytest.raises(UsageError, match="matrix must be"):
            groups_of(wrong)
