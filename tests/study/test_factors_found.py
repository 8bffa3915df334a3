"""How many runs of a study found which factor."""

import polars as pl
import pytest

from unbraid.study import parse_study, write_markdown
from unbraid.study.analysis import factors_found

STUDY = """
data = ["sprites32", "rooms3d-32"]
seeds = 4
steps = 20

[objectives.beta-vae]

[measures.factors]
train = 100
test = 50
"""


def table():
    """Four runs on each of two data sets, of which one has a category; each run twice, for two kinds of codes."""
    one = {"data": "one", "r2_x": [0.95, 0.92, 0.5, 0.1], "r2_y": [0.91, 0.2, 0.93, 0.1]}
    two = {"data": "two", "r2_shape": [0.7, 0.8, 0.9, 1.0], "accuracy_shape": [0.85, 0.95, 0.97, 1.0]}
    parts = [pl.DataFrame(each).with_columns(index=pl.arange(4) + 4 * n) for n, each in enumerate((one, two))]
    rows = pl.concat(parts, how="diagonal").with_columns(r2=pl.lit(0.5), r2_ceiling=pl.lit(1.0))  # no factors
    return pl.concat([rows.with_columns(representation=pl.lit(kind)) for kind in ("mean", "sampled")])


def test_every_run_counts_once_and_every_factor_where_it_is():
    found = factors_found(table())
    assert found["factor"].to_list() == ["x", "y", "all", "shape", "shape", "all"]
    assert found["number"].to_list()[3:5] == ["R²", "accuracy"]
    assert set(found["runs"]) == {4}


def test_numbers_are_those_of_the_runs():
    x, _, every, shape, accuracy, _ = factors_found(table()).rows(named=True)
    assert x["median"] == pytest.approx((0.92 + 0.5) / 2)
    assert (x["best_quarter"], x["best"], x["found"]) == (0.92, 0.95, 0.5)
    assert (shape["found"], accuracy["found"]) == (0.5, 0.75)
    # 2, 1, 1 and 0 factors; one run of four has both.
    assert (every["median"], every["best_quarter"], every["best"], every["found"]) == (1, 1, 2, 0.25)


def test_a_quarter_of_the_runs_reaches_the_best_quarter():
    for count in range(1, 13):
        values = pl.DataFrame({"data": "d", "index": range(count), "r2_x": [i / count for i in range(count)]})
        reached = factors_found(values)["best_quarter"][0]
        assert (values["r2_x"] >= reached).sum() >= count / 4


def test_a_table_without_the_measure_says_nothing():
    assert not len(factors_found(pl.DataFrame({"data": ["one"], "index": [0], "mig": [0.1]})))


def test_the_page_has_them(tmp_path):
    study = parse_study(STUDY, "toy")
    rows = table().with_columns(
        objective=pl.lit("beta-vae"), strength_name=pl.lit(None, pl.String), strength=pl.lit(None, pl.Float64),
        seed=pl.col("index") % 4, net=pl.lit(""), steps=20, batch_size=64, status=pl.lit("evaluated"), seconds=1.0,
    ).select("index", "data", "objective", "strength_name", "strength", "seed", "net", "steps", "batch_size",
             "representation", "status", "seconds", "r2_x", "r2_y", "r2_shape", "accuracy_shape")  # fmt: skip
    write_markdown(tmp_path / "report.md", study, rows, [])
    page = (tmp_path / "report.md").read_text(encoding="utf-8")
    assert "## What the codes tell of each factor" in page
    assert "| two | shape | accuracy | 0.96 | 0.97 | 1.00 | 0.75 | 4 |" in page
