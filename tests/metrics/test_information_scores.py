"""MIG and its family, Modularity, InfoMEC."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from metric_toys import DSPRITES, draws, grid, rotation
from sklearn.feature_selection import mutual_info_classif

from unbraid.errors import UsageError
from unbraid.metrics import dcimig, infomec, jemmig, mig, mig_sup, modularity
from unbraid.metrics._neighbours import information_with_labels
from unbraid.metrics.modularity import modularity_of

COUNTING = [mig, mig_sup, jemmig, dcimig, modularity]


def test_mig_of_the_identity_code_on_a_full_grid_is_one():
    assert float(mig(grid(3, 4, 5), grid(3, 4, 5))) == pytest.approx(1, abs=1e-9)


def test_mig_of_duplicated_codes_is_zero():
    factors = grid(3, 4, 5)
    assert float(mig(np.hstack([factors, factors]), factors)) == 0


def test_mig_of_a_constant_code_is_zero():
    assert float(mig(np.ones((60, 2)), grid(3, 4, 5))) == 0


def test_mig_of_samples_is_nearly_one_when_bins_suffice():
    factors = draws((10, 10, 10, 8, 4, 15), 10_000)
    assert float(mig(factors, factors)) >= 0.99


def test_mig_ceiling_on_dsprites_is_what_twenty_bins_can_tell_apart():
    # 40 values fall in pairs into 20 bins: ln 20 / ln 40 = 0.812, minus the chance information of the runner-up.
    factors = draws(DSPRITES, 10_000)
    score = mig(np.random.default_rng(1).normal(size=(10_000, 10)), factors)
    assert score.ceiling == pytest.approx(0.895, abs=0.01)
    np.testing.assert_allclose(score.parts["ceiling_per_factor"], [1, 1, 0.80, 0.84, 0.84], atol=0.015)
    assert float(score) < 0.01


@pytest.mark.parametrize(("degrees", "expected", "within"), [(5, 0.70, 0.05), (10, 0.45, 0.05), (15, 0.31, 0.05)])
def test_mig_falls_with_the_angle_of_a_rotation(degrees, expected, within):
    factors = draws((10, 10), 10_000)
    assert float(mig(factors @ rotation(degrees), factors)) == pytest.approx(expected, abs=within)


def test_mig_of_a_rotation_by_45_degrees_vanishes():
    factors = draws((10, 10), 10_000)
    assert float(mig(factors @ rotation(45), factors)) <= 0.02


def test_mig_of_three_factors_turned_by_60_degrees():
    # About the axis (1, 1, 0): all information is kept, its alignment with the axes is not.
    factors, q = draws((10, 10, 10), 10_000), np.sqrt(6) / 4
    turn = np.array([[0.75, 0.25, q], [0.25, 0.75, -q], [-q, q, 0.5]])
    assert float(mig(factors, factors)) >= 0.99
    assert float(mig(factors @ turn.T, factors)) == pytest.approx(0.06, abs=0.04)


def test_one_outlier_ruins_equal_width_bins_but_not_quantiles():
    factors = draws((10, 8), 5_000)
    codes = factors.astype(float)
    codes[0] = 1e6
    assert float(mig(codes, factors)) < 0.05
    assert float(mig(codes, factors, binning="quantile")) > 0.9


def test_mig_sup_sees_a_code_that_serves_two_factors_and_mig_does_not():
    # Code 0 holds both factors as one number of 4 values, each of them a function of it; codes 1 and 2 are dead.
    factors = grid(2, 2)
    codes = np.column_stack([2 * factors[:, 0] + factors[:, 1], np.zeros((4, 2))])
    assert float(mig(codes, factors)) == pytest.approx(1)
    assert float(mig_sup(codes, factors)) == pytest.approx(0)


def test_mig_sup_counts_dead_codes_unless_told_not_to():
    factors = draws((4, 5), 2_000)
    codes = np.hstack([factors, np.zeros((2_000, 2))])
    assert float(mig_sup(codes, factors)) == pytest.approx(0.5, abs=0.01)
    assert float(mig_sup(codes, factors, active_only=True)) == pytest.approx(1, abs=0.01)


def test_jemmig_of_a_code_that_says_more_than_its_factor():
    # Best code of factor 0 is the pair of both bits: H(z, v) = ln 4, I = ln 2, second I = 0; normaliser ln 2 + ln 20.
    factors = grid(2, 2)
    codes = (2 * factors[:, 0] + factors[:, 1])[:, None]
    expected = 1 - (np.log(4) - np.log(2)) / (np.log(2) + np.log(20))
    score = jemmig(codes, factors)
    assert float(score) == pytest.approx(expected)
    assert score.ceiling == pytest.approx(1)
    np.testing.assert_allclose(score.parts["raw"], np.log(2))


def test_jemmig_takes_the_tighter_of_two_equally_informative_codes():
    factors = np.tile([0, 1], 6)[:, None]
    wide = np.column_stack([np.arange(12) % 4, factors])  # both tell the factor; one has 4 values, the other 2
    for codes in (wide, wide[:, ::-1]):
        # H(z, v) - I + I' = ln 2 - ln 2 + ln 2
        np.testing.assert_allclose(jemmig(codes, factors).parts["raw"], np.log(2))


def test_jemmig_of_constant_codes_is_the_documented_limit():
    # Joint entropy H(v) with nothing won: 1 - H / (H + ln 20) = ln 20 / (ln 2 + ln 20).
    assert float(jemmig(np.zeros((4, 2)), grid(2, 2))) == pytest.approx(np.log(20) / np.log(40))


def test_dcimig_forgives_spare_codes_but_not_shared_ones():
    factors = grid(4, 4)
    duplicated = np.hstack([factors, factors, np.zeros_like(factors)])
    assert float(dcimig(duplicated, factors)) == pytest.approx(1)
    shared = (4 * factors[:, 0] + factors[:, 1])[:, None]
    assert float(dcimig(shared, factors)) == pytest.approx(0)
    only_first = factors[:, :1]
    assert float(dcimig(only_first, factors)) == pytest.approx(0.5)  # one of two equal entropies is held


@pytest.mark.parametrize(
    ("information", "expected"),
    [
        (np.eye(5), 1),
        ([[1, 0], [0, 1], [0, 0]], 2 / 3),  # two perfect codes and a dead one
        (np.hstack([np.eye(5), np.eye(5)]), 1 - 1 / 9),  # another factor of ten as strong: 1 / (1 * (10 - 1))
        (np.zeros((3, 4)), 0),
    ],
)
def test_modularity_of_an_information_matrix(information, expected):
    assert modularity_of(np.array(information)) == pytest.approx(expected)


def test_modularity_counts_noise_by_chance_unless_told_not_to():
    factors = draws(DSPRITES, 10_000)
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(10_000, 5))
    codes = np.hstack([factors, noise])
    assert float(modularity(factors, factors)) == pytest.approx(1, abs=0.005)
    assert float(modularity(codes, factors)) == pytest.approx(0.855, abs=0.05)
    assert float(modularity(noise, factors)) == pytest.approx(0.67, abs=0.05)
    assert float(modularity(codes, factors, active_only=True)) == pytest.approx(1, abs=0.005)
    assert float(modularity(noise, factors, active_only=True)) == 0


def test_neighbour_information_equals_scikit_learn():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 6, 800)
    for values in (labels + rng.normal(size=800), rng.normal(size=800), labels.astype(float)):
        expected = mutual_info_classif(values[:, None], labels, n_neighbors=3, random_state=0)[0]
        assert information_with_labels(values, labels, np.random.default_rng(0)) == pytest.approx(expected, abs=0.01)


def test_infomec_of_identity_rotation_and_duplicate():
    factors = draws((5, 4), 1_500)
    codes = (factors - factors.mean(axis=0)) / factors.std(axis=0)
    perfect = infomec(codes, factors)
    for part in ("infom", "infoc"):
        assert perfect.parts[part] == pytest.approx(1, abs=0.05)
    assert perfect.ceiling == pytest.approx(1, abs=0.05)
    assert perfect.parts["infoe"] > 0.9

    rotated = infomec(codes @ rotation(45), factors)
    assert rotated.parts["infom"] < 0.2
    assert rotated.parts["infoe"] > 0.9  # a rotation does not hide anything from a linear reader

    # Two copies: each factor has two equal shares of four codes: (1/2 - 1/4) / (1 - 1/4) = 1/3.
    doubled = infomec(np.hstack([codes, codes]), factors)
    assert doubled.parts["infom"] == pytest.approx(1, abs=0.05)
    assert doubled.parts["infoc"] == pytest.approx(1 / 3, abs=0.05)


def test_infomec_leaves_out_codes_of_small_range():
    factors = draws((5, 4), 500)
    codes = np.hstack([factors, 0.01 * np.random.default_rng(0).normal(size=(500, 2))])
    score = infomec(codes, factors, estimator="bins")
    np.testing.assert_array_equal(score.parts["active"], [True, True, False, False])


def test_infomec_of_values_on_a_full_grid_is_one_three_times():
    factors = grid(3, 4, 5)
    # Any names of the values: they are counted, not measured.
    codes = np.column_stack([np.array([0.3, -7, 0.31])[factors[:, 0]], 100 * factors[:, 1], factors[:, 2] ** 2])
    score = infomec(codes, factors, estimator="values", active="qlae")
    for part in ("infom", "infoc", "infoe"):
        assert score.parts[part] == pytest.approx(1, abs=0.01), part
    assert score.settings["active"] == "qlae"
    assert score.settings["min_range"] is None
    still = infomec(np.ones((60, 2)), factors, estimator="values", active="qlae")
    assert [still.parts[part] for part in ("infom", "infoc", "infoe")] == [0, 0, 0]


def test_infomec_reads_values_one_by_one_where_a_line_could_not():
    # A code whose middle value is one class and whose outer values are the other: no threshold tells them apart.
    codes = np.tile([-1.0, 0.0, 1.0], 40)[:, None]
    factors = (codes == 0).astype(int)
    assert infomec(codes, factors, estimator="values").parts["infoe"] == pytest.approx(1, abs=0.01)
    assert infomec(codes, factors, estimator="bins").parts["infoe"] < 0.1


@pytest.mark.parametrize(
    ("estimator", "active", "alive"),
    [
        # Ranges 1, 0.06, 0.04, 0; interquartile ranges half of them.
        ("values", "share", [True, False, False, False]),
        ("values", "qlae", [True, True, True, False]),
        ("bins", "qlae", [True, True, False, False]),
        ("values", "tripod", [True, False, False, False]),
        ("bins", "tripod", [True, False, False, False]),
    ],
)
def test_infomec_has_the_rules_of_activity_of_both_releases(estimator, active, alive):
    factors = draws((5, 4), 1_000)
    steps = factors[:, 0] / 4
    codes = np.column_stack([steps, 0.06 * steps, 0.04 * steps, np.zeros(1_000)])
    score = infomec(codes, factors, estimator=estimator, active=active)
    assert score.parts["active"].tolist() == alive


def test_infomec_names_what_it_does_not_know():
    with pytest.raises(UsageError, match="unknown active 'half'"):
        infomec(grid(3, 4), grid(3, 4), active="half")
    with pytest.raises(UsageError, match="unknown estimator 'value'"):
        infomec(grid(3, 4), grid(3, 4), estimator="value")


@pytest.mark.parametrize("score", [mig, mig_sup, jemmig, dcimig], ids=lambda s: s.__name__)
def test_values_are_counted_as_they_are(score):
    # 30 values do not fit 20 bins; as values they do, however far apart they lie.
    factors = draws((30, 4), 5_000)
    codes = np.column_stack([np.exp(factors[:, 0]), factors[:, 1]])
    counted = score(codes, factors, binning="values")
    assert counted.value == pytest.approx(counted.ceiling)
    assert score(codes, factors).value < counted.value


@pytest.mark.parametrize("score", COUNTING, ids=lambda s: s.__name__)
@given(seed=st.integers(0, 10_000))
@settings(max_examples=15, deadline=None)
def test_order_and_sign_of_codes_do_not_matter(score, seed):
    rng = np.random.default_rng(seed)
    factors = rng.integers(0, (3, 5), size=(300, 2))
    codes = factors @ rng.normal(size=(2, 4)) + 0.3 * rng.normal(size=(300, 4))
    order, sign = rng.permutation(4), rng.choice([-1, 1], 4)
    assert float(score(codes[:, order] * sign, factors)) == pytest.approx(float(score(codes, factors)), abs=1e-9)


@pytest.mark.parametrize("score", COUNTING, ids=lambda s: s.__name__)
@given(seed=st.integers(0, 10_000))
@settings(max_examples=15, deadline=None)
def test_quantile_bins_ignore_monotone_warps_and_renumbered_values(score, seed):
    rng = np.random.default_rng(seed)
    factors = rng.integers(0, (3, 5), size=(400, 2))
    codes = factors @ rng.normal(size=(2, 3)) + 0.3 * rng.normal(size=(400, 3))
    renumbered = np.column_stack(
        [rng.permutation(size)[column] for size, column in zip((3, 5), factors.T, strict=True)]
    )
    before = score(codes, factors, binning="quantile")
    after = score(np.exp(codes), renumbered * 3 - 7, binning="quantile")
    assert float(after) == pytest.approx(float(before), abs=1e-9)


@pytest.mark.parametrize("score", [*COUNTING], ids=lambda s: s.__name__)
@given(seed=st.integers(0, 10_000))
@settings(max_examples=15, deadline=None)
def test_scores_stay_in_the_unit_interval_and_the_ceiling_is_no_less_than_zero(score, seed):
    rng = np.random.default_rng(seed)
    factors = rng.integers(0, (2, 4, 30), size=(200, 3))
    result = score(rng.normal(size=(200, 5)) ** 3, factors)
    assert -1e-12 <= float(result) <= 1 + 1e-12
    assert 0 <= result.ceiling <= 1 + 1e-12


def test_one_code_that_serves_two_factors_is_seen_by_the_part_alone_and_not_by_the_gap():
    # Two independent binary factors; code 0 is their pair, code 1 constant. Its gap is 1 for both factors, and it knows
    # both wholly: 1 - 1 = 0. A code of its own for each gives 1 - 0.
    factors = np.indices((2, 2)).reshape(2, -1).T
    both = np.stack([2 * factors[:, 0] + factors[:, 1], np.zeros(4)], axis=1)
    assert mig(both, factors).parts["per_factor"] == pytest.approx([1, 1])
    assert mig(both, factors).parts["alone"] == pytest.approx([0, 0])
    assert mig(factors, factors).parts["alone"] == pytest.approx([1, 1])
    # With one factor there is no other to serve.
    assert mig(factors[:, :1], factors[:, :1]).parts["alone"] == pytest.approx([1])


def test_infomec_refuses_to_count_continuous_codes_by_their_values():
    rng = np.random.default_rng(0)
    factors = rng.integers(4, size=(202, 2))
    few = np.column_stack([factors[:, 0], np.arange(202) % 100]).astype(float)
    assert infomec(few, factors, estimator="values").settings["estimator"] == "values"
    many = np.column_stack([factors[:, 0], np.arange(202) % 101]).astype(float)
    with pytest.raises(UsageError, match=r'code 1 takes 101 in 202 samples; take estimator="neighbours"'):
        infomec(many, factors, estimator="values")
    infomec(many, factors, estimator="bins")
