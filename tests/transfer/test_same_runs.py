"""Numbers are of the recipe and the data that they are stored under, or they are not taken."""

import json
from dataclasses import replace

import pytest

from unbraid.engines import InlineEngine
from unbraid.errors import UsageError
from unbraid.transfer import Budget, Plan, RunKey, preset, run_matrix, with_twins
from unbraid.transfer.table import bound_asked

KEY = RunKey("mini-sprites", "random", "vanilla", 0)


def plan(scenarios=("iid",)):
    told = {"all": {"images": 30}}
    return Plan("test", ("mini-sprites",), with_twins(("slow-vae",)), scenarios, (0,), Budget(steps=2), told)


@pytest.fixture
def folder(small, tmp_path, monkeypatch):  # noqa: ARG001
    for name, value in {"CODES": 100, "STEPS": 2}.items():
        monkeypatch.setattr(f"unbraid.transfer.readings.{name}", value)
    return run_matrix(plan(), tmp_path, engine=InlineEngine(), progress="none")


def changed(folder, key, change):
    path = folder.run(key) / "run.json"
    record = json.loads(path.read_text())
    change(record)
    path.write_text(json.dumps(record))


def test_what_was_trained_by_the_recipe_of_today_counts(folder):
    assert folder.trained(KEY)
    assert folder.trained(replace(KEY, recipe="slow-vae"))  # its batches are pairs, half as many
    assert not folder.trained(replace(KEY, seed=1))
    folder.check_run(KEY, replace(KEY, seed=1))
    changed(folder, KEY, lambda record: record["objective"]["options"].pop("weight_decay"))  # a default of later
    assert folder.trained(KEY)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda record: record["objective"]["options"].update(learning_rate=0.5), "learning_rate = 0.5"),
        (lambda record: record["objective"].update(name="classifier"), "objective classifier, not supervised"),
        (lambda record: record.update(step=3), "step = 3, not 2"),
        (lambda record: record.update(batch_size=32), "batch_size = 32, not 64"),
        (lambda record: record["data"].update(fingerprint="f"), "data whose fingerprint is f"),
        (lambda record: record["data"].update(positions="p"), "data whose positions is p"),
        (lambda record: record.update(start={"path": "x", "parts": []}), "a start from a run on other data"),
    ],
)
def test_a_run_of_another_recipe_is_refused_before_any_work_and_stays(folder, change, told):
    changed(folder, KEY, change)
    assert not folder.trained(KEY)
    before = (folder.run(KEY) / "run.json").read_text()
    with pytest.raises(UsageError, match=f"{told}.*[Mm]ove this folder away"):
        run_matrix(plan(("iid", "noise")), folder.path, engine=InlineEngine(), progress="none")
    assert (folder.run(KEY) / "run.json").read_text() == before
    assert len(folder.missing(plan(("iid", "noise")))) == 2


def test_what_glyphs_are_made_from_is_a_part_of_the_question_where_it_is_not_mnist(monkeypatch, tmp_path):
    made = preset("smoke", scenarios=("iid", "linf"))
    cells = made.cells()

    def asked(source):
        monkeypatch.setattr("unbraid.transfer.domains._source", lambda *_: source)
        return {*(made.asked(cell) for cell in cells), bound_asked(made, "affine-digits")}

    usual, others = asked("mnist"), asked("digits8")
    assert usual.isdisjoint(others)
    monkeypatch.undo()
    monkeypatch.setenv("UNBRAID_DATA", str(tmp_path))  # where no file of MNIST is
    assert {made.asked(cell) for cell in cells} <= others


def test_hashes_of_numbers_measured_before_stay():
    # Of the cells in docs/studies/transfer, which were measured from MNIST.
    from unbraid.transfer import Cell

    made = preset("small")
    assert made.domains[0] == "affine-digits"
    if made.recipe("affine-digits", "vanilla").domain.source:
        pytest.skip("MNIST's files are not at hand")
    assert made.asked(Cell("affine-digits", "vanilla", "iid", 0)) == "aaddd64d37aa9c25"
