"""EDI, pairs, T-MEX, blocks and graphs: closed forms, and what must not matter."""

import numpy as np
import pytest
from metric_toys import draws

from unbraid.data import IdentityFactors
from unbraid.errors import UsageError
from unbraid.metrics import block_r2, edi, evaluate, pida, shd, tmex
from unbraid.metrics._discrete import entropy
from unbraid.metrics.edi import edi_of, exclusivity
from unbraid.metrics.tmex import covariance_test

GRID = np.indices((4, 5, 6)).reshape(3, -1).T


def shuffled(codes: np.ndarray) -> np.ndarray:
    """In another order and with other signs."""
    return codes[:, ::-1] * np.array([1, -1] * codes.shape[1])[: codes.shape[1]]


def test_exclusivity_of_known_rows():
    # Uniform: m - sqrt(m²) = 0. One-hot: 1. Two equal of four: 1/2 - sqrt(1/4 / 3).
    assert exclusivity([[0.3] * 4]) == 0
    assert exclusivity([[0, 1, 0, 0]]) == 1
    assert exclusivity([[0.5, 0.5, 0, 0]]) == pytest.approx(0.5 - 0.5 / np.sqrt(3))
    assert exclusivity([[0.7]]) == pytest.approx(0.7)


def test_edi_credits_a_factor_up_to_one():
    # Two codes of exclusivity 0.8 for factor 0 are capped at 1, none for factor 1: mean 1/2. Columns: 0.8 - 0.8 and 0.
    found = edi_of([[0.8, 0.0], [0.8, 0.0]])
    assert (found["modularity"], found["compactness"]) == (0.5, 0.0)


def test_edi_of_copies_keeps_modularity_and_loses_compactness():
    assert float(edi(GRID, GRID)) == pytest.approx(1.0)
    twice = edi(np.hstack([GRID, GRID]), GRID)
    # A column with two ones among six: 1 - sqrt(1/5).
    assert twice.parts["modularity"] == pytest.approx(1.0)
    assert twice.parts["compactness"] == pytest.approx(1 - np.sqrt(1 / 5))


def test_edi_explicitness_is_what_trees_know_of_all_codes_together():
    rng = np.random.default_rng(0)
    factors = draws((3, 4), 1200)
    told = edi(factors @ [[1.0, 1.0], [1.0, -1.0]], factors, explicitness=True).parts
    assert told["explicitness"] > 0.95
    silent = edi(rng.normal(size=(1200, 2)), factors, explicitness=True).parts
    assert silent["explicitness"] < 0.05
    # A code that halves a factor of four values knows ln 2 of its ln 4.
    half = edi(np.column_stack([factors[:, 0], factors[:, 1] // 2]), factors, explicitness=True).parts
    assert half["explicit_per_factor"][1] == pytest.approx(0.5, abs=0.05)
    assert entropy(factors)[1] == pytest.approx(np.log(4), abs=0.01)


@pytest.mark.parametrize("score", [edi, tmex, block_r2])
def test_order_and_sign_of_codes_do_not_matter(score):
    factors = draws((4, 5, 6), 600)
    rng = np.random.default_rng(1)
    codes = factors @ rng.normal(size=(3, 3)) + 0.5 * rng.normal(size=(600, 3))
    options = {"binning": "quantile"} if score is edi else {}  # mirrored bins of equal width may put edges elsewhere
    assert float(score(codes, factors, **options)) == pytest.approx(
        float(score(shuffled(codes), factors, **options)), abs=0.01 if score is edi else 1e-9
    )


def test_pairs_of_a_turned_code_move_half_as_far():
    # z = (v1 + v2, v2 - v1): with one of two factors of equal variance redrawn, E (z - z')² is half of that of both.
    data = IdentityFactors((8, 8))

    def turned(images):
        flat = images.reshape(len(images), -1).astype(float)
        return flat @ np.array([[1.0, -1.0], [1.0, 1.0]])

    score = pida(turned, data, pairs=20_000)
    assert score.parts["consistency_per_factor"] == pytest.approx(0.5, abs=0.02)
    assert score.parts["restrictiveness_per_factor"] == pytest.approx(0.5, abs=0.02)


def test_pairs_of_the_factors_themselves_and_of_nothing():
    data = IdentityFactors((4, 5, 6))

    def flat(images):
        return images.reshape(len(images), -1).astype(float)

    score = pida(flat, data, pairs=500)
    assert (float(score), score.parts["rank_accuracy"]) == (1.0, 1.0)
    mirrored = pida(lambda images: np.hstack([np.zeros((len(images), 1)), shuffled(flat(images))]), data, pairs=500)
    assert (float(mirrored), mirrored.parts["rank_accuracy"]) == (1.0, 1.0)
    assert mirrored.parts["code_of_factor"].tolist() == [3, 2, 1]
    assert float(pida(lambda images: np.zeros((len(images), 2)), data, pairs=50)) == 0.0
    # One code for three factors: consistency 1 for one of them, and no other codes that could stay.
    assert float(pida(lambda images: flat(images)[:, :1], data, pairs=500)) == pytest.approx(1 / 6)
    assert float(evaluate(flat, data, metrics="pida", test=200, train=200)["pida"]) == 1.0
    with pytest.raises(UsageError, match="pairs must be a whole number from 2 on"):
        pida(flat, data, pairs=1)
    with pytest.raises(UsageError, match="at least two factors"):
        pida(flat, IdentityFactors((4,)), pairs=10)


def test_the_covariance_test_keeps_its_level_and_finds_what_is_there():
    rejected = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        common = rng.normal(size=(500, 1))
        given = np.column_stack([np.ones(500), common])
        factor = common[:, 0] + rng.normal(size=500)
        null = common + rng.normal(size=(500, 1000))  # a thousand codes that depend on what is given alone
        p_values = covariance_test(null, factor, given)
        assert p_values.mean() == pytest.approx(0.5, abs=0.04)
        assert (covariance_test(null[:, :50] + 0.5 * factor[:, None], factor, given) < 1e-6).all()
        rejected.append((p_values < 0.05).mean())
    # Of 20,000 tests at level 0.05, with a standard error of 0.0015.
    assert np.mean(rejected) == pytest.approx(0.05, abs=0.005)


def test_tmex_of_truth_and_of_a_turned_code():
    rng = np.random.default_rng(0)
    factors = rng.normal(size=(1000, 5))
    truth = tmex(factors + 0.1 * rng.normal(size=(1000, 5)), factors)
    assert truth.parts["errors"] <= 3
    assert truth.parts["floor"] == pytest.approx(0.05 * 20)
    turned = tmex(factors @ np.linalg.qr(rng.normal(size=(5, 5)))[0], factors)
    assert turned.parts["errors"] >= 12
    assert float(turned) == turned.parts["errors"] / 25


def test_an_exact_copy_counts_as_independent_of_the_others():
    score = tmex(GRID, GRID)
    assert (float(score), np.isfinite(score.parts["p_values"]).all()) == (0.0, True)
    assert tmex(GRID[:, ::-1], GRID, expected=np.eye(3)).parts["errors"] == 4  # two missing, two where none is expected


def test_tmex_needs_the_degree_that_other_factors_enter_by():
    # Given v0, the code v0² + noise is independent of v1 = v0² + noise; a line through v0 leaves both squares over.
    rng = np.random.default_rng(0)
    v0 = rng.normal(size=2000)
    v1, code = v0**2 + rng.normal(size=(2, 2000))
    factors = np.column_stack([v0, v1])
    linear, square = (tmex(code[:, None], factors, degree=degree).parts["p_values"][0, 1] for degree in (1, 2))
    assert linear < 1e-6
    assert square > 0.01
    for wrong in ({"alpha": 1.0}, {"degree": 0}, {"expected": np.eye(3)}):
        with pytest.raises(UsageError, match=next(iter(wrong))):
            tmex(code[:, None], factors, **wrong)


def test_blocks_are_found_whatever_their_order_and_mixture_within():
    factors = draws((4, 5, 6, 3), 900)
    mixed = np.hstack([factors[:, 2:] @ [[1.0, 1.0], [-1.0, 1.0]], factors[:, :2] @ [[2.0, 1.0], [1.0, 1.0]]])
    both = {"blocks": [(0, 1), (2, 3)], "code_blocks": [(0, 1), (2, 3)]}
    score = block_r2(mixed, factors, **both)
    assert float(score) == pytest.approx(1.0)
    assert score.parts["code_block_of_block"].tolist() == [1, 0]
    assert score.parts["leak"] < 0.02


def test_the_leak_is_what_dependence_explains():
    # Corr(v0, v1) = 1/sqrt(2): each explains half of the other, whatever the codes are.
    rng = np.random.default_rng(0)
    v0 = rng.normal(size=20_000)
    factors = np.column_stack([v0, v0 + rng.normal(size=20_000)])
    score = block_r2(factors, factors)
    assert float(score) == pytest.approx(1.0)
    assert score.parts["leak"] == pytest.approx(0.5, abs=0.02)


def test_a_block_that_is_no_linear_map_takes_a_degree():
    factors = draws((5, 6), 900).astype(float)
    codes = np.column_stack([factors[:, 0] ** 0.5, factors[:, 1]])
    assert block_r2(codes, factors, degree=2).parts["per_block"][0] == pytest.approx(1.0)  # a square undoes the root
    assert block_r2(codes, factors).parts["per_block"][0] < 0.98


@pytest.mark.parametrize(("name", "value"), [("blocks", [(0, 0)]), ("code_blocks", [(0,), (7,)]), ("blocks", [()])])
def test_blocks_that_are_none_are_refused(name, value):
    with pytest.raises(UsageError, match=f"{name} must be lists of different columns"):
        block_r2(GRID, GRID, **{name: value})


CHAIN = np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]])


def test_a_reversed_edge_counts_twice_or_once():
    estimated = np.array([[5.0, 0.9, 0.0], [0.0, 0.0, 0.0], [0.0, -0.8, 0.0]])
    before = estimated.copy()
    assert float(shd(estimated, CHAIN)) == 2
    assert float(shd(estimated, CHAIN, reversed_edge=1)) == 1
    assert shd(estimated, CHAIN).parts["reversed"] == 1
    assert float(shd(estimated, CHAIN, threshold=0.85)) == 1  # the reversed one is no longer seen: one is missing
    np.testing.assert_array_equal(estimated, before)


def test_variables_are_matched_and_spare_ones_left_out():
    order = [3, 0, 2]
    estimated = np.ones((4, 4))
    estimated[np.ix_(order, order)] = CHAIN
    assert float(shd(estimated, CHAIN, code_of_factor=order)) == 0
    for wrong in ([0, 0, 1], [0, 1, 4], [0, 1], [0, 1, -1]):
        with pytest.raises(UsageError, match="code_of_factor must name a different row"):
            shd(estimated, CHAIN, code_of_factor=wrong)
    with pytest.raises(UsageError, match="code_of_factor picks"):
        shd(estimated, CHAIN)


def test_the_area_under_the_curve_is_that_of_scikit_learn():
    from sklearn.metrics import roc_auc_score

    rng = np.random.default_rng(0)
    truth = np.triu(rng.integers(2, size=(7, 7)), 1)
    estimated = truth * 0.3 + rng.integers(0, 5, size=(7, 7)) / 5  # with ties
    off = ~np.eye(7, dtype=bool)
    assert shd(estimated, truth).parts["auroc"] == pytest.approx(roc_auc_score(truth[off], estimated[off]))
    assert shd(estimated, np.zeros((7, 7))).parts["auroc"] == 0.5


@pytest.mark.parametrize("wrong", [np.zeros((2, 3)), np.full((3, 3), np.nan)])
def test_matrices_that_are_none_are_refused(wrong):
    with pytest.raises(UsageError, match="estimated"):
        shd(wrong, CHAIN)
