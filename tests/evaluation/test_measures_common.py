"""What every registered measure must do."""

import dataclasses
import inspect
import json
import re

import pytest

import unbraid
from unbraid import evaluation, objectives
from unbraid.data import split
from unbraid.evaluation import GroupMeasure, measure, measure_group, rows_to_json

NAMES = [name for name in evaluation.names() if evaluation.get(name).__module__.startswith("unbraid.")]
SMALL = {"train": 200, "test": 100, "points": 20, "batches": 2, "images": 50, "metrics": ("mig", "mcc")}
SMALL |= {"steps": 20, "metamers": 20, "width": 8, "proxy_steps": 5, "edge": (8,), "pair": "x+y"}
SMALL |= {"corruptions": ("contrast",), "severities": (1,)}

OWN = {"validation": {"labels": (40, 90)}, "correlated-pair": {"labels": 20}}


def small(name):
    known = {field.name for field in dataclasses.fields(evaluation.get(name))}
    chosen = SMALL | OWN.get(name, {})
    return evaluation.make(name, {key: value for key, value in chosen.items() if key in known})


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    import dots

    data, folder = dots.Dots(), tmp_path_factory.mktemp("runs")
    chosen = {
        "beta-vae": {"net": "mlp:width=8", "latents": 2},
        "classifier": {"net": "mlp:width=8", "factor": "x"},
        "regressor": {"net": "mlp:width=8"},
        "firevnet": {"net": "fc:width=8", "factor": "x"},
    }
    seen = split(data, "extrapolation").train
    made = [(objectives.make(name, options), data, seed) for name, options in chosen.items() for seed in (0, 1)]
    made += [(objectives.make(name, chosen[name]), seen, seed) for name in ("regressor", "beta-vae") for seed in (0, 1)]
    renderer, anchored = objectives.make("renderer", {"net": "mlp:width=8"}), split(data, "composition").train
    made += [(renderer, anchored, seed) for seed in (0, 1)]
    return data, [
        unbraid.train(objective, part, steps=2, seed=seed, out=folder / str(number), progress="none")
        for number, (objective, part, seed) in enumerate(made)
    ]


@pytest.mark.parametrize("name", NAMES)
def test_it_has_a_title_and_a_sentence(name):
    cls = evaluation.get(name)
    assert re.search(r"^    title\b.* = ", inspect.getsource(cls), re.MULTILINE), f"give {cls.__name__} a title"
    assert vars(cls)["__doc__"].split("\n")[0].endswith(".")
    assert cls.needs or cls.applies is evaluation.Measure.applies, f"say in `needs` what {cls.__name__} asks for"


@pytest.mark.parametrize("name", NAMES)
def test_it_gives_numbers_of_some_run_and_the_same_when_read_again(name, runs):
    data, trained = runs
    asked = small(name)
    fitting = [run for run in trained if asked.applies(run, data)]
    assert fitting, "none of a VAE, a classifier, a regressor, a bijection, a renderer can be asked; add one that can"
    answered = 0
    pairs = list(zip(fitting[::2], fitting[1::2], strict=True))
    if isinstance(asked, GroupMeasure):
        pairs = pairs[:1]  # comparing the hundreds of numbers of two bijections takes minutes
    for first, second in pairs:
        rows = measure(first, data, asked, seed=3)[name].rows
        again = measure(first, data, asked, seed=3)[name].rows
        fresh = measure(first, data, asked, seed=3, again=True)[name].rows
        if isinstance(asked, GroupMeasure):
            rows = measure_group([first, second], data, asked, seed=3)[0].rows
            again = fresh = measure_group([first, second], data, asked, seed=3)[0].rows
        assert rows_to_json(again) == rows_to_json(fresh) == rows_to_json(rows)
        answered += sum(isinstance(float(score), float) for _, scores in rows for score in scores.values())
        json.dumps([dict(condition) for condition, _ in rows])
    assert answered
