"""The twelve claims on the grid of a large study, each from a made-up table by which it is reproduced and one by which
it fails: the grid of the stored study with other numbers in its columns."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from unbraid.claims import claims, judge_claim
from unbraid.study.analysis import metrics_of

GRID = pl.read_parquet(Path(__file__).parents[2] / "docs" / "studies" / "small" / "table.parquet")
SCORES = [name for name in metrics_of(GRID, own=False) if name != "modularity"]
SAMPLED = pl.col("representation") == "sampled"
TOTAL = "gaussian_total_correlation"
ONE, TWO = (
    ((GRID["objective"] == "beta-vae") & (GRID["strength"] == strength)).to_numpy()
    for strength in GRID.filter(pl.col("objective") == "beta-vae")["strength"].unique().sort()[-2:]
)
"""The rows of two settings."""
LABELS = max(int(name[4:]) for name in GRID.columns if name.startswith("gbt_") and name[4:].isdigit())


def noise(seed):
    return np.random.default_rng(seed).standard_normal(len(GRID))


def by_setting(*, of_data=False, seed=0):
    """A number of every row that objective and strength decide, and the data set where asked."""
    keys = ["objective", "strength", *(["data"] if of_data else [])]
    names = GRID.select(pl.struct(keys).rank("dense")).to_series().to_numpy() - 1
    return np.random.default_rng(seed).standard_normal(names.max() + 1)[names]


def scored(**columns):
    return GRID.with_columns(**{name: pl.Series(np.asarray(value, float)) for name, value in columns.items()})


def each(values):
    """The same numbers as every score, a little apart."""
    return {name: np.asarray(values) + 1e-3 * noise(place) for place, name in enumerate(SCORES)}


def trend(sign):
    return scored(**{TOTAL: sign * GRID["strength"].to_numpy() + 1e-6 * noise(0)})


def correlations(mean, sampled):
    return GRID.with_columns(pl.when(SAMPLED).then(pl.lit(sampled)).otherwise(pl.lit(mean)).alias(TOTAL))


def pairs(alike):
    """Scores that agree where their names are in the same group."""
    common = {group: noise(10 + group) for group in set(alike.values())}
    return scored(**{name: common[group] + 0.1 * noise(place) for place, (name, group) in enumerate(alike.items())})


def opposed():
    """Two of five scores turned round: 4 of 10 pairs agree."""
    one = noise(1)
    return scored(**{name: (-one if place < 2 else one) + 0.01 * noise(place) for place, name in enumerate(SCORES)})


def dominated():
    """One setting is the best of all by far, for every score."""
    return scored(**{name: ONE + 0.01 * noise(place) for place, name in enumerate([*SCORES, "modularity"])})


def by_turns():
    """Two settings that are each the best by far on one of the data sets, and at the bottom on the other."""
    first = (GRID["data"] == GRID["data"][0]).to_numpy()
    top = np.where(first, ONE, TWO)
    return scored(**{name: top + 0.01 * noise(place) for place, name in enumerate([*SCORES, "modularity"])})


def told(quantity):
    """Scores that a label-free quantity tells, or that none does."""
    values = GRID["kl"].to_numpy() if quantity else noise(3)
    return scored(**each(values / np.abs(values).max()), udr=noise(4), elbo=noise(5), reconstruction=noise(6))


def downstream(task, sign):
    one = noise(7)
    return scored(**each(one), **{task: sign * one + 0.01 * noise(8)})


STRONG = {"beta_vae": 0, "factor_vae": 0, "mig": 1, "dci_disentanglement": 1, "sap": 2}
CASES = {
    "study/sampled-less-correlated": (trend(-1), trend(1)),
    "study/mean-more-correlated": (trend(1), trend(-1)),
    "study/mean-above-sampled": (correlations(1.0, 0.5), correlations(0.5, 1.0)),
    "study/scores-agree": (scored(**each(noise(1))), opposed()),
    "study/strong-pairs": (pairs(STRONG), scored(**each(noise(1)))),
    "study/variance-explained": (
        scored(**each(by_setting(of_data=True) + 0.5 * noise(1))),
        scored(**each(GRID["objective"].rank("dense").to_numpy())),
    ),
    "study/no-best-setting": (by_turns(), dominated()),
    "study/no-label-free-rule": (told(False), told(True)),
    "study/no-transfer-between-sets": (scored(**each(noise(1))), scored(**each(by_setting()))),
    "study/transfer-trials": (
        scored(
            **{name: by_setting(of_data=True, seed=place) + 0.3 * noise(place) for place, name in enumerate(SCORES)}
        ),
        scored(**each(by_setting())),
    ),
    "study/downstream-accuracy": (downstream(f"gbt_{LABELS}", 1), downstream(f"gbt_{LABELS}", -1)),
    "study/downstream-efficiency": (downstream("gbt_efficiency", -1), downstream("gbt_efficiency", 1)),
}


def test_every_claim_on_the_grid_has_its_tables():
    assert set(CASES) == {name for name, one in claims().items() if "study-grid" in one.groups}


@pytest.mark.parametrize("name", sorted(CASES))
def test_a_claim_on_the_grid_is_reproduced_and_fails(name):
    for table, verdict in zip(CASES[name], ("reproduced", "not reproduced"), strict=True):
        found = judge_claim(claims()[name], {"study-grid": table})
        assert found.verdict == verdict, found.sentence


def test_a_condition_that_one_seed_decides_stays_open():
    below = correlations(1.0, 0.5)
    turned = below.with_columns(pl.when(SAMPLED & (pl.col("seed") < 2)).then(2.0).otherwise(TOTAL).alias(TOTAL))
    found = judge_claim(claims()["study/mean-above-sampled"], {"study-grid": turned})
    # 3 of 5 seeds hold: 60 %; without one of the two that do not, 75 %, which is not above the 75 % that are asked.
    assert found.verdict == "not reproduced"
    one = below.with_columns(pl.when(SAMPLED & (pl.col("seed") == 0)).then(2.0).otherwise(TOTAL).alias(TOTAL))
    # 80 % with all seeds, 75 % without one of the others.
    assert judge_claim(claims()["study/mean-above-sampled"], {"study-grid": one}).verdict == "inconclusive"
