"""Where disagreement comes from, and scores adjusted for accuracy."""

import numpy as np
import polars as pl
import pytest

from unbraid.errors import UsageError
from unbraid.metrics import AGGREGATIONS, MATRICES
from unbraid.study.analysis import adjusted, matrix_or_aggregation


def table_of(columns: dict[str, np.ndarray], runs: int) -> pl.DataFrame:
    about = {"data": ["one"] * runs, "objective": ["beta-vae"] * runs, "strength_name": ["beta"] * runs}
    numbers = {"strength": [4.0] * runs, "seed": list(range(runs)), "representation": ["mean"] * runs}
    return pl.DataFrame({**about, **numbers, **columns})


def test_scores_that_differ_by_the_matrix_alone_are_told():
    # All aggregations of a matrix rank runs alike, and the three matrices have nothing to do with each other.
    rng = np.random.default_rng(0)
    base = {matrix: rng.random(200) for matrix in MATRICES}
    columns = {f"unified_{m}_{a}": base[m] ** (2 + i) for m in MATRICES for i, a in enumerate(AGGREGATIONS)}
    found = {row["same"]: row for row in matrix_or_aggregation(table_of(columns, 200)).iter_rows(named=True)}
    assert found["matrix"]["correlation"] == pytest.approx(1)
    assert abs(found["aggregation"]["correlation"]) < 0.15
    # 3 matrices x 10 pairs of aggregations, 5 x 3, and the rest of 105.
    assert [found[kind]["pairs"] for kind in ("matrix", "aggregation", "neither")] == [30, 15, 60]


def test_a_table_without_unified_scores_says_what_to_add():
    with pytest.raises(UsageError, match="unified_importance_dci_d"):
        matrix_or_aggregation(table_of({}, 3))


def test_what_accuracy_explains_is_gone():
    # A linear function of accuracy with noise: the nearest five share it.
    rng = np.random.default_rng(0)
    accuracy = rng.random(200)
    table = pl.DataFrame({"accuracy": accuracy, "unfairness": 0.5 - 0.3 * accuracy + 0.02 * rng.normal(size=200)})
    left = adjusted(table, "unfairness", "accuracy").to_numpy()
    ranks = [np.argsort(np.argsort(values)) for values in (left, accuracy)]
    before = np.corrcoef(np.argsort(np.argsort(table["unfairness"])), ranks[1])[0, 1]
    assert before < -0.9
    assert abs(np.corrcoef(*ranks)[0, 1]) < 0.2


def test_gaps_stay_gaps_and_wrong_numbers_are_refused():
    table = pl.DataFrame({"score": [1.0, None, 3.0], "by": [0.1, 0.2, 0.3]})
    assert adjusted(table, "score", "by", k=1).to_list() == [-2.0, None, 2.0]
    with pytest.raises(UsageError, match=r"k must lie in 1\.\.1"):
        adjusted(table, "score", "by", k=2)
    with pytest.raises(UsageError, match="no column 'wrong'"):
        adjusted(table, "wrong", "by")
