"""Nonlinear eigenfaces."""

import json

import numpy as np
import pytest

from unbraid import train
from unbraid.cli.app import main
from unbraid.data import Blobs, load
from unbraid.errors import UsageError
from unbraid.objectives import BetaVAE
from unbraid.report.theory.eigen import eigen_traversal


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    return train(
        BetaVAE(latents=4, net="mlp:width=8"),
        load("mini-sprites"),
        out=folder,
        steps=20,
        progress="none",
        batch_size=16,
    )


def test_rows_are_sorted_by_posterior_variance_and_move_one_latent_around_the_mean(run):
    data = load("mini-sprites")
    found = eigen_traversal(run, data, rows=3, values=5, images=50)
    assert found.images.shape == (3, 5, *data.shape)
    assert (np.diff(found.variances) >= 0).all()
    assert len(set(found.latents)) == 3
    # The middle column is the mean code, the same in every row.
    assert (found.images[:, 2] == found.images[0, 2]).all()
    assert (np.diff(found.component_variances) <= 0).all()


def test_the_linear_rows_are_the_mean_plus_standard_deviations_of_components(run):
    data = load("blobs16")
    trained = train(BetaVAE(latents=2, net="mlp:width=8"), data, out=run.path.parent / "b", steps=1, progress="none")
    found = eigen_traversal(trained, data, rows=2, values=3, reach=0.5, images=400)
    step = found.linear[0, 2].astype(float) - found.linear[0, 0]
    # From -0.5 to 0.5 standard deviations: a vector of length sqrt(variance), apart from rounding and clipping at 0.
    assert np.linalg.norm(step / 255) == pytest.approx(np.sqrt(found.component_variances[0]), rel=0.05)


def test_the_command_draws_it(run, tmp_path, capsys):
    assert main(["theory", "eigen", str(run.path), "--rows", "2", "--out", str(tmp_path / "e.png"), "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["latents"]) == 2
    assert (tmp_path / "e.png").read_bytes()[:4] == b"\x89PNG"


def test_models_without_posterior_are_refused(tmp_path):
    plain = train("ae", load("mini-sprites"), out=tmp_path / "ae", steps=1, progress="none", batch_size=4)
    with pytest.raises(UsageError, match="no posterior"):
        eigen_traversal(plain, load("mini-sprites"))


@pytest.mark.slow
def test_each_row_moves_a_blob_along_one_axis(tmp_path):
    data = Blobs()
    net = "mlp:encoder=128+128,decoder=128+128,decoder_activation=tanh"
    objective = BetaVAE(beta=0.3, latents=2, net=net, likelihood="gaussian", learning_rate=1e-3)
    trained = train(objective, data, out=tmp_path, steps=5000, batch_size=128, progress="none")
    found = eigen_traversal(trained, data)
    weights = found.images[..., 0].astype(float)
    weights /= weights.sum(axis=(2, 3), keepdims=True)
    places = np.stack(
        [(weights.sum(axis=2) * np.arange(16)).sum(axis=2), (weights.sum(axis=3) * np.arange(16)).sum(axis=2)], axis=2
    )  # [rows, values, (x, y)]
    shifts = np.abs(places[:, -1] - places[:, 0])
    assert (shifts.min(axis=1) < 0.2 * shifts.max(axis=1)).all()
    assert shifts.max(axis=1).min() > 4
    assert set(shifts.argmax(axis=1)) == {0, 1}
