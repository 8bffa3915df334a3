"""The command `unbraid invariance report`: a page about what runs ignore."""

import json

import pytest
from page_checks import check_page

import unbraid
from unbraid.cli.app import main
from unbraid.invariance import PUBLISHED
from unbraid.report import Looked, invariance_report


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder, quiet = tmp_path_factory.mktemp("runs"), {"progress": "none", "batch_size": 32}
    net = "conv:stages=2,blocks=1,width=8"
    unbraid.train("firevnet", "digits8", net=net, steps=60, out=folder / "bijective", **quiet)
    unbraid.train("classifier", "digits8", net="mlp:width=32", steps=60, out=folder / "judge", **quiet)
    spheres = {"net": "fc:width=32", "optimizer": "adam", "precision": "fp32", "progress": "none"}
    unbraid.train("firevnet", "spheres:d=30,images=5000", steps=120, out=folder / "spheres", **spheres)
    return {name: str(folder / name) for name in ("bijective", "judge", "spheres")}


def answer(capsys, *words):
    capsys.readouterr()
    assert main(["invariance", *words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_a_page_shows_errors_information_metamers_and_ways(runs, capsys, tmp_path):
    small = [
        "--train",
        "400",
        "--images",
        "300",
        "--metamers",
        "40",
        "--shown",
        "5",
        "--steps",
        "4",
        "--proxy",
        runs["judge"],
    ]
    told = answer(capsys, "report", runs["bijective"], *small, "--out", str(tmp_path))
    page = check_page((tmp_path / "report.html").read_text())
    heads = [words for tag, words in page.texts if tag == "h2"]
    assert heads == [
        "The class without the logits",
        "Information in nats",
        "Metamers",
        "At constant logits",
        "Reproduce it",
    ]
    # Three rows of five metamers, and 4 + 1 rows (the target underneath) of the ways of five of them.
    assert len(page.all("img")) == 3 * 5 + 5 * 5
    numbers = told["models"]["bijective"]
    assert numbers["nuisance_information"] <= numbers["label_entropy"]
    assert f"{100 * numbers['nuisance_test_error']:.3g}" in page.text
    assert "These are images that bijective trained on" in page.text
    assert "Published" not in page.text  # which is of MNIST
    assert main(["invariance", "report", runs["bijective"], *small, "--out", str(tmp_path)]) == 0  # stored by now
    assert "wrong by logits" in capsys.readouterr().out
    assert main(["invariance", "report", runs["judge"], "--out", str(tmp_path)]) == 2
    assert "it needs a run of firevnet or ice" in capsys.readouterr().err


def test_the_page_of_spheres_shows_planes(runs, capsys, tmp_path):
    answer(
        capsys,
        "report",
        runs["spheres"],
        "--train",
        "400",
        "--images",
        "300",
        "--metamers",
        "40",
        "--out",
        str(tmp_path),
    )
    page = check_page((tmp_path / "report.html").read_text())
    assert len(page.all("image")) == 4  # two planes, by logits and by the nuisance classifier
    assert "of the outer circle called inner" in page.text
    assert "Geometry says what a metamer shows" in page.text
    assert not page.all("img")


def test_published_errors_stand_beside_those_of_digits():
    scores = dict.fromkeys(("logit_train_error", "nuisance_train_error", "logit_information"), 0.1)
    scores |= {"logit_test_error": 0.01, "nuisance_test_error": 0.02, "nuisance_information": 2.2}
    scores |= {"label_entropy": 2.3, "chance_error": 0.9, "metamer_residual": 1e-5, "metamer_kept": 1.0}
    scores |= {"metamer_as_logits": 0.1, "metamer_as_donor": 0.8, "metamer_by_proxy": 1.0, "proxy_test_error": 0.01}
    scores |= {"bits_per_dimension": 2.0, "inverse_error": 1e-6}
    data = unbraid.data.from_arrays(unbraid.data.load("digits8").images([0, 1]), labels=[0, 1], name="mnist")
    page = check_page(invariance_report([Looked("one", "iCE", scores)], data))
    assert all(row.model in page.text for row in PUBLISHED)
    assert "27.7" in page.text
    assert "40.2" in page.text
