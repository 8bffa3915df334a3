"""Numbers of a matrix go from folder to folder in one file, and are measured anew only where they must be."""

import json

import polars as pl
import pytest

from unbraid.cli import main
from unbraid.engines import InlineEngine
from unbraid.errors import UsageError
from unbraid.report.transfer import write_matrices
from unbraid.transfer import (
    Budget,
    Plan,
    begin_matrix,
    bounds_of,
    bring_cells,
    carry_cells,
    matrix,
    run_matrix,
    with_twins,
)

TOLD = {"all": {"images": 30}}


def plan(*seeds, steps=2, settings=None):
    biases = with_twins(("gaussian-noise",))
    return Plan("test", ("mini-sprites",), biases, ("iid",), seeds, Budget(steps=steps), settings or TOLD)


def run(folder, *seeds):
    return run_matrix(plan(*seeds), folder, engine=InlineEngine(), progress="none")


@pytest.mark.usefixtures("small")
def test_seeds_measured_in_two_folders_join_in_a_third(tmp_path):
    files = []
    for seed in (0, 1):
        written = write_matrices(run(tmp_path / f"machine{seed}", seed), tmp_path / f"report{seed}")
        files += [path for path in written if path.name == "cells.parquet"]
    folder = bring_cells(tmp_path / "joined", files)
    assert folder.plan.seeds == (0, 1)
    assert folder.missing() == []
    assert not (folder.path / "runs").exists()  # nothing was trained for it
    apart = [matrix(tmp_path / f"machine{seed}").values["gaussian-noise"]["iid"] for seed in (0, 1)]
    assert matrix(folder).values["gaussian-noise"]["iid"] == apart[0] | apart[1]
    for cell in run(folder.path, 2).plan.cells():  # and it goes on from there
        assert folder.cell(cell) is not None


@pytest.mark.usefixtures("small")
def test_what_was_asked_otherwise_is_not_taken_for_measured(tmp_path):
    carried = tmp_path / "cells.parquet"
    table = carry_cells(run(tmp_path / "old", 0))
    name = "cells/mini-sprites/vanilla/iid/0.json"
    rows = dict(table.iter_rows())
    rows[name] = json.dumps(json.loads(rows[name]) | {"asked": "another question"})
    pl.DataFrame({"file": list(rows), "record": list(rows.values())}).write_parquet(carried)
    folder = bring_cells(tmp_path / "new", [carried])
    assert [(cell.bias, cell.seed) for cell in folder.missing()] == [("vanilla", 0)]
    begin_matrix(tmp_path / "other", plan(0, steps=3))
    with pytest.raises(UsageError, match="begun with the budget"):
        bring_cells(tmp_path / "other", [carried])


@pytest.mark.usefixtures("small")
def test_numbers_that_are_there_stay_and_bounds_need_no_model(tmp_path):
    here = run(tmp_path / "here", 0)
    carried = tmp_path / "cells.parquet"
    rows = dict(carry_cells(here).iter_rows())
    (cell, *_) = here.plan.cells()
    before = here.cell(cell)
    rows[f"cells/{cell.path}"] = json.dumps({**before, "value": 0.123})
    rows["bounds/mini-sprites.json"] = json.dumps({"0": {"linf": 0.07}})
    pl.DataFrame({"file": list(rows), "record": list(rows.values())}).write_parquet(carried)
    assert bring_cells(here.path, [carried]).cell(cell) == before
    elsewhere = bring_cells(tmp_path / "elsewhere", [carried])
    assert elsewhere.cell(cell)["value"] == 0.123
    attacked = begin_matrix(elsewhere.path, Plan("test", ("mini-sprites",), ("vanilla",), ("linf",), (0,), **_told()))
    assert bounds_of(attacked, "mini-sprites") == {"linf": 0.07}


def _told():
    return {"budget": Budget(steps=2), "settings": TOLD}


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda rows: {**rows, "../../escaped.json": "{}"}, "no record of a matrix"),
        (lambda rows: {**rows, "cells/../../../0.json": "{}"}, "no record of a matrix"),
        (lambda rows: {**rows, "runs/model.safetensors": "{}"}, "no record of a matrix"),
        (lambda rows: {**rows, "cells/a/b/c/0.json": "[1]"}, "no record of a matrix"),
        (lambda rows: {name: one for name, one in rows.items() if name != "matrix.json"}, "which matrix"),
        (lambda rows: {**rows, "cells/a/b/c/0.json": "{"}, "cells/a/b/c/0.json"),
    ],
)
def test_files_that_are_no_cells_are_refused_before_anything_is_written(tmp_path, change, message):
    rows = change(dict(carry_cells(begin_matrix(tmp_path / "made", plan(0))).iter_rows()))
    carried = tmp_path / "cells.parquet"
    pl.DataFrame({"file": list(rows), "record": list(rows.values())}).write_parquet(carried)
    with pytest.raises(UsageError, match=message):
        bring_cells(tmp_path / "new", [carried])
    assert not (tmp_path / "new").exists()
    assert not (tmp_path.parent / "escaped.json").exists()


def test_the_command_refuses_another_table(tmp_path, capsys):
    pl.DataFrame({"value": [1.0]}).write_parquet(tmp_path / "table.parquet")
    command = ["transfer", "run", "smoke", "--dry-run", "--known", str(tmp_path / "table.parquet")]
    assert main([*command, "--out", str(tmp_path / "new")]) == 2
    assert "cells.parquet" in capsys.readouterr().err
