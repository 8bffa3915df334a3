"""The tree in which factors merge, as a chart."""

import re

import numpy as np

from unbraid.metrics import unified
from unbraid.report.page.merging import dendrogram


def test_a_tree_tells_who_merges_with_whom_and_where():
    merging = {
        "entanglement": np.array([[0.9, 0.5, 0.1], [0.5, 0.8, 0.1], [0.1, 0.1, 0.7]]),
        "merges": [[0.5, [0], [1]], [0.1, [0, 1], [2]]],
    }
    chart = dendrogram(merging, ("shape", "x", "y"), "Factors merge")
    assert "shape and x at 0.5; shape, x and y at 0.1" in chart
    # From the strongest entry at the left (110) to 0 at the right (324): 110 + 214 (1 - h / .9).
    path = re.search(r' d="([^"]*)"', chart)[1]
    assert f"H{110 + 214 * (1 - 0.5 / 0.9):.1f}V" in path
    assert f"H{110 + 214 * (1 - 0.1 / 0.9):.1f}V" in path
    assert path.endswith("H324.0")


def test_factors_that_never_meet_and_those_that_nobody_knows_are_drawn_too():
    for strength in (np.eye(2), np.zeros((2, 2))):
        chart = dendrogram({"entanglement": strength, "merges": []}, ("a", "b"), "Factors merge")
        assert "none do" in chart
        assert "nan" not in chart


def test_a_stored_score_draws_as_a_fresh_one():
    from unbraid.metrics import Score

    rng = np.random.default_rng(0)
    factors = rng.integers((3, 4, 2), size=(400, 3))
    score = unified(factors @ rng.normal(size=(3, 3)), factors)
    again = Score.from_json(score.to_json())
    charts = [dendrogram(one.parts["importance_merging"], ("a", "b", "c"), "t") for one in (score, again)]
    assert charts[0] == charts[1]
