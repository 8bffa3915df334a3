"""Running claims: once for all that share a group, on from where it stopped, honest about what is missing."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from unbraid.claims import (
    claims,
    groups,
    judge_claims,
    latest,
    plan,
    read_records,
    run_claims,
    standing,
    take_elsewhere,
)
from unbraid.claims.cells import CellGroup, Work, carry_out
from unbraid.claims.claim import Claim
from unbraid.claims.group import GROUPS, Recipe, fresh
from unbraid.claims.judging import judge_claim
from unbraid.claims.measured import Pairs
from unbraid.claims.rules import P
from unbraid.claims.sources import source
from unbraid.engines import InlineEngine
from unbraid.errors import UsageError, UsageWarning

DONE: list[int] = []


def measured(seed, effect, fails=()):
    """A cell of the toy group."""
    if seed in fails:
        raise UsageError(f"seed {seed} is broken")
    DONE.append(seed)
    return [{"side": "first", "value": effect + seed / 1000}, {"side": "second", "value": 0.0}]


def _work(plan_, seeds):
    here = "test_claims_runner:measured"
    return [Work(f"seed-{seed}", {"seed": seed}, function=here, arguments={**plan_, "seed": seed}) for seed in seeds]


def toy(name="toy-group", **options):
    recipe = Recipe("toys", {"effect": 0.3, **options}, fresh(3), 1)
    return CellGroup(name, "toys", {"smoke": recipe, "small": recipe, "paper": recipe}, work=_work)


def _measure(tables):
    table = tables["toy-group"].pivot("side", index="seed", values="value").sort("seed")
    return {"gap": Pairs({seed: (a, b) for seed, a, b in table.select("seed", "first", "second").iter_rows()})}


def toy_claim(name="study/toy", **options):
    where = source("Locatello et al. 2019", "figure 1")
    return Claim(name, where, "a toy", {"gap": P(0.1)}, _measure, ("toy-group",), "nothing", "toy", **options)


@pytest.fixture(autouse=True)
def group():
    groups()
    DONE.clear()
    yield toy()
    GROUPS.pop("toy-group", None)


def run(found, scale, out, **options):
    return run_claims(found, scale, out, engine=InlineEngine, progress="none", **options)


def test_claims_that_share_a_group_train_it_once(tmp_path):
    records = run([toy_claim(), toy_claim("study/other")], "small", tmp_path)
    assert DONE == [100, 101, 102]
    assert [record["verdict"] for record in records] == ["reproduced", "reproduced"]
    run([toy_claim()], "small", tmp_path)
    assert DONE == [100, 101, 102]


def test_a_run_that_was_killed_and_repeated_gives_the_same_values(tmp_path, group):
    (planned,) = plan([toy_claim()], "small", tmp_path)
    first = planned.cells[0]
    carry_out(str(group.place(tmp_path, "small")), first.name, first.function, dict(first.arguments), {}, {}, False)
    whole = run([toy_claim()], "small", tmp_path / "whole")[0]["values"]
    assert run([toy_claim()], "small", tmp_path)[0]["values"] == whole
    assert DONE.count(100) == 2  # once in each folder


def test_the_smoke_scale_measures_and_decides_nothing(tmp_path):
    (record,) = run([toy_claim()], "smoke", tmp_path)
    assert record["verdict"] == "not judged"
    assert record["values"][0]["per_seed"][0] == [100, pytest.approx(0.4), 0.0]
    assert record["statistic"][0]["low"] > 0


def test_a_smoke_run_without_a_number_is_too_small_only_where_the_claim_says_so(tmp_path):
    def lacking(_):
        raise UsageError("no number")

    one = replace(toy_claim(), measure=lacking)
    said = replace(one, too_small="a toy learns nothing")
    records = run([one, said], "smoke", tmp_path)
    assert [record["verdict"] for record in records] == ["not run", "not judged"]
    assert records[0]["reason"] == "the tables cannot say: no number"
    assert "too small to judge, a toy learns nothing: no number" in records[1]["reason"]
    # At other scales it is an excuse for nothing.
    assert [record["verdict"] for record in run([said], "small", tmp_path)] == ["not run"]


def test_a_failed_cell_is_not_run_with_its_reason_and_tried_again_when_asked(tmp_path):
    GROUPS.pop("toy-group")
    toy(fails=[101])
    (record,) = run([toy_claim()], "small", tmp_path)
    assert record["verdict"] == "not run"
    assert "1 of 3 cells failed, first: seed 101 is broken" in record["reason"]
    assert record["seeds_failed"][0]["seed"] == 101
    assert DONE == [100, 102]
    run([toy_claim()], "small", tmp_path)
    assert DONE == [100, 102]
    run([toy_claim()], "small", tmp_path, retry_failed=True)
    assert DONE == [100, 102]  # it fails again


def test_a_failed_cell_that_is_only_reported_beside_a_claim_does_not_block_it(tmp_path):
    def work(plan_, seeds):
        return [replace(cell, beside=cell.setting["seed"] == 102) for cell in _work(plan_, seeds)]

    GROUPS["toy-group"] = replace(toy(fails=[102]), work=work)
    (record,) = run([toy_claim()], "small", tmp_path)
    assert record["verdict"] == "reproduced"
    assert DONE == [100, 101]


def test_what_is_not_there_is_not_run_and_the_rest_goes_on(tmp_path, group):
    missing = replace(group, missing={"small": "its files are not published"})
    GROUPS["toy-group"] = missing
    records = run([toy_claim(), claims()["invariance/theorem-8"]], "small", tmp_path)
    assert [record["verdict"] for record in records] == ["not run", "not reproduced"]
    assert "not published" in records[0]["reason"]


def test_without_mnist_its_claims_name_the_file(tmp_path, monkeypatch):
    monkeypatch.setenv("UNBRAID_DATA", str(tmp_path / "nothing"))
    (record,) = run([claims()["noise/gnt-helps"]], "small", tmp_path)
    assert record["verdict"] == "not run"
    assert "mnist/train-images-idx3-ubyte" in record["reason"]


def test_a_gate_that_is_missed_is_not_run(tmp_path, group):
    GROUPS["toy-group"] = replace(group, gate=lambda table: ["seed 100 is untrained"] if len(table) else [])
    (record,) = run([toy_claim()], "small", tmp_path)
    assert record["verdict"] == "not run"
    assert record["reason"] == "gate of toy-group: seed 100 is untrained"


def test_records_are_appended_and_judging_anew_points_back(tmp_path):
    run([toy_claim()], "small", tmp_path)
    judge_claims([toy_claim()], "small", tmp_path, rejudged=True)
    records = read_records(tmp_path)
    assert len(records) == 2
    assert records[1]["rejudged_from"] == 0
    assert records[0]["values"] == records[1]["values"]
    assert DONE == [100, 101, 102]


def test_a_changed_rule_voids_the_verdict(tmp_path):
    one = toy_claim()
    run([one], "small", tmp_path)
    records = read_records(tmp_path)
    assert standing({one.id: one}, records)[one.id].verdict == "reproduced"
    stricter = replace(one, rules={"gap": P(0.2)})
    changed = standing({one.id: stricter}, records)[one.id]
    assert changed.verdict == "not run"
    assert changed.void == ("small",)


def test_another_recipe_has_another_folder(tmp_path, group):
    run([toy_claim()], "small", tmp_path)
    GROUPS.pop("toy-group")
    other = toy(effect=-0.1)
    assert other.place(tmp_path, "small") != group.place(tmp_path, "small")
    assert run([toy_claim()], "small", tmp_path)[0]["verdict"] == "not reproduced"


def test_claims_json_is_for_machines(tmp_path):
    run([toy_claim()], "small", tmp_path)
    content = json.loads((tmp_path / "claims.json").read_text(encoding="utf-8"))
    assert content["format"] == 1
    (record,) = content["records"]
    wanted = {
        *("id", "area", "scale", "statement", "source", "published", "data", "recipe", "groups", "seeds", "verdict"),
        *("seeds_failed", "values", "statistic", "reason", "flags", "notes", "known", "rule_hash", "versions"),
        *("machine", "started", "amended"),
    }
    assert wanted <= set(record)
    assert record["groups"][0]["key"] in str(next((tmp_path / "groups" / "toy-group").iterdir()))
    assert set(latest(read_records(tmp_path))) == set()  # a toy is no claim of the catalogue
    table = pl.read_parquet(next((tmp_path / "groups" / "toy-group").glob("*/table.parquet")))
    assert judge_claim(toy_claim(), {"toy-group": table}).verdict == "reproduced"


def test_cells_of_the_same_key_are_taken_over_and_judged_without_doing_anything(tmp_path, group):
    run([toy_claim()], "small", tmp_path / "there")
    (record,) = judge_claims([toy_claim()], "small", tmp_path / "here", reuse=[tmp_path / "there"])
    assert record["verdict"] == "reproduced"
    assert DONE == [100, 101, 102]
    GROUPS["toy-group"] = replace(group, version=2)  # its code gives other numbers now
    (record,) = judge_claims([toy_claim()], "small", tmp_path / "here", reuse=[tmp_path / "there"])
    assert record["verdict"] == "not run"
    assert "the nearest: version 2 here, 1 there" in record["reason"]


def test_groups_that_are_left_out_are_not_taken_over(tmp_path, group):
    run([toy_claim()], "small", tmp_path / "there")
    run([toy_claim()], "small", tmp_path / "here", reuse=[tmp_path / "there"], only=["another"])
    assert not group.place(tmp_path / "here", "small").exists()
    told = take_elsewhere([toy_claim()], "small", tmp_path / "here", [tmp_path / "there"])
    assert (told, DONE) == ({}, [100, 101, 102])
    assert (group.place(tmp_path / "here", "small") / "table.parquet").exists()


def test_what_was_done_before_an_interrupt_is_kept(tmp_path, group, monkeypatch):
    whole = measured

    def interrupted(seed, effect):
        if seed == 102:
            raise KeyboardInterrupt
        return whole(seed, effect)

    monkeypatch.setattr(f"{__name__}.measured", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run([toy_claim()], "small", tmp_path)
    assert sorted(set(pl.read_parquet(group.place(tmp_path, "small") / "table.parquet")["seed"])) == [100, 101]


def test_judging_keeps_the_table_of_what_is_done_so_far(tmp_path, group):
    (planned,) = plan([toy_claim()], "small", tmp_path)
    first, place = planned.cells[0], group.place(tmp_path, "small")
    carry_out(str(place), first.name, first.function, dict(first.arguments), {"seed": 100}, {}, False)
    judge_claims([toy_claim()], "small", tmp_path)
    assert pl.read_parquet(place / "table.parquet")["seed"].unique().to_list() == [100]
    # It can be taken over as it is, without its cells.
    shutil.rmtree(place / "cells")
    run([toy_claim()], "small", tmp_path / "here", reuse=[tmp_path])
    assert sorted(DONE) == [100, 101, 102]


def test_a_record_of_another_version_is_told_and_left_out(tmp_path):
    run([toy_claim()], "small", tmp_path / "there")
    old = tmp_path / "there" / "old"
    old.mkdir()
    (old / "recipe.json").write_text('{"group": "toy-group", "scale": "small", "key": "0"}', encoding="utf-8")
    with pytest.warns(UsageWarning, match="old/recipe.json.*details"):
        (record,) = judge_claims([toy_claim()], "small", tmp_path / "here", reuse=[tmp_path / "there"])
    assert record["verdict"] == "reproduced"


def test_a_folder_to_reuse_that_is_not_there_is_refused(tmp_path):
    for do in (run, judge_claims):
        with pytest.raises(UsageError, match=r"reuse: .*nowhere is no folder"):
            do([toy_claim()], "small", tmp_path, reuse=[tmp_path / "nowhere"])
    assert not DONE


def test_the_command_of_a_plan_does_what_was_asked_for(tmp_path):
    (planned,) = plan([toy_claim()], "small", tmp_path)
    told = planned.command(tmp_path, ["study/toy", "slow/*"])
    assert told == f"unbraid claims run study/toy 'slow/*' --group toy-group --scale small --out {tmp_path}"


def test_a_default_of_what_carries_out_a_cell_is_a_part_of_the_key(monkeypatch):
    def offset(seed, effect, offset=0):
        return measured(seed, effect + offset)

    first = toy().key("small")
    monkeypatch.setattr(f"{__name__}.measured", offset)
    assert toy().key("small") != first


def test_modules_of_cells_are_found_by_name():
    for name, group_ in groups().items():
        for cell in group_.cells("small") if isinstance(group_, CellGroup) and name != "toy-group" else ():
            module, _, function = cell.function.partition(":")
            assert module.startswith("unbraid.claims.all_groups."), name
            assert Path(str(__import__(module, fromlist=[function]).__file__)).exists()
