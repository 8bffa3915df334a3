"""The UNI and LAP protocols against their exact laws."""

import numpy as np
import pytest
from scipy import stats

from unbraid.data import FactorSpace, protocol
from unbraid.data.motion.transitions import Laplace, Located, Uniform
from unbraid.errors import UsageError

SETS = {
    "dsprites": ((3, 6, 40, 32, 32), (0,)),
    "cars3d": ((4, 24, 183), (2,)),
    "smallnorb": ((5, 10, 9, 18, 6), (0, 1)),
    "shapes3d": ((10, 10, 10, 8, 4, 15), (4,)),
    "mpi3d": ((6, 6, 2, 3, 3, 40, 40), (1,)),
}


def space_of(name: str) -> FactorSpace:
    sizes, categories = SETS[name]
    kinds = tuple("categorical" if k in categories else "ordinal" for k in range(len(sizes)))
    return FactorSpace(tuple(f"f{k}" for k in range(len(sizes))), sizes, kinds)


@pytest.mark.parametrize(
    ("name", "changes", "static"),
    [
        ("dsprites", 3.1416, 0.0016),
        ("cars3d", 1.4092, 0.0917),
        ("smallnorb", 2.1385, 0.0235),
        ("shapes3d", 3.6172, 0.0016),
        ("mpi3d", 3.2891, 0.0026),
    ],
)
def test_lap_changes_as_many_factors_as_the_analysis_says(name, changes, static):
    law = Laplace(space_of(name))
    assert law.expected_changes() == pytest.approx(changes, abs=1e-4)
    assert law.static_probability() == pytest.approx(static, abs=1e-4)
    first, second = law.pairs(20_000, np.random.default_rng(0))
    changed = first != second
    assert changed.sum(axis=1).mean() == pytest.approx(changes, abs=0.03)
    assert changed.any(axis=1).all()
    assert not changed[:, list(SETS[name][1])].any()
    assert (second >= 0).all()
    assert (second < np.array(SETS[name][0])).all()


def test_lap_on_dsprites_has_the_exact_probabilities():
    law = Laplace(space_of("dsprites"), allow_static=True)
    assert law.change_probabilities()[1:] == pytest.approx([0.6202, 0.8484, 0.8357, 0.8357], abs=1e-4)
    forced = Laplace(space_of("dsprites"))
    assert forced.change_counts()[1:5] == pytest.approx([0.0286, 0.1687, 0.4352, 0.3675], abs=1e-4)
    assert forced.change_counts().sum() == pytest.approx(1)
    assert (forced.change_counts() @ np.arange(6)) == pytest.approx(forced.expected_changes())
    first, second = law.pairs(40_000, np.random.default_rng(1))
    assert (first == second).all(axis=1).mean() == pytest.approx(0.0016, abs=0.001)
    fast = Laplace(space_of("dsprites"), rate=10, allow_static=True)
    assert (fast.expected_changes(), fast.static_probability()) == pytest.approx((0.3328, 0.7032), abs=1e-4)


def test_lap_steps_have_laplace_weights_over_the_whole_range():
    # From value 2 of 5, weights exp(-|j - 2| / ln 5), renormalised within the range.
    space = FactorSpace(("a", "b"), (5, 50), ("ordinal", "ordinal"))
    start = np.tile([2, 25], (100_000, 1))
    second = Laplace(space, allow_static=True).step(start, np.random.default_rng(0))
    weights = np.exp(-np.abs(np.arange(5) - 2) / np.log(5))
    counts = np.bincount(second[:, 0], minlength=5)
    assert stats.chisquare(counts, weights / weights.sum() * counts.sum()).pvalue > 0.001


def test_a_forced_change_leaves_the_present_value_out_and_keeps_the_weights():
    # One factor of three values at 0: forced to 1 or 2 in the ratio 1 : exp(-1 / ln 3), whether forced or not.
    space = FactorSpace(("a", "b"), (3, 2), ("ordinal", "categorical"))
    second = Laplace(space, rate=5).step(np.zeros((60_000, 2), int), np.random.default_rng(2))[:, 0]
    assert (second > 0).all()
    ratio = np.exp(-5 / np.log(3))
    assert (second == 2).mean() == pytest.approx(ratio / (1 + ratio), abs=0.002)


def test_a_random_rate_moves_less_than_rate_one_and_more_than_ten():
    space = space_of("dsprites")
    means = []
    for rate in (1.0, None, 10.0):
        first, second = Laplace(space, rate=rate).pairs(5000, np.random.default_rng(0))
        means.append(np.abs(first - second).sum(axis=1).mean())
    assert means[0] > means[1] > means[2]


def test_uni_changes_exactly_k_factors_with_k_uniform():
    law = Uniform(space_of("dsprites"))
    first, second = law.pairs(20_000, np.random.default_rng(0))
    counts = np.bincount((first != second).sum(axis=1), minlength=6)
    assert counts[[0, 5]].sum() == 0
    assert stats.chisquare(counts[1:5]).pvalue > 0.001
    assert law.expected_changes() == 2.5  # D / 2
    assert (first != second).mean(axis=0) == pytest.approx(law.change_probabilities(), abs=0.02)
    # Categories change too, to either of the two other shapes alike.
    away = (second - first)[:, 0] % 3
    assert stats.binomtest((away == 1).sum(), (away > 0).sum()).pvalue > 0.001


def test_uni_with_fixed_k():
    first, second = Uniform(space_of("cars3d"), changes=1).pairs(1000, np.random.default_rng(0))
    assert ((first != second).sum(axis=1) == 1).all()


def test_frozen_factors_can_be_named():
    space = space_of("mpi3d")
    first, second = Laplace(space, frozen=("f0", "f5")).pairs(2000, np.random.default_rng(0))
    assert ((first != second).any(axis=0) == [False, True, True, True, True, False, True]).all()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: protocol("lapl", space_of("cars3d")), "did you mean 'lap'"),
        (lambda: protocol("uni", space_of("cars3d"), rate=1), "does not take rate"),
        (lambda: Laplace(space_of("cars3d"), rate=0), "rate must be positive"),
        (lambda: Laplace(space_of("cars3d"), frozen=["f9"]), "unknown frozen factor"),
        (lambda: Laplace(FactorSpace(("a",), (3,), ("categorical",))), "no factor of .a. can move"),
        (lambda: Uniform(space_of("cars3d"), changes=4), "changes must lie in 1..3"),
        (lambda: Laplace(space_of("cars3d"), rate=None).expected_changes(), "need a fixed rate"),
    ],
)
def test_wrong_use_is_named(call, words):
    with pytest.raises(UsageError, match=words):
        call()


def test_loc_draws_one_factor_anew_half_of_the_time():
    # Two factors: k is always 1, so P(no change) is the mean of 1/3 and 1/4, and each changes in half of the rest.
    two = Located(FactorSpace(("a", "b"), (3, 4), ("ordinal", "ordinal")))
    assert two.change_counts() == pytest.approx([7 / 24, 17 / 24, 0])
    assert two.change_probabilities() == pytest.approx([1 / 3, 3 / 8])
    # Five factors: k = 1 with probability 1/2 + 1/8, 2, 3 and 4 with 1/8 each: 1.75 factors are drawn in the mean.
    space = FactorSpace(tuple("abcde"), (3, 6, 40, 32, 32), ("categorical", *["ordinal"] * 4))
    law = protocol("loc", space)
    assert law.expected_changes() == pytest.approx(1.75 / 5 * (2 / 3 + 5 / 6 + 39 / 40 + 2 * 31 / 32))
    counts = law.change_counts()
    assert counts.sum() == pytest.approx(1)
    assert counts @ np.arange(6) == pytest.approx(law.expected_changes())
    first, second = law.pairs(40_000, np.random.default_rng(0))
    seen = np.bincount((first != second).sum(axis=1), minlength=6)
    assert seen[5] == counts[5] == 0
    assert stats.chisquare(seen[:5], 40_000 * counts[:5]).pvalue > 0.001
    assert (first != second).mean(axis=0) == pytest.approx(law.change_probabilities(), abs=0.01)
    assert (second >= 0).all()
    assert (second < np.array(space.sizes)).all()
