"""Opening runs, and what they offer."""

import json

import numpy as np
import pytest
import torch

import unbraid
from unbraid import data
from unbraid.data import from_arrays
from unbraid.errors import UsageError
from unbraid.evaluation import summarise
from unbraid.objectives import AE, BetaVAE
from unbraid.training import numerics, open_run


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    from dots import Dots

    objective = BetaVAE(net="mlp:width=32", latents=3)
    return unbraid.train(objective, Dots(), steps=20, out=tmp_path_factory.mktemp("run") / "a", progress="none")


def test_encode_does_not_depend_on_the_batch_size(run, dots):
    images = dots.images(np.arange(50))
    np.testing.assert_allclose(run.encode(images), run.encode(images, batch_size=7), atol=1e-5)


def test_sampled_codes_scatter_around_the_mean_with_the_posterior_variance(run, dots):
    images = np.repeat(dots.images([5]), 20_000, axis=0)
    found = run.describe(images[:1])
    codes = run.encode(images, kind="sampled", seed=3)
    # Standard error of a mean of 20,000 draws is 0.7 % of the deviation, of a variance 1 %.
    deviation = np.exp(found["logvar"][0] / 2)
    np.testing.assert_allclose(codes.mean(axis=0), found["mean"][0], atol=0.03 * deviation.max())
    np.testing.assert_allclose(codes.std(axis=0), deviation, rtol=0.03)
    assert (codes == run.encode(images, kind="sampled", seed=3)).all()


def test_summary_agrees_with_the_definition(run, dots):
    found = summarise(run, dots, images=500)
    mean_kl = found.kl_per_latent
    assert found.kl == pytest.approx(mean_kl.sum())
    assert found.elbo == pytest.approx(-found.reconstruction - found.kl)
    assert found.active == [int(j) for j in np.argsort(-mean_kl) if mean_kl[j] > 0.01]
    json.dumps(found.to_json())


@pytest.mark.parametrize(
    "images",
    [
        np.zeros((2, 16, 16, 1)),
        np.zeros((2, 1, 16, 16), np.uint8),
        np.zeros((16, 16, 1), np.uint8),
        np.zeros((0, 16, 16, 1), np.uint8),
    ],
)
def test_wrong_images_are_refused(run, images):
    with pytest.raises(UsageError, match="images"):
        run.encode(images)


def test_codes_of_the_wrong_width_are_refused(run):
    with pytest.raises(UsageError, match="3 columns, one per latent of this run, got 4"):
        run.decode(np.zeros((1, 4)))


def test_what_a_model_cannot_do_is_said(run, dots, tmp_path):
    with pytest.raises(UsageError, match="does not predict"):
        run.predict(dots.images([0]))
    with pytest.raises(UsageError, match="trained on data held in memory"):
        run.data()
    plain = unbraid.train(AE(net="mlp:width=8"), dots, steps=2, out=tmp_path / "ae", progress="none")
    with pytest.raises(UsageError, match="no sampled representation"):
        plain.encode(dots.images([0]), kind="sampled")
    assert summarise(plain, dots, images=10).elbo is None
    contrast = unbraid.train("pcl", dots, steps=2, batch_size=4, out=tmp_path / "pcl", progress="none")
    found = summarise(contrast, dots, images=10)
    assert (found.reconstruction, found.kl, found.elbo, found.active) == (None, None, None, None)


def test_data_that_changed_since_training_is_refused(tmp_path):
    file, rng = tmp_path / "own.npz", np.random.default_rng(0)
    np.savez(file, images=rng.integers(256, size=(50, 8, 8, 1), dtype=np.uint8))
    trained = unbraid.train("vae", str(file), steps=2, out=tmp_path / "run", progress="none")
    assert len(trained.data()) == 50
    np.savez(file, images=rng.integers(256, size=(50, 8, 8, 1), dtype=np.uint8))
    with pytest.raises(UsageError, match=r"not those .*run was trained on.*--data NAME"):
        open_run(trained.path).data()


def test_data_that_cannot_be_loaded_again_say_how(tmp_path, dots):
    own = from_arrays(dots.images(range(20)))
    trained = unbraid.train("vae", own, steps=2, out=tmp_path / "run", progress="none")
    with pytest.raises(UsageError, match=r"data held in memory; .*unbraid\.data\.save\(data, 'mine\.npz'\)"):
        trained.data()
    kept = data.save(own, tmp_path / "mine.npz")  # before or after training
    assert summarise(trained, data.load(str(kept)), images=10).kl is not None
    path = trained.path / "run.json"
    stored = json.loads(path.read_text())
    stored["data"]["recipe"] = {"name": "of-a-plugin", "options": {}}
    path.write_text(json.dumps(stored))
    with pytest.raises(UsageError, match=r"unknown data set 'of-a-plugin'.*--plugin FILE\.py"):
        open_run(trained.path).data()


def test_a_missing_run_names_its_neighbours(run):
    with pytest.raises(UsageError, match=r"no run folder.*Runs beside it: .*/a"):
        open_run(run.path.parent / "b")


def test_damaged_files_are_named(run, dots, tmp_path):
    for name, content, words in [
        ("run.json", b"{", "run.json is not readable"),
        ("run.json", b"{}", "has no entry 'objective'"),
        ("checkpoint.safetensors", (run.path / "checkpoint.safetensors").read_bytes()[:5000], "damaged"),
        ("checkpoint.safetensors", b"cos\nsystem\n(S'touch hacked'\ntR.", "damaged"),
    ]:
        copy = tmp_path / str(len(list(tmp_path.iterdir())))
        copy.mkdir()
        for file in ("run.json", "checkpoint.safetensors"):
            (copy / file).write_bytes((run.path / file).read_bytes())
        (copy / name).write_bytes(content)
        with pytest.raises(UsageError, match=words):
            open_run(copy).encode(dots.images([0]))


@pytest.mark.parametrize("net", ["conv", "slow"])
def test_codes_are_those_of_plain_layers_whatever_the_blocks(net, tmp_path):
    rng = np.random.default_rng(0)
    images = rng.integers(256, size=(150, 32, 32, 1)).astype(np.uint8)
    run = unbraid.train(BetaVAE(net=net, latents=3), from_arrays(images), steps=2, out=tmp_path, progress="none")
    with torch.no_grad():
        expected = run.model.encoder(torch.from_numpy(images).permute(0, 3, 1, 2).contiguous() / 255)[:, :3].numpy()
    codes = run.encode(images)
    assert np.abs(codes - expected).max() < 1e-4 * expected.std()
    np.testing.assert_array_equal(codes[:64], run.encode(images[:64]))


def test_convolutions_go_through_the_cpu_in_small_blocks():
    where = numerics.device("cpu")
    assert numerics.block_size(torch.nn.Sequential(torch.nn.Conv2d(1, 1, 1)), 256, where) == 64
    assert numerics.block_size(torch.nn.Sequential(torch.nn.Conv2d(1, 1, 1)), 16, where) == 16
    assert numerics.block_size(torch.nn.Sequential(torch.nn.Linear(1, 1)), 256, where) == 256
