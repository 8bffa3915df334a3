"""What was measured elsewhere is taken over by the same recipe, all its options resolved, and by no other."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from toy_groups import PAIRS, done, run, study

from unbraid import nets
from unbraid.claims import groups
from unbraid.claims.group import GROUPS
from unbraid.claims.recipes import _net, recipe_hash
from unbraid.claims.reuse import recipes_of, take_over
from unbraid.evaluation import get
from unbraid.study import begin_study

STUDIES = Path(__file__).parents[2] / "docs" / "studies"


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
    run(same, tmp_path / "b", first)
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


def wide(width):
    """A group whose network has this default width, and leaves it to its name."""

    def toy_width(shape, latents, *, heads=2, width=width):
        """A network of this width unless told otherwise."""
        return nets.get("mlp")(shape, latents, heads=heads, width=width)

    nets.register("toy-width")(toy_width)
    _net.cache_clear()
    return study("wide", net="toy-width")


def test_a_changed_default_of_a_network_is_another_recipe():
    keys = [wide(width).key("smoke") for width in (4, 8, 4)]
    assert keys[0] == keys[2] != keys[1]


def test_a_run_trained_with_another_default_of_its_network_is_not_taken_over(tmp_path):
    run(wide(4), tmp_path / "old")
    other, same = wide(64).study("smoke"), wide(4).study("smoke")
    wide(64)
    assert take_over(begin_study(tmp_path / "new", other), [0], [tmp_path / "old"]) == 0
    wide(4)
    assert take_over(begin_study(tmp_path / "new", same), [0], [tmp_path / "old"]) == 1


def test_two_runs_of_one_recipe_are_both_taken_over(tmp_path):
    # An objective on single images does not care how pairs are made of its data.
    group = study("pairs", data=PAIRS)
    run(group, tmp_path / "old")
    assert take_over(begin_study(tmp_path / "new", group.study("smoke")), range(2), [tmp_path / "old"]) == 2


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


def test_nothing_is_refused_where_one_of_several_places_fits(first, tmp_path):
    group = study("first")
    begin_study(tmp_path / "a", study("other", told="learning_rate = 2e-4").study("smoke"))
    assert "learning_rate 0.0001 here, 0.0002 there" in group.refusal("smoke", [tmp_path])
    assert group.refusal("smoke", [tmp_path, first]) == ""


def test_a_default_inside_a_name_that_changed_is_refused_in_words(tmp_path):
    run(wide(4), tmp_path / "old")
    assert wide(64).refusal("smoke", [tmp_path / "old"]).endswith("its recipes.json has other recipes")


def test_runs_that_are_asked_for_are_taken_over_and_no_others(tmp_path):
    group = study("several", seeds=(100, 101, 102))
    run(group, tmp_path / "first")
    cells = group.cells("smoke")[:1]
    assert group.take(tmp_path / "out", "smoke", cells, [tmp_path / "first"]) == 1
    assert done(group, tmp_path / "out") == ["done", "missing", "missing"]


@pytest.mark.parametrize(("name", "folder"), [("study-grid", "small"), ("mnist-noise", "noise"), ("slow-grid", "slow")])
def test_studies_of_the_documentation_judge_nothing_and_it_is_said_why(name, folder, tmp_path):
    # Their seeds are those that rules were made knowing.
    group = groups()[name]
    assert group.take(tmp_path, "small", group.cells("small"), [STUDIES / folder]) == 0
    assert "which rules were made knowing" in group.refusal("small", [STUDIES / folder])


def test_a_recipe_is_the_same_in_whatever_order_options_stand():
    assert recipe_hash({"a": 1, "b": {"c": 2, "d": 3}}) == recipe_hash({"b": {"d": 3, "c": 2}, "a": 1})


def test_a_group_whose_code_changed_has_another_key():
    group = study("first")
    assert replace(group, version=2).key("smoke") != group.key("smoke")
    GROUPS.pop("first")
