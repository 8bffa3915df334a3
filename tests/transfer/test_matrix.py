"""Matrices: each number measured once, whoever asks; planted biases get the words they deserve."""

import re
import subprocess
import sys
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from unbraid.engines import InlineEngine
from unbraid.errors import UsageError
from unbraid.objectives import augment
from unbraid.transfer import (
    Budget,
    Plan,
    Scenario,
    begin_matrix,
    expected_hours,
    matrix,
    open_matrix,
    preset,
    register_bias,
    register_scenario,
    run_matrix,
    with_twins,
)
from unbraid.transfer.matrix import BETTER
from unbraid.transfer.work import ask_run

CALLS: list[str] = []


@register_scenario("test-inverted")
@dataclass(frozen=True)
class Inverted(Scenario):
    """White where it was black."""

    images: int = 300

    def numbers(self, asked):
        CALLS.append(self.name)
        _, images, labels = asked.images(self.images)
        return {"value": (asked.subject.scores(255 - images).argmax(1) == labels).mean()}


@register_scenario("test-plain")
@dataclass(frozen=True)
class Plain(Inverted):
    """The images as they are, counted."""

    calls: ClassVar[int] = 0

    def numbers(self, asked):
        CALLS.append(self.name)
        _, images, labels = asked.images(self.images)
        return {"value": (asked.subject.scores(images).argmax(1) == labels).mean()}


@augment.register("test-inverting")
@dataclass(frozen=True)
class Inverting(augment.Augmentation):
    """White where it was black."""

    def __call__(self, images, noise):
        return 1 - images


@register_bias("test-same", own=("test-inverted",))
def same(recipe):
    """The vanilla recipe under another name."""
    return recipe


@register_bias("test-inverting", own=("test-inverted",))
def inverting(recipe):
    """Half of the images inverted in training."""
    return recipe.augmented("test-inverting")


def plan(*biases, scenarios=("iid", "test-inverted"), seeds=(0, 1, 2), steps=5):
    told = {"all": {"images": 200}}
    return Plan("test", ("mini-sprites",), with_twins(biases), scenarios, seeds, Budget(steps=steps), told)


def carry_out(made, out):
    return run_matrix(made, out, engine=InlineEngine(), progress="none")


@pytest.mark.usefixtures("small")
def test_a_bias_that_changes_nothing_is_without_effect(tmp_path):
    carry_out(plan("test-same", scenarios=("iid", "test-inverted", "gaussian-distance")), tmp_path)
    found = matrix(tmp_path)
    assert found.verdicts["test-same"].word == "without effect"
    assert {one.word for one in found.effects["test-same"].values()} == {"unchanged"}
    assert all((one.differences == 0).all() for one in found.effects["test-same"].values())


@pytest.mark.usefixtures("small")
def test_a_bias_that_sees_what_is_asked_is_better_there(tmp_path):
    folder = carry_out(plan("test-inverting", steps=300), tmp_path)
    found = matrix(tmp_path)
    assert found.effects["test-inverting"]["test-inverted"].word == "better"
    assert found.verdicts["test-inverting"].word in ("specific", "costly")  # by what half as many clean images cost
    assert folder.missing() == []
    shown = found._repr_html_()
    assert "test-inverting" in shown
    gain = round(100 * found.effects["test-inverting"]["test-inverted"].mean)
    assert re.search(rf"background:{BETTER}66'[^>]*>\+{gain}</td>", shown)  # in points, in the page's colour
    assert found.table().height == 2


def test_an_oracle_that_undoes_one_corruption_is_better_on_it_alone():
    # A lookup that knows the images, and one that turns dark images back first; both see the same draws per seed.
    from unbraid.data import load
    from unbraid.transfer import card

    digits = load("digits8").part(slice(0, 600))
    known = {image.tobytes(): label for image, label in zip(digits.images(range(600)), digits.labels(), strict=True)}

    def lookup(images):
        return np.eye(10)[[known.get(image.tobytes(), 3) for image in images]]

    def oracle(images):
        bright = images.mean(axis=(1, 2, 3)) > 127
        return lookup(np.where(bright[:, None, None, None], 255 - images, images))

    asked = ("iid", "test-plain", "test-inverted")
    values = {
        name: {one: {seed: card(model, digits, scenarios=(one,), seed=seed)[one] for seed in range(3)} for one in asked}
        for name, model in {"vanilla": lookup, "test-inverting": oracle}.items()
    }
    found = matrix(values, "digits8")
    words = {one.scenario: one.word for one in found.effects["test-inverting"].values()}
    assert words == {"iid": "unchanged", "test-plain": "unchanged", "test-inverted": "better"}
    assert found.verdicts["test-inverting"].word == "specific"


@pytest.mark.usefixtures("small")
def test_a_new_scenario_computes_its_column_alone_and_a_new_bias_its_row(tmp_path):
    carry_out(plan("test-same", seeds=(0,)), tmp_path)
    CALLS.clear()
    carry_out(plan("test-same", seeds=(0,)), tmp_path)
    assert CALLS == []
    three = ("iid", "test-inverted", "test-plain")
    carry_out(plan("test-same", seeds=(0,), scenarios=three), tmp_path)
    assert CALLS == ["test-plain", "test-plain"]
    CALLS.clear()
    carry_out(plan("test-inverting", seeds=(0,), scenarios=three), tmp_path)
    assert sorted(CALLS) == ["test-inverted", "test-plain"]
    assert set(open_matrix(tmp_path).plan.biases) == {"vanilla", "test-same", "test-inverting"}
    assert expected_hours(open_matrix(tmp_path)) == 0


@pytest.mark.usefixtures("small")
def test_a_run_that_another_process_is_at_is_left_to_it(tmp_path):
    from dataclasses import asdict

    folder = carry_out(plan("test-same", seeds=(0,), scenarios=("iid",)), tmp_path)
    folder = begin_matrix(tmp_path, plan("test-same", seeds=(0,), scenarios=("test-plain",)))
    key = folder.plan.run_key(folder.missing()[0])
    cells = [asdict(cell) for cell in folder.missing() if folder.plan.run_key(cell) == key]
    CALLS.clear()
    with folder.claim(key) as held:
        assert held
        assert ask_run(str(tmp_path), asdict(key), cells) == "busy"
    assert CALLS == []
    assert ask_run(str(tmp_path), asdict(key), cells) == "done"
    assert ask_run(str(tmp_path), asdict(key), cells) == "done"
    assert CALLS == ["test-plain"]


KILLED = """
import os, signal, sys
from dataclasses import asdict, dataclass
from pathlib import Path
from unbraid.engines import InlineEngine
from unbraid.transfer import DOMAINS, Budget, Domain, Plan, Scenario, register_scenario, run_matrix
DOMAINS["mini-sprites"] = Domain("mini-sprites", factor="shape", net="mlp:width=8,depth=1")
out, log, die = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3] == "die"

def ask(name):
    @register_scenario(name)
    @dataclass(frozen=True)
    class Asked(Scenario):
        def numbers(self, asked):
            with log.open("a") as file:
                file.write(self.name + "\\n")
            if die and self.name == "test-second":
                os.kill(os.getpid(), signal.SIGKILL)
            return {"value": 0.5}

for name in ("test-first", "test-second", "test-third"):
    ask(name)
asked = ("test-first", "test-second", "test-third")
plan = Plan("killed", ("mini-sprites",), ("vanilla",), asked, (0,), Budget(steps=2))
print(len(run_matrix(plan, out, engine=InlineEngine(), progress="none").missing()))
"""


def test_kill_9_loses_the_cell_in_work_and_no_other(tmp_path):
    log = tmp_path / "log"
    words = [sys.executable, "-c", KILLED, str(tmp_path / "out"), str(log)]
    assert subprocess.run([*words, "die"], check=False).returncode == -9
    assert log.read_text().split() == ["test-first", "test-second"]
    again = subprocess.run([*words, "live"], check=True, capture_output=True, text=True)
    assert again.stdout.split() == ["0"]
    assert log.read_text().split() == ["test-first", "test-second", "test-second", "test-third"]


@pytest.mark.usefixtures("small")
def test_another_budget_in_the_same_folder_is_refused(tmp_path):
    begin_matrix(tmp_path, plan("test-same"))
    with pytest.raises(UsageError, match="budget"):
        begin_matrix(tmp_path, plan("test-same", steps=6))


@pytest.mark.parametrize("name", ["smoke", "small", "paper"])
def test_presets_hold_what_they_promise(name):
    made = preset(name)
    assert len(set(made.biases)) >= 3
    assert set(made.scenarios) >= {"iid", "noise", "gaussian-distance", "linf"}
    assert Plan.from_json(made.to_json(), "test") == made
    keys = {made.run_key(cell) for cell in made.cells()[:50]}
    assert made.hours(list(keys), made.cells()[:50]) > 0


def test_unknown_names_are_refused_before_any_work(tmp_path):
    for told, words in (
        ({"biases": ("gausian-noise",)}, "did you mean 'gaussian-noise'"),
        ({"scenarios": ("linff",)}, "did you mean 'linf'"),
        ({"domains": ("mnits",)}, "did you mean 'mnist'"),
    ):
        with pytest.raises(UsageError, match=words):
            preset("smoke", **told)
    with pytest.raises(UsageError, match=r"no matrix.json"):
        open_matrix(tmp_path)
