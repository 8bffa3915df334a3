"""What was measured elsewhere is taken over by the same recipe, all its options resolved, and by no other."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from unbraid import nets
from unbraid.claims import groups
from unbraid.claims.group import GROUPS, Recipe
from unbraid.claims.recipes import _net, recipe_hash
from unbraid.claims.reuse import RECIPES, recipes_of, take_over
from unbraid.claims.studies import StudyGroup
from unbraid.engines import InlineEngine
from unbraid.evaluation import get
from unbraid.study import begin_study

STUDIES = Path(__file__).parents[2] / "docs" / "studies"
STUDY = """\
data = ["blobs16"]
steps = {steps}
net = "{net}"
[objectives.beta-vae]
beta = [1]
{told}
[measures.losses]
batches = {batches}
"""


def study(name, *, steps=3, batches=1, net="mlp:width=8", told="", seeds=(100,)):
    text = STUDY.format(steps=steps, batches=batches, net=net, told=told)
    recipe = Recipe("blobs", {"study": text}, seeds, 1)
    made = StudyGroup(name, "blobs", {"smoke": recipe, "small": recipe, "paper": recipe})
    GROUPS.pop(name)
    return made


def run(group, out, reuse=()):
    group.run(out, "smoke", group.cells("smoke"), engine=InlineEngine, progress="none", reuse=reuse)
    group.keep(out, "smoke")
    return group.place(out, "smoke")


def done(group, out):
    return [group.state(out, "smoke", cell)[0] for cell in group.cells("smoke")]


@pytest.fixture(scope="module")
def first(tmp_path_factory):
    """A group that was run, in a folder of its own."""
    out = tmp_path_factory.mktemp("first")
    run(study("first"), out)
    return out


def seconds(out):
    return json.loads(next(out.glob("**/run.json")).read_text(encoding="utf-8"))["seconds"]


def test_runs_of_other_studies_are_taken_over_by_the_same_recipe_only(first, tmp_path):
    same, other = study("same", batches=2), study("other", steps=4)
    # The same training, asked otherwise: taken over, and measured anew.
    run(same, tmp_path / "b", [first])
    assert seconds(tmp_path / "b") == seconds(first)
    assert done(same, tmp_path / "b") == ["done"]
    assert len(same.collect(tmp_path / "b", "smoke")) == 1
    assert take_over(begin_study(tmp_path / "c", other.study("smoke")), [0], [first]) == 0


def test_an_option_told_at_its_default_is_the_same_recipe(first, tmp_path):
    group, told = study("first"), study("first", told="learning_rate = 1e-4\nlatents = 10")
    options = recipes_of(group.study("smoke"))[0]
    assert (options["learning_rate"], options["latents"]) == (1e-4, 10)
    assert told.key("smoke") == group.key("smoke")
    assert study("first", told="learning_rate = 2e-4").key("smoke") != group.key("smoke")
    # Its folder is gone on with, although its file says the same in other words.
    shutil.copytree(first / "groups", tmp_path / "groups")
    assert done(told, tmp_path) == ["done"]
    run(told, tmp_path)
    assert seconds(tmp_path) == seconds(first)


def test_a_run_trained_with_another_default_is_not_taken_over(first, tmp_path):
    shutil.copytree(first, tmp_path / "old")
    path = next((tmp_path / "old").glob("**/run.json"))
    info = json.loads(path.read_text(encoding="utf-8"))
    info["objective"]["options"]["learning_rate"] = 3e-4  # what was the default when it was trained
    path.write_text(json.dumps(info), encoding="utf-8")
    empty = begin_study(tmp_path / "new", study("first").study("smoke"))
    assert take_over(empty, [0], [tmp_path / "old"]) == 0
    info["objective"]["options"]["learning_rate"] = 1e-4
    info["data"]["fingerprint"] = "other images"
    path.write_text(json.dumps(info), encoding="utf-8")
    assert take_over(empty, [0], [tmp_path / "old"]) == 0


def test_a_changed_default_of_a_network_is_another_recipe():
    def named(width):
        def toy_width(shape, latents, *, heads=2, width=width): ...

        nets.register("toy-width")(toy_width)
        _net.cache_clear()
        return study("wide", net="toy-width").key("smoke")

    keys = [named(4), named(8), named(4)]
    assert keys[0] == keys[2] != keys[1]


def test_another_version_of_a_measure_is_another_recipe(monkeypatch):
    before = {name: group.key("small") for name, group in groups().items()}
    assert study("first").key("smoke") == study("first").key("smoke")
    old = study("first").key("smoke")
    monkeypatch.setattr(get("losses"), "version", 7)
    assert study("first").key("smoke") != old
    for group in groups().values():
        group.__dict__.pop("_keys", None)
    changed = {name for name, group in groups().items() if group.key("small") != before[name]}
    for group in groups().values():
        group.__dict__.pop("_keys", None)
    # Groups that ask for losses, and no others.
    assert "study-grid" in changed
    assert "mnist-noise" not in changed


def kept_alone(first, place):
    """The table with its recipes, without runs: what a repository keeps."""
    found = next(path.parent for path in first.glob(f"**/{RECIPES}"))
    place.mkdir()
    for name in ("table.parquet", RECIPES, "study.json"):
        shutil.copy(found / name, place / name)
    return place


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


def test_a_refusal_names_what_differs_in_the_nearest_study(first, tmp_path):
    far, near = study("far", steps=9, net="mlp:width=16"), study("near", seeds=(5,))
    for group in (far, near):
        begin_study(tmp_path / group.name, group.study("smoke"))
    told = study("first", steps=4).refusal("smoke", [tmp_path])
    assert str(tmp_path / "near") in told
    assert "steps 4 here, 3 there" in told
    assert "seeds 100 here, 5 there, which rules were made knowing (verdicts use 100 and later)" in told
    assert "net.width 8 here, 16 there" in study("first", steps=9).refusal("smoke", [tmp_path / "far"])
    assert study("first").refusal("smoke", [first]) == ""


@pytest.mark.parametrize(("name", "folder"), [("study-grid", "small"), ("mnist-noise", "noise"), ("slow-grid", "slow")])
def test_studies_of_the_documentation_judge_nothing_and_it_is_said_why(name, folder, tmp_path):
    # Their seeds are those that rules were made knowing.
    group = groups()[name]
    assert group.take(tmp_path, "small", [STUDIES / folder]) == 0
    assert "which rules were made knowing" in group.refusal("small", [STUDIES / folder])


def test_a_recipe_is_the_same_in_whatever_order_options_stand():
    assert recipe_hash({"a": 1, "b": {"c": 2, "d": 3}}) == recipe_hash({"b": {"d": 3, "c": 2}, "a": 1})


def test_a_group_whose_code_changed_has_another_key():
    group = study("first")
    assert replace(group, version=2).key("smoke") != group.key("smoke")
    GROUPS.pop("first")
