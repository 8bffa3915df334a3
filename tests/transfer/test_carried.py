"""Numbers of a matrix go from folder to folder in one file, and are measured anew only where they must be."""

import json
from dataclasses import replace

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
from unbraid.transfer.table import bound_asked

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


def packed(path, rows):
    pl.DataFrame({"file": list(rows), "record": list(rows.values())}).write_parquet(path)
    return path


VANILLA = "cells/mini-sprites/vanilla/iid/0.json"
BOUNDS = "bounds/mini-sprites.json"


@pytest.mark.usefixtures("small")
def test_what_was_asked_otherwise_is_not_taken_for_measured_and_does_not_stand_in_the_way(tmp_path):
    rows = dict(carry_cells(run(tmp_path / "old", 0)).iter_rows())
    good = packed(tmp_path / "good.parquet", rows)
    stale = {**rows, VANILLA: json.dumps(json.loads(rows[VANILLA]) | {"asked": "another question"})}
    stale = packed(tmp_path / "stale.parquet", stale)
    folder = bring_cells(tmp_path / "new", [stale])
    assert [(cell.bias, cell.seed) for cell in folder.missing()] == [("vanilla", 0)]
    assert bring_cells(tmp_path / "both", [stale, good]).missing() == []
    (folder.path / VANILLA).parent.mkdir(parents=True, exist_ok=True)
    (folder.path / VANILLA).write_text(rows[VANILLA].replace('"asked": "', '"asked": "x'))
    assert bring_cells(folder.path, [good]).missing() == []


@pytest.mark.usefixtures("small")
def test_another_budget_is_refused_before_anything_is_written(tmp_path):
    good = packed(tmp_path / "good.parquet", dict(carry_cells(run(tmp_path / "old", 0)).iter_rows()))
    other = carry_cells(begin_matrix(tmp_path / "other", plan(1, steps=3)))
    other = packed(tmp_path / "other.parquet", dict(other.iter_rows()))
    for files, told in (([good, other], None), ([good], plan(1, steps=3))):
        with pytest.raises(UsageError, match=r"good.parquet was measured with the budget .* Leave the file out"):
            bring_cells(tmp_path / "new", files, told)
        assert not (tmp_path / "new").exists()
    with pytest.raises(UsageError, match=r"other was begun with the budget .*good.parquet was measured with"):
        bring_cells(tmp_path / "other", [good])
    assert not (tmp_path / "other" / "cells").exists()


@pytest.mark.usefixtures("small")
def test_of_another_budget_comes_what_it_does_not_touch(tmp_path):
    # Longer training of encoders is no other question to classifiers; more steps of all is one.
    good = packed(tmp_path / "good.parquet", dict(carry_cells(run(tmp_path / "old", 0)).iter_rows()))
    longer = replace(plan(0, 1), budget=Budget(steps=2, encoding=4.0))
    folder = bring_cells(tmp_path / "new", [good], longer)
    assert folder.plan.budget.encoding == 4.0
    assert {cell.seed for cell in folder.missing()} == {1}
    with pytest.raises(UsageError, match=r"good.parquet was measured with the budget"):
        bring_cells(tmp_path / "none", [good], replace(longer, budget=Budget(steps=3, encoding=4.0)))


@pytest.mark.usefixtures("small")
def test_numbers_that_are_there_stay(tmp_path):
    here = run(tmp_path / "here", 0)
    rows = dict(carry_cells(here).iter_rows())
    (cell, *_) = here.plan.cells()
    before = here.cell(cell)
    carried = packed(tmp_path / "cells.parquet", {**rows, f"cells/{cell.path}": json.dumps({**before, "value": 0.123})})
    assert bring_cells(here.path, [carried]).cell(cell) == before
    assert bring_cells(tmp_path / "elsewhere", [carried]).cell(cell)["value"] == 0.123


@pytest.mark.usefixtures("small")
def test_bounds_of_all_seeds_count_in_whatever_order_they_come_and_need_no_model(tmp_path):
    def attacked(seed, bound, asked=None):
        made = Plan("test", ("mini-sprites",), ("vanilla",), ("linf",), (seed,), Budget(steps=2), TOLD)
        folder = begin_matrix(tmp_path / f"{seed}{bound}", made)
        record = {str(seed): {"asked": asked or bound_asked(folder.plan, "mini-sprites"), "linf": bound}}
        rows = {**dict(carry_cells(folder).iter_rows()), BOUNDS: json.dumps(record)}
        return packed(tmp_path / f"{seed}{bound}.parquet", rows)

    one, two = attacked(0, 0.05), attacked(1, 0.15)
    for name, files in (("a", [one, two]), ("b", [two, one])):
        assert bounds_of(bring_cells(tmp_path / name, files), "mini-sprites") == {"linf": pytest.approx(0.1)}
    stale = attacked(2, 0.3, "another question")
    assert bounds_of(bring_cells(tmp_path / "a", [stale]), "mini-sprites") == {"linf": pytest.approx(0.1)}


def changed(name, **more):
    return lambda rows: {**rows, name: json.dumps({**json.loads(rows[name]), **more})}


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda rows: {**rows, "../../escaped.json": "{}"}, "no record of its matrix"),
        (lambda rows: {**rows, "cells/../../../0.json": "{}"}, "no record of its matrix"),
        (lambda rows: {**rows, "runs/model.safetensors": "{}"}, "no record of its matrix"),
        (lambda rows: {**rows, "bounds/a\0b.json": "{}"}, "no record of its matrix"),
        (lambda rows: {**rows, "cells/a/b/c/0.json": "[1]"}, "expected a JSON object"),
        (lambda rows: {**rows, "cells/a/b/c/0.json": "{"}, "not readable as JSON"),
        (lambda rows: {**rows, VANILLA: "{}"}, "no entry 'asked'"),
        (lambda rows: {**rows, VANILLA: rows[VANILLA].replace('"seconds": ', '"seconds": NaN, "s": ')}, "finite"),
        (changed(VANILLA, value="high"), "value is str"),
        (changed("matrix.json", seeds=[10**30]), "64 bits"),
        (changed("matrix.json", only={"vanilla": 3}), "cannot be read"),
        (changed("matrix.json", budget={"speed": 3}), "cannot be read"),
        (lambda rows: {**rows, BOUNDS: '{"0": "x"}'}, "expected dict"),
        (lambda rows: {**rows, BOUNDS: '{"0": {"asked": "a", "linf": -3}}'}, "expected a size above 0"),
        (lambda rows: {name: one for name, one in rows.items() if name != "matrix.json"}, "which matrix"),
    ],
)
def test_files_that_are_no_cells_are_refused_before_anything_is_written(tmp_path, change, message):
    rows = {**dict(carry_cells(begin_matrix(tmp_path / "made", plan(0))).iter_rows()), VANILLA: json.dumps(RECORD)}
    with pytest.raises(UsageError, match=message):
        bring_cells(tmp_path / "new", [packed(tmp_path / "cells.parquet", change(rows))])
    assert not (tmp_path / "new").exists()
    assert not (tmp_path.parent / "escaped.json").exists()


RECORD = {"asked": "a", "value": 0.5, "details": {}, "seconds": 1.0}


@pytest.mark.usefixtures("small")
def test_the_command_takes_over_what_is_known(tmp_path, monkeypatch, capsys):
    from unbraid.transfer import presets

    monkeypatch.setitem(presets.PRESETS, "smoke", lambda: plan(0))
    write_matrices(run(tmp_path / "there", 0), tmp_path / "report")
    command = ["transfer", "run", "smoke", "--known", str(tmp_path / "report" / "cells.parquet")]
    assert main([*command, "--out", str(tmp_path / "here"), "--workers", "1", "--progress", "none"]) == 0
    said = capsys.readouterr()
    assert "0 cells of 0 models to do" in said.err
    assert "test: 2 of 2 cells" in said.out
    assert not (tmp_path / "here" / "runs").exists()


@pytest.mark.usefixtures("small")
def test_a_dry_run_says_what_is_missing_and_writes_nothing(tmp_path, monkeypatch, capsys):
    from unbraid.transfer import presets

    monkeypatch.setitem(presets.PRESETS, "smoke", lambda: plan(0, 1))
    write_matrices(run(tmp_path / "there", 0), tmp_path / "report")
    command = ["transfer", "run", "smoke", "--dry-run", "--out", str(tmp_path / "here")]
    assert main(command) == 0
    assert "4 cells of 4 models to do" in capsys.readouterr().err
    assert main([*command, "--known", str(tmp_path / "report" / "cells.parquet")]) == 0
    assert "2 cells of 2 models to do" in capsys.readouterr().err
    assert not (tmp_path / "here").exists()
    before = (tmp_path / "there" / "matrix.json").read_text()
    assert main([*command[:-1], str(tmp_path / "there")]) == 0
    assert "2 cells of 2 models to do" in capsys.readouterr().err
    assert (tmp_path / "there" / "matrix.json").read_text() == before


def test_the_command_refuses_another_table(tmp_path, capsys):
    pl.DataFrame({"value": [1.0]}).write_parquet(tmp_path / "table.parquet")
    command = ["transfer", "run", "smoke", "--dry-run", "--known", str(tmp_path / "table.parquet")]
    assert main([*command, "--out", str(tmp_path / "new")]) == 2
    assert "cells.parquet" in capsys.readouterr().err
    assert not (tmp_path / "new").exists()
