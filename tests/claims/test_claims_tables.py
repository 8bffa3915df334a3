"""Tables of groups that were kept without their runs are taken over by the same recipe, images and questions."""

import json
import shutil
from dataclasses import replace

import polars as pl
import pytest
from toy_groups import PAIRS, done, kept_alone, run, study, take

from unbraid.claims import plan, run_claims
from unbraid.claims.cells import CellGroup, Work
from unbraid.claims.claim import Claim
from unbraid.claims.group import GROUPS, SCALES, Recipe
from unbraid.claims.reuse import RECIPES
from unbraid.claims.sources import source
from unbraid.claims.studies import StudyGroup
from unbraid.engines import InlineEngine
from unbraid.study import open_study
from unbraid.training import open_run


@pytest.fixture(scope="module")
def first(tmp_path_factory):
    """A group that was run, in a folder of its own."""
    out = tmp_path_factory.mktemp("first")
    run(study("first"), out)
    return out


def test_a_table_kept_without_its_runs_is_taken_over_with_its_recipes(first, tmp_path):
    kept, group = kept_alone(first, tmp_path / "kept"), study("first", seeds=(100, 101))
    assert take(group, tmp_path / "out", kept) == 1
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
    assert take(other, tmp_path / "out", kept) == 0
    assert "losses 0.settings.batches 2 here, 1 there" in other.refusal("smoke", [kept])
    (kept / RECIPES).unlink()
    same = study("first")
    assert take(same, tmp_path / "out", kept) == 0
    assert same.refusal("smoke", [kept]).endswith("without its runs its table needs a recipes.json")


def test_rows_that_were_taken_over_can_be_taken_over_from_there(first, tmp_path):
    kept, group = kept_alone(first, tmp_path / "kept"), study("first")
    assert take(group, tmp_path / "here", kept) == 1
    group.keep(tmp_path / "here", "smoke")
    again = kept_alone(tmp_path / "here", tmp_path / "again")
    assert take(group, tmp_path / "there", again) == 1
    assert done(group, tmp_path / "there") == ["done"]


def test_two_runs_of_one_recipe_keep_their_own_rows(tmp_path):
    group = study("pairs", data=PAIRS, seeds=(100, 101))
    run(group, tmp_path / "first")
    kept = kept_alone(tmp_path / "first", tmp_path / "kept")
    assert take(group, tmp_path / "out", kept) == 4
    found = group.collect(tmp_path / "out", "smoke").select("index", "data", "seed", "loss")
    assert found.equals(pl.read_parquet(kept / "table.parquet").select(found.columns))
    # One of them is enough for both.
    one = pl.read_parquet(kept / "table.parquet").filter(pl.col("data") == PAIRS[1])
    one.write_parquet(kept / "table.parquet")
    assert take(group, tmp_path / "other", kept) == 4
    assert group.collect(tmp_path / "other", "smoke")["data"].to_list() == [PAIRS[0]] * 2 + [PAIRS[1]] * 2


def test_rows_of_runs_that_were_not_measured_are_not_taken_over(first, tmp_path):
    kept = kept_alone(first, tmp_path / "kept")
    table = pl.read_parquet(kept / "table.parquet")
    table.with_columns(status=pl.lit("failed"), loss=pl.lit(None, pl.Float64)).write_parquet(kept / "table.parquet")
    assert take(study("first"), tmp_path / "out", kept) == 0


def test_rows_of_runs_that_were_compared_with_each_other_are_taken_over_together(tmp_path):
    group = study("seeds", seeds=(100, 101), asked="[measures.udr]\nimages = 20\n")
    run(group, tmp_path / "first")
    kept = kept_alone(tmp_path / "first", tmp_path / "kept")
    assert take(group, tmp_path / "out", kept) == 2
    assert group.collect(tmp_path / "out", "smoke")["udr"].null_count() == 0
    table = pl.read_parquet(kept / "table.parquet")
    table.filter(pl.col("seed") == 100).write_parquet(kept / "table.parquet")
    assert take(group, tmp_path / "other", kept) == 0


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
    assert take(second, tmp_path / "new", kept) == 2
    assert done(second, tmp_path / "new") == ["done"] * 2
    table = second.collect(tmp_path / "new", "smoke")
    assert table.equals(second.collect(tmp_path / "out", "smoke"))
    assert table["first"].n_unique() > 2  # it compares models of both groups
    # Without the runs of another group that it compares there is nothing to take over.
    kept_table = pl.read_parquet(kept / "table.parquet")
    kept_table.filter(pl.col("index").is_null() | (pl.col("index") < 100_000)).write_parquet(kept / "table.parquet")
    assert take(second, tmp_path / "other", kept) == 0


def reads(*names):
    where = source("Locatello et al. 2019", "figure 1")
    return Claim(f"study/{names[-1]}", where, "a toy", {}, dict, names, "nothing", "toy")


def opened(seed, *, needed):
    """A cell that asks a trained run further."""
    index = (100, 101).index(seed)
    return [{"steps": int(open_run(open_study(needed["toy-base"]).run(index)).info["step"])}]


def _opened(_, seeds):
    here = "test_claims_tables:opened"
    return [Work(f"seed-{seed}", {"seed": seed}, function=here, arguments={"seed": seed}) for seed in seeds]


def test_runs_that_others_ask_further_are_trained_although_their_rows_are_there(tmp_path, monkeypatch):
    for name in ("toy-base", "toy-asking"):
        monkeypatch.setitem(GROUPS, name, None)
    base = study("toy-base", seeds=(100, 101))
    GROUPS["toy-base"] = base
    recipe = Recipe("toys", {}, (100, 101), 1)
    CellGroup("toy-asking", "toys", dict.fromkeys(SCALES, recipe), needs=("toy-base",), work=_opened)
    run(base, tmp_path / "first")
    kept = kept_alone(tmp_path / "first", tmp_path / "kept")
    assert take(base, tmp_path / "out", kept) == 2

    def todo(*claims):
        return [len(one.todo) for one in plan(claims, "smoke", tmp_path / "out")]

    # Who reads the rows needs no more; who asks the runs further needs those that it names.
    alone, both = reads("toy-base"), reads("toy-base", "toy-asking")
    assert todo(alone) == [0]
    assert todo(alone, replace(both, cells={"toy-base": {"seed": (101,)}})) == [1, 2]
    assert todo(alone, both) == [2, 2]
    run_claims([both], "smoke", tmp_path / "out", engine=InlineEngine, progress="none")
    assert todo(alone, both) == [0, 0]
    assert GROUPS["toy-asking"].collect(tmp_path / "out", "smoke")["steps"].to_list() == [3, 3]
    assert base.collect(tmp_path / "out", "smoke")["index"].to_list() == [0, 1]


def test_a_run_begins_from_one_of_which_only_rows_were_taken_over(tmp_path):
    group = study("tuned", told='[objectives.beta-tcvae]\nbeta = [1]\nafter = "beta-vae"\nparts = ["encoder"]')
    run(group, tmp_path / "first")
    kept = kept_alone(tmp_path / "first", tmp_path / "kept")
    pl.read_parquet(kept / "table.parquet").filter(pl.col("index") == 0).write_parquet(kept / "table.parquet")
    assert take(group, tmp_path / "out", kept) == 1
    assert done(group, tmp_path / "out") == ["done", "missing"]
    run(group, tmp_path / "out")
    assert done(group, tmp_path / "out") == ["done", "done"]


def test_the_table_has_the_rows_that_were_taken_over_until_a_run_is_measured_here(first, tmp_path):
    kept, group = kept_alone(first, tmp_path / "kept"), study("first")
    take(group, tmp_path, kept)
    index = group.place(tmp_path, "smoke") / "runs" / "00000"
    shutil.copytree(next(first.glob("**/runs/00000")), index)
    (index / "evaluation.json").unlink()  # trained, not measured
    assert group.collect(tmp_path, "smoke")["loss"].null_count() == 0
    assert done(group, tmp_path) == ["done"]


def test_cells_are_taken_over_by_the_table_of_their_group(tmp_path, monkeypatch):
    monkeypatch.setitem(GROUPS, "toy-cells", None)
    recipe = Recipe("toys", {}, (100, 101, 102), 1)
    group = CellGroup("toy-cells", "toys", dict.fromkeys(SCALES, recipe), work=_drawn)
    run(group, tmp_path / "first")
    found = group.place(tmp_path / "first", "smoke")
    (tmp_path / "kept").mkdir()
    for name in ("table.parquet", "recipe.json"):
        shutil.copy(found / name, tmp_path / "kept" / name)
    # The last of them has no rows, and the one that prepares others is not done again for nobody.
    assert take(group, tmp_path / "out", tmp_path / "kept") == 3
    assert group.todo(tmp_path / "out", "smoke", group.cells("smoke"), ()) == []
    assert group.collect(tmp_path / "out", "smoke").equals(group.collect(tmp_path / "first", "smoke"))
    group.keep(tmp_path / "out", "smoke")
    # Where one of the others is lacking, it is.
    (group.place(tmp_path / "out", "smoke") / "cells" / "seed-101.json").unlink()
    todo = group.todo(tmp_path / "out", "smoke", group.cells("smoke"), ())
    assert [cell.name for cell in todo] == ["first", "seed-101"]


def drawn(seed):
    return [{"value": seed / 8, "word": None if seed == 100 else "odd"}] if seed < 102 else []


def prepared():
    return []


def _drawn(_, seeds):
    here = "test_claims_tables"
    each = [Work(f"seed-{seed}", {"seed": seed}, 1, 1, f"{here}:drawn", {"seed": seed}) for seed in seeds]
    return [Work("first", {}, 0, 1, f"{here}:prepared", {}, prepares=True), *each]
