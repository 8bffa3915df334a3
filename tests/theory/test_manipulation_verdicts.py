"""Verdicts on a perturbed data set: each word follows from made-up trials."""

import numpy as np
import polars as pl
import pytest
from scipy.stats import ttest_rel

from unbraid.report.theory import verdict_table
from unbraid.theory import judge_manipulation


def trials(gap=5.0, model="beta-vae", **variants):
    rows = [
        {"data": "rooms", "model": model, "variant": variant, "seed": seed, "mig": mig, "gap": gap}
        for variant, scores in variants.items()
        for seed, mig in enumerate(scores)
    ]
    return pl.DataFrame(rows)


def words(rows):
    return [one.verdict.word for one in judge_manipulation(rows)]


def test_a_fall_beyond_noise_holds_a_rise_does_not_and_chance_is_undecided():
    high, low, mixed = [0.8, 0.9, 0.85, 0.82], [0.2, 0.3, 0.25, 0.3], [0.1, 0.9, 0.95, 0.7]
    assert words(trials(original=high, perturbed=low, noise=high)) == ["holds", "holds"]
    assert words(trials(original=low, perturbed=high, noise=mixed)) == ["does not hold", "undecided"]
    assert words(trials(original=high[:1], perturbed=low[:1], noise=high[:1])) == ["undecided", "undecided"]


def test_differences_are_paired_by_seed_as_in_a_paired_t_test():
    rng = np.random.default_rng(0)
    start = rng.uniform(0.2, 0.9, 8)  # seeds differ far more than the change does
    after = start - 0.05 + 0.03 * rng.standard_normal(8)
    (fall, _) = judge_manipulation(trials(original=start, perturbed=after, noise=start))
    test = ttest_rel(start, after).confidence_interval(0.95)
    assert (fall.verdict.numbers["low"], fall.verdict.numbers["high"]) == pytest.approx((test.low, test.high))
    assert fall.verdict.word == "holds"
    missing = trials(original=start, perturbed=after, noise=start).filter(
        ~((pl.col("seed") < 6) & (pl.col("variant") == "noise"))
    )
    assert "over 2 seeds" in judge_manipulation(missing)[1].verdict.sentence


def test_a_pattern_that_exploits_nothing_lets_nothing_be_said_of_a_fall():
    high, low = [0.8, 0.9], [0.2, 0.3]
    assert words(trials(gap=-0.5, original=high, perturbed=low, noise=high)) == ["cannot say", "cannot say"]
    assert words(trials(original=high, perturbed=low)) == ["holds", "cannot say"]
    (fall, _) = judge_manipulation(trials(original=high, perturbed=low).drop("gap"))
    assert fall.verdict.word == "holds"
    assert fall.verdict.sentence.endswith("over 2 seeds; the pattern's gap is not known")


def test_pcl_stays_if_its_change_is_surely_below_a_tenth():
    still = [0.7, 0.71, 0.69, 0.72]
    assert words(trials(model="pcl", original=still, perturbed=[m - 0.02 for m in still])) == ["holds"]
    assert words(trials(model="pcl", original=still, perturbed=[m - 0.4 for m in still])) == ["does not hold"]
    assert words(trials(model="pcl", original=still, perturbed=[0.2, 0.9, 0.8, 0.75])) == ["undecided"]


def test_the_table_tells_claim_word_and_evidence():
    table = verdict_table(trials(original=[0.8, 0.9], perturbed=[0.9, 1.0], noise=[0.9, 0.9]))
    assert (
        "| rooms | beta-vae | MIG falls on the perturbed set | **does not hold** | original 0.850, perturbed 0.950"
        in table
    )
