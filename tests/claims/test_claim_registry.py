"""All claims and run groups: ids, sources, groups, recipes, costs."""

import re
from collections import Counter
from pathlib import Path

import pytest

from unbraid.claims import AREAS, SCALES, SOURCES, WORKS, chosen, claims, groups, lacking_data, plan
from unbraid.claims.conditions import J, X
from unbraid.errors import UsageError

IDS = Path(__file__).with_name("ids.txt").read_text(encoding="utf-8").split()
"""Ids are never used again nor renamed: this list only grows."""


def test_ids_are_unique_and_stable():
    assert list(claims()) == IDS
    assert all(re.fullmatch(r"[a-z]+/[a-z0-9-]+", name) for name in IDS)


def test_every_area_has_its_claims():
    counted = Counter(one.area for one in claims().values())
    assert [counted[area] for area in AREAS] == [13, 8, 9, 9, 9, 8, 8, 7, 6]


def test_71_of_77_claims_have_a_statistical_rule():
    # The others are exact: impossibility, the VAE-PCA theorems, the linear VAE, the read-out of true factors, the rule
    # on spheres, theorem 8.
    exact = [one.id for one in claims().values() if not one.statistical]
    assert len(claims()) - len(exact) == 71
    assert all(isinstance(rule, X) for name in exact for rule in claims()[name].rules.values())


@pytest.mark.parametrize("name", IDS)
def test_claims_are_whole(name):
    one = claims()[name]
    assert one.statement
    assert one.known
    assert one.rules
    assert set(one.groups) <= set(groups())
    assert set(one.cells) <= set(one.groups)
    assert set(one.of_contrast) <= set(one.rules)
    assert one.source.work in WORKS
    assert set(one.source.places) <= set(WORKS[one.source.work].places)
    assert all(rule.constants() for rule in one.rules.values())


def test_every_place_of_a_source_that_is_listed_is_claimed():
    used = {(one.source.work, place) for one in claims().values() for place in one.source.places}
    listed = {(work.name, place) for work in WORKS.values() for place in work.places}
    assert listed == used
    assert {work.source for work in WORKS.values()} == set(SOURCES)


@pytest.mark.parametrize("name", sorted(groups()))
def test_groups_have_recipes_at_every_scale_and_cells_that_claims_name(name, tmp_path):
    group = groups()[name]
    assert set(group.recipes) == set(SCALES)
    for scale in ("smoke", "small"):
        recipe, cells = group.recipes[scale], group.cells(scale)
        assert cells
        assert recipe.minutes > 0
        assert len({cell.name for cell in cells}) == len(cells)
        # No rule was made knowing a result of these seeds.
        assert all(seed >= 100 for seed in recipe.seeds)
    for one in claims().values():
        if name in one.groups:
            for scale in ("smoke", "small"):
                (planned,) = [each for each in plan([one], scale, tmp_path) if each.group.name == name]
                assert planned.cells


def test_groups_are_used_and_cost_at_most_24_core_hours_at_small_scale():
    assert {name for one in claims().values() for name in one.groups} == set(groups())
    assert len(groups()) == 28
    assert sum(group.recipes["small"].minutes for group in groups().values()) <= 24 * 60


def test_another_recipe_has_another_key_and_scales_differ():
    grid = groups()["study-grid"]
    assert len({grid.key(scale) for scale in SCALES}) == 3
    # What a group needs is a part of it.
    assert groups()["abs-attacks"].needs == ("abs-models", "mnist-pgd")


def test_claims_are_chosen_by_id_area_and_pattern():
    known = claims()
    assert [one.id for one in chosen(["invariance/theorem-8"], known)] == ["invariance/theorem-8"]
    assert len(chosen(["slow"], known)) == len(chosen(["slow/*"], known)) == 9
    assert len(chosen(["all"], known)) == 77
    with pytest.raises(UsageError, match=r"did you mean 'slow/theorem-1'.*See unbraid claims list") as wrong:
        chosen(["slow/theorem-9"], known)
    assert "noise/" not in str(wrong.value)  # claims of its area alone, not all 77
    with pytest.raises(UsageError, match=r"Known: .*study, transfer"):
        chosen(["nothing/here"], known)


def test_a_claim_alone_asks_for_its_cells_only(tmp_path):
    (planned,) = plan([claims()["slow/lap-beats-uni"]], "small", tmp_path)
    # One objective on two kinds of pairs, five seeds, of 90 runs.
    assert len(planned.cells) == 10
    assert planned.minutes == pytest.approx(groups()["slow-grid"].recipes["small"].minutes * 10 / 90)


def test_groups_come_after_those_they_need(tmp_path):
    names = [one.group.name for one in plan(list(claims().values()), "smoke", tmp_path)]
    for name, group in groups().items():
        assert all(names.index(other) < names.index(name) for other in group.needs)


def test_without_its_files_a_data_set_is_named(monkeypatch, tmp_path):
    monkeypatch.setenv("UNBRAID_DATA", str(tmp_path))
    assert "unbraid data get mnist" in lacking_data(groups()["mnist-noise"], "small")
    assert lacking_data(groups()["exact"], "small") == ""


def test_a_changed_constant_changes_the_hash_of_a_claim():
    from dataclasses import replace

    one = claims()["slow/lap-beats-uni"]
    other = replace(one, rules={name: type(rule)(rule.delta + 1) for name, rule in one.rules.items()})
    assert one.rule_hash({"slow-grid": "a"}) != other.rule_hash({"slow-grid": "a"})
    assert one.rule_hash({"slow-grid": "a"}) != one.rule_hash({"slow-grid": "b"})


def test_conditions_have_no_p_value_and_others_do():
    assert all(rule.letter in "PVENFCMSRJX" for one in claims().values() for rule in one.rules.values())
    assert any(isinstance(rule, J) for rule in claims()["study/scores-agree"].rules.values())


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("name", ["mnist-noise", "mnist-ant", "mnist-pgd"])
def test_ways_of_training_that_are_compared_differ_in_what_is_done_to_batches_alone(name, scale):
    from unbraid.claims.recipes import difference
    from unbraid.claims.reuse import recipes_of

    study = groups()[name].study(scale)
    tuned = [one for one in recipes_of(study).values() if one["seed"] == study.seeds[0] and one["after"]]
    assert len(tuned) >= 2
    for other in tuned[1:]:
        changed = difference(tuned[0], other)
        assert changed
        assert all(key.startswith("augment.") for key in changed), changed


@pytest.mark.parametrize("scale", SCALES)
def test_natural_and_permuted_pairs_are_learned_by_the_same_recipe(scale):
    from unbraid.claims.recipes import difference
    from unbraid.claims.reuse import recipes_of

    def trained(name, data):
        study = groups()[name].study(scale)
        return [
            one for one in recipes_of(study).values() if one["objective"] == "slow-vae" and data in str(one["data"])
        ]

    natural, broken = (trained(name, "natural-sprites-discrete")[0] for name in ("slow-grid", "slow-natural"))
    assert set(difference(natural, broken)) == {"data.permuted"}


def test_every_group_can_be_planned_at_every_scale():
    for group in groups().values():
        for scale in SCALES:
            assert scale in group.missing or group.minutes(scale, group.cells(scale)) > 0
    assert not groups()["slow-grid"].missing


def test_the_small_grid_is_the_small_study_in_fewer_steps():
    from unbraid.claims.all_groups.study import SMALL
    from unbraid.study import parse_study, read_study

    mine, whole = parse_study(f"seeds = 5\n{SMALL}", "claims"), read_study("small")
    assert (mine.data, mine.seeds, mine.nets) == (whole.data, whole.seeds, whole.nets)
    assert (mine.steps, whole.steps) == ((6000,), (15_000,))
    for one, other in zip(mine.settings, whole.settings, strict=True):
        changed = {key for key in other.options if one.options[key] != other.options[key]}
        assert changed == ({"anneal_steps"} if one.objective == "annealed-vae" else set())
        assert one.options.get("anneal_steps", 0) * 5 == other.options.get("anneal_steps", 0) * 2
