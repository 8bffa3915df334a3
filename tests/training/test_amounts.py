"""Numbers that are none and paths that are no text are refused alike wherever a training begins."""

import math

import pytest

import unbraid
from unbraid.errors import UsageError
from unbraid.objectives import BetaVAE
from unbraid.study import open_study, parse_study, read_study, run_study
from unbraid.training import open_run, train_together

NO_TEXT = ["no\udcfftext", "a\0b"]


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("minutes", math.inf, "minutes must be a finite number, got inf"),
        ("minutes", math.nan, "minutes must be positive, got nan"),
        ("steps", math.inf, "steps must be a finite number"),
        ("steps", "3", "steps must be a number, got '3'"),
        ("threads", 2.5, "threads must be a whole number"),
        ("log_every", math.inf, "log_every must be a finite number"),
        ("batch_size", math.nan, "batch_size must be at least 1, got nan"),
        ("seed", 1.5, "seed must be a whole number"),
        ("checkpoint_seconds", math.nan, "checkpoint_seconds must be a number that is not negative"),
    ],
)
def test_train_refuses_odd_numbers(name, value, told, dots, tmp_path):
    with pytest.raises(UsageError, match=told):
        unbraid.train("vae", dots, out=tmp_path / "run", **{"steps": 1, name: value})
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("batch_size", 10**9, "batch_size = 1000000000: the images of one batch take"),
        ("batch_size", 2.5, "batch_size must be a whole number"),
        ("steps", math.inf, "steps must be a finite number"),
        ("processes", math.nan, "processes must be at least 1, got nan"),
        ("seeds", [0, math.nan], "seed must be a finite number"),
    ],
)
def test_train_together_refuses_the_same(name, value, told, dots, tmp_path):
    with pytest.raises(UsageError, match=told):
        train_together(
            "vae", dots, **{"outs": [tmp_path / "a", tmp_path / "b"], "seeds": [0, 1], "steps": 1, name: value}
        )
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"latents": 2.5}, "latents must be a whole number, got 2.5"),
        ({"latents": "3"}, "latents must be a whole number, got '3'"),
        ({"latents": 0}, "latents must be at least 1, got 0"),
        ({"learning_rate": "1e-3"}, "learning_rate must be a positive number, got '1e-3'"),
        ({"beta": None}, "beta must be a .*number.*, got None"),
    ],
)
def test_objectives_made_in_python_name_the_option(options, told):
    with pytest.raises(UsageError, match=told):
        BetaVAE(**options)


def test_networks_that_no_machine_holds_are_refused_by_their_options(dots, tmp_path):
    with pytest.raises(UsageError, match=r"not enough memory .* of beta-vae \(latents = 1000000000, net = mlp"):
        unbraid.train("beta-vae", dots, out=tmp_path / "run", steps=1, latents=10**9, net="mlp:width=512")
    assert not (tmp_path / "run" / "run.json").exists()
    with pytest.raises(UsageError, match=r"not enough memory .* of beta-vae \(latents = 1000000000, net = mlp"):
        train_together(
            BetaVAE(latents=10**9, net="mlp:width=512"),
            dots,
            outs=[tmp_path / "a", tmp_path / "b"],
            seeds=[0, 1],
            steps=1,
        )


@pytest.mark.usefixtures("dots")
def test_a_study_refuses_a_batch_that_no_machine_holds_before_it_begins(tmp_path):
    study = parse_study('data = ["dots"]\nobjectives = ["vae"]\nsteps = 1\nbatch_size = 1000000000', "big.toml")
    with pytest.raises(UsageError, match=r"big.toml: objectives.vae on dots: batch_size = 1000000000: the images"):
        run_study(study, tmp_path / "study", progress="none")
    assert list((tmp_path / "study" / "runs").iterdir()) == []


@pytest.mark.parametrize("path", NO_TEXT)
def test_paths_that_are_no_text_are_refused_by_every_door(path, dots, tmp_path):
    study = parse_study('data = ["dots"]\nobjectives = ["vae"]\nsteps = 1', "one.toml")
    for use in (
        lambda: open_run(path),
        lambda: open_study(path),
        lambda: read_study(path),
        lambda: run_study(study, path, progress="none"),
        lambda: unbraid.train("vae", dots, steps=1, out=path),
        lambda: unbraid.train("vae", dots, steps=1, out=tmp_path / "run", start=path),
        lambda: train_together("vae", dots, steps=1, outs=[path], seeds=[0]),
        lambda: unbraid.data.save(dots, f"{path}.npz"),
    ):
        with pytest.raises(UsageError, match=r"its bytes are no UTF-8|must not hold a zero byte"):
            use()
    assert list(tmp_path.iterdir()) == []
