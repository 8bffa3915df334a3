"""Every rule reaches each of its verdicts, with intervals that are derived here."""

import numpy as np
import pytest

from unbraid.claims.conditions import J, X
from unbraid.claims.limits import above, at_least, at_most, below, near
from unbraid.claims.measured import Images, Numbers, Pairs, Points, Ranked, Share, Spread, Values
from unbraid.claims.outcome import combined
from unbraid.claims.resampled import C, M, R, S
from unbraid.claims.rules import E, F, N, P, V
from unbraid.errors import UsageError


def paired(*differences):
    return Pairs({100 + place: (0.5 + one, 0.5) for place, one in enumerate(differences)})


def values(*numbers):
    return Values({100 + place: one for place, one in enumerate(numbers)})


@pytest.mark.parametrize(
    ("differences", "ends", "verdict"),
    [
        # sd .0412, SE .0184, k = t(.975, 4) = 2.776: .25 -+ .0512.
        ((0.2, 0.25, 0.3, 0.22, 0.28), (0.199, 0.301), "reproduced"),
        ((0.01, -0.02, 0.03, 0, -0.01), (-0.022, 0.026), "not reproduced"),
        ((0.5, -0.3, 0.4, -0.2, 0.1), (-0.339, 0.539), "inconclusive"),
    ],
)
def test_paired_differences_decide_by_their_interval(differences, ends, verdict):
    outcome = P(0.1).judge(paired(*differences))
    assert outcome.verdict == verdict
    assert (outcome.statistic["low"], outcome.statistic["high"]) == pytest.approx(ends, abs=5e-4)


def test_a_sure_difference_below_delta_is_not_reproduced():
    assert P(0.1).judge(paired(0.04, 0.05, 0.06, 0.05, 0.05)).verdict == "not reproduced"


def test_one_seed_decides_nothing():
    assert P(0.1).judge(paired(0.9)).verdict == "inconclusive"
    assert P(0.1).judge(paired(0.9)).statistic["p_value"] == 1


def test_three_seeds_have_four_standard_errors_and_many_have_two():
    assert P(0.1).judge(paired(0.1, 0.2, 0.3)).statistic["k"] == pytest.approx(4.303, abs=1e-3)
    many = np.random.default_rng(0).normal(size=500)
    assert P(0.1).judge(paired(*many)).statistic["k"] == 2


@pytest.mark.parametrize(
    ("effect", "seeds", "share"),
    [(0.0, 5, 0.029), (2.0, 5, 0.91), (2.0, 3, 0.47)],
)
def test_three_seeds_decide_large_effects_only_and_a_null_seldom_passes(effect, seeds, share):
    rng = np.random.default_rng(1)
    rule = P(0.5)
    passed = np.mean([rule.judge(paired(*rng.normal(effect, 1, seeds))).verdict == "reproduced" for _ in range(1000)])
    # 1,000 draws: a standard error of .5 % at 2.9 %, of 1.6 % at one half.
    assert passed == pytest.approx(share, abs=0.016 if effect == 0 else 0.05)


@pytest.mark.parametrize(
    ("rule", "numbers", "verdict"),
    [
        (V(0.9), (0.95, 0.96, 0.97), "reproduced"),
        (V(0.9), (0.5, 0.51, 0.52), "not reproduced"),
        (V(0.9), (0.8, 0.95, 0.99), "inconclusive"),
        (E(0.1), (0.01, -0.01, 0.0), "reproduced"),
        (E(0.1), (0.3, 0.31, 0.32), "not reproduced"),
        (E(0.1), (-0.3, -0.31, -0.32), "not reproduced"),
        (E(0.1), (0.1, 0.0, 0.2), "inconclusive"),
        (N(0.05), (0.0, -0.01, 0.01), "reproduced"),
        (N(0.05), (-0.5, -0.51, -0.52), "reproduced"),
        (N(0.05), (0.2, 0.21, 0.22), "not reproduced"),
        (N(0.05), (0.2, -0.2, 0.1), "inconclusive"),
    ],
)
def test_values_and_equivalence_reach_every_verdict(rule, numbers, verdict):
    assert rule.judge(values(*numbers)).verdict == verdict


@pytest.mark.parametrize(
    ("hits", "verdict", "end"),
    [(6, "reproduced", 0.610), (5, "inconclusive", 0.436), (0, "not reproduced", 0.390)],
)
def test_shares_of_six_seeds_by_wilson(hits, verdict, end):
    outcome = F(0.5).judge(Share(hits, 6))
    assert outcome.verdict == verdict
    assert outcome.statistic["high" if hits == 0 else "low"] == pytest.approx(end, abs=5e-4)


def test_rank_correlations_reach_every_verdict():
    rng = np.random.default_rng(0)
    x = np.arange(20.0)
    assert C(0.4).judge(Points(x, x + rng.normal(size=20))).verdict == "reproduced"
    assert C(0.4).judge(Points(x, -x + rng.normal(size=20))).verdict == "not reproduced"
    assert C(0.4).judge(Points(x[:6], [2, 0, 1, 5, 3, 4.0])).verdict == "inconclusive"


def test_runs_of_different_strata_are_ranked_apart():
    # Within each stratum y falls with x; pooled it would rise, because the second stratum is higher in both.
    x, y = [1, 2, 3, 11, 12, 13.0], [3, 2, 1, 13, 12, 11.0]
    strata = ["a"] * 3 + ["b"] * 3
    assert C(0.2).judge(Points(x, y, strata)).statistic["point"] == pytest.approx(-1)
    # Pooled ranks 1..6 and 3 2 1 6 5 4: 1 - 6 * 16 / (6 * 35).
    assert C(0.2).judge(Points(x, y)).statistic["point"] == pytest.approx(1 - 96 / 210)


def distances(scale, seed=0, images=30):
    rng = np.random.default_rng(seed)
    return {100 + place: scale * rng.lognormal(0, 0.2, images) for place in range(3)}


def test_ratios_of_medians_reach_every_verdict():
    assert M(1.3).judge(Images(distances(2), distances(1, 1))).verdict == "reproduced"
    assert M(1.3).judge(Images(distances(1), distances(1, 1))).verdict == "not reproduced"
    few = M(1.3).judge(Images({100: [1, 5.0]}, {100: [1, 2.0]}))
    assert few.verdict == "inconclusive"


def test_an_infinite_median_is_larger_than_any_number_and_two_decide_nothing():
    never = {seed: np.full(30, np.inf) for seed in (100, 101, 102)}
    assert M(1.3).judge(Images(never, distances(1))).verdict == "reproduced"
    assert M(1.3).judge(Images(distances(1), never)).verdict == "not reproduced"
    assert M(1.3).judge(Images(never, never)).verdict == "inconclusive"


def test_verdicts_by_resampling_are_functions_of_their_tables():
    first, second = (M(1.3).judge(Images(distances(2), distances(1, 1))) for _ in range(2))
    assert first == second


def test_spreads_reach_every_verdict():
    rng = np.random.default_rng(0)
    others = {seed: rng.normal(0, 1, 12) for seed in range(100, 106)}

    def judged(sd):
        return S(0.5).judge(Spread({seed: rng.normal(0, sd) for seed in others}, others)).verdict

    assert judged(0.05) == "reproduced"
    # Two seeds of six alike: their draws alone would have a spread near 0, so the interval must be far above 1.
    far = {seed: 10.0 * (-1) ** seed + seed for seed in others}
    assert S(0.5).judge(Spread(far, others)).verdict in ("not reproduced", "inconclusive")
    assert S(0.001).judge(Spread({seed: rng.normal(0, 1) for seed in others}, others)).verdict == "not reproduced"
    assert judged(0.7) == "inconclusive"


def test_mean_ranks_reach_every_verdict():
    methods = ("mine", "second", "third")
    ahead = np.tile([3, 2, 1.0], (20, 1))
    assert R(0.05).judge(Ranked(methods, ahead, "mine")).verdict == "reproduced"
    assert R(0.05).judge(Ranked(methods, ahead, "second")).verdict == "not reproduced"
    assert R(0.05).judge(Ranked(methods, ahead[:2], "mine")).verdict == "inconclusive"
    assert R(0.05).judge(Ranked(methods, ahead, "mine")).statistic["point"] == pytest.approx(1)


def test_exact_results_are_within_their_limits_or_not():
    rule = X({"energy": near(1.0607, 0.003), "seeds": at_least(0.99)})
    assert rule.judge(Numbers({"energy": 1.0610, "seeds": 0.995})).verdict == "reproduced"
    assert rule.judge(Numbers({"energy": 1.0610, "seeds": 0.98})).verdict == "not reproduced"
    assert rule.judge(Numbers({"energy": float("nan"), "seeds": 1})).verdict == "not reproduced"


def tables(*shares):
    return [Numbers({"share": share}) for share in shares]


def test_conditions_must_hold_without_every_seed():
    rule = J({"share": above(0.75)})
    assert rule.judge_each(tables(0.9, 0.8, 0.95)).verdict == "reproduced"
    assert rule.judge_each(tables(0.5, 0.6, 0.75)).verdict == "not reproduced"
    assert rule.judge_each(tables(0.8, 0.7, 0.9)).verdict == "inconclusive"
    assert rule.judge_each(tables(0.9)).verdict == "inconclusive"


def test_an_opposite_of_its_own_may_leave_both_open():
    rule = J({"unbeaten": at_most(0)}, {"dominating": at_least(1)})

    def judged(unbeaten, dominating):
        return rule.judge_each([Numbers({"unbeaten": unbeaten, "dominating": dominating})] * 3).verdict

    assert judged(0, 0) == "reproduced"
    assert judged(2, 1) == "not reproduced"
    assert judged(2, 0) == "inconclusive"
    assert J({"sigma": below(0.8)}, {}).judge_each([Numbers({"sigma": 1.0})] * 3).verdict == "inconclusive"


def test_several_contrasts_are_reproduced_together_or_not():
    good, bad, open_ = (P(0.1).judge(paired(*d)) for d in ((0.2, 0.25, 0.3), (0.01, -0.02, 0.03), (0.9, -0.3, 0.4)))
    assert [one.verdict for one in (good, bad, open_)] == ["reproduced", "not reproduced", "inconclusive"]
    assert combined([good, good]) == "reproduced"
    assert combined([good, bad, open_]) == "not reproduced"
    assert combined([good, open_]) == "inconclusive"


@pytest.mark.parametrize("rule", [P(0.1), F(0.5), C(0.4), M(2), S(0.5), R(0.05), X({}), J({})])
def test_rules_refuse_what_they_are_not_about(rule):
    wrong = Share(1, 2) if not isinstance(rule, F) else values(1, 2)
    with pytest.raises(UsageError, match="this rule is about"):
        rule.judge(wrong)


def test_seeds_without_a_number_are_refused_rather_than_dropped():
    with pytest.raises(UsageError, match="finite"):
        P(0.1).judge(paired(0.1, float("nan"), 0.2))


def test_rules_say_themselves_in_short():
    assert str(P(0.1)) == "P(0.1)"
    assert str(X({"energy": near(1.06, 0.003)})) == "X(energy within 0.003 of 1.06)"
