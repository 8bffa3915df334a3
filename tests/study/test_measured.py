"""Means over seeds of whatever a study measured."""

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from study_toys import full_table

from unbraid import metrics
from unbraid.study.analysis import ANALYSES, findings, measured_means, metrics_of

RUNS = [("a", 1.0, 0), ("a", 1.0, 1), ("a", 1.0, 2), ("b", None, 0)]
ACCURACY = {("a", 1): (0.2, 0.4, 0.9), ("a", 2): (0.1, 0.3, 0.8), ("b", 1): (0.5,), ("b", 2): (None,)}


def study_table() -> pl.DataFrame:
    """Four runs under two severities; their loss, which does not depend on it, stands in both rows, and in a third."""
    rows = []
    for index, (objective, strength, seed) in enumerate(RUNS):
        about = {"index": index, "data": "digits8", "objective": objective, "seed": seed, "batch_size": 4,
                 "strength_name": "rate" if strength else None, "strength": strength, "loss": float(index)}  # fmt: skip
        for severity in (1, 2):
            value = ACCURACY[objective, severity][seed]
            rows.append(
                {**about, "severity": severity, "status": "evaluated", "accuracy": value, "accuracy_ceiling": 1.0}
            )
        rows.append({**about, "severity": None, "status": "evaluated", "accuracy": None, "accuracy_ceiling": None})
    order = ["index", "data", "objective", "strength_name", "strength", "seed", "batch_size", "severity", "status"]
    return pl.DataFrame(rows, infer_schema_length=None).select(*order, "accuracy", "accuracy_ceiling", "loss")


def test_every_score_has_its_mean_and_deviation_under_the_conditions_that_matter_to_it():
    found = measured_means(study_table())
    mild, strong = ACCURACY["a", 1], ACCURACY["a", 2]
    expected = [
        ("accuracy", "digits8", "a rate 1", "severity 1", np.mean(mild), np.std(mild, ddof=1), 3),
        ("accuracy", "digits8", "a rate 1", "severity 2", np.mean(strong), np.std(strong, ddof=1), 3),
        ("accuracy", "digits8", "b", "severity 1", 0.5, None, 1),
        ("loss", "digits8", "a rate 1", "", 1.0, 1.0, 3),
        ("loss", "digits8", "b", "", 3.0, None, 1),
    ]
    assert_frame_equal(found, pl.DataFrame(expected, schema=found.schema, orient="row"))


def test_penalties_are_told_apart():
    table = study_table().with_columns(penalties=pl.lit(None, pl.String))
    more = table.with_columns(pl.col("index") + 4, penalties=pl.lit("hfs:weight=2"))
    both = measured_means(pl.concat([table, more]))
    assert "b, penalties hfs:weight=2" in both["method"].to_list()


def test_augmentations_are_told_apart():
    table = study_table().with_columns(augment=pl.lit(None, pl.String))
    blurred = table.with_columns(pl.col("index") + 4, augment=pl.lit("blur"))
    both = measured_means(pl.concat([table, blurred]))
    assert both["method"].unique().sort().to_list() == ["a rate 1", "a rate 1, augment blur", "b", "b, augment blur"]


def test_numbers_of_steps_stand_with_the_method_where_there_are_several():
    table = study_table().with_columns(steps=pl.lit(10))
    more = table.with_columns(pl.col("index") + 4, steps=pl.lit(20))
    both = measured_means(pl.concat([table, more]))
    assert set(both["method"]) == {"a rate 1, steps 10", "a rate 1, steps 20", "b, steps 10", "b, steps 20"}
    assert both["runs"].max() == 3


@pytest.fixture
def own_metric(monkeypatch):
    for name in ("_things", "_names", "_homes"):  # what is registered here is gone afterwards
        monkeypatch.setattr(metrics.METRICS, name, dict(getattr(metrics.METRICS, name)))
    metrics.register("luck", title="Luck")(lambda codes: codes.mean())
    return "luck"


def test_own_scores_stand_in_answers_and_change_no_verdict(own_metric):
    plain = full_table(seeds=2)
    table = plain.with_columns(luck=pl.col("seed") + pl.col("mig"))
    assert metrics_of(table) == (*metrics_of(plain), own_metric)
    for name in ("metric_agreement", "variance_explained", "score_spread", "strength_curves"):
        assert own_metric in ANALYSES[name].answer(table).select(pl.col("^metric.*$")).to_series().to_list()
    assert_frame_equal(findings(table), findings(plain))
    assert_frame_equal(ANALYSES["transfer_trials"].answer(table), ANALYSES["transfer_trials"].answer(plain))
