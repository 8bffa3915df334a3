"""The study's conclusions on synthetic tables that have or lack what each of them says."""

import re

import numpy as np
import polars as pl
import pytest
from study_toys import full_table, noise_table

from unbraid.study.analysis import METRICS, findings


def verdicts(table: pl.DataFrame) -> dict[str, bool | None]:
    return {row["finding"]: row["holds"] for row in findings(table).to_dicts()}


def said(table: pl.DataFrame, start: str) -> dict:
    (row,) = [row for row in findings(table).to_dicts() if row["finding"].startswith(start)]
    return row


def test_a_table_made_to_show_the_trends_of_codes_reproduces_them():
    holds = verdicts(full_table())
    assert holds["Sampled codes get less correlated with the strength"]
    assert holds["Mean codes get more correlated with the strength"]
    assert holds["Mean codes are more correlated than sampled ones"]


def test_with_the_representations_swapped_every_finding_about_them_fails():
    swapped = full_table().with_columns(
        pl.when(pl.col("representation") == "mean")
        .then(pl.lit("sampled"))
        .otherwise(pl.lit("mean"))
        .alias("representation")
    )
    holds = verdicts(swapped)
    assert holds["Sampled codes get less correlated with the strength"] is False
    assert holds["Mean codes get more correlated with the strength"] is False
    assert holds["Mean codes are more correlated than sampled ones"] is False


def test_pure_noise_has_no_agreement_no_explained_variance_and_no_transfer_at_home():
    table = noise_table(data=("sprites32", "rooms3d-32"), seeds=5)
    assert said(table, "Scores other than modularity")["holds"] is False
    assert said(table, "The best setting wins")["holds"] is False
    # Adjusted for the groups' degrees of freedom, noise is explained by nothing.
    measured = said(table, "Seeds and strength")["measured"]
    objective, setting = re.findall(r"(-?\d+) %", measured)[:2]
    assert abs(int(objective)) < 5
    assert abs(int(setting)) < 8


def test_one_setting_that_wins_everywhere_is_noticed():
    table = full_table()
    best = (pl.col("objective") == "dip-vae-i") & (pl.col("strength") == 10)
    crowned = table.with_columns(
        [pl.when(best).then(9.0).otherwise(pl.col(metric)).alias(metric) for metric in METRICS]
    )
    assert said(table, "No setting is best")["holds"] is True
    found = said(crowned, "No setting is best")
    assert found["holds"] is False
    assert found["measured"].startswith("1 different settings of 1 objectives are best in 12")


def test_a_label_free_quantity_that_follows_every_score_is_noticed():
    table = full_table()
    shared = table["mig"]
    followed = table.with_columns([shared.alias(metric) for metric in METRICS], udr=-shared)
    row = said(followed, "No label-free")
    assert row["holds"] is False
    assert row["measured"].startswith("the steadiest is udr: rank correlation -1.00")


def test_scores_that_are_the_same_on_two_data_sets_transfer():
    table = full_table()
    first = table.filter(pl.col("data") == "sprites32")
    same = pl.concat([first, first.with_columns(data=pl.lit("rooms3d-32"))])
    row = said(same, "What is good on one")
    assert row["holds"] is False
    assert "mean 1.00" in row["measured"]


def test_efficiency_that_grows_with_the_scores_is_noticed():
    table = full_table()
    accurate = table.with_columns(gbt_efficiency=pl.col("mig"))
    assert said(accurate, "Scores do not go with")["holds"] is False
    blind = table.with_columns(gbt_10000=pl.Series(np.random.default_rng(0).standard_normal(len(table))))
    assert said(blind, "Scores go with")["holds"] is False
    assert said(table, "Scores go with")["holds"] is True


@pytest.mark.parametrize("column", ["gaussian_total_correlation", "gbt_efficiency"])
def test_what_the_table_lacks_is_said_and_not_judged(column):
    table = full_table().drop(column)
    if column == "gbt_efficiency":
        row = said(table, "Scores do not go with")
    else:
        row = said(table, "Mean codes are more")
        assert "--reevaluate" in row["measured"]
    assert row["holds"] is None


def test_a_study_of_other_methods_is_not_judged_by_these_findings():
    assert len(findings(full_table().filter(pl.col("objective") == "beta-vae"))) == 0
