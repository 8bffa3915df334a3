"""Tables of curves: predicted against true, gaps of growing width."""

import numpy as np
import pytest

from unbraid import generalization as g
from unbraid.data import FactorSpace, MiniSprites, split
from unbraid.errors import UsageError
from unbraid.study.generalization import models_of, read_benchmark

SPACE = FactorSpace(("shape", "x", "y"), (3, 6, 5), ("categorical", "ordinal", "ordinal"))
GRID = SPACE.factors(np.arange(90))


def test_predictions_by_true_value_look_at_one_factor_at_a_time():
    # Predicts x as it is up to 3, and says 3 above; twice the error where y is unseen, which must not show in x.
    unseen = {"x": (4, 5), "y": (4,)}
    said = g.targets(GRID, SPACE)
    said[:, 1] = np.minimum(said[:, 1], 3 / 5)
    said[GRID[:, 2] == 4, 1] = 0.0
    table = g.predicted_by_value(said, GRID, SPACE, unseen, quantiles=(0.5, 0.9))
    assert table["factor"].unique(maintain_order=True).to_list() == ["x", "y"]  # shape has no order
    x = table.filter(table["factor"] == "x")
    np.testing.assert_allclose(x["mean"], [0, 0.2, 0.4, 0.6, 0.6, 0.6])
    np.testing.assert_allclose(x["true"], np.arange(6) / 5)
    assert x["seen"].to_list() == [True] * 4 + [False] * 2
    assert x["images"].to_list() == [3 * 4] * 6  # three shapes, four seen values of y
    y = table.filter(table["factor"] == "y")
    assert y["images"].to_list() == [3 * 4] * 5  # three shapes, four seen values of x
    assert table.columns == ["factor", "value", "true", "seen", "mean", "q50", "q90", "images"]


def test_quantiles_are_those_of_the_predictions():
    rng = np.random.default_rng(0)
    said = rng.random((90, 3))
    table = g.predicted_by_value(said, GRID, SPACE, {})
    chosen = said[GRID[:, 1] == 2, 1]
    row = table.filter((table["factor"] == "x") & (table["value"] == 2)).row(0, named=True)
    assert [row[f"q{q}"] for q in (5, 25, 50, 75, 95)] == pytest.approx(
        np.quantile(chosen, (0.05, 0.25, 0.5, 0.75, 0.95))
    )


@pytest.mark.parametrize("size", [3, 4, 5, 10, 32])
def test_gaps_grow_in_the_middle_and_keep_both_ends(size):
    for width in range(1, size - 1):
        values = g.gap_values(size, width)
        assert len(values) == width
        assert min(values) >= 1
        assert max(values) <= size - 2
        assert abs(min(values) - (size - 1 - max(values))) <= 1  # in the middle
        if width > 1:
            assert set(g.gap_values(size, width - 1)) < set(values)
    for width in (0, size - 1):
        with pytest.raises(UsageError, match=rf"width must lie between 1 and {size - 2}"):
            g.gap_values(size, width)


def test_splits_of_growing_width():
    data = MiniSprites()
    found = g.gap_splits(data, "x")
    assert list(found) == [1, 2, 4, 6]  # of eight values
    for width, halves in found.items():
        assert halves.unseen == {"x": tuple(g.gap_values(8, width))}
        assert len(halves.test) == len(data) * width // 8
        assert halves.hash == split(data, {"x": {"test_only": g.gap_values(8, width)}}).hash
    with pytest.raises(UsageError, match=r"'shape' has no middle: 3 values, categorical; others: .*x, y"):
        g.gap_splits(data, "shape")


def test_the_clamp_predictor_errs_by_its_distance_to_the_edge():
    # Six values: gaps of 1, 2 and 4 hold (2), (2, 3) and (1..4). Clamped errors: one step, one step, and 1, 2, 2, 1.
    answers = {}
    for width in (1, 2, 4):
        values = np.array(g.gap_values(6, width))
        factors = GRID[np.isin(GRID[:, 1], values)]
        said = g.targets(factors, SPACE)
        low = factors[:, 1] - values[0] < values[-1] - factors[:, 1]
        said[:, 1] = np.where(low, values[0] - 1, values[-1] + 1) / 5
        said[:, 2] += 0.1
        answers[width] = (said, factors)
    table = g.gap_curve(answers, SPACE, "x")
    assert table["width"].to_list() == [1, 2, 4]
    np.testing.assert_allclose(table["squared_error"], [0.04, 0.04, (0.04 + 0.16) / 2])
    np.testing.assert_allclose(table["clamp"], table["squared_error"])
    np.testing.assert_allclose(table["middle"], [0.04, 0.04, 0.16])
    np.testing.assert_allclose(table["steps"], [1, 1, 1.5])
    np.testing.assert_allclose(table["others"], 0.005)
    # The variance of six even values is 7/60.
    np.testing.assert_allclose(table["r2"], 1 - table["squared_error"].to_numpy() * 60 / 7)
    with pytest.raises(UsageError, match=r"a gap of 2 in 'x' holds the values \[2, 3\], .* have a 1"):
        g.gap_curve({2: answers[4]}, SPACE, "x")


def test_the_ablation_crosses_lengths_decays_and_depths():
    runs = list(read_benchmark("ablation-training"))
    assert len(runs) == 3 * 5 * 2 * 3
    assert {run.steps for run in runs} == {750, 1500, 3000}
    assert {run.options["weight_decay"] for run in runs} == {0.0, 1e-4, 1e-3, 1e-2, 1e-1}
    assert {run.net for run in runs} == {"cnn", "cnn:depth=9"}
    assert len({model.name for model in models_of(runs).values()}) == 3 * 5 * 2, "no decay is selected: each is a row"
