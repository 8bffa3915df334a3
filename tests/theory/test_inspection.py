"""A run asked everything at once, in Python and through the command; the rule for beta."""

import json

import numpy as np
import pytest
from PIL import Image

from unbraid.cli.app import main
from unbraid.data import SyntheticLinear, load
from unbraid.errors import UsageError
from unbraid.objectives import BetaVAE, make
from unbraid.theory import BetaRange, BetaStage, beta_range, inspect_run, linear_betas, polarisation
from unbraid.training import train


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A linear VAE with a latent to spare, made by hand at its closed form: columns are principal directions."""
    import torch
    from safetensors.torch import load_file, save_file

    data = load("synth-linear")
    beta = 0.02 * data.scale**2
    out = tmp_path_factory.mktemp("inspect") / "run"
    train(make("linear-vae", {"latents": 3, "beta": beta}), data, steps=1, out=out, progress="none")
    from unbraid.theory import LinearModel

    points = data.images(np.arange(0, len(data), 7))
    model = LinearModel.at_optimum(points, beta, 2)
    tensors = load_file(out / "checkpoint.safetensors")
    weight = next(name for name in tensors if name.endswith("encoder.1.weight") and "optim" not in name)
    prefix = weight.removesuffix("encoder.1.weight")
    encoder = np.zeros((6, 3), dtype=np.float32)
    bias = np.zeros(6, dtype=np.float32)
    encoder[:2] = model.encoder
    bias[:2] = -model.encoder @ model.centre
    bias[3:5] = np.log(np.diag(model.covariance))
    decoder = np.zeros((3, 3), dtype=np.float32)
    decoder[:, :2] = model.decoder
    for name, value in {
        "encoder.1.weight": encoder,
        "encoder.1.bias": bias,
        "decoder.0.weight": decoder,
        "decoder.0.bias": model.centre.astype(np.float32),
    }.items():
        tensors[prefix + name] = torch.as_tensor(value)
    from safetensors import safe_open

    with safe_open(out / "checkpoint.safetensors", "pt") as file:
        metadata = file.metadata()
    save_file(tensors, out / "checkpoint.safetensors", metadata)
    return out


def width(path):
    with Image.open(path) as picture:
        return picture.width


def test_the_closed_form_is_found_polarised_orthogonal_and_aligned(run, capsys):
    assert main(["theory", "inspect", str(run), "--images", "1000", "--jacobians", "64", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["polarisation"]["kinds"] == ["active", "active", "passive"]
    # beta 0.02 in published units: 2.67 % by the closed form (sampling 1000 of 50,176 images moves it a little).
    assert found["polarisation"]["kl_error"] == pytest.approx(0.0267, abs=0.002)
    assert found["polarisation"]["polarised"]
    assert found["active"] == [0, 1]
    assert found["orthogonality"]["distance"] < 0.01
    assert found["orthogonality"]["contrast"] < 1e-4
    assert found["orthogonality"]["degenerate"] == 0
    assert found["alignment"]["smallest_cosine"] > 0.99
    assert found["alignment"]["order"] == pytest.approx(1)
    assert found["alignment"]["largest_angle"] < 1
    split = found["split"]
    assert split["stochastic"] == pytest.approx(split["local"], rel=0.1)
    assert split["total"] == pytest.approx(split["deterministic"] + split["stochastic"], rel=0.1)
    assert found["warnings"] == []
    # Two latents come back shrunk by the prior, (sigma_j^2)^2 + noise of bytes; the passive one as zero: 1 of 3.
    assert found["consistency"] == pytest.approx(1 / 3, abs=0.06)
    assert width(run / "theory.png") > 1000


def test_the_command_prints_a_table(run, capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "140")
    assert main(["theory", "inspect", str(run), "--images", "200", "--jacobians", "8", "--out", str(tmp_path)]) == 0
    shown = capsys.readouterr().out
    for words in ("passive", "distance to orthogonality", "polarised: below 3 %", "follows PC"):
        assert words in shown
    assert (tmp_path / "theory.json").exists()


@pytest.mark.parametrize("name", ["ae", "full-beta-vae", "beta-vae"])
def test_every_kind_of_autoencoder_can_be_asked(name, dots, tmp_path):
    objective = make(name, {"net": "mlp:width=16", "latents": 3})
    run = train(objective, dots, steps=5, out=tmp_path / "run", progress="none")
    run.encode(dots.images(np.arange(3)))  # weights stay differentiable after the model was used for inference
    found = inspect_run(run, dots, images=50, jacobians=10)
    assert (found.polarisation is None) == (name == "ae")
    if name == "ae":
        assert found.active.tolist() == [0, 1, 2]
        assert found.orthogonality.distances.shape == (10,)
    json.dumps(found.to_json(), allow_nan=False)
    from unbraid.report.theory.overview import draw_inspection

    draw_inspection(found, tmp_path / "picture.png")
    with pytest.raises(UsageError, match="jacobians"):
        inspect_run(run, dots, images=5, jacobians=10)


@pytest.mark.parametrize("name", ["example", "theorem2", "rotation"])
def test_theorems_are_drawn_from_the_command_line(name, capsys, tmp_path):
    assert main(["theory", "theorem", name, "--out", str(tmp_path / "p.png"), "--json"]) == 0
    numbers = json.loads(capsys.readouterr().out)
    assert width(tmp_path / "p.png") > 1000
    if name == "rotation":
        assert numbers["rise_at_30_ratio_2.0"] == pytest.approx(0.0087994, abs=1e-6)


def test_linear_betas_are_twice_the_variances():
    data = SyntheticLinear()
    assert np.allclose(linear_betas(data, 2, images=20_000) / data.scale**2, [2 / 3, 1 / 6], rtol=0.03)


def stage(beta, variances):
    return BetaStage(beta, polarisation(np.zeros((2, len(variances))), np.log([variances, variances])))


def test_the_range_begins_where_a_latent_dies_and_ends_before_a_factor_does():
    stages = (
        stage(1, [0.1, 0.2, 0.5]),
        stage(2, [0.1, 0.3, 0.95]),
        stage(8, [0.2, 0.6, 1.0]),
        stage(16, [0.3, 0.9, 1.0]),
    )
    known = BetaRange(stages, 3, 2)
    assert (known.entry, known.pruned, known.proposed) == (2, 16, (2, 8))
    unknown = BetaRange(stages, 3, None)
    assert unknown.proposed == pytest.approx((2 / np.sqrt(10), 2 * np.sqrt(10)))
    assert BetaRange(stages[:1], 3, 2).proposed is None
    assert BetaRange(stages[3:], 3, 2).proposed is None
    assert BetaRange((stage(1, [0.95, 0.99, 1.0]), stage(2, [1.0, 1.0, 1.0])), 3, None).proposed is None


def test_raising_beta_switches_latents_off(capsys, tmp_path):
    words = ["theory", "beta-range", "--data", "synth-linear", "--net", "linear", "--likelihood", "gaussian"]
    words += ["--latents", "2", "--learning-rate", "0.02", "--steps", "100", "--betas", "0.001,0.01,1"]
    assert main([*words, "--out", str(tmp_path / "beta.png"), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [row["active"] for row in found["stages"]][::2] == [2, 0]
    assert found["entry"] is not None
    assert width(tmp_path / "beta.png") > 500


def test_an_objective_without_beta_cannot_be_asked_for_a_range(dots):
    with pytest.raises(UsageError, match="no option beta"):
        beta_range(make("vae"), dots)
    with pytest.raises(UsageError, match="two or more positive"):
        beta_range(BetaVAE(net="mlp:width=8"), dots, betas=[1.0])
