"""Tables of groups that were kept without their runs are taken over by the same recipe, images and questions."""

import json

import polars as pl
from toy_groups import PAIRS, done, kept_alone, run, study

from unbraid.claims.group import GROUPS, SCALES, Recipe
from unbraid.claims.reuse import RECIPES
from unbraid.claims.studies import StudyGroup


def test_a_table_kept_without_its_runs_is_taken_over_with_its_recipes(first, tmp_path):
    kept, group = kept_alone(first, tmp_path / "kept"), study("first", seeds=(100, 101))
    assert group.take(tmp_path / "out", "smoke", [kept]) == 1
    assert done(group, tmp_path / "out") == ["done", "missing"]
    table = group.collect(tmp_path / "out", "smoke")
    assert table["loss"].to_list() == pl.read_parquet(kept / "table.parquet")["loss"].to_list()
    # The rest is trained, and the whole can be handed on in the same way.
    again = run(group, tmp_path / "out")
    assert sorted(group.collect(tmp_path / "out", "smoke")["seed"].to_list()) == [100, 101]
    assert set(json.loads((again / RECIPES).read_text(encoding="utf-8"))["runs"]) == {"0", "1"}


def test_a_table_that_was_asked_otherwise_or_tells_no_recipe_is_refused(first, tmp_path):
    kept = kept_alone(first, tmp_path / "kept")
    other = study("first", batches=2)
    assert other.take(tmp_path / "out", "smoke", [kept]) == 0
    assert "losses 0.settings.batches 2 here, 1 there" in other.refusal("smoke", [kept])
    (kept / RECIPES).unlink()
    same = study("first")
    assert same.take(tmp_path / "out", "smoke", [kept]) == 0
    assert same.refusal("smoke", [kept]).endswith("without its runs its table needs a recipes.json")


def test_rows_that_were_taken_over_can_be_taken_over_from_there(first, tmp_path):
    kept, group = kept_alone(first, tmp_path / "kept"), study("first")
    assert group.take(tmp_path / "here", "smoke", [kept]) == 1
    group.keep(tmp_path / "here", "smoke")
    again = kept_alone(tmp_path / "here", tmp_path / "again")
    assert group.take(tmp_path / "there", "smoke", [again]) == 1
    assert done(group, tmp_path / "there") == ["done"]


def test_two_runs_of_one_recipe_keep_their_own_rows(tmp_path):
    group = study("pairs", data=PAIRS, seeds=(100, 101))
    run(group, tmp_path / "first")
    kept = kept_alone(tmp_path / "first", tmp_path / "kept")
    assert group.take(tmp_path / "out", "smoke", [kept]) == 4
    found = group.collect(tmp_path / "out", "smoke").select("index", "data", "seed", "loss")
    assert found.equals(pl.read_parquet(kept / "table.parquet").select(found.columns))
    # One of them is enough for both.
    one = pl.read_parquet(kept / "table.parquet").filter(pl.col("data") == PAIRS[1])
    one.write_parquet(kept / "table.parquet")
    assert group.take(tmp_path / "other", "smoke", [kept]) == 4
    assert group.collect(tmp_path / "other", "smoke")["data"].to_list() == [PAIRS[0]] * 2 + [PAIRS[1]] * 2


def test_rows_of_runs_that_were_not_measured_are_not_taken_over(first, tmp_path):
    kept = kept_alone(first, tmp_path / "kept")
    table = pl.read_parquet(kept / "table.parquet")
    table.with_columns(status=pl.lit("failed"), loss=pl.lit(None, pl.Float64)).write_parquet(kept / "table.parquet")
    assert study("first").take(tmp_path / "out", "smoke", [kept]) == 0


def test_rows_of_runs_that_were_compared_with_each_other_are_taken_over_together(tmp_path):
    group = study("seeds", seeds=(100, 101), asked="[measures.udr]\nimages = 20\n")
    run(group, tmp_path / "first")
    kept = kept_alone(tmp_path / "first", tmp_path / "kept")
    assert group.take(tmp_path / "out", "smoke", [kept]) == 2
    assert group.collect(tmp_path / "out", "smoke")["udr"].null_count() == 0
    table = pl.read_parquet(kept / "table.parquet")
    table.filter(pl.col("seed") == 100).write_parquet(kept / "table.parquet")
    assert group.take(tmp_path / "other", "smoke", [kept]) == 0


BENCHMARK = """\
data = ["mini-sprites"]
splits = ["random", "extrapolation"]
batch_size = 16
steps = 2
[[objectives.regressor]]
net = "{net}"
[measures.generalization]
recipe = "cpu"
images = 60
train_images = 60
one_ood = 60
"""


def benchmark(name, net, **options):
    recipe = Recipe("mini-sprites", {"study": BENCHMARK.format(net=net)}, (100,), 1)
    return StudyGroup(name, "toys", dict.fromkeys(SCALES, recipe), table="benchmark", **options)


def test_the_table_of_a_benchmark_is_taken_over_as_a_whole(tmp_path, monkeypatch):
    for name in ("toy-first", "toy-second"):
        monkeypatch.setitem(GROUPS, name, None)
    first = benchmark("toy-first", "mlp:layers=4")
    second = benchmark("toy-second", "mlp:layers=6", needs=("toy-first",), joined=("toy-first",))
    for group in (first, second):
        run(group, tmp_path / "out")
    kept = kept_alone(tmp_path / "out" / "groups" / "toy-second", tmp_path / "kept")
    assert second.take(tmp_path / "new", "smoke", [kept]) == 2
    assert done(second, tmp_path / "new") == ["done"] * 2
    table = second.collect(tmp_path / "new", "smoke")
    assert table.equals(second.collect(tmp_path / "out", "smoke"))
    assert table["first"].n_unique() > 2  # it compares models of both groups
    # Without the runs of another group that it compares there is nothing to take over.
    kept_table = pl.read_parquet(kept / "table.parquet")
    kept_table.filter(pl.col("index").is_null() | (pl.col("index") < 100_000)).write_parquet(kept / "table.parquet")
    assert second.take(tmp_path / "other", "smoke", [kept]) == 0
