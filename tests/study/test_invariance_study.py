"""What studies of bijective classifiers conclude: a verdict of each kind from made-up tables."""

import polars as pl
import pytest

from unbraid.study.analysis import Alike, AtLeast
from unbraid.study.invariance import invariance_sections, judge_invariance, measures_invariance

SCORES = {
    "logit_test_error": (0.010, 0.012),
    "nuisance_test_error": (0.05, 0.25),
    "logit_train_error": (0.0, 0.01),
    "nuisance_train_error": (0.0, 0.2),
    "nuisance_information": (2.0, 1.5),
    "metamer_as_logits": (0.3, 0.6),
    "metamer_as_donor": (0.6, 0.2),
    "bits_per_dimension": (8.0, 5.0),
}
CHANCE = (-0.001, 0.0, 0.001)


def table(data="mnist", seeds=3, **changed):
    """Runs of cross-entropy and of iCE with weight 2, whose scores differ by a tenth of a point between seeds."""
    rows = []
    for position, (objective, strength) in enumerate((("firevnet", None), ("ice", 2.0))):
        for seed in range(seeds):
            about = {"data": data, "objective": objective, "strength": strength, "seed": seed}
            scores = SCORES | changed
            rows.append(about | {name: pair[position] + CHANCE[seed % 3] for name, pair in scores.items()})
    return pl.DataFrame(rows, schema_overrides={"strength": pl.Float64})


def words(found):
    return {one.name: one.verdict.word for one in found}


def test_a_table_as_published_bears_out_every_conclusion():
    assert words(judge_invariance(table())) == dict.fromkeys("abcd", "holds")


@pytest.mark.parametrize(
    ("name", "score", "pair"),
    [
        ("a", "nuisance_test_error", (0.2, 0.5)),  # right on 80 %
        ("b", "nuisance_test_error", (0.05, 0.09)),  # sure, but 4 points of the 7
        ("c", "logit_test_error", (0.01, 0.06)),  # 5 points worse
        ("d", "metamer_as_logits", (0.3, 0.31)),
    ],
)
def test_each_conclusion_can_fail_by_itself(name, score, pair):
    found = words(judge_invariance(table(**{score: pair})))
    assert {one for one, word in found.items() if word == "does not hold"} == {name}


def test_seeds_that_differ_leave_it_undecided():
    spread = table()
    spread = spread.with_columns(nuisance_test_error=pl.col("nuisance_test_error") + 0.08 * pl.col("seed"))
    rising = spread.with_columns(
        nuisance_test_error=pl.when(pl.col("objective") == "ice")
        .then(0.05 + 0.1 * pl.col("seed"))
        .otherwise(pl.lit(0.05))
    )
    assert words(judge_invariance(rising))["b"] == "undecided"
    assert set(words(judge_invariance(table(seeds=1))).values()) == {"undecided"}


def test_a_study_without_cross_entropy_cannot_say():
    alone = table().filter(pl.col("objective") == "ice")
    assert set(words(judge_invariance(alone)).values()) == {"cannot say"}


def test_the_published_errors_stand_beside_those_of_digits_alone():
    for data, beside in (("mnist", True), ("fashion-mnist", False)):
        page = "\n".join(invariance_sections(table(data)))
        assert ("25.00 ± 0.10 [27.70]" in page) is beside
        assert "| iCE, weight 2 |" in page
    assert not measures_invariance(pl.DataFrame({"data": ["mnist"], "seed": [0]}))


def test_at_least_wants_the_size_and_the_sign():
    assert AtLeast("", 8, 7).met(1, 15) is True
    assert AtLeast("", 8, 7).met(-1, 17) is None
    assert AtLeast("", 4, 7).met(3, 5) is False
    assert AtLeast("", 6, 7).met(4, 8) is None


def test_alike_wants_the_whole_interval_within_the_limit():
    assert Alike("", 0, 1.5).met(-1, 1) is True
    assert Alike("", 1, 1.5).met(0, 2) is None
    assert Alike("", 3, 1.5).met(2, 4) is False
    assert Alike("", -3, 1.5).met(-4, -2) is False
