"""What the explorer writes: networks that compute what PyTorch computes, codes, and what it says of broken runs."""

import hashlib
import json
import warnings
from pathlib import Path

import numpy as np
import pytest
import torch

from unbraid import objectives
from unbraid.cli.app import main
from unbraid.data import from_arrays, load
from unbraid.errors import UsageError
from unbraid.report.explorer import run_site, write_site
from unbraid.report.explorer.contents import look_at
from unbraid.report.explorer.networks import decoder_onnx, encoder_onnx
from unbraid.training import open_run, train

ROOT = Path(__file__).parents[2]


def compute(model: bytes, values: np.ndarray) -> np.ndarray:
    """Run an ONNX model by the format's own reference implementation."""
    import onnx
    from onnx.reference import ReferenceEvaluator

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # numpy's, about the reference implementation
        session = ReferenceEvaluator(onnx.load_from_string(model))
        return session.run(None, {session.input_names[0]: values})[0]


@pytest.mark.parametrize(
    ("objective", "options", "shape"),
    [
        ("beta-vae", {"net": "conv"}, (16, 16, 1)),
        ("beta-vae", {"net": "conv"}, (17, 28, 3)),
        ("beta-vae", {"net": "light"}, (17, 28, 3)),
        ("beta-vae", {"net": "broadcast:width=16"}, (17, 28, 3)),
        ("slow-vae", {"net": "slow"}, (16, 16, 1)),
        ("beta-tcvae-sampled", {"net": "conv-bn"}, (16, 16, 1)),
        ("ae", {"net": "mlp:width=16"}, (9, 9, 1)),
        ("vae", {"net": "fc", "likelihood": "gaussian"}, (8, 8, 3)),
        ("full-beta-vae", {"net": "mlp:width=16"}, (8, 8, 1)),
        ("linear-vae", {}, (8, 8, 1)),
    ],
)
def test_exported_networks_compute_what_pytorch_computes(tmp_path, objective, options, shape):
    images = np.random.default_rng(0).integers(256, size=(40, *shape), dtype=np.uint8)
    made = objectives.make(objective, {"latents": 3, **options})
    run = train(made, from_arrays(images, [[i // 8, i % 8] for i in range(40)]), out=tmp_path / "run", steps=1,
                batch_size=4, precision="fp32", progress="none")  # fmt: skip
    codes = 2 * np.random.default_rng(1).standard_normal((5, 3)).astype(np.float32)
    with torch.no_grad():
        wanted = made.decode(run.model, torch.from_numpy(codes)).numpy()
    found = compute(decoder_onnx(run, 3), codes)
    assert found.shape == (5, shape[2], shape[0], shape[1])
    np.testing.assert_allclose(found, wanted, atol=1e-4)
    pixels = (images[:5].transpose(0, 3, 1, 2) / 255).astype(np.float32)
    np.testing.assert_allclose(compute(encoder_onnx(run), pixels), run.encode(images[:5]), atol=1e-4)


def test_latents_come_by_activity_and_only_those_above_a_hundredth_of_a_nat_are_active(small_run):
    found = look_at(small_run.path, images=10, sample=144)
    kl = [latent["kl"] for latent in found.latents]
    assert kl == sorted(kl, reverse=True)
    assert [latent["active"] for latent in found.latents] == [value > 0.01 for value in kl]
    assert {latent["active"] for latent in found.latents} == {True, False}
    assert found.problems == []


def test_the_gallery_holds_images_with_their_own_codes_and_factors(small_run):
    found = look_at(small_run.path, images=10, sample=144)
    data = load("dots")
    index = np.array(found.gallery["index"])
    images = np.frombuffer(found.images, np.uint8).reshape(10, 16, 16, 1)
    assert (images == data.images(index)).all()
    np.testing.assert_allclose(found.gallery["codes"], small_run.encode(images), atol=1e-5)
    assert found.gallery["factors"] == data.space.factors(index).tolist()


def test_information_is_a_share_of_the_entropy_of_each_factor(small_run):
    from unbraid.metrics import mig

    found = look_at(small_run.path, images=1, sample=2000)
    information = np.array(found.information)
    assert information.shape == (6, 2)
    assert (information >= 0).all()
    assert (information <= 1).all()
    # The gap between the two latents that know most, averaged over factors, is the mutual information gap.
    top = np.sort(information, axis=0)
    rng_codes, factors = _sample(small_run, 2000)
    assert (top[-1] - top[-2]).mean() == pytest.approx(float(mig(rng_codes, factors)), abs=1e-3)
    # 12 values each, 20 bins: (19 * 11) / (2 * 2000) nats of log 12.
    assert found.chance == pytest.approx([19 * 11 / 4000 / np.log(12)] * 2, rel=0.01)


def test_discrete_codes_are_counted_by_their_values(tmp_path):
    out = tmp_path / "run"
    run = train("fsq", "dots", steps=5, out=out, net="mlp:width=16", latents=2, values=4, progress="none")
    contents = look_at(out, sample=1000)
    codes, factors = _sample(run, 1000)
    taken = max(len(np.unique(code)) for code in codes.T)
    assert 1 < taken <= 4
    for name, chance in zip(contents.factors, contents.chance, strict=True):
        factor = factors[:, run.data().factor_names.index(name)]
        values, counts = np.unique(factor, return_counts=True)
        entropy = -np.sum(counts / 1000 * np.log(counts / 1000))
        # Chance has a degree of freedom for each value that is taken but one, not for each of 20 bins.
        assert chance == pytest.approx((taken - 1) * (len(values) - 1) / 2000 / entropy, abs=1e-4)


def _sample(run, count):
    from unbraid.data import counter_rng

    data, rng = load("dots"), counter_rng(0, 0)
    index = data.sample_index(count, rng)
    return run.encode(data.images(index)), data.space.factors(index)


def test_the_same_run_gives_the_same_bytes(small_run, tmp_path):
    for name in ("a", "b"):
        write_site(run_site(small_run.path, images=4, sample=100), tmp_path / name)
    files = sorted(path.relative_to(tmp_path / "a") for path in (tmp_path / "a").rglob("*") if path.is_file())
    assert [str(path) for path in files if path.parent == Path()] == [
        "decoder.js", "encoder.js", "images.js", "index.html", "run.js"]  # fmt: skip
    assert all((tmp_path / "a" / path).read_bytes() == (tmp_path / "b" / path).read_bytes() for path in files)


def test_the_command_writes_a_folder_that_names_no_other_machine(small_run, tmp_path, capsys):
    out = tmp_path / "page"
    assert main(["explore", str(small_run.path), "--out", str(out), "--sample", "100", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["page"] == str(out / "index.html")
    assert told["bytes"] == sum(path.stat().st_size for path in out.rglob("*") if path.is_file())
    for name in ("index.html", "run.js", "assets/explorer.css"):
        assert "//" not in (out / name).read_text().replace('lang="en"', "")
    assert str(small_run.path.parent) not in (out / "run.js").read_text()


@pytest.mark.parametrize(
    ("without", "what"),
    [
        ("checkpoint.safetensors", "There is no model to look into."),
        ("run.json", "What this run is cannot be told."),
        ("history.csv", None),
    ],
)
def test_a_run_without_a_file_shows_the_rest_and_says_what_is_missing(broken_run, without, what):
    found = look_at(broken_run(without), sample=100)
    assert [problem["what"] for problem in found.problems] == ([] if what is None else [what])
    assert dict(found.files)[without] is None
    assert (found.decoder is None) == (what is not None)
    assert (found.history is None) == (without == "history.csv")
    found.record()


def test_half_written_files_are_said_to_be_damaged(broken_run):
    path = broken_run()
    checkpoint = path / "checkpoint.safetensors"
    checkpoint.write_bytes(checkpoint.read_bytes()[:1000])
    info = json.loads((path / "run.json").read_text())
    (path / "run.json").write_text(json.dumps(info | {"status": "training", "step": 7}))
    found = look_at(path, sample=100)
    assert [problem["what"] for problem in found.problems] == [
        "Training has not finished.", "There is no model to look into."]  # fmt: skip
    assert "damaged" in found.problems[1]["detail"]
    assert "step 7" in found.problems[0]["detail"]
    (path / "run.json").write_text('{"objective": ')
    assert "not readable as JSON" in look_at(path, sample=100).problems[0]["detail"]


def test_a_run_whose_data_are_gone_still_decodes(tmp_path):
    data = from_arrays(np.zeros((20, 8, 8, 1), np.uint8))
    made = objectives.make("beta-vae", {"latents": 2, "net": "mlp:width=8"})
    train(made, data, out=tmp_path / "run", steps=1, batch_size=4, progress="none")
    found = look_at(tmp_path / "run")
    assert [problem["what"] for problem in found.problems] == ["The images cannot be shown."]
    assert found.decoder is not None
    assert [(latent["low"], latent["high"]) for latent in found.latents] == [(-3.0, 3.0)] * 2
    assert run_site(tmp_path / "run", data=data, images=4, sample=20).contents.problems == []


def test_a_folder_that_is_no_run_is_refused(tmp_path, capsys):
    with pytest.raises(UsageError, match="no run folder"):
        look_at(tmp_path)
    assert main(["explore", str(tmp_path / "nowhere")]) == 2
    assert "is no folder" in capsys.readouterr().err


def test_the_shipped_pages_were_built_from_these_sources():
    # The same sum as in pages/vite.config.ts.
    pages = ROOT / "pages"
    own = ["LICENCES.txt", "package-lock.json", "package.json", "page.html", "tsconfig.json", "vite.config.ts"]
    total = hashlib.sha256()
    for name in [*own, *(f"src/{path.name}" for path in sorted((pages / "src").iterdir()))]:
        total.update(name.encode() + b"\0" + (pages / name).read_bytes() + b"\0")
    stamp = (ROOT / "src/unbraid/report/explorer/static/sources.sha256").read_text().strip()
    assert stamp == total.hexdigest(), "run `make pages`"


def test_an_explorer_calls_an_objective_by_its_title(small_run):
    found = look_at(small_run.path, sample=100)
    assert found.title.startswith(objectives.title("beta-vae") + ", beta = 2 on ")
    assert dict(found.facts)["objective"] == objectives.title("beta-vae")


def test_opening_leaves_the_run_as_it_was(small_run):
    before = {path.name: path.read_bytes() for path in small_run.path.iterdir()}
    look_at(small_run.path, sample=100)
    assert {path.name: path.read_bytes() for path in small_run.path.iterdir()} == before
    assert open_run(small_run.path).finished
