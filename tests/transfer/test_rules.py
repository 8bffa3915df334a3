"""Effects, verdicts, combinations and agreement: rules from numbers to words."""

import itertools

import numpy as np
import pytest
from scipy import stats

from unbraid.errors import UsageError
from unbraid.transfer import Pairing, agreement, agreement_within, combination, effect_of, holm, verdict

SEEDS = (0, 1, 2, 3)


def numbers(mean, spread=0.001):
    return {seed: mean + spread * (seed - 1.5) for seed in SEEDS}


def cells(**words):
    """Effects that have these words; ``iid`` may be among them."""
    means = {"better": 0.1, "worse": -0.1, "unchanged": 0.0, "undecided": None}
    found = {}
    for name, word in words.items():
        values = numbers(0.5 + (means[word] or 0)) if word != "undecided" else {0: 0.6}
        found[name] = effect_of(name, values, numbers(0.5, spread=0.002))
        assert found[name].word == word
    return found


def test_an_effect_is_the_mean_of_paired_differences_with_its_standard_error():
    # Differences 0.1, 0.2, 0.3: mean 0.2, sd 0.1, standard error 0.1 / sqrt(3); the twins' own spread cancels.
    found = effect_of("noise", {4: 1.1, 5: 5.2, 6: 9.3}, {4: 1.0, 5: 5.0, 6: 9.0})
    assert found.mean == pytest.approx(0.2)
    assert found.error == pytest.approx(0.1 / np.sqrt(3))
    assert found.p == pytest.approx(stats.ttest_rel([1.1, 5.2, 9.3], [1.0, 5.0, 9.0]).pvalue)
    assert found.word == "better"


def test_seeds_that_one_of_the_two_lacks_do_not_count():
    found = effect_of("noise", {0: 1.0, 1: 1.0, 2: np.nan, 3: 1.0}, {0: 0.5, 2: 0.5, 3: 0.5, 9: 0.5})
    assert found.seeds == (0, 3)
    assert found.word == "undecided"


def test_both_bars_must_be_passed():
    assert effect_of("a", numbers(0.508), numbers(0.5)).word == "unchanged"  # certain, and below a point of accuracy
    wide = {0: 0.2, 1: 0.9, 2: 0.4, 3: 0.9}
    assert effect_of("a", wide, numbers(0.5)).word == "unchanged"  # 0.1 with a standard error of 0.18
    assert effect_of("a", numbers(0.52), numbers(0.5)).word == "better"
    assert effect_of("a", numbers(0.48), numbers(0.5)).word == "worse"


def test_distances_matter_from_five_percent_on():
    assert effect_of("l2", numbers(2.08), numbers(2.0), interest=0.05, relative=True).word == "unchanged"
    assert effect_of("l2", numbers(2.12), numbers(2.0), interest=0.05, relative=True).word == "better"


def test_equal_numbers_are_unchanged_with_certainty():
    found = effect_of("iid", numbers(0.9), numbers(0.9))
    assert (found.mean, found.error, found.p, found.word) == (0.0, 0.0, 1.0, "unchanged")


def test_holm_is_the_step_down_of_bonferroni():
    # p = 0.01, 0.04, 0.03 of three: 3 * 0.01, then 2 * 0.03, then max(0.06, 1 * 0.04).
    made = [effect_of(name, numbers(0.6), numbers(0.5)) for name in "abc"]
    from dataclasses import replace

    rows = [replace(one, p=p) for one, p in zip(made, (0.01, 0.04, 0.03), strict=True)]
    assert [one.adjusted for one in holm(rows)] == pytest.approx([0.03, 0.06, 0.06])
    assert [one.survives for one in holm(rows)] == [True, False, False]


OUTCOMES = {
    "transferable": {"noise": "better", "blur": "better", "l2": "better"},
    "broad": {"noise": "better", "blur": "better", "l2": "unchanged"},
    "specific": {"noise": "better", "blur": "unchanged", "l2": "unchanged"},
    "overfitting": {"noise": "better", "blur": "worse", "l2": "better"},
    "costly": {"iid": "worse", "noise": "better", "blur": "better"},
    "without effect": {"noise": "unchanged", "blur": "better"},
    "harmful": {"noise": "worse", "blur": "better"},
    "undecided": {"noise": "better", "blur": "undecided"},
    "cannot say": {"blur": "better"},
}


@pytest.mark.parametrize("word", OUTCOMES)
def test_every_verdict_has_its_row(word):
    found = verdict(cells(**OUTCOMES[word]), own={"noise"})
    assert found.word == word
    assert set(found.numbers) == set(OUTCOMES[word])


@pytest.mark.parametrize("word", OUTCOMES)
def test_an_unchanged_scenario_more_makes_only_transferable_broad(word):
    more = verdict(cells(**OUTCOMES[word], digital="unchanged"), own={"noise"})
    assert more.word == ("broad" if word == "transferable" else word)


def test_the_sentence_names_the_cells():
    found = verdict(cells(noise="better", blur="worse", iid="worse"), own={"noise"})
    assert found.word == "overfitting"
    assert found.sentence == "better on its own noise, worse on blur; worse without leaving the training domain"


def test_few_seeds_do_not_hide_what_is_decided():
    assert verdict(cells(noise="better", blur="worse", l2="undecided"), own={"noise"}).word == "overfitting"
    assert verdict(cells(noise="undecided", blur="worse"), own={"noise"}).word == "undecided"
    assert verdict(cells(noise="better", iid="undecided"), own={"noise"}).word == "undecided"


def test_what_seeds_could_still_turn_is_undecided():
    own = {"noise", "blur"}
    assert verdict(cells(noise="worse", blur="undecided"), own=own).word == "undecided"  # blur may be better yet
    assert verdict(cells(noise="worse", blur="unchanged"), own=own).word == "harmful"
    costly = verdict(cells(iid="worse", noise="better", l2="undecided"), own=own)  # l2 may be worse yet
    assert costly.word == "undecided"
    assert costly.sentence.endswith("; worse without leaving the training domain; too few seeds on l2")
    assert verdict(cells(iid="worse", noise="better", l2="unchanged"), own=own).word == "costly"


def test_an_own_scenario_that_is_not_better_counts_with_the_others():
    assert verdict(cells(noise="better", blur="unchanged"), own={"noise", "blur"}).word == "specific"
    assert verdict(cells(noise="better", blur="worse"), own={"noise", "blur"}).word == "overfitting"
    assert verdict(cells(noise="better", blur="better"), own={"noise", "blur"}).word == "specific"


@pytest.mark.parametrize("words", [*itertools.product(("better", "worse", "unchanged", "undecided"), repeat=3)])
def test_every_row_has_one_word(words):
    assert verdict(cells(iid=words[0], noise=words[1], blur=words[2]), own={"noise"}).word in OUTCOMES


def pairing(name, first, second, both, seeds=SEEDS):
    def made(shift, wiggle):
        return {seed: 0.5 + shift + wiggle * (seed - 1.5) for seed in seeds}

    return Pairing.of(name, made(0, 0.001), made(first, 0.002), made(second, 0.003), made(both, 0.004))


COMBINED = {
    "orthogonal": (("noise", 0.1, 0.0, 0.1), ("linf", 0.0, 0.2, 0.2)),
    "symbiotic": (("noise", 0.1, 0.0, 0.1), ("linf", 0.0, 0.2, 0.2), ("blur", 0.05, 0.05, 0.3)),
    "exclusive": (("noise", 0.1, 0.0, 0.02), ("linf", 0.0, 0.2, 0.2)),
}


@pytest.mark.parametrize("word", COMBINED)
def test_every_combination_has_its_table(word):
    rows = [pairing(*row) for row in COMBINED[word]]
    assert combination(rows, {"noise"}, {"linf"}).word == word
    turned = [pairing(name, second, first, both) for name, first, second, both in COMBINED[word]]
    assert combination(turned, {"linf"}, {"noise"}).word == word
    more = [*rows, pairing("digital", 0.0, 0.0, 0.0)]
    assert combination(more, {"noise"}, {"linf"}).word == word


def test_the_sum_of_both_effects_is_no_symbiosis():
    rows = [pairing("noise", 0.1, 0.1, 0.2 - 1e-9), pairing("linf", 0.0, 0.2, 0.2)]
    assert combination(rows, {"noise"}, {"linf"}).word == "orthogonal"


def test_effects_are_added_over_seeds_that_all_four_have():
    # Over seeds 0 to 2 both buy 0.2, no more than the sum of 0.1 and 0.1; seed 3, which the second lacks, is no help.
    vanilla, first = ({seed: start + 0.001 * seed for seed in SEEDS} for start in (0.5, 0.6))
    second = {seed: 0.6 + 0.002 * seed for seed in (0, 1, 2)}
    both = {seed: 0.7 + 0.001 * seed for seed in (0, 1, 2)} | {3: 0.99}
    found = Pairing.of("noise", vanilla, first, second, both)
    assert {one.seeds for one in (found.first, found.second, found.both, found.over_first)} == {(0, 1, 2)}
    assert not found.together


def test_a_combination_with_few_seeds_or_without_own_scenarios_says_so():
    few = [pairing("noise", 0.1, 0, 0.1, (0, 1)), pairing("linf", 0, 0.2, 0.2, (0, 1))]
    assert combination(few, {"noise"}, {"linf"}).word == "undecided"
    assert combination(few[:1], {"noise"}, {"linf"}).word == "cannot say"


def test_agreement_is_spearmans():
    rng = np.random.default_rng(0)
    table = rng.normal(size=(12, 4))
    table[3, 1] = table[4, 1]  # a tie
    found = agreement(table)
    for i, j in itertools.combinations(range(4), 2):
        assert found[i, j] == pytest.approx(stats.spearmanr(table[:, i], table[:, j]).statistic)
    table[:10, 2] = np.nan
    assert np.isnan(agreement(table)[2]).all()  # two models are too few
    with pytest.raises(UsageError, match=r"\[models, scenarios\]"):
        agreement(np.zeros(3))


def test_scenarios_may_agree_on_recipes_and_not_on_seeds():
    # Recipes lie far apart on both scenarios; within a recipe the order of seeds is reversed.
    within = np.array([0.0, 0.1, 0.2])
    table = np.concatenate([np.stack([k + within, k - within], axis=1) for k in range(4)])
    inside, counts = agreement_within(table, np.repeat(["a", "b", "c", "d"], 3).tolist())
    assert agreement(table)[0, 1] > 0.7
    assert inside[0, 1] == pytest.approx(-1)
    assert (counts == 4).all()
