"""Released VAEs as runs: the record, the codes, and what is refused."""

import json

import numpy as np
import pytest
import torch

import unbraid
from released_vae import released
from unbraid.cli.app import main
from unbraid.data import from_arrays
from unbraid.errors import UsageError
from unbraid.training.zoo import read_release

SPECS = {
    "batch_size": 64,
    "betaB_G": 100,
    "betaB_finC": 25,
    "betaH_B": 4,
    "btcvae_A": 1,
    "btcvae_B": 6.4,
    "btcvae_G": 1,
    "epochs": 30,
    "factor_G": 6,
    "img_size": [1, 32, 32],
    "latent_dim": 10,
    "loss": "btcvae",
    "lr": 0.0005,
    "model_type": "Burgess",
    "rec_dist": "bernoulli",
    "reg_anneal": 10000,
    "seed": 1234,
}


def release(folder, **changes):
    folder.mkdir(exist_ok=True)
    (folder / "specs.json").write_text(json.dumps(SPECS | changes))
    return released(folder, 32)


@pytest.fixture
def images():
    rng = np.random.default_rng(0)
    return from_arrays(rng.integers(0, 256, (150, 32, 32, 1), dtype=np.uint8))


@pytest.mark.parametrize(
    ("loss", "name", "options"),
    [
        ("VAE", "vae", {}),
        ("betaH", "beta-vae", {"beta": 4}),
        ("betaB", "annealed-vae", {"gamma": 100, "c_max": 25, "anneal_steps": 10_000}),
        ("factor", "factor-vae", {"gamma": 6}),
        ("btcvae", "beta-tcvae-sampled", {"beta": 6.4, "sampling": "stratified"}),
    ],
)
def test_a_release_becomes_a_run_with_its_codes(loss, name, options, images, tmp_path):
    net = release(tmp_path / "given", loss=loss)
    run = read_release(tmp_path / "given", images, tmp_path / "run")
    assert run.finished
    assert run.info["objective"]["name"] == name
    told = run.info["objective"]["options"]
    assert {key: told[key] for key in options} == options
    assert (told["net"], told["latents"], told["learning_rate"]) == ("burgess", 10, 0.0005)
    # 30 epochs of 150 images in batches of 64: three steps each.
    assert run.info["step"] == 90
    again = unbraid.open_run(tmp_path / "run")
    pixels = images.images(np.arange(4))
    with torch.no_grad():
        floats = torch.from_numpy(pixels).permute(0, 3, 1, 2).float() / 255
        mean, _ = net.encode(floats)
        drawn = net.decode(mean).permute(0, 2, 3, 1).numpy()
    np.testing.assert_allclose(again.encode(pixels), mean.numpy(), atol=1e-5)
    assert np.abs(again.decode(mean.numpy()) / 255 - drawn).max() < 0.51 / 255 + 1e-5
    assert len(run.history()) == 0


def test_the_command_makes_a_run_that_can_be_measured(tmp_path, capsys):
    release(tmp_path / "btcvae_sprites")
    words = ["zoo", "read", str(tmp_path / "btcvae_sprites"), "--data", "sprites32", "--out", str(tmp_path / "run")]
    assert main(words) == 0
    assert "beta-tcvae-sampled on sprites32" in capsys.readouterr().out
    assert main(["evaluate", str(tmp_path / "run"), "--measures", "summary:images=50"]) == 0


def test_what_is_no_such_release_is_refused(images, tmp_path):
    given, out = tmp_path / "given", tmp_path / "run"
    for changes, words in (
        ({"loss": "gan"}, "unknown loss in .*'gan'"),
        ({"model_type": "Higgins"}, "must be of networks 'Burgess'.*got 'Higgins'"),
        ({"rec_dist": "laplace"}, "pixels 'bernoulli', got 'Burgess' and 'laplace'"),
        ({"btcvae_A": -5}, r"btcvae_A.*read_released_vae\(.*\) reads the networks alone"),
        ({"btcvae_B": None}, "has no number btcvae_B"),
        ({"img_size": [3, 64, 64]}, "is of images 64x64x3, and data 'own' has 32x32x1"),
        ({"latent_dim": 4}, "has other images or latents than specs.json says"),
        ({"epochs": "many"}, "epochs"),
        ({"epochs": 0}, "epochs must be a whole number from 1 on, got 0"),
        ({"epochs": -3}, "epochs must be a whole number from 1 on, got -3"),
        ({"batch_size": 0}, "batch_size must be a whole number from 1 on, got 0"),
        ({"batch_size": -64}, "batch_size must be a whole number from 1 on, got -64"),
        ({"batch_size": True}, "batch_size"),
        ({"latent_dim": 0}, "latent_dim must be a whole number from 1 on, got 0"),
        ({"seed": -1}, "seed must be a whole number from 0 on, got -1"),
        ({"img_size": [1, 32, 32, 7]}, r"img_size must be channels, height and width, got \[1, 32, 32, 7\]"),
        ({"img_size": [1, 32]}, "img_size must be channels, height and width"),
        ({"btcvae_B": True}, "has no number btcvae_B"),
        ({"lr": True}, "lr"),
    ):
        release(given, **changes)
        with pytest.raises(UsageError, match=words):
            read_release(given, images, out)
        assert not (out / "run.json").exists()
    release(given)
    out.mkdir(exist_ok=True)
    (out / "mine.txt").write_text("mine")
    with pytest.raises(UsageError, match="is there already"):
        read_release(given, images, out)
    (given / "specs.json").unlink()
    with pytest.raises(UsageError, match=r"specs\.json"):
        read_release(given, images, tmp_path / "other")
