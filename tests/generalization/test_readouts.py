"""Factors read off frozen representations."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import numpy as np
import pytest

import unbraid
from unbraid.data import load, split
from unbraid.errors import UsageError
from unbraid.generalization import RECIPES, Recipe, Training, evaluate, fit_readout, oracle_codes, oracle_readout
from unbraid.generalization.codes import Codes, encoded
from unbraid.generalization.readouts import train_readout

DATA = load("mini-sprites")
HALVES = split(DATA, "extrapolation")


def recipe(**changes):
    """A recipe of some seconds."""
    from dataclasses import replace

    return replace(RECIPES["cpu"], name="tiny", readout=Training(**{**SHORT, **changes}))


SHORT = {"learning_rate": 1e-3, "batch_size": 64, "seeds": 1, "steps": 60}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    out = tmp_path_factory.mktemp("runs") / "vae"
    seen = load("mini-sprites:split=extrapolation")
    return unbraid.train("beta-vae", seen, out=out, steps=100, progress="none", net="mlp:width=32", latents=6, beta=1.0)


@pytest.mark.parametrize("kind", ["mlp", "linear", "trees"])
def test_a_read_out_learns_from_training_codes_alone(run, kind):
    readout = fit_readout(run, HALVES, kind, recipe(steps=600))
    answers = evaluate(readout, DATA, HALVES)
    images = HALVES.test.images(np.arange(50))
    np.testing.assert_allclose(answers.test.predicted[:50], readout.read(run.encode(images)), rtol=1e-4, atol=1e-5)
    # What it learnt shows on the images it learnt from: more than the middle of every factor, which scores about 0.
    assert answers.trained.mean > 0.15
    assert answers.trained.mean > answers.scores.mean


def test_it_lies_in_the_run_and_is_read_again(run):
    first = fit_readout(run, HALVES, recipe=recipe())
    assert first.run.path.parent == run.path / "readouts"
    assert first.run.info["data"]["split"]["hash"] == HALVES.hash
    assert first.run.info["data"]["factor_sizes"] == list(DATA.space.sizes)
    written = (first.run.path / "checkpoint.safetensors").stat().st_mtime_ns
    again = fit_readout(run, recipe=recipe())  # the data set is found by the run's record
    assert again.run.path == first.run.path
    assert (again.run.path / "checkpoint.safetensors").stat().st_mtime_ns == written
    assert len(list((run.path / "readouts").glob("codes-*.npy"))) == 1  # encoded once for all read-outs
    assert fit_readout(run, HALVES, recipe=recipe(), seed=1).run.path != first.run.path
    assert fit_readout(run, HALVES, "linear", recipe()).run.path != first.run.path


def test_the_same_seed_gives_the_same_bytes(run, tmp_path):
    import shutil

    first = fit_readout(run, HALVES, recipe=recipe(), seed=5)
    copy = tmp_path / "copy"
    shutil.copytree(run.path, copy, ignore=shutil.ignore_patterns("readouts"))
    second = fit_readout(unbraid.open_run(copy), HALVES, recipe=recipe(), seed=5)
    assert second.run.path.name == first.run.path.name
    images = HALVES.test.images(np.arange(30))
    np.testing.assert_array_equal(first.predict(images), second.predict(images))
    for kind in ("trees",):
        one, two = (fit_readout(found, HALVES, kind, recipe()) for found in (run, unbraid.open_run(copy)))
        np.testing.assert_array_equal(one.predict(images), two.predict(images))


CHILD = """
    import sys
    from dataclasses import replace
    from unbraid import open_run
    from unbraid.generalization import RECIPES, Training, fit_readout

    tiny = replace(RECIPES["cpu"], name="tiny", readout=Training(1e-3, 64, 1, steps=int(sys.argv[2])))
    fit_readout(open_run(sys.argv[1]), recipe=tiny, seed=9)
"""


def test_killed_and_gone_on_it_ends_with_the_same_bytes(run):
    # The checkpoint that a killed process leaves is the one of its beginning: the next one repeats every step.
    steps = 1_500
    command = [sys.executable, "-c", textwrap.dedent(CHILD), str(run.path), str(steps)]
    child = subprocess.Popen(command, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
    try:
        deadline = time.monotonic() + 120
        while not (found := list(run.path.glob("readouts/mlp-tiny-*/history.csv"))) or not any(
            path.stat().st_size > 60 for path in found if '"seed": 9' in (path.parent / "run.json").read_text()
        ):
            assert child.poll() is None, "it ended before it could be killed"
            assert time.monotonic() < deadline
            time.sleep(0.02)
    finally:
        child.send_signal(signal.SIGKILL)
        child.wait()
    folder = next(path.parent for path in found if '"seed": 9' in (path.parent / "run.json").read_text())
    assert '"status": "running"' in (folder / "run.json").read_text()
    gone_on = fit_readout(run, recipe=recipe(steps=steps), seed=9)
    assert gone_on.run.path == folder
    bytes_of_it = (folder / "checkpoint.safetensors").read_bytes()
    folder.rename(folder.with_name("other"))
    whole = fit_readout(run, recipe=recipe(steps=steps), seed=9)
    assert whole.run.path == folder
    assert (folder / "checkpoint.safetensors").read_bytes() == bytes_of_it


def test_stopped_half_way_it_ends_with_the_same_bytes(run, tmp_path):
    codes = encoded(run, HALVES, None, DATA.space)
    whole = train_readout(codes, "mlp", recipe(steps=250).readout, tmp_path / "whole")
    train_readout(codes, "mlp", recipe(steps=130).readout, tmp_path / "half")
    half = train_readout(codes, "mlp", recipe(steps=250).readout, tmp_path / "half")
    first, second = ((found.path / "checkpoint.safetensors").read_bytes() for found in (whole, half))
    assert first == second


def test_more_training_of_the_encoder_makes_another_read_out(tmp_path):
    seen = load("mini-sprites:split=composition")
    options = {"out": tmp_path / "vae", "progress": "none", "net": "mlp:width=8", "latents": 3}
    first = fit_readout(unbraid.train("beta-vae", seen, steps=3, **options), seen, recipe=recipe(steps=2))
    second = fit_readout(unbraid.train("beta-vae", seen, steps=6, **options), seen, recipe=recipe(steps=2))
    assert first.run.path != second.run.path
    assert len(list((tmp_path / "vae" / "readouts").glob("codes-*.npy"))) == 2
    unbraid.train("beta-vae", seen, steps=2, fresh=True, **options)
    assert not (tmp_path / "vae" / "readouts").exists()


def test_fewer_images_are_encoded_where_the_recipe_says_so(run):
    readout = fit_readout(run, HALVES, recipe=recipe(images=100))
    assert readout.run.info["data"]["images"] == 100
    assert list((run.path / "readouts").glob("codes-*-100.npy"))


def test_codes_keep_the_scale_of_the_whole_grid():
    # The training side never shows the largest values; targets are still scaled by them.
    index = np.arange(len(HALVES.train))
    factors = HALVES.train.factors(index)
    codes = Codes(oracle_codes(factors, DATA.space), HALVES.train, index, DATA.space)
    assert codes.factor_sizes == DATA.space.sizes
    assert factors[:, 2].max() < DATA.space.sizes[2] - 1
    np.testing.assert_array_equal(codes.factors(index), factors)
    np.testing.assert_array_equal(codes.origin(index), HALVES.train.origin(index))


def test_what_cannot_be_read_is_refused(run, tmp_path):
    with pytest.raises(UsageError, match="kind of read-out 'forest'"):
        fit_readout(run, HALVES, "forest")
    with pytest.raises(UsageError, match="recipe 'gpu'"):
        fit_readout(run, HALVES, recipe="gpu")
    with pytest.raises(UsageError, match=r"was trained on the split extrapolation.*belongs to the split composition"):
        fit_readout(run, split(DATA, "composition"))
    with pytest.raises(UsageError, match="belongs to the split random"):
        evaluate(fit_readout(run, recipe=recipe()), DATA, "random")
    whole = unbraid.train(
        "beta-vae", DATA, out=tmp_path / "whole", steps=2, progress="none", net="mlp:width=8", latents=2
    )
    with pytest.raises(UsageError, match="was trained on the whole data set"):
        fit_readout(whole, HALVES)
    regressor = unbraid.train(
        "regressor", HALVES.train, out=tmp_path / "regressor", steps=2, progress="none", net="mlp:width=8"
    )
    with pytest.raises(UsageError, match="does not encode"):
        fit_readout(regressor, HALVES)
    with pytest.raises(UsageError, match="belongs to the split composition"):
        evaluate(regressor, DATA, "composition")
    with pytest.raises(UsageError, match="put a read-out on its codes"):
        evaluate(run, DATA, HALVES)


def test_damaged_codes_are_refused_by_name(run):
    fit_readout(run, HALVES, "trees", recipe(images=50))
    path = next((run.path / "readouts").glob("codes-*-50.npy"))
    good = path.read_bytes()
    for bad in (good[:100], b"", np.lib.format.magic(1, 0) + b"rubbish"):
        path.write_bytes(bad)
        with pytest.raises(UsageError, match=path.name):
            fit_readout(run, HALVES, "trees", recipe(images=50))
    with path.open("wb") as file:
        np.save(file, np.full((50, 6), np.nan, np.float32))
    with pytest.raises(UsageError, match="expected finite float32"):
        fit_readout(run, HALVES, "trees", recipe(images=50))
    path.write_bytes(good)


def test_a_perfect_code_padded_or_negated():
    codes = oracle_codes([[0, 3, 7, 0]], DATA.space)
    np.testing.assert_allclose(codes, [[0, 1, 1, 0, 0, 0, 0, 0, 0, 0]])
    np.testing.assert_allclose(oracle_codes([[0, 3, 7, 0]], DATA.space, flip=True), -codes)
    assert oracle_codes([[0, 3, 7, 0]], DATA.space, width=2).shape == (1, 4)


@pytest.mark.parametrize("readout", ["mlp", "linear", "trees"])
def test_the_oracle_on_a_small_grid(readout, tmp_path):
    training = recipe(steps=600, learning_rate=5e-3)
    answers = oracle_readout(DATA, HALVES, readout=readout, recipe=training, out=tmp_path / "kept")
    assert answers.trained.mean > 0.97
    np.testing.assert_array_equal(DATA.factors(answers.test.image), answers.test.factors)
    if readout == "trees":
        assert answers.scores.mean < 0.9  # they never leave the range they saw
    else:
        assert answers.scores.mean > 0.9
        assert (tmp_path / "kept" / "run.json").exists()
    with pytest.raises(UsageError, match="the split is of"):
        oracle_readout(load("sprites16"), HALVES)


@pytest.mark.slow
@pytest.mark.parametrize("flip", [False, True], ids=["identity", "sign-flip"])
@pytest.mark.parametrize("kind", ["extrapolation", "composition"])
def test_the_read_out_is_not_the_bottleneck_on_the_grid_of_dsprites(kind, flip):
    # Published: 1.000 of all four, but .999 of the sign flip in extrapolation; one epoch is enough for .999.
    one_epoch = recipe(steps=None, epochs=1)
    answers = oracle_readout(load("sprites16"), kind, flip=flip, recipe=one_epoch)
    assert answers.space.sizes == (3, 6, 40, 32, 32)
    assert answers.scores.mean >= 0.99


def test_recipes_are_as_published():
    paper = RECIPES["paper"]
    assert isinstance(paper, Recipe)
    every = [paper.representation, paper.supervised, paper.densenet, paper.transfer]
    assert [one.steps for one in every] == [500_000, 500_000, 500_000, 50_000]
    assert [one.learning_rate for one in every] == [1e-4, 5e-4, 1e-4, 1e-4]
    assert [one.seeds for one in every] == [10, 3, 3, 3]
    assert {one.batch_size for one in (*every, paper.readout)} == {64}
    assert (paper.readout.epochs, paper.readout.learning_rate) == (8, 1e-3)
    assert paper.of("cnn") is paper.supervised
    assert paper.of("densenet-121:growth=8") is paper.densenet
    assert paper.of("bit-r50x1", pretrained=True) is paper.transfer
    # 8 times 147,456 images of 3D Shapes in batches of 64.
    assert paper.readout.steps_on(147_456) == 18_432
    assert paper.to_json()["readout"]["epochs"] == 8
    assert RECIPES["cpu"].supervised.steps_on(10) == 2_500


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"steps": None}, "one of the two"),
        ({"epochs": 3}, "one of the two"),
        ({"learning_rate": 0}, "learning_rate must be above 0"),
        ({"images": 0}, "images must be above 0"),
        ({"batch_size": -1}, "batch_size must be above 0"),
    ],
)
def test_trainings_that_cannot_be_meant_are_refused(changes, message):
    with pytest.raises(UsageError, match=message):
        Training(**{**SHORT, **changes})


def test_no_folder_of_a_read_out_is_left_outside_its_run(run):
    assert {path.parent for path in Path(run.path).glob("**/run.json")} == {
        run.path,
        *(path.parent for path in run.path.glob("readouts/*/run.json")),
    }
