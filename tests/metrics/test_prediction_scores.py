"""SAP, Explicitness, the nearest-neighbour score, R², DCI-ES."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from metric_toys import DSPRITES, draws, rotation
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import r2_score, roc_auc_score
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.svm import LinearSVC

from unbraid.errors import UsageError
from unbraid.metrics import dci_es, disentanglement_score, explicitness, r2, sap
from unbraid.metrics._kinds import perfect_code, standardize
from unbraid.metrics._neighbours import neighbour_spans
from unbraid.metrics._svm import Feature, predict
from unbraid.metrics.dci_es import explicitness_of
from unbraid.metrics.explicitness import macro_area


def reference_svm(x: np.ndarray, y: np.ndarray) -> LinearSVC:
    machine = LinearSVC(C=0.01, class_weight="balanced", dual=False, tol=1e-10, max_iter=100_000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return machine.fit(x[:, None], y)


@pytest.mark.parametrize("classes", [2, 3, 6, 40])
@pytest.mark.parametrize(("scale", "shift"), [(1, 0), (0.01, 0), (30, 5), (1, -40)])
def test_one_feature_machines_are_those_of_liblinear(classes, scale, shift):
    rng = np.random.default_rng(classes)
    y = np.concatenate([np.arange(classes), rng.integers(0, classes, 1_500) ** 2 // classes])
    x = scale * (y / classes + 0.3 * rng.normal(size=len(y))) + shift
    lines = Feature(x).fit(y, classes, 0.01)
    machine = reference_svm(x, y)
    expected = np.column_stack([machine.coef_, machine.intercept_])
    np.testing.assert_allclose(lines[1:] if classes == 2 else lines, expected, atol=2e-5)
    np.testing.assert_array_equal(predict(lines, x), machine.predict(x[:, None]))


def test_sap_equals_separate_linear_machines():
    train, test = draws((3, 6, 12), 1_200), draws((3, 6, 12), 600, seed=1)
    rng = np.random.default_rng(2)
    mix = np.array([[1, 0.2, 0, 0.5], [0, 1, 0, 0.1], [0, 0.3, 1, 0]])
    codes, held_out = (part @ mix + rng.normal(size=(len(part), 4)) for part in (train, test))
    table = [
        [reference_svm(codes[:, j], train[:, k]).score(held_out[:, [j]], test[:, k]) for k in range(3)]
        for j in range(4)
    ]
    score = sap(codes, train, test=(held_out, test))
    np.testing.assert_allclose(score.parts["scores"], table, atol=1e-3)
    best = np.sort(table, axis=0)
    assert float(score) == pytest.approx((best[-1] - best[-2]).mean(), abs=1e-3)


def test_sap_of_binary_factors_is_one_half():
    # The right code predicts all, any other half of a fair coin.
    factors = draws((2, 2, 2), 6_000)
    score = sap(factors, factors)
    assert float(score) == pytest.approx(0.5, abs=0.03)
    assert score.ceiling == pytest.approx(0.5, abs=0.03)


@pytest.mark.parametrize(("samples", "expected"), [(2_000, 0.18), (10_000, 0.247)])
def test_sap_of_a_perfect_code_on_dsprites_depends_on_the_sample_size_and_not_on_spare_codes(samples, expected):
    # All 3 shapes are told apart. Of 6 scales the stiff machine of few samples finds the 2 outermost, that of many 4;
    # of the other factors always 2: gaps 2/3, then 1/6 or 3/6, then 1/40, 1/32, 1/32.
    factors, others = draws(DSPRITES, samples), draws(DSPRITES, 5_000, seed=1)
    centre, spread = factors.mean(axis=0), factors.std(axis=0)
    codes, held_out = (factors - centre) / spread, (others - centre) / spread
    score = sap(codes, factors, test=(held_out, others))
    assert float(score) == pytest.approx(expected, abs=0.015)
    assert score.ceiling == pytest.approx(float(score), abs=0.005)
    rng = np.random.default_rng(0)
    spare = [np.hstack([part, 0.01 * rng.normal(size=part.shape)]) for part in (codes, held_out)]
    assert float(sap(spare[0], factors, test=(spare[1], others))) == pytest.approx(float(score), abs=0.01)
    assert float(sap(spare[0][:, 5:], factors, test=(spare[1][:, 5:], others))) < 0.02


@pytest.mark.parametrize("kinds", [None, ["categorical"] * 2])
@pytest.mark.parametrize("score", [sap, disentanglement_score], ids=lambda s: s.__name__)
def test_a_single_code_is_compared_with_a_constant_one(score, kinds):
    factors = draws((3, 4), 600)
    codes = factors[:, :1] + 0.1 * np.random.default_rng(0).normal(size=(600, 1))
    alone, beside = score(codes, factors, kinds=kinds), score(np.hstack([codes, codes * 0]), factors, kinds=kinds)
    assert float(alone) == float(beside)
    assert 0 < float(alone) <= alone.ceiling + 0.02
    assert float(score(codes * 0, factors, kinds=kinds)) == 0
    matrix = alone.parts["scores" if score is sap else "earned"]
    assert matrix.shape == (1, 2)


def test_continuous_sap_of_identity_duplicate_and_constant_codes():
    factors = draws((10, 10, 8), 3_000)
    assert float(sap(factors, factors, continuous=True)) >= 0.98
    assert float(sap(np.hstack([factors, factors]), factors, continuous=True)) <= 0.02
    assert float(sap(np.ones((3_000, 2)), factors, continuous=True)) == 0


def test_continuous_sap_of_a_category_ignores_its_numbering_once_told():
    factors = draws((5, 5), 2_000)
    codes = np.array([2, 0, 4, 1, 3])[factors].astype(float)
    assert float(sap(codes, factors, continuous=True)) < 0.2
    assert float(sap(codes, factors, continuous=True, kinds=["categorical"] * 2)) > 0.98


def test_rescaled_sap_does_not_depend_on_the_scale_of_codes():
    factors = draws((3, 6), 2_000)
    codes = factors + np.random.default_rng(0).normal(size=factors.shape)
    small = codes * 1e-3
    assert float(sap(small, factors)) < float(sap(codes, factors)) - 0.02
    assert float(sap(small, factors, rescale=True)) == pytest.approx(float(sap(codes, factors, rescale=True)))


@given(st.integers(0, 1000))
@settings(max_examples=10, deadline=None)
def test_sap_ignores_order_and_sign_of_codes(seed):
    rng = np.random.default_rng(seed)
    factors = rng.integers(0, (2, 4), size=(240, 2))
    codes = factors @ rng.normal(size=(2, 3)) + rng.normal(size=(240, 3))
    order, sign = rng.permutation(3), rng.choice([-1, 1], 3)
    for continuous in (False, True):
        before = float(sap(codes, factors, continuous=continuous))
        assert float(sap(codes[:, order] * sign, factors, continuous=continuous)) == pytest.approx(before, abs=1e-9)


@pytest.mark.parametrize("score", [disentanglement_score, explicitness, r2], ids=lambda s: s.__name__)
@given(seed=st.integers(0, 1000))
@settings(max_examples=10, deadline=None)
def test_order_sign_and_units_of_codes_do_not_matter(score, seed):
    rng = np.random.default_rng(seed)
    factors = rng.integers(0, (2, 4), size=(150, 2))
    codes = factors @ rng.normal(size=(2, 3)) + rng.normal(size=(150, 3))
    moved = codes[:, rng.permutation(3)] * rng.choice([-1, 1], 3) * [0.1, 1, 100] + 3
    assert float(score(moved, factors)) == pytest.approx(float(score(codes, factors)), abs=1e-3)


def test_macro_area_equals_scikit_learn():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 4, 300)
    scores = rng.random((300, 4)).round(2)  # rounding makes ties
    hits = y[:, None] == np.arange(4)
    expected = np.mean([roc_auc_score(hits[:, k], scores[:, k]) for k in range(4)])
    assert macro_area(scores, hits) == pytest.approx(expected, abs=1e-12)


def test_explicitness_equals_the_direct_formulation():
    train, test = draws((3, 5), 900), draws((3, 5), 400, seed=1)
    rng = np.random.default_rng(2)
    codes, held_out = (part @ rng.normal(size=(2, 3)) + rng.normal(size=(len(part), 3)) for part in (train, test))
    mean, std = codes.mean(axis=0), codes.std(axis=0)
    areas = []
    for k in range(2):
        model = LogisticRegression(C=1.0, tol=1e-8, max_iter=10_000).fit((codes - mean) / std, train[:, k])
        guess = model.predict_proba((held_out - mean) / std)
        areas.append(np.mean([roc_auc_score(test[:, k] == v, guess[:, v]) for v in model.classes_]))
    score = explicitness(codes, train, test=(held_out, test))
    np.testing.assert_allclose(score.parts["per_factor"], areas, atol=1e-3)


def test_explicitness_is_one_half_for_constant_codes_and_rescaled_zero():
    factors = draws((2, 3), 300)
    codes = np.full((300, 2), 0.1)
    assert float(explicitness(codes, factors)) == pytest.approx(0.5)
    assert float(explicitness(codes, factors, rescale=True)) == pytest.approx(0)


def test_explicitness_of_the_identity_code_is_nearly_one_and_survives_rotation():
    factors = draws((4, 4), 1_500)
    assert float(explicitness(factors, factors)) > 0.98
    assert float(explicitness(factors @ rotation(30), factors)) > 0.98


def test_neighbour_spans_equal_scikit_learn_where_there_are_no_ties():
    rng = np.random.default_rng(0)
    x, y, labels = rng.normal(size=400), rng.normal(size=400), rng.integers(0, 3, 400)
    queries = rng.normal(size=100) * 1.5
    order = np.argsort(x)
    lo, hi = neighbour_spans(x[order], queries, 5)
    assert (hi - lo == 5).all()
    mean = np.array([y[order][a:b].mean() for a, b in zip(lo, hi, strict=True)])
    np.testing.assert_allclose(mean, KNeighborsRegressor(5).fit(x[:, None], y).predict(queries[:, None]))
    votes = np.array([np.bincount(labels[order][a:b], minlength=3).argmax() for a, b in zip(lo, hi, strict=True)])
    np.testing.assert_array_equal(votes, KNeighborsClassifier(5).fit(x[:, None], labels).predict(queries[:, None]))


def test_neighbour_spans_include_all_ties_on_both_sides():
    # From 2, the second nearest is 1 or 3, equally far: both sides count, with every copy.
    line = np.array([0, 1, 1, 2, 3, 3, 4.0])
    lo, hi = neighbour_spans(line, np.array([2.0]), 2)
    assert (lo[0], hi[0]) == (1, 6)


def test_disentanglement_score_of_a_perfect_code():
    # Literal: a stranger's five-neighbour guess has rmse sqrt(1.2) sd and earns 1 - 1.095, so the gap may reach 1.095.
    rng = np.random.default_rng(0)
    factors = rng.integers(0, 1_000, size=(4_000, 3))
    assert 1.0 <= float(disentanglement_score(factors, factors, mode="literal")) <= 1.10
    bounded = disentanglement_score(factors, factors)
    assert 0.97 <= float(bounded) <= 1.0
    assert bounded.ceiling == pytest.approx(float(bounded), abs=0.01)


def test_literal_disentanglement_score_of_three_classes_reaches_two():
    # Accuracy 1 against 1/3 for strangers, in units of the best constant guess 1/3: (1 - 1/3) / (1/3) = 2.
    factors = draws((3, 3), 6_000)
    kinds = ["categorical"] * 2
    assert float(disentanglement_score(factors, factors, kinds=kinds, mode="literal")) == pytest.approx(2, abs=0.1)
    assert float(disentanglement_score(factors, factors, kinds=kinds)) == pytest.approx(1, abs=0.02)


def test_disentanglement_score_of_rotated_duplicated_and_constant_codes():
    factors = draws((50, 50), 3_000)
    # Equal sums of rotated integers differ in their last bits, which tell the summands apart; noise hides that.
    rotated = factors @ rotation(45) + 0.01 * np.random.default_rng(0).normal(size=factors.shape)
    assert float(disentanglement_score(rotated, factors)) < 0.05
    assert float(disentanglement_score(np.hstack([factors, factors]), factors)) == pytest.approx(0)
    assert float(disentanglement_score(np.ones((3_000, 2)), factors)) == 0


def test_a_circle_cut_open_is_predicted_by_its_neighbours():
    factors = draws((32, 5), 3_000)
    assert float(disentanglement_score(factors, factors, kinds=["periodic", "ordinal"])) > 0.97


def test_r2_equals_least_squares_and_ignores_invertible_mixing():
    factors = draws((10, 7), 900)
    rng = np.random.default_rng(0)
    codes = factors @ rng.normal(size=(2, 3)) + rng.normal(size=(900, 3))
    test = (codes[:300], factors[:300])
    score = r2(codes[300:], factors[300:], test=test)
    expected = [
        LinearRegression().fit(codes[300:], factors[300:, k]).score(codes[:300], factors[:300, k]) for k in range(2)
    ]
    np.testing.assert_allclose(score.parts["per_factor"], expected, atol=1e-9)
    mixed = codes @ rng.normal(size=(3, 3))
    assert float(r2(mixed[300:], factors[300:], test=(mixed[:300], factors[:300]))) == pytest.approx(float(score))


def test_r2_reads_each_kind_in_its_own_columns():
    factors = draws((12, 4), 1_000)
    angle = 2 * np.pi * factors[:, 0] / 12
    circle = np.column_stack([np.cos(angle), np.sin(angle)])
    indicators = np.eye(4)[factors[:, 1]]
    kinds = ["periodic", "categorical"]
    assert float(r2(np.hstack([circle, indicators]), factors, kinds=kinds)) == pytest.approx(1)
    assert float(r2(np.hstack([circle, indicators]), factors)) < 0.9


def test_r2_by_neighbours_equals_scikit_learn_and_follows_a_curve_that_no_line_does():
    factors = draws((21, 7), 900)
    codes = np.column_stack([np.abs(factors[:, 0] - 10), np.sign(factors[:, 0] - 10), factors[:, 1]]).astype(float)
    codes += 0.01 * np.random.default_rng(1).normal(size=codes.shape)  # no ties, which two searches break differently
    score = r2(codes[300:], factors[300:], test=(codes[:300], factors[:300]), reader="neighbours")
    reader = KNeighborsRegressor(10).fit(codes[300:], factors[300:])
    expected = r2_score(factors[:300], reader.predict(codes[:300]), multioutput="raw_values")
    np.testing.assert_allclose(score.parts["per_factor"], expected, atol=1e-9)
    folded = np.abs(factors[:, :1] - 10) * np.sign(factors[:, :1] - 10) ** 2 + 0.4 * (factors[:, :1] > 10)
    assert float(r2(folded, factors[:, :1], reader="neighbours")) > 0.95 > 0.2 > float(r2(folded, factors[:, :1]))


def test_accuracy_of_neighbours_is_the_vote_of_scikit_learn_for_categories_alone():
    factors = draws((3, 4), 900)
    codes = factors[:, :1] + 0.7 * np.random.default_rng(2).normal(size=(900, 2))
    score = r2(
        codes[300:],
        factors[300:],
        test=(codes[:300], factors[:300]),
        kinds=["categorical", "ordinal"],
        reader="neighbours",
    )
    vote = KNeighborsClassifier(10).fit(codes[300:], factors[300:, 0])
    accuracy = score.parts["accuracy"]
    assert accuracy[0] == pytest.approx(vote.score(codes[:300], factors[:300, 0]), abs=0.02)  # ties aside
    assert 0.4 < accuracy[0] < 0.9
    assert np.isnan(accuracy[1])


def test_r2_by_neighbours_of_nothing_loses_the_variance_of_a_mean_of_ten():
    noise = np.random.default_rng(0).normal(size=(20_000, 2))
    assert float(r2(noise, draws((9,), 20_000), reader="neighbours")) == pytest.approx(-0.1, abs=0.02)


def test_r2_by_trees_sees_what_far_neighbours_miss_and_nothing_where_nothing_is():
    # Two of ten codes tell of a factor by the sign of their product; eight others push all neighbours apart.
    codes = np.random.default_rng(0).normal(size=(6_000, 10))
    factors = (codes[:, :1] * codes[:, 1:2] > 0).astype(np.int64)
    assert float(r2(codes, factors, reader="trees")) > 0.9 > 0.5 > float(r2(codes, factors, reader="neighbours"))
    named = r2(codes, factors, kinds=["categorical"], reader="trees")
    assert named.parts["accuracy"][0] > 0.97
    assert float(r2(codes[:, 2:], factors, reader="trees")) < 0.02
    again = r2(codes, factors, kinds=["categorical"], reader="trees")
    assert float(again) == float(named)


def test_r2_refuses_a_reader_it_does_not_know():
    with pytest.raises(UsageError, match="unknown reader 'neighbors'"):
        r2(np.ones((9, 1)), draws((3,), 9), reader="neighbors")


def test_r2_of_constant_codes_is_not_above_zero():
    assert -0.05 < float(r2(np.ones((300, 2)), draws((4, 4), 300))) <= 0


@pytest.mark.parametrize(
    ("curve", "expected"),
    [
        ([0.2, 0.2, 0.2], 1),
        ([1, 0.5, 0], 0),
        ([1, 1, 0], -0.5),  # area 1.5 of a triangle of 1; a finer grid tends to -1
        ([0.5, 0, 0], 1 - 0.25),  # area 0.25 of a triangle of 1
        ([1, 1.2, 1], 0),  # nothing learnt
        ([1, 0.995, 0.999], 0),  # nothing to speak of
    ],
)
def test_explicitness_of_a_loss_curve(curve, expected):
    assert explicitness_of(np.array(curve, dtype=float)) == pytest.approx(expected)


def test_dci_es_prefers_codes_that_a_line_can_read():
    factors = draws((20, 20), 1_500)
    plain = dci_es(factors, factors)
    assert float(plain) == pytest.approx(1, abs=0.01)
    assert plain.parts["size"] == 1
    folded = np.abs(factors - 9.5) + 0.2 * (factors > 9.5)  # every value has its own code, far apart for neighbours
    hidden = dci_es(np.column_stack([folded, np.sin(factors)]), factors)
    assert float(hidden) < 0.8
    assert hidden.parts["size"] == 0.5


def test_perfect_code_is_standardised_and_constant_columns_stay_zero():
    code = perfect_code(draws((5, 6), 400), ["ordinal", "periodic"])
    assert code.shape == (400, 3)
    np.testing.assert_allclose(code.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(code.std(axis=0), 1)
    assert (standardize(np.full((7, 1), 0.1)) == 0).all()
