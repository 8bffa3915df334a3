"""R² by the grid's variance, the exact baselines, and the analyses on predictors whose answers are known."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unbraid.data import FactorDataset, FactorSpace, entry, load, split
from unbraid.errors import UsageError
from unbraid.generalization import (
    attribution,
    baseline,
    clamp,
    error_parts,
    grid_variance,
    inside_seen,
    marginals,
    mean_target,
    modularity,
    one_unseen,
    predict_baseline,
    published,
    published_data,
    published_models,
    r2,
    similarity,
    targets,
    towards_mean,
    trust_range,
)


class Blank(FactorDataset):
    """A grid whose images nobody looks at."""

    name = "blank"

    def __init__(self, space):
        self.space, self.shape = space, (8, 8, 1)

    def images(self, index, rng=None):
        return np.zeros((len(index), *self.shape), np.uint8)


GRIDS = {
    "dSprites": Blank(entry("dsprites").space),
    "Shapes3D": Blank(entry("rooms3d").space),
    "MPI3D": Blank(entry("arm3d").space),
    "CelebGlow": Blank(
        FactorSpace(("person", "smile", "blond", "age"), (1000, 6, 6, 6), ("categorical", *["ordinal"] * 3))
    ),
}
SPACE = FactorSpace(("shape", "x", "y"), (3, 6, 9), ("categorical", "ordinal", "ordinal"))
UNSEEN = {"x": (4, 5), "y": (7, 8)}


def everything(space):
    return space.factors(np.arange(len(space)))


@given(st.lists(st.integers(2, 40), min_size=1, max_size=3))
def test_the_variance_is_that_of_the_whole_grid(sizes):
    space = FactorSpace(tuple(f"f{k}" for k in range(len(sizes))), tuple(sizes), ("ordinal",) * len(sizes))
    np.testing.assert_allclose(grid_variance(space), targets(everything(space), space).var(axis=0), atol=1e-12)


def test_the_truth_scores_one_and_the_middle_zero():
    factors = everything(SPACE)
    assert r2(targets(factors, SPACE), factors, SPACE).mean == 1
    np.testing.assert_allclose(r2(np.full(factors.shape, 0.5), factors, SPACE).r2, 0, atol=1e-12)


def test_the_variance_stays_that_of_the_grid_on_a_part_of_it():
    part = everything(SPACE)[:50]
    scores = r2(np.full(part.shape, 0.5), part, SPACE)
    expected = 1 - np.square(targets(part, SPACE) - 0.5).mean(axis=0) / targets(everything(SPACE), SPACE).var(axis=0)
    np.testing.assert_allclose(scores.r2, expected)
    assert scores.table()["images"].to_list() == [50] * 3


PUBLISHED_BASELINES = {
    ("constant", "interpolation"): (0.0157, 0.0295, 0.0743, 0.0361),
    ("constant", "extrapolation"): (-0.0928, -0.0903, -0.0642, -0.0722),
    ("constant", "composition"): (0.0930, 0.1002, 0.0600, 0.1143),
    ("train-mean", "interpolation"): (0.0156, 0.0295, 0.0733, 0.0361),
    ("train-mean", "extrapolation"): (-0.3877, -0.3025, -0.3019, -0.5459),
    ("train-mean", "composition"): (-0.1338, -0.0527, -0.1713, -0.3019),
    ("clamp", "interpolation"): (0.9641, 0.9685, 0.7840, 0.8782),
    ("clamp", "extrapolation"): (0.8735, 0.9156, 0.7820, 0.6955),
}


@pytest.mark.parametrize(("name", "kind"), PUBLISHED_BASELINES)
def test_the_baselines_are_exact(name, kind):
    found = [baseline(name, split(grid, kind)).mean for grid in GRIDS.values()]
    np.testing.assert_allclose(found, PUBLISHED_BASELINES[name, kind], atol=1e-4)


def test_a_baseline_counted_is_the_baseline_predicted():
    halves = split(load("mini-sprites"), "extrapolation")
    factors = halves.test.factors(np.arange(len(halves.test)))
    for name in ("constant", "train-mean", "clamp"):
        counted, predicted = baseline(name, halves), predict_baseline(name, factors, halves)
        np.testing.assert_allclose(counted.r2, r2(predicted, factors, halves.data.space).r2, atol=1e-12)


ALONE = {  # of the clamped truth: mean R² of the unseen factor, weighted mean of r; of the training mean: R²
    "dSprites": (0.6206, 0.6719, -2.078),
    "Shapes3D": (0.6730, 0.6956, -2.065),
    "MPI3D": (0.3089, 0.4653, -2.172),
    "CelebGlow": (0.1429, 0.5143, -2.171),
}


@pytest.mark.parametrize("grid", ALONE)
def test_one_unseen_factor_of_the_clamped_truth(grid):
    halves = split(GRIDS[grid], "extrapolation")
    space, unseen = halves.data.space, halves.unseen
    part = halves.one_ood()
    factors = part.factors(np.arange(len(part)))
    table = modularity(clamp(factors, space, unseen), factors, space, unseen)
    ood, share, mean_r2 = ALONE[grid]
    assert table["id"].to_list() == [1.0] * len(unseen)
    assert table["ood"].mean() == pytest.approx(ood, abs=1e-4)
    mean = mean_target(marginals(halves.train))
    shares = towards_mean(clamp(factors, space, unseen), factors, space, unseen, mean)["share"]
    assert shares.mean() == pytest.approx(share, abs=1e-4)
    assert 0 < shares.min() <= shares.max() < 1
    guess = np.broadcast_to(mean, factors.shape)
    assert modularity(guess, factors, space, unseen)["ood"].mean() == pytest.approx(mean_r2, abs=1e-3)
    assert towards_mean(guess, factors, space, unseen, mean)["share"].max() == 0
    assert towards_mean(targets(factors, space), factors, space, unseen, mean)["share"].min() == pytest.approx(1)


def test_single_factors_of_the_clamped_truth():
    halves = split(GRIDS["dSprites"], "extrapolation")
    part = halves.one_ood()
    factors = part.factors(np.arange(len(part)))
    space = halves.data.space
    said = clamp(factors, space, halves.unseen)
    by_factor = dict(modularity(said, factors, space, halves.unseen).select("factor", "ood").iter_rows())
    assert by_factor == pytest.approx({"scale": 0.1429, "orientation": 0.8086, "x": 0.7654, "y": 0.7654}, abs=1e-4)
    mean = mean_target(marginals(halves.train))
    scale = towards_mean(said, factors, space, halves.unseen, mean).filter(factor="scale")
    shares = {value: rows["share"].unique().to_list() for (value,), rows in scale.group_by("value")}
    assert {value: round(share, 4) for value, [share] in shares.items()} == {4: 0.6, 5: 0.4286}


def test_attribution_is_the_mean_over_all_factors():
    factors = everything(SPACE)
    said = clamp(factors, SPACE, UNSEEN)
    table = attribution(said, factors, SPACE, UNSEEN)
    lost = modularity(said, factors, SPACE, UNSEEN)
    np.testing.assert_allclose(table["r2"], (lost["ood"] + 2 * lost["id"]) / 3)


def test_the_truth_is_like_itself_and_the_clamped_truth_opposes_it():
    halves = split(GRIDS["MPI3D"], "extrapolation")
    part = halves.one_ood()
    factors = part.factors(np.arange(0, len(part), 3))
    space = halves.data.space
    said = clamp(factors, space, halves.unseen)
    table = similarity({"clamp": [said]}, factors, space, halves.unseen)
    cells = {(a, b): (pooled, pairs) for a, b, pooled, _, pairs in table.iter_rows()}
    assert cells["truth", "truth"][0] == pytest.approx(1)
    assert cells["clamp", "truth"][0] == cells["truth", "clamp"][0] == pytest.approx(-0.602, abs=2e-3)
    assert cells["clamp", "clamp"][1] == 0, "a single seed is not compared with itself"
    assert math.isnan(cells["clamp", "clamp"][0])


def test_what_does_not_vary_correlates_with_nothing():
    halves = split(GRIDS["CelebGlow"], "extrapolation")
    part = halves.one_ood()
    factors = part.factors(np.arange(0, len(part), 7))
    said = clamp(factors, halves.data.space, halves.unseen)
    table = similarity({"clamp": [said, said]}, factors, halves.data.space, halves.unseen)
    assert math.isnan(table.filter(first="clamp", second="truth")["pooled"].item())


def test_similarity_is_numpys_correlation_over_seeds():
    rng = np.random.default_rng(0)
    factors = everything(SPACE)
    models = {"a": [rng.random(factors.shape) for _ in range(3)], "b": [rng.random(factors.shape)]}
    table = similarity(models, factors, SPACE, UNSEEN)
    alone = one_unseen(factors, SPACE, UNSEEN)

    def column(said):
        return np.concatenate([said[alone == k, k] for k in (1, 2)])

    expected = np.mean([np.corrcoef(column(x), column(y))[0, 1] for x, y in itertools.combinations(models["a"], 2)])
    assert table.filter(first="a", second="a")["pooled"].item() == pytest.approx(expected)
    within = [np.corrcoef(models["b"][0][alone == k, k], targets(factors, SPACE)[alone == k, k])[0, 1] for k in (1, 2)]
    assert table.filter(first="b", second="truth")["within"].item() == pytest.approx(np.mean(within))


def test_errors_add_up_and_tell_what_was_done_to_them():
    rng = np.random.default_rng(0)
    factors = np.repeat(everything(SPACE), 40, axis=0)
    truth = targets(factors, SPACE)
    mean = np.array([0.5, 0.3, 0.375])
    said = mean + 0.6 * (truth - mean) + 0.1 * rng.standard_normal(truth.shape)
    table = error_parts(said, factors, SPACE, UNSEEN, mean)
    alone = one_unseen(factors, SPACE, UNSEEN)
    row = table.filter(factor="x", where="unseen").row(0, named=True)
    assert row["shrinkage"] + row["offset"] + row["noise"] == pytest.approx(
        np.square(said - truth)[alone == 1, 1].mean()
    )
    assert row["slope"] == pytest.approx(0.6, abs=0.02)
    assert row["noise"] == pytest.approx(0.01, rel=0.1)
    assert row["offset"] < 1e-4


def test_the_trust_range_ends_where_errors_grow():
    rng = np.random.default_rng(0)
    factors = np.repeat(everything(SPACE), 20, axis=0)
    said = targets(factors, SPACE) + 0.02 * rng.standard_normal(factors.shape)
    said[:, 2] -= np.where(factors[:, 2] == 8, 0.5, 0)  # y is lost two steps beyond, x never
    found = {
        row["factor"]: (row["steps"], row["asked"]) for row in trust_range(said, factors, SPACE, UNSEEN).to_dicts()
    }
    assert found == {"x": (2, 2), "y": (1, 2)}
    outside = one_unseen(factors, SPACE, UNSEEN) >= 0
    with pytest.raises(UsageError, match="training side"):
        trust_range(said[outside], factors[outside], SPACE, UNSEEN)


def test_published_holds_every_cell():
    kinds = ("random", "composition", "interpolation", "extrapolation")
    cells = [published(*cell) for cell in itertools.product(published_data(), kinds, published_models())]
    assert len(cells) == 408
    assert sum(math.isnan(cell.sd) for cell in cells) == 1
    assert published("dsprites-90", "extrapolation", "DenseNet (ImageNet-1k)") == (-420.5, 504.1)
    medians = [np.median([published("dsprites", kind, model).mean for model in published_models()]) for kind in kinds]
    assert medians == [86.7, 33.0, 81.7, 56.9]
    with pytest.raises(UsageError, match="CNN"):
        published("dsprites", "random", "CNNN")


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (np.zeros((162, 2)), r"\[162, 3\]"),
        (np.full((162, 3), np.nan), "'shape' holds 486 NaN"),
        (everything(SPACE).astype(float), "'x' runs up to 5"),
        (np.array([["a"] * 3] * 162), "numbers"),
    ],
)
def test_predictions_that_cannot_be_meant_are_refused(said, words):
    with pytest.raises(UsageError, match=words):
        r2(said, everything(SPACE), SPACE)


def test_a_split_without_unseen_values_says_so():
    factors = everything(SPACE)
    with pytest.raises(UsageError, match="unseen"):
        modularity(targets(factors, SPACE), factors, SPACE, {})


def test_predictions_are_inside_until_the_nearest_value_is_an_unseen_one():
    space = FactorSpace(("x", "y"), (5, 5), ("ordinal", "ordinal"))
    factors, unseen = np.array([[4, 0], [3, 1], [0, 4], [0, 0]]), {"x": (3, 4)}
    # Steps of the grid that are predicted for x, of which 0 to 2 were seen; the last two rows have no unseen x.
    said = np.array([[2.4, 9], [2.6, 9], [9, 9], [9, 9]]) / 4
    assert inside_seen(said, factors, space, unseen) == 0.5
    assert inside_seen(targets(factors, space), factors, space, unseen) == 0
    assert inside_seen(clamp(factors, space, unseen), factors, space, unseen) == 1
    assert inside_seen(-0.2 + 0 * said, factors, space, unseen) == 0  # below the lowest
