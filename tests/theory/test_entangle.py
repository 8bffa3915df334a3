"""The entangled twin of a run, in Python and through the command."""

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from unbraid.cli.app import main
from unbraid.errors import UsageError
from unbraid.evaluation import summarise
from unbraid.metrics import evaluate
from unbraid.objectives import make
from unbraid.theory import bijection, entangle
from unbraid.training import train

PLUGIN = str(Path(__file__).parents[1] / "dots.py")


@pytest.fixture(scope="module")
def data():
    from dots import Dots

    return Dots()


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A VAE told the factors of all its images, so that each of its two codes is one of them."""
    options = {"net": "mlp:width=64", "latents": 2, "learning_rate": 2e-3, "gamma_sup": 10.0, "labels": 144}
    out = tmp_path_factory.mktemp("theory") / "run"
    return train(make("s2-beta-vae", options), "dots", steps=300, seed=1, out=out, progress="none")


def test_reconstructions_are_the_same(run, data):
    images = data.images(np.arange(144))
    for marginals in ("normal", "empirical"):
        twin = entangle(run, marginals=marginals, matrix="hadamard", codes=run.encode(images))
        assert np.abs(run.encode(images) - twin.encode(images)).max() > 0.5
        before, after = run.decode(run.encode(images)), twin.decode(twin.encode(images))
        # Codes go through f and back in double precision; the decoder sees them rounded to single.
        assert np.abs(before.astype(int) - after).max() <= 1
        assert (before == after).mean() > 0.999


def test_scores_collapse_and_label_free_quantities_stay(run, data):
    options = {"metrics": ["mig", "dci"], "train": 1000, "test": 500}
    before = evaluate(run, data, **options)
    after = evaluate(entangle(run, matrix="hadamard"), data, **options)
    # Turned by 45 degrees, both codes know equally much of both factors: no gap is left.
    assert float(before["mig"]) > 0.8
    assert float(after["mig"]) < 0.1
    assert float(before["dci"]) > 0.8
    assert float(after["dci"]) < 0.1
    twin = entangle(run, matrix="hadamard")
    # No KL per latent of a posterior that is no longer diagonal; the reconstruction is the run's.
    assert summarise(twin, data).kl is None
    assert summarise(twin, data).reconstruction == summarise(run, data).reconstruction


def test_sampled_codes_are_turned_too(run, data):
    images = data.images(np.arange(10))
    twin = entangle(run, matrix="random", seed=5)
    expected = run.encode(images, kind="sampled", seed=3) @ twin.f.matrix.T
    np.testing.assert_allclose(twin.encode(images, kind="sampled", seed=3), expected, atol=1e-6)


def test_empirical_marginals_are_read_off_the_data_of_the_run(run):
    twin = entangle(run, marginals="empirical", matrix="hadamard")
    assert len(twin.f.marginals) == 2
    assert "empirical" in repr(twin)


def test_a_bijection_of_other_dimensions_is_refused(run):
    with pytest.raises(UsageError, match=r"\[n, 3\]"):
        entangle(run, bijection(3, marginals="normal"))


def test_the_command_entangles_sources(tmp_path, capsys):
    words = ["theory", "impossibility", "--alpha", "0.3", "--points", "3000", "--metrics", "mig,modularity", "--out"]
    assert main([*words, str(tmp_path / "out")]) == 0
    text = capsys.readouterr().out
    for word in ("smallest |df_i / du_j|", "Kolmogorov-Smirnov", "mig", "modularity"):
        assert word in text
    told = json.loads((tmp_path / "out" / "impossibility.json").read_text())
    # Twenty bins between the smallest and the largest of 3000 draws do not quite fall on the tenths: 0.98, not 1.
    assert told["scores"]["mig"]["before"] > 0.97
    assert told["scores"]["mig"]["after"] == pytest.approx(0.32, abs=0.04)
    assert told["check"]["smallest_derivative"] > 0
    with Image.open(tmp_path / "out" / "bijection.png") as picture:
        assert picture.width > 1500


def test_the_command_entangles_a_run(run, tmp_path, capsys):
    words = ["--plugin", PLUGIN, "theory", "impossibility", run.path, "--matrix", "hadamard", "--points", 1000]
    words += ["--metrics", "mig,factor_vae", "--json", "--out", tmp_path]
    assert main([str(word) for word in words]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["largest_pixel_change"] <= 1
    assert told["scores"]["mig"]["before"] > 0.8
    assert told["scores"]["mig"]["after"] < 0.1
    for name in ("bijection.png", "traversals.png", "impossibility.json"):
        assert (tmp_path / name).stat().st_size > 0


def test_help_names_the_only_command_of_the_group(capsys):
    with pytest.raises(SystemExit):
        main(["theory", "--help"])
    assert "impossibility" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--marginals", "empirical"], "give a RUN"),
        (["--data", "dots"], "none was given"),
        (["--points", "5"], "at least 100"),
        (["--dimensions", "3", "--matrix", "hadamard"], "2, 4, 8, 16"),
        (["--metrics", "mgi"], "did you mean 'mig'"),
        (["nowhere"], "no run folder"),
    ],
)
def test_errors_are_one_line(words, message, capsys):
    assert main(["theory", "impossibility", *words]) == 2
    told = capsys.readouterr().err
    assert message in told
    assert told.count("\n") == 1
