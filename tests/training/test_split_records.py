"""Runs remember the split they were trained on."""

import pytest

from unbraid import data, evaluate, generalization, open_run, train
from unbraid.cli.app import main
from unbraid.errors import UsageError, UsageWarning
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


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    """A model to look at, trained on one side of a split."""
    side = data.load("mini-sprites:split=extrapolation")
    options = {"net": "mlp:width=8", "latents": 2}
    return train(make("vae", options), side, steps=2, seed=0, out=tmp_path_factory.mktemp("vae") / "run", batch_size=8)


OTHER = "mini-sprites:split=composition,side=test"


@pytest.mark.parametrize(
    "words",
    [
        "evaluate RUN --metrics mig --data",
        "traverse RUN --data",
        "explore RUN --out OUT --images 4 --sample 20 --data",
        "theory inspect RUN --out OUT --data",
        "theory eigen RUN --out OUT --data",
        "theory impossibility RUN --out OUT --points 300 --data",
    ],
)
def test_every_command_refuses_a_side_of_another_split(encoder, words, tmp_path, capsys):
    out = tmp_path / "out"
    line = words.replace("RUN", str(encoder.path)).replace("OUT", str(out)).split()
    assert main([*line, OTHER]) == 2
    assert "was trained on the split extrapolation" in capsys.readouterr().err
    assert not out.exists()


def test_a_page_says_so_too(encoder, tmp_path):
    out = tmp_path / "page.html"
    assert main(["report", str(encoder.path), "--data", OTHER, "--out", str(out)]) == 0
    assert "was trained on the split extrapolation" in out.read_text()


def test_generalization_refuses_a_run_of_another_split(run):
    with pytest.raises(UsageError, match="was trained on the split extrapolation"):
        generalization.evaluate(run, data.load("mini-sprites"), "interpolation", images=20)


def test_a_run_without_a_split_is_no_test_on_a_test_side(tmp_path, capsys):
    whole = train(make("regressor", {}), data.load("mini-sprites"), steps=2, out=tmp_path / "run", batch_size=8)
    test = "mini-sprites:split=extrapolation,side=test"
    with pytest.warns(UsageWarning, match=r"trained without a split.*the test side of extrapolation.*no test"):
        measure(whole, data.load(test), "r2:images=50")
    assert main(["evaluate", str(whole.path), "--data", test, "--measures", "r2"]) == 0
    told = capsys.readouterr().err
    assert told.count("unbraid: note: ") == 1
    assert "was trained without a split" in told
    # The training side, the whole, and sides of other grids are not what others are tested on.
    for name in ("mini-sprites:split=extrapolation", "mini-sprites"):
        measure(whole, data.load(name), "r2:images=50")
    other = train(make("vae", {"net": "mlp:width=8", "latents": 2}), data.load("blobs16"), steps=2,
                  out=tmp_path / "other", batch_size=8)  # fmt: skip
    other.check_data(data.load(test))
