"""What is attacked besides a run as it is: Binary ABS, the nearest neighbour, and networks that lend adversarials."""

import json
import shutil

import numpy as np
import polars
import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file

import unbraid
from unbraid.cli.app import main
from unbraid.data import load
from unbraid.errors import UsageError
from unbraid.robustness import Target, attack_blocks, bound_blocks, budgets, smallest
from unbraid.robustness.synthesis import binary_bound, lower_bounds

DATA = load("blobs16")
TRAINED = {"factor": "x", "batch_size": 4, "progress": "none"}


@pytest.fixture(scope="module")
def searching(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "drawn"
    options = {"steps": 60, "samples": 30, "iterations": 6, "latents": 2, "anneal_steps": 30, **TRAINED}
    return unbraid.train("abs", DATA, out=folder, **options)


@pytest.fixture(scope="module")
def thresholded(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "binary"
    options = {"net": "binarised:net=mlp", "steps": 60, "learning_rate": 0.01, **TRAINED}
    return unbraid.train("classifier", DATA, out=folder, **options)


@pytest.fixture
def few(monkeypatch):
    monkeypatch.setattr(smallest, "BLOCK", 3)
    monkeypatch.setitem(budgets.BUDGETS, "quick", {"l2": {"fgm": {"levels": 5}}, "linf": {"fgm": {"levels": 5}}})
    monkeypatch.setitem(budgets.DEAR, "quick", {})
    monkeypatch.setattr(budgets, "DRAWING", {})


def test_binary_abs_does_not_see_what_crosses_no_threshold(searching, tmp_path):
    target = Target(searching, DATA, folder=tmp_path, images=3, variant="binarised")
    assert target.threshold == 0.5
    pixels = torch.from_numpy(target.examples.read(slice(None))).permute(0, 3, 1, 2) / 255
    moved = torch.where(pixels >= 0.5, 0.5, 0.49)
    judge = target.judge
    assert torch.equal(judge.scores(pixels), judge.scores(moved))
    # Scales are fitted once, and read again.
    assert target.scales.shape == (len(judge.scores(pixels[:1])[0]),)
    (path,) = tmp_path.rglob("scales.parquet")
    polars.DataFrame({"scale": np.full_like(target.scales, 1.05)}).write_parquet(path)
    assert (Target(searching, DATA, folder=tmp_path, images=3, variant="binarised").scales == 1.05).all()


@pytest.mark.usefixtures("few")
def test_what_a_threshold_does_not_see_is_taken_back_of_binary_networks(thresholded, tmp_path):
    target = Target(thresholded, DATA, folder=tmp_path, images=6)
    assert target.threshold == 0.5
    found = attack_blocks(target, ("l2",))
    moved = found.filter((polars.col("distance") > 0) & polars.col("distance").is_finite())
    assert len(moved)
    originals = dict(zip(target.examples.index.tolist(), target.examples.read(slice(None)), strict=True))
    for row in moved.iter_rows(named=True):
        picture = np.frombuffer(row["picture"], np.uint8).reshape(16, 16, 1)
        changed = picture != originals[row["image"]]
        assert changed.any()
        assert np.isin(picture[changed], (127, 128)).all()  # at the threshold, and no farther


def test_the_nearest_neighbour_is_that_of_all_training_images(searching, tmp_path):
    target = Target(searching, DATA, folder=tmp_path, images=6, variant="neighbour")
    assert target.search is None
    assert target.threshold is None
    pixels = torch.from_numpy(target.examples.read(slice(None))).permute(0, 3, 1, 2) / 255
    scores = target.judge.scores(pixels)
    # These are training images: their own distance is nothing (but for the root's floor), and their class is right.
    assert (scores.argmax(1).numpy() == target.labels).all()
    assert scores.amax(1).abs().max() < 1e-9


@pytest.mark.usefixtures("few")
def test_adversarials_of_a_substitute_are_tried_in_l2_and_linf(searching, thresholded, tmp_path):
    target = Target(thresholded, DATA, folder=tmp_path, images=3, substitute=searching)
    found = attack_blocks(target, ("l2", "linf"))
    assert sorted(set(zip(found["norm"], found["attack"], strict=True))) == [
        ("l2", "fgm"), ("l2", "transfer"), ("linf", "fgm"), ("linf", "transfer"),
    ]  # fmt: skip
    # Another substitute is another question; attacks without one are known.
    asked = []
    attack_blocks(
        Target(thresholded, DATA, folder=tmp_path, images=3, substitute=thresholded), ("l2",), say=asked.append
    )
    assert asked == ["transfer, l2, image 0 of 3"]


@pytest.mark.usefixtures("few")
def test_bounds_are_those_of_the_images_and_of_thresholded_ones(searching, tmp_path):
    plain = Target(searching, DATA, folder=tmp_path, images=4)
    found = bound_blocks(plain)
    images, labels = plain.examples.read(slice(None)), plain.labels
    own = lower_bounds(searching, images, labels, linf=True)
    np.testing.assert_allclose(found["l2"], own.l2, rtol=1e-3, atol=1e-5)
    np.testing.assert_allclose(found["linf"], own.linf, atol=1e-3)
    binary = Target(searching, DATA, folder=tmp_path, images=4, variant="binarised")
    found = bound_blocks(binary)
    black = (images >= 127.5).astype(np.uint8) * 255
    own = lower_bounds(searching, black, labels, scales=binary.scales)
    for norm, column, given in (("l2", "l2", own.l2), ("linf", "linf", own.coupled), ("l0", "l0", own.coupled)):
        np.testing.assert_allclose(found[column], binary_bound(images / 255, given, norm=norm), atol=1e-6)
    np.testing.assert_allclose(found["seen_l2"], own.l2, atol=1e-6)
    np.testing.assert_allclose(found["seen_coupled"], own.coupled, atol=1e-6)
    neighbour = Target(searching, DATA, folder=tmp_path, images=4, variant="neighbour")
    with pytest.raises(UsageError, match="bounds are for ABS runs"):
        bound_blocks(neighbour)


def test_bounds_behind_a_threshold_are_the_cheapest_flips_by_brute_force():
    rng = np.random.default_rng(0)
    images, bounds = rng.random((5, 6)), np.array([0.0, 0.9, 1.3, 1.8, 2.2])
    subsets = [[i for i in range(6) if bits >> i & 1] for bits in range(64)]
    for norm, size in (("l2", np.linalg.norm), ("linf", np.max), ("l0", len)):
        for image, bound, found in zip(images, bounds, binary_bound(images, bounds, norm=norm), strict=True):
            costs = [size(np.abs(image[s] - 0.5)) for s in subsets if s and len(s) >= bound**2]
            assert found == pytest.approx(min(costs) if bound else 0.0)
    with pytest.raises(UsageError, match="norm"):
        binary_bound(images, bounds, norm="l1")


def test_targets_that_cannot_be_are_refused(searching, thresholded, tmp_path):
    with pytest.raises(UsageError, match="trained by 'classifier'"):
        Target(thresholded, DATA, folder=tmp_path, variant="binarised")
    options = {**TRAINED, "factor": "y", "net": "mlp:width=8", "steps": 1}
    other = unbraid.train("classifier", DATA, out=tmp_path / "y", **options)
    with pytest.raises(UsageError, match=r"substitute must be a run of the same .* 16 classes y, and .* 16 classes x;"):
        Target(searching, DATA, folder=tmp_path, substitute=other)
    with pytest.raises(UsageError, match="unknown variant 'bnary'"):
        Target(searching, DATA, folder=tmp_path, variant="bnary")


@pytest.mark.usefixtures("few")
def test_the_command_attacks_all_of_them_and_tells_bounds(searching, thresholded, tmp_path, capsys):
    asked = ["robustness", "attack", str(thresholded.path), "--norms", "l2", "--images", "3", "--distal", "0"]
    assert main([*asked, "--also", "binarised", "--out", str(tmp_path)]) == 2
    assert "--also binarised is for ABS runs" in capsys.readouterr().err
    assert main([*asked, "--also", "both", "--out", str(tmp_path)]) == 2
    assert "unknown --also 'both'" in capsys.readouterr().err
    more = [str(searching.path), "--also", "binarised,neighbour", "--substitute", str(thresholded.path), "--bounds"]
    assert main([*asked[:3], *more, *asked[3:], "--out", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    for name in ("binary", "drawn", "drawn binarised", "nearest neighbour"):
        assert name in said
    assert "How far at least, 3 images; valid if the search found the best latent of every class" in said
    table = polars.read_csv(tmp_path / "table.csv")
    assert set(table["attack"]) == {"fgm", "transfer", "all"}
    bounds = polars.read_parquet(tmp_path / "bounds.parquet")
    assert bounds["model"].unique(maintain_order=True).to_list() == ["drawn", "drawn binarised"]
    assert main([*asked[:3], *more, *asked[3:], "--out", str(tmp_path), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["bounds"]
    assert [row["model"] for row in told] == ["drawn", "drawn binarised"]
    own = bounds.filter(model="drawn")
    assert told[0]["coupled"] == pytest.approx(own["coupled"].mean())
    assert told[0]["linf"] == pytest.approx(own["linf"].median())
    page = (tmp_path / "report.html").read_text()
    assert "How far at least" in page
    assert "drawn binarised, of thresholded images" in page
    assert "| drawn binarised, of thresholded images |" in (tmp_path / "report.md").read_text()


@pytest.mark.parametrize("place", ["second run", "substitute"])
@pytest.mark.parametrize("factor", [torch.nan, 1e37])  # the latter is finite: the scores overflow
def test_scores_that_are_no_numbers_are_refused_before_any_attack(thresholded, tmp_path, place, factor, capsys):
    broken = tmp_path / "broken"
    shutil.copytree(thresholded.path, broken)
    weights = broken / "checkpoint.safetensors"
    with safe_open(weights, "pt") as file:
        about = file.metadata()
    known = load_file(weights)
    save_file({name: one * factor if "weight" in name else one for name, one in known.items()}, weights, metadata=about)
    told = [str(broken)] if place == "second run" else ["--substitute", str(broken)]
    out = tmp_path / "out"
    assert main(["robustness", "attack", str(thresholded.path), *told, "--images", "3", "--out", str(out)])
    error = capsys.readouterr().err
    assert "broken" in error
    assert "NaN" in error
    assert not list(out.rglob("*.parquet"))
