"""Every bias is trained for a handful of steps and asked every scenario that applies to it."""

import math
from dataclasses import asdict

import pytest

from unbraid.data import load
from unbraid.data.files.root import find_file
from unbraid.training import open_run
from unbraid.transfer import (
    DOMAINS,
    PRESETS,
    Budget,
    Plan,
    begin_matrix,
    biases,
    make_scenario,
    scenarios,
    subject_of,
)
from unbraid.transfer import readings as readings_module
from unbraid.transfer.all_scenarios import exchanged, nothing
from unbraid.transfer.recipes import VANILLA, get
from unbraid.transfer.subjects import check_subject
from unbraid.transfer.work import ask_run, train_run

ASKED = tuple(name for name in scenarios() if name not in ("interpolation", "extrapolation") and "test" not in name)
BUDGET = Budget(steps=3, adversary=1, search=10, iterations=1, blocks=1, rate=2e-3, encoder_rate=1e-3, drop=0.7)
FEW = {
    "all": {"images": 3},
    "few-labels": {"images": 20, "steps": 2},
    "distal": {"images": 2, "steps": 2},
    "invariance": {"images": 3, "steps": 2},
    "metamers": {"images": 3},
    **{norm: {"images": 2, "budget": "smoke"} for norm in ("l0", "l2", "linf")},
}
SMALL = PRESETS["small"]()
CLASSES = {"affine-digits": 10, "rooms3d-32": 4}
CASES = [
    (domain, bias)
    for domain in SMALL.domains
    for bias in SMALL.biases
    if bias not in SMALL.absent.get(domain, ()) and "test" not in bias
]


def test_every_bias_that_ships_is_in_the_small_matrix():
    tried = {part for _, bias in CASES for part in bias.split("+")}
    assert {name for name in biases() if get(name).change.__module__.startswith("unbraid.")} <= tried


@pytest.fixture
def tiny(monkeypatch):
    for name, value in {"CODES": 300, "STEPS": 5, "CLEAN": 20, "SAMPLES": 10, "PASSES": 1}.items():
        monkeypatch.setattr(readings_module, name, value)
    monkeypatch.setattr(nothing, "CLEAN", 10)
    monkeypatch.setattr(exchanged, "KNOWN", 50)


@pytest.mark.slow
@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize(("domain", "bias"), CASES)
def test_every_bias_answers_every_scenario_with_numbers_that_can_be(domain, bias, tmp_path):
    if bias == "more-data" and find_file("fashion_mnist/train-images-idx3-ubyte.gz") is None:
        pytest.skip("fashion-mnist is not at hand")
    names = tuple(dict.fromkeys((VANILLA, bias)))
    plan = Plan("tiny", (domain,), names, ASKED, (0,), BUDGET, FEW)
    folder = begin_matrix(tmp_path, plan)
    cells = [cell for cell in plan.cells() if cell.bias == bias]
    assert {"iid", "noise", "linf", "confidence"} <= {cell.scenario for cell in cells}
    for key in {plan.run_key(cell) for cell in cells}:
        assert train_run(str(tmp_path), asdict(key)) == "done"
        own = [cell for cell in cells if plan.run_key(cell) == key]
        assert ask_run(str(tmp_path), asdict(key), [asdict(cell) for cell in own]) == "done"
        data = load(DOMAINS[domain].data(key.training, "test"))
        subject = subject_of(open_run(folder.run(key)), data, plan.recipe(domain, bias).reading)
        check_subject(subject, data, DOMAINS[domain])
        for cell in own:
            scenario, value = make_scenario(cell.scenario), folder.cell(cell)["value"]
            if value is None:  # two steps of a search reach few logits
                assert cell.scenario == "invariance"
                continue
            assert math.isfinite(value)
            most = CLASSES[domain] if cell.scenario == "few-labels" else scenario.ceiling(data.shape)
            assert value <= most * (1 + 1e-6), cell
            assert value >= 0 or scenario.unit == "R²", cell
