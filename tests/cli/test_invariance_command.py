"""unbraid invariance, from training to pictures."""

import json
import sys
from dataclasses import replace

import numpy as np
import pytest
import torch
from PIL import Image

from unbraid import invariance, open_run
from unbraid.cli.app import main
from unbraid.cli.early import check_net
from unbraid.errors import UsageError
from unbraid.invariance import estimated_theorem8, to_pictures
from unbraid.objectives import make

DIGITS = ["--data", "digits8", "--batch-size", "32", "--steps"]


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    bijective, other, spheres = (str(folder / name) for name in ("bijective", "other", "spheres"))
    assert (
        main(["train", "firevnet", *DIGITS, "60", "--net", "conv:stages=2,blocks=1,width=8", "--out", bijective]) == 0
    )
    assert main(["train", "classifier", *DIGITS, "60", "--net", "mlp:width=32", "--out", other]) == 0
    small = ["--data", "spheres:d=30,images=5000", "--net", "fc:width=32", "--optimizer", "adam", "--precision", "fp32"]
    assert main(["train", "firevnet", *small, "--steps", "120", "--out", spheres]) == 0
    return bijective, other, spheres


def answer(capsys, *words):
    capsys.readouterr()
    assert main(["invariance", *words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_metamers_of_digits_with_a_classifier_in_place_of_an_oracle(runs, capsys, tmp_path):
    bijective, other, _ = runs
    out = tmp_path / "new" / "metamers.png"
    found = answer(
        capsys, "metamers", bijective, "--images", "40", "--oracle", other, "--out", str(out), "--shown", "5"
    )
    assert found["residual"] < 1e-3
    assert found["proxy"] is True
    assert found["kept"] + found["changed"] > 0.9
    with Image.open(out) as opened:
        picture = np.asarray(opened)
    assert picture.shape[1] > 5 * 64
    assert len(np.unique(picture)) > 10
    assert main(["invariance", "metamers", bijective, "--images", "10", "--out", str(out)]) == 0
    assert "residual" in capsys.readouterr().out


def test_metamers_of_spheres_know_their_oracle(runs, capsys):
    found = answer(capsys, "metamers", runs[2], "--images", "100")
    assert found["proxy"] is False
    assert 0 <= found["agreement"] <= 1
    assert "picture" not in found


def test_interpolation_is_a_picture_of_columns(runs, capsys, tmp_path):
    out = tmp_path / "way.png"
    assert main(["invariance", "interpolate", runs[0], "--images", "3", "--steps", "4", "--out", str(out)]) == 0
    assert "logits differ by at most" in capsys.readouterr().out
    with Image.open(out) as opened:
        assert opened.size[1] > 5 * 64
    assert main(["invariance", "interpolate", runs[2], "--out", str(out)]) == 2


def test_planes_of_spheres(runs, capsys, tmp_path):
    out = tmp_path / "planes.png"
    found = answer(capsys, "planes", runs[2], "--out", str(out))
    assert found["two random points"]["semantic"]["outer_called_inner"] < 0.05
    assert found["a point and its metamer"]["semantic"]["outer_called_inner"] > 0.05
    assert out.stat().st_size > 10_000
    assert main(["invariance", "planes", runs[0], "--out", str(out)]) == 2
    assert "planes are those of spheres" in capsys.readouterr().err


def test_nuisance_and_theorem_in_numbers(runs, capsys):
    bijective, other, _ = runs
    small = ["--images", "400", "--steps", "100"]
    found = answer(capsys, "nuisance", bijective, *small, "--width", "64")
    assert found["test_error"] < found["chance"]
    assert 0 < found["information"] <= found["entropy"]
    told = answer(capsys, "theorem", bijective, *small, "--oracle", other)
    assert told["slack"] == pytest.approx(told["before"]["y_s"] - told["after"]["y_s"])
    assert told["estimated"] is True
    assert main(["invariance", "theorem", bijective, *small, "--oracle", other]) == 0
    assert "all numbers are estimates" in capsys.readouterr().out
    assert main(["invariance", "theorem", bijective]) == 2
    assert "Give --oracle RUN" in capsys.readouterr().err


def test_the_theorem_asks_one_judge_before_and_after(runs, capsys, monkeypatch):
    asked = []

    def keep(net, before, after, **options):
        asked.append((before, after))
        return estimated_theorem8(net, before, after, **options)

    monkeypatch.setattr(invariance, "estimated_theorem8", keep)
    answer(capsys, "theorem", runs[0], "--images", "200", "--steps", "5", "--oracle", runs[1])
    ((x, classes), _) = asked[0]
    said = open_run(runs[1]).predict(to_pictures(open_run(runs[0]), x)).argmax(1)
    assert classes.tolist() == said.tolist()


def test_planes_need_a_metamer_on_the_sphere(runs, capsys, monkeypatch, tmp_path):
    found = invariance.on_sphere_metamer

    def none(*told, **options):
        return replace(found(*told, **options), found=torch.zeros(32, dtype=torch.bool))

    monkeypatch.setattr("unbraid.invariance.shown.on_sphere_metamer", none)
    assert main(["invariance", "planes", runs[2], "--out", str(tmp_path / "planes.png")]) == 2
    assert "of 32 points of the inner sphere none has a metamer" in capsys.readouterr().err


def test_runs_that_are_not_bijective_are_refused(runs, capsys):
    assert main(["invariance", "metamers", runs[1]]) == 2
    assert "is not bijective" in capsys.readouterr().err
    assert main(["invariance", "metamers", runs[0], "--images", "1"]) == 2
    assert "images must be at least 2" in capsys.readouterr().err


def test_wrong_networks_are_answered_before_torch_is_imported(monkeypatch):
    monkeypatch.delitem(sys.modules, "torch")
    for right in ("auto", "conv:blocks=2", "fc", "imagenet"):
        check_net(make("ice", {"net": right}))
    with pytest.raises(UsageError, match="unknown bijection 'cnn'"):
        check_net(make("firevnet", {"net": "cnn"}))
