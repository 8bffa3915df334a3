"""A matrix is filled block by block, and its costs are said before."""

from dataclasses import replace

import pytest

from unbraid.engines import InlineEngine
from unbraid.errors import UsageError
from unbraid.transfer import (
    Budget,
    Plan,
    begin_matrix,
    expected_hours,
    make_scenario,
    matrix,
    open_matrix,
    own_scenarios,
    preset,
    run_matrix,
    with_twins,
)
from unbraid.transfer.scenario import READOUT

TOLD = {"all": {"images": 50}}


def plan(*, domains=("mini-sprites",), biases=("gaussian-noise",), scenarios=("iid",), seeds=(0,), **more):
    return Plan("test", domains, with_twins(biases), scenarios, seeds, Budget(steps=2), TOLD, **more)


@pytest.mark.usefixtures("small")
def test_seeds_are_added_one_after_the_other_and_the_report_joins_them(tmp_path):
    for seed in (0, 1, 2):
        run_matrix(plan(seeds=(seed,)), tmp_path, engine=InlineEngine(), progress="none")
    assert open_matrix(tmp_path).plan.seeds == (0, 1, 2)
    assert matrix(tmp_path).effects["gaussian-noise"]["iid"].seeds == (0, 1, 2)


@pytest.mark.usefixtures("small")
def test_a_block_leaves_open_what_an_earlier_one_asked_for(tmp_path):
    # Two seeds were planned and none was run: the block of seed 1 trains two models, not four.
    begin_matrix(tmp_path, plan(seeds=(0, 1)))
    folder = run_matrix(plan(seeds=(1,)), tmp_path, engine=InlineEngine(), progress="none")
    assert {cell.seed for cell in folder.missing()} == {0}
    assert folder.missing(plan(seeds=(1,))) == []
    assert expected_hours(folder, plan(seeds=(1,))) == 0
    assert expected_hours(folder) > 0


@pytest.mark.usefixtures("small")
def test_a_block_of_scenarios_asks_no_others_of_the_models_that_it_touches(tmp_path):
    begin_matrix(tmp_path, plan(scenarios=("iid", "noise", "blur")))
    folder = run_matrix(plan(scenarios=("blur",)), tmp_path, engine=InlineEngine(), progress="none")
    assert {cell.scenario for cell in folder.missing()} == {"iid", "noise"}


@pytest.mark.usefixtures("small")
def test_a_scenario_that_is_new_brings_its_settings_and_one_that_is_there_keeps_its_own(tmp_path):
    begin_matrix(tmp_path, plan(scenarios=("iid",)))
    more = replace(plan(scenarios=("iid", "distal")), settings={**TOLD, "distal": {"images": 3}})
    folder = begin_matrix(tmp_path, more)
    assert folder.plan.settings == {**TOLD, "distal": {"images": 3}}
    assert set(folder.plan.scenarios) == {"iid", "distal"}
    with pytest.raises(UsageError, match="was begun with the settings"):
        begin_matrix(tmp_path, replace(more, settings={**TOLD, "distal": {"images": 4}}))


@pytest.mark.usefixtures("small")
def test_a_scenario_that_fails_is_told_and_the_others_are_asked(tmp_path, monkeypatch):
    def broken(*_):
        raise ZeroDivisionError("out of fog")

    monkeypatch.setattr("unbraid.transfer.all_scenarios.corrupted.Weather.numbers", broken, raising=False)
    made = plan(scenarios=("iid", "weather", "digital"))
    folder = run_matrix(made, tmp_path, engine=InlineEngine(), progress="none")
    assert {cell.scenario for cell in folder.missing()} == {"weather"}
    assert set(folder.failures(made)) == {cell.path for cell in folder.missing()}
    assert set(folder.failures(made).values()) == {"ZeroDivisionError: out of fog"}


@pytest.mark.usefixtures("small")
def test_a_scenario_that_failed_is_left_alone_until_it_is_asked_for_again_and_others_are_asked(tmp_path, monkeypatch):
    asked = []

    def broken(*_):
        asked.append(0)
        raise ZeroDivisionError("out of fog")

    with monkeypatch.context() as patch:
        patch.setattr("unbraid.transfer.all_scenarios.corrupted.Weather.numbers", broken, raising=False)
        run_matrix(plan(scenarios=("weather",)), tmp_path, engine=InlineEngine(), progress="none")
        once = len(asked)
        folder = run_matrix(plan(scenarios=("weather", "digital")), tmp_path, engine=InlineEngine(), progress="none")
    assert len(asked) == once == 2
    assert {cell.scenario for cell in folder.missing()} == {"weather"}
    again = run_matrix(
        plan(scenarios=("weather",)), tmp_path, engine=InlineEngine(), progress="none", retry_failed=True
    )
    assert again.missing() == []
    assert again.failures(plan(scenarios=("weather",))) == {}


@pytest.mark.usefixtures("small")
def test_biases_may_be_absent_from_a_domain_and_splits_from_a_bias():
    some = plan(
        biases=("gaussian-noise", "speckle"),
        scenarios=("iid", "composition"),
        absent={"mini-sprites": ("speckle",)},
        unsplit=("gaussian-noise",),
    )
    found = {(cell.bias, cell.scenario) for cell in some.cells()}
    assert found == {("vanilla", "iid"), ("vanilla", "composition"), ("gaussian-noise", "iid")}
    assert Plan.from_json(some.to_json(), "test") == some
    with pytest.raises(UsageError, match="is written"):
        replace(some, unsplit=("binarised+gaussian-noise",))


@pytest.mark.usefixtures("small")
def test_joined_plans_ask_all_that_one_of_them_asks(tmp_path):
    names = ("gaussian-noise", "speckle")
    begin_matrix(tmp_path, plan(biases=names, absent={"mini-sprites": names}, unsplit=names))
    joined = begin_matrix(tmp_path, plan(biases=("speckle",), scenarios=("iid", "composition"))).plan
    found = {(cell.bias, cell.scenario) for cell in joined.cells()}
    assert found == {(bias, one) for bias in ("vanilla", "speckle") for one in ("iid", "composition")}


def test_domains_may_be_filled_in_any_order(tmp_path):
    # Nothing of the shape of rooms comes with the library to begin from: more-data is refused there, and only there.
    begin_matrix(tmp_path, preset("small", domains=("rooms3d-32",)))
    digits = preset("small", domains=("affine-digits",), scenarios=("iid",))
    folder = begin_matrix(tmp_path, digits)
    assert folder.plan.refused("rooms3d-32", "more-data")
    assert {cell.bias for cell in folder.missing(digits)} == set(digits.biases)
    assert expected_hours(folder, digits) > 0


def test_the_small_matrix_holds_what_it_should_and_can_be_afforded():
    made = preset("small")
    for domain, least in (("affine-digits", 12), ("rooms3d-32", 8)):
        cells = [cell for cell in made.cells() if cell.domain == domain]
        biases = {cell.bias for cell in cells} - {"vanilla"}
        assert len(biases) >= least
        assert all(len({cell.scenario for cell in cells if cell.bias == bias}) >= 10 for bias in biases)
        assert {cell.seed for cell in cells} == {0, 1, 2}
        # What a verdict needs is asked of every single bias.
        for bias in biases:
            asked = {cell.scenario for cell in cells if cell.bias == bias}
            assert not own_scenarios(bias) or asked & set(own_scenarios(bias))
    together = {"gaussian-noise+binarised", "ant1x1+stylised", "abs+gaussian-noise", "slow-vae+gaussian-noise"}
    assert together | {"slow-vae+verified", "gaussian-noise+linf-training"} <= set(made.biases)
    keys = list(dict.fromkeys(made.run_key(cell) for cell in made.cells()))
    assert 2 < made.hours(keys, made.cells()) < 8


def test_each_run_of_an_encoder_is_read_off_once_however_many_ask_it(tmp_path):
    made = preset("small", domains=("affine-digits",), biases=("slow-vae+verified",), seeds=(0,), scenarios=("iid",))
    cells = [cell for cell in made.cells() if cell.bias != "vanilla"]
    keys = {made.run_key(cell) for cell in cells}
    assert (len(cells), len(keys)) == (2, 1)
    assert made.hours([], cells) == pytest.approx(made.hours([], cells, keys) + READOUT / 3600)
    folder = begin_matrix(tmp_path, made)
    before = expected_hours(folder)
    (key,) = keys
    place = folder.run(key) / "readouts" / "class-0"
    place.mkdir(parents=True)
    (place / "run.json").write_text("{}")
    assert expected_hours(folder) == pytest.approx(before - READOUT / 3600)
    # Few labels are read off again, by a read-out of their own.
    few = make_scenario("few-labels", reading="readout", images=1)
    assert few.seconds() > READOUT


def test_a_budget_sets_the_pace_of_classifiers_and_encoders():
    made = preset("small")
    vanilla, slow = (made.recipe("affine-digits", bias).trained()["options"] for bias in ("vanilla", "slow-vae"))
    assert (vanilla["learning_rate"], vanilla["drop_at"]) == (2e-3, (1050,))  # 0.7 of 1500 steps
    assert slow["learning_rate"] == 1e-3
    assert "drop_at" not in slow
    assert "learning_rate" not in made.recipe("affine-digits", "abs").trained()["options"]
