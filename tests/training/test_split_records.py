"""Runs remember the split they were trained on."""

import pytest

from unbraid import data, evaluate, open_run, train
from unbraid.errors import UsageError
from unbraid.evaluation import measure
from unbraid.objectives import make


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("split") / "run"
    side = data.load("mini-sprites:split=extrapolation")
    return train(make("regressor", {}), side, steps=2, seed=0, out=folder, batch_size=8)


def test_a_run_records_the_side_of_its_split(run):
    split = data.split(data.load("mini-sprites"), "extrapolation")
    record = open_run(run.path).info["data"]["split"]
    assert (record["hash"], record["kind"], record["side"]) == (split.hash, "extrapolation", "train")
    assert run.data().side == split.train.side


def test_both_sides_of_the_same_split_and_the_whole_are_measured(run):
    for text in ("mini-sprites:split=extrapolation,side=test", "mini-sprites:split=extrapolation", "mini-sprites"):
        assert measure(run, data.load(text), "r2:images=50")["r2"].rows


@pytest.mark.parametrize("text", ["split=composition,side=test", "split=random,side=test", "split=interpolation"])
def test_a_side_of_another_split_is_refused(run, text):
    with pytest.raises(UsageError, match=r"trained on the split extrapolation .*split=extrapolation,side=test"):
        measure(run, data.load(f"mini-sprites:{text}"), "r2")
    with pytest.raises(UsageError, match="trained on the split extrapolation"):
        evaluate(run, data.load(f"mini-sprites:{text}"))


def test_a_part_of_a_side_belongs_to_its_split(run):
    part = data.load("mini-sprites:split=composition,side=test").part(slice(0, 20))
    with pytest.raises(UsageError, match="trained on the split"):
        measure(run, part, "r2")
