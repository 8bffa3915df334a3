"""What models ignore: a search that fails says nothing, and exact metamers are asked of bijections alone."""

import math

import pytest
from torch import nn

import unbraid
from unbraid.data import load
from unbraid.transfer import Plan, domain_of, make_scenario, own_scenarios, preset, subject_of, with_twins

DIGITS = load("digits8").part(slice(0, 200))


class Stepped(nn.Module):
    """Logits of pixels that are compared with a half: no search gets anywhere."""

    def forward(self, images):
        return (images.flatten(1)[:, 20:30] > 0.5).float() + 0 * images.flatten(1)[:, :10]


class Plain(nn.Module):
    """Logits that are ten pixels."""

    def forward(self, images):
        return images.flatten(1)[:, 20:30]


def test_searches_that_fail_are_no_robustness():
    scenario = make_scenario("invariance", images=20, steps=100)
    failed = scenario.ask(subject_of(Stepped(), DIGITS), DIGITS)
    assert failed["found"] < 0.5
    assert math.isnan(float(failed["value"]))
    assert "searches reached the logits of" in failed["value"].settings["reason"]
    found = scenario.ask(subject_of(Plain(), DIGITS), DIGITS)
    assert found["found"] >= 0.5
    assert 0 < float(found["value"]) < 3.2  # at most ten pixels move, each by at most 1


@pytest.fixture(scope="module")
def bijection(tmp_path_factory):
    out = tmp_path_factory.mktemp("bijection") / "run"
    told = {"net": "conv:stages=2,blocks=1,width=8", "steps": 3, "batch_size": 16, "progress": "none"}
    return unbraid.train("firevnet", "digits8", out=out, **told)


def test_metamers_of_a_bijection_follow_their_logits_or_their_donor(bijection):
    data = load("digits8")
    found = make_scenario("metamers", images=20).ask(subject_of(bijection, data), data)
    assert 0 <= float(found["value"]) <= 1
    assert found["metamers_kept"] > 0.5
    assert found["reference_follows_donor"] > 0.5  # three steps have taught it nothing of the class


def test_metamers_that_lose_their_logits_say_nothing(bijection, monkeypatch):
    monkeypatch.setattr("unbraid.transfer.all_scenarios.exchanged.KEPT", -1.0)
    data = load("digits8")
    found = make_scenario("metamers", images=20).ask(subject_of(bijection, data), data)
    assert math.isnan(float(found["value"]))
    assert "keep their logits" in found["value"].settings["reason"]


def test_metamers_are_asked_of_bijections_and_are_what_ice_is_for(bijection):
    data = load("digits8")
    scenario, domain = make_scenario("metamers"), domain_of(data)
    assert scenario.missing(subject_of(bijection, data), domain) == ""
    assert "bijection" in scenario.missing(subject_of(Plain(), data), domain)
    assert own_scenarios("ice") == ("metamers",)
    assert scenario.chance(10) == 0.1
    made = preset("small", domains=("affine-digits",))
    assert {cell.bias for cell in made.cells() if cell.scenario == "metamers"} == {"bijection", "ice"}
    plan = Plan("test", ("affine-digits",), with_twins(("ice",)), ("invariance",), (0,))
    assert {cell.bias for cell in plan.cells()} == {"vanilla", "bijection", "ice"}
