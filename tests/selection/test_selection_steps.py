"""One round of selection: who is replaced, how hyperparameters move, when it is over."""

import numpy as np
import pytest

from unbraid.errors import UsageError
from unbraid.objectives import get
from unbraid.selection import Population, Range, default_ranges
from unbraid.selection.exploit import replacements, truncated
from unbraid.selection.hyperparameters import FACTORS, draw, explore, starting_from
from unbraid.selection.population import Member, Result, converged, founders, grown, select, survivors

RANGES = default_ranges(get("beta-tcvae"))


def scored(scores):
    return [
        Member(n, {"learning_rate": 1e-3, "batch_size": 64, "beta": 4}, (0, n), 10, (score,), ({"beta": 4},))
        for n, score in enumerate(scores)
    ]


def test_truncation_replaces_a_fifth_rounded_up():
    assert [truncated(n) for n in (56, 28, 5, 4, 2, 1)] == [12, 6, 1, 1, 1, 0]


def test_exploit_gives_exactly_the_worst_member_all_that_the_best_has():
    members = scored([5, 4, 3, 2, 1])
    after, log = select(Population(size=5), members, 0, seed=0)
    assert after[:4] == members[:4]
    assert (after[4].weights, after[4].steps, after[4].scores, after[4].schedule) == ((0, 0), 10, (5,), ({"beta": 4},))
    assert after[4].id == 4
    assert [(event.loser, event.winner, event.loser_score, event.winner_score) for event in log] == [(4, 0, 1, 5)]
    assert log[0].new == after[4].hyperparameters


def test_winners_come_from_the_best_and_losers_are_the_worst():
    rng = np.random.default_rng(0)
    pairs = [pair for _ in range(200) for pair in replacements("truncation", [[s] for s in range(28)], rng)]
    assert {loser for loser, _ in pairs} == set(range(6))
    assert {winner for _, winner in pairs} == set(range(22, 28))


def test_tournament_replaces_only_by_better_ones():
    rng = np.random.default_rng(0)
    pairs = [pair for _ in range(100) for pair in replacements("tournament", [[s] for s in range(5)], rng)]
    assert all(winner > loser for loser, winner in pairs)
    assert {loser for loser, _ in pairs} == {0, 1, 2, 3}


def test_the_t_test_needs_evidence():
    rng = np.random.default_rng(0)
    noise = [0.01, -0.01, 0.02, -0.02, 0.0]
    low, high, close = ([base + x for x in noise] for base in (0.1, 0.9, 0.105))
    assert (0, 1) in {p for _ in range(20) for p in replacements("t-test", [low, high], rng)}
    assert not any(replacements("t-test", [low, close], rng) for _ in range(20))
    assert not any(replacements("t-test", [[0.1], [0.9]], rng) for _ in range(20))  # a single score is no evidence
    assert replacements("t-test", [[0.1] * 3, [0.2] * 3], rng) == [(0, 1)]


def test_the_t_test_is_welchs():
    from scipy.stats import ttest_ind

    from unbraid.selection.exploit import _significantly_higher

    rng = np.random.default_rng(3)
    for _ in range(50):
        one, other = rng.normal(0.3, 1, 6), rng.normal(0, 0.5, 9)
        expected = ttest_ind(one, other, equal_var=False, alternative="greater").pvalue < 0.05
        assert _significantly_higher(list(one), list(other)) == expected


def test_explore_multiplies_each_parameter_by_its_own_factor():
    rng = np.random.default_rng(0)
    start = {"learning_rate": 1e-3, "batch_size": 100, "beta": 20}
    moved = [explore(start, RANGES, rng) for _ in range(10_000)]
    found = np.array([[m[name] / start[name] for name in start] for m in moved])
    # 100 and 20 times 2, 1.2, 0.8, 0.5 are whole numbers, so that rounding up changes nothing.
    assert np.allclose(np.sort(np.unique(found.round(9))), sorted(FACTORS))
    for column in found.T:
        for factor in FACTORS:
            assert np.isclose(column, factor).mean() == pytest.approx(0.25, abs=0.02)
    assert np.abs(np.corrcoef(found.T) - np.eye(3)).max() < 0.05


def test_explore_rounds_up_and_stays_within_bounds():
    rng = np.random.default_rng(0)
    values = {"learning_rate": 0.9, "batch_size": 1024, "beta": 1}
    moved = [explore(values, RANGES, rng) for _ in range(200)]
    assert {m["beta"] for m in moved} == {1, 2}  # ceil of 2, 1.2, 0.8, 0.5
    assert {m["batch_size"] for m in moved} == {512, 820, 1024}  # 1024 * 0.8 = 819.2; 2 and 1.2 stay at 1024
    assert max(m["learning_rate"] for m in moved) == 1.0
    assert all(isinstance(m["batch_size"], int) and isinstance(m["beta"], int) for m in moved)


def test_without_clips_only_the_largest_batch_is_bounded():
    free = default_ranges(get("beta-tcvae"), clip=False)
    assert free["learning_rate"].moved(0.9, 2) == 1.8
    assert free["batch_size"].moved(1024, 2) == 1024
    assert free["batch_size"].moved(1, 0.5) == 1
    assert free["beta"].moved(800, 2) == 1600


def test_resampling_draws_from_the_start_again():
    rng = np.random.default_rng(0)
    values = {name: found.values[0] for name, found in RANGES.items()}
    moved = [explore(values, RANGES, rng, resample=1.0) for _ in range(500)]
    assert {m["beta"] for m in moved} == set(RANGES["beta"].values)


def test_members_start_from_the_published_values():
    rates, batches, betas = (RANGES[name].values for name in ("learning_rate", "batch_size", "beta"))
    assert (len(rates), rates[0], rates[-1]) == (30, 1e-5, 1.0)
    assert np.allclose(np.diff(np.log(rates)), np.log(10) * 5 / 29, atol=1e-4)  # a ratio of 1.487
    assert batches == (8, 16, 32, 64, 128, 256, 512, 1024)
    assert len(betas) == 23
    # fmt: off
    assert betas == (
        1, 2, 3, 4, 5, 6, 8, 10, 13, 17, 22, 28, 37, 47, 60, 77, 99, 127, 163, 208, 267, 342, 437,
    )
    # fmt: on
    rng = np.random.default_rng(0)
    assert {draw(RANGES, rng)["batch_size"] for _ in range(200)} == set(batches)


def test_founders_do_not_depend_on_how_many_there_are():
    assert founders(Population(size=3), 1) == founders(Population(size=56), 1)[:3]
    assert founders(Population(size=3), 1) != founders(Population(size=3), 2)


def test_another_objectives_strength_is_searched():
    assert set(default_ranges(get("factor-vae"))) == {"learning_rate", "batch_size", "gamma"}


def test_halving_keeps_the_best_half_after_the_first_generation_only():
    rng = np.random.default_rng(0)
    scores = rng.permutation(56) / 56
    results = [Result(n, {}, float(score)) for n, score in enumerate(scores)]
    population = Population(size=56, halving=2)
    kept = survivors(population, results, 0)
    assert len(kept) == 28
    assert min(scores[kept]) > max(np.delete(scores, kept))
    assert survivors(population, results, 1) == list(range(56))


def test_convergence_counts_small_changes_in_a_row():
    best = [0.5, 0.6, 0.61, 0.612, 0.613, 0.613, 0.614, 0.614]  # five small changes at the end
    assert not converged(best)
    assert converged([*best, 0.614])
    assert not converged([*best, 0.624])
    assert not converged([*best, 0.624, *[0.624] * 5])
    assert converged([*best, 0.624, *[0.624] * 6])


def test_a_member_that_failed_keeps_the_weights_it_began_with():
    member = Member(3, {"beta": 2}, (4, 1), 100, (0.5,), ({"beta": 1},))
    after = grown(member, Result(3, {"beta": 2}, 0.0, start=(4, 1), steps=200, error="diverged"), 5)
    assert (after.weights, after.steps, after.scores) == ((4, 1), 100, (0.5, 0.0))
    after = grown(member, Result(3, {"beta": 2}, 0.7, start=(4, 1), steps=200, runs=("a",)), 5)
    assert (after.weights, after.steps, after.schedule) == ((5, 3), 200, ({"beta": 1}, {"beta": 2}))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"score": "udr"}, "models must be at least 2"),
        ({"fraction": 0.7}, "fraction"),
        ({"size": 3, "halving": 4}, "leaves none"),
        ({"generations": 0}, "generations must be at least 1"),
    ],
)
def test_wrong_settings_are_answered(settings, message):
    with pytest.raises(UsageError, match=message):
        Population(**settings)


def test_a_range_holds_its_own_values():
    with pytest.raises(UsageError, match="must lie in"):
        Range((1.0, 20.0), high=10.0)


def test_a_random_search_starts_anywhere_in_its_ranges():
    rng = np.random.default_rng(0)
    ranges = {"gamma": starting_from("gamma", ["1..16"]), "batch_size": Range((8, 10), 1, 64, whole=True, between=True)}
    drawn = [draw(ranges, rng) for _ in range(2000)]
    gamma = np.array([one["gamma"] for one in drawn])
    # Uniform on 1..16: mean 8.5, deviation 15 / sqrt(12), of a mean of 2000 a hundredth of that and more.
    assert gamma.mean() == pytest.approx(8.5, abs=0.4)
    assert gamma.std() == pytest.approx(15 / np.sqrt(12), rel=0.05)
    assert (gamma.min() >= 1, gamma.max() <= 16, len(set(gamma)) == 2000) == (True, True, True)
    assert {one["batch_size"] for one in drawn} == {8, 9, 10}
    assert type(drawn[0]["batch_size"]) is int
    for words, message in ((["16..1"], "a lower and an upper end"), (["1..x"], "must be numbers")):
        with pytest.raises(UsageError, match=message):
            starting_from("gamma", words)
