"""Reduced and strong downstream tasks, unfairness."""

import numpy as np
import pytest
from metric_toys import FactorPixels, draws, identity, rotation

from unbraid.errors import UsageError
from unbraid.metrics import evaluate, reduced, strong, unfairness
from unbraid.metrics.strong import draw_shifts
from unbraid.metrics.unfairness import summarise_unfairness, total_variation

SIZES = (4, 5, 6)
SMALL = {"train": 1_000, "test": 1_000}


@pytest.fixture(scope="module")
def data() -> FactorPixels:
    return FactorPixels(SIZES)


def turned(images: np.ndarray) -> np.ndarray:
    """The first two factors mixed by 45 degrees, the third for itself."""
    codes = images.reshape(len(images), -1) / (np.array(SIZES) - 1)
    return np.hstack([codes[:, :2] @ rotation(45), codes[:, 2:]])


def arrays(encode, n: int = 2_000, seed: int = 0):
    factors = draws(SIZES, n, seed)
    return encode(factors.reshape(n, 1, 1, 3)), factors


def test_the_identity_code_loses_its_factor_and_no_other():
    # Chance: (1/4 + 1/5 + 1/6) / 3 = .2056.
    found = reduced(*arrays(identity), test=arrays(identity, seed=1), sizes=(2_000,))
    assert found.parts["plain"] == pytest.approx(1)
    assert found.parts["own"] == pytest.approx(0.2, abs=0.03)
    assert found.parts["others"] == pytest.approx(1)
    assert float(found) == pytest.approx(1, abs=0.03)


def test_two_turned_codes_know_much_of_each_others_factor():
    found = reduced(*arrays(turned), test=arrays(turned, seed=1), sizes=(2_000,))
    assert found.parts["plain"] == pytest.approx(1, abs=0.01)
    # The sum v0/3 + v1/4 is another one for all pairs but (0, 4) and (3, 0), so either code alone tells both factors in
    # all but one or two of twenty cells, and the third factor falls to chance, 1/6: (.95 + .95 + .17) / 3 or so.
    assert found.parts["own"] == pytest.approx(0.72, abs=0.04)
    assert found.parts["by_size"]["own"][0, 2] == pytest.approx(1 / 6, abs=0.03)
    assert found.parts["leak_per_factor"][:2].min() > 0.8
    assert found.parts["leak_per_factor"][2] < 0.05


def test_a_copy_of_every_code_leaks_everything():
    codes, factors = arrays(identity, 600)
    found = reduced(np.hstack([codes, codes]), factors)
    assert float(found) == pytest.approx(0)
    assert found.parts["own"] == pytest.approx(1)


def test_dropping_all_codes_leaves_the_commonest_value():
    codes, factors = arrays(identity, 300)
    assert float(reduced(codes, factors, drop=7)) == pytest.approx(1, abs=0.05)
    with pytest.raises(UsageError, match="drop must be"):
        reduced(codes, factors, drop=0)
    with pytest.raises(UsageError, match="sizes must lie between 2 and the 200"):
        reduced(codes, factors, sizes=(500,))


def test_the_fixed_factor_has_one_value_in_training_and_never_in_the_test(data):
    shifts = draw_shifts(data.space, 20, 50, 40, np.random.default_rng(0))
    assert [shift.target for shift in shifts] == [k for k in range(3) for _ in range(20)]
    for shift in shifts:
        assert shift.fixed != shift.target
        assert (shift.train[:, shift.fixed] == shift.value).all()
        assert (shift.test[:, shift.fixed] != shift.value).all()
    seen = np.concatenate(
        [s.test[:, s.fixed] for s in shifts if (s.fixed, s.value) == (shifts[0].fixed, shifts[0].value)]
    )
    assert len(np.unique(seen)) == SIZES[shifts[0].fixed] - 1


def test_the_identity_code_does_not_notice_the_shift(data):
    found = strong(identity, data, repeats=3, **SMALL)
    assert float(found) == found.parts["plain"] == found.ceiling == 1
    assert found.parts["gap"] == 0


def test_turned_codes_are_read_wrongly_once_the_other_factor_moves(data):
    # Of three targets two are mixed, and half of their tasks fix the factor they are mixed with. There the trees have
    # learnt cuts along one line of the plane that miss the others: nearly chance, so (2 * (1 + small) / 2 + 1) / 3.
    found = strong(turned, data, repeats=10, train=2_000, test=1_000, sizes=(2_000,))
    assert found.parts["plain"] == pytest.approx(1, abs=0.01)
    assert float(found) == pytest.approx(0.67, abs=0.08)
    assert found.parts["gap"] == pytest.approx(0.33, abs=0.08)
    fixed = found.parts["fixed"][..., 0]
    assert found.parts["per_factor"][2] == pytest.approx(1, abs=0.01)
    assert {tuple(np.unique(row)) for row in fixed} == {(1, 2), (0, 2), (0, 1)}


def test_constant_codes_have_no_gap_and_the_same_seed_the_same_bytes(data):
    constant = lambda images: np.zeros((len(images), 2))  # noqa: E731
    # 30 tasks with 20,000 images to test each: a standard error of .0005 in about .2, and the plain one's .003.
    found = strong(constant, data, repeats=10, train=1_000, test=20_000)
    assert found.parts["gap"] == pytest.approx(0, abs=0.02)
    assert strong(turned, data, repeats=2, **SMALL).to_json() == strong(turned, data, repeats=2, **SMALL).to_json()


def test_tasks_that_choose_values_are_the_same_within_an_evaluation(data):
    alone = unfairness(turned, data, **SMALL), strong(turned, data, repeats=2, **SMALL)
    scores = evaluate(turned, data, ["dci", "strong", "unfairness"], options={"strong": {"repeats": 2}}, **SMALL)
    assert float(scores["unfairness"]) == float(alone[0])
    assert float(scores["strong"]) == float(alone[1])


def test_distances_of_counts_from_their_pool():
    # Shares (0, 1) and (1/2, 1/2) of a pool (1/3, 2/3): 1/3 and 1/6, weighed 1 to 2.
    assert total_variation([[0, 100], [100, 100]]) == pytest.approx((2 / 9, 1 / 3))
    # Predictions that are the sensitive value itself: each row is a corner, 1 - 1/s from the even pool.
    assert total_variation(np.eye(6) * 100) == pytest.approx((5 / 6, 5 / 6))
    with pytest.raises(UsageError, match="each row"):
        total_variation([[0, 0], [1, 2]])


def test_means_and_maxima_leave_the_diagonal_out():
    found = summarise_unfairness([[99, 2, 4], [4, 99, 8], [2, 10, 99]])
    assert found == pytest.approx({"mean": 5, "mean_of_maxima": 22 / 3, "max_of_means": 6, "max": 10})


def test_identity_and_constant_codes_are_exactly_fair(data):
    fair = unfairness(identity, data, **SMALL)
    assert (float(fair), fair.parts["accuracy"]) == (0, 1)
    assert float(unfairness(lambda images: np.zeros((len(images), 1)), data, **SMALL)) == 0


def test_a_turned_code_without_noise_is_fair_and_a_sum_alone_is_not(data):
    # Trees read the sum and difference of two factors exactly; from the sum alone they guess one by the other.
    assert float(unfairness(turned, data, **SMALL)) == pytest.approx(0, abs=0.02)
    found = unfairness(lambda x: np.stack([x[:, 0, 0, :2].sum(axis=1), x[:, 0, 0, 2]], axis=1), data, **SMALL)
    assert found.parts["accuracy_per_factor"][2] == 1
    assert found.parts["accuracy"] < 0.7
    matrix = found.parts["matrix"]
    assert min(matrix[0, 1], matrix[1, 0]) > 0.15
    assert not matrix[2].any()  # what is read without error is fair; guesses at the others may follow anything
    assert found.parts["by_chance"] < 0.1


@pytest.mark.parametrize(("classes", "values", "expected"), [(3, 6, 0.052), (40, 32, 0.247)])
def test_chance_alone_is_the_mean_distance_of_a_hundred_draws(classes, values, expected):
    # 1/2 sum_y sqrt(2 p (1 - p)(1 - 1/s) / (100 pi)) for even classes.
    p = 1 / classes
    formula = 0.5 * classes * np.sqrt(2 * p * (1 - p) * (1 - 1 / values) / (100 * np.pi))
    assert formula == pytest.approx(expected, abs=0.002)
    rng = np.random.default_rng(0)
    found = []
    for _ in range(200):
        counts = [np.bincount(rng.integers(classes, size=100), minlength=classes) for _ in range(values)]
        found.append(total_variation(np.stack(counts))[0])
    assert np.mean(found) == pytest.approx(expected, abs=0.003)


def test_a_single_factor_has_no_other_one():
    with pytest.raises(UsageError, match="at least two"):
        unfairness(identity, FactorPixels((4,)), **SMALL)
    with pytest.raises(UsageError, match="at least two"):
        strong(identity, FactorPixels((4,)), **SMALL)
    with pytest.raises(UsageError, match="repeats must be"):
        strong(identity, FactorPixels((4, 4)), repeats=0)
