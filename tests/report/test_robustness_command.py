"""The command `unbraid robustness`: tables on the terminal, JSON, pages."""

import json
from pathlib import Path

import pytest
from page_checks import check_page

import unbraid
from unbraid.cli.app import main
from unbraid.cli.robustness import run_names
from unbraid.data import load
from unbraid.robustness import adversarial_accuracy, corruption_table

DATA = load("blobs16")


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    options = {"net": "mlp:width=32", "factor": "x", "steps": 150, "progress": "none", "learning_rate": 0.01}
    for name, augment in (("plain", ()), ("noisy", ("gaussian-noise:sigma=0.3",))):
        unbraid.train("classifier", DATA, out=folder / name, augment=augment, **options)
    return [str(folder / "plain"), str(folder / "noisy")]


def ask(capsys, *words):
    assert main(["robustness", *words]) == 0
    return capsys.readouterr().out


def test_corruptions_have_a_table_and_a_page(runs, tmp_path, capsys):
    asked = ["corruptions", *runs, "--suite", "gaussian_noise,fog", "--severities", "1,5", "--images", "40"]
    said = ask(capsys, *asked, "--reference", runs[0], "--out", str(tmp_path))
    assert "Accuracy in % on 40 images of blobs16" in said
    assert "errors, % of plain" in said
    assert "( ) was shown in training" in said
    page = check_page((tmp_path / "report.html").read_text())
    heads = [words for tag, words in page.texts if tag == "h2"]
    assert heads == ["Which corruption costs most", "Accuracy", "Over severity", "Worst images", "Reproduce it"]
    told = json.loads(ask(capsys, *asked, "--json", "--out", str(tmp_path)))
    table = corruption_table(unbraid.open_run(runs[0]), DATA, "gaussian_noise,fog", (1, 5), images=40)
    assert told["models"]["plain"]["mean"] == pytest.approx(table.mean())
    assert told["models"]["plain"]["corruptions"]["fog"] == pytest.approx(table.accuracy("fog"))
    assert told["models"]["noisy"]["trained_on"] == ["gaussian_noise"]
    assert "report" in told


def test_noise_has_a_table_and_a_page(runs, tmp_path, capsys):
    asked = ["noise", *runs, "--images", "20", "--out", str(tmp_path), "--generators", "2", "--steps", "2"]
    said = ask(capsys, *asked, "--directions", "gaussian,learned")
    assert said.count("gaussian") == said.count("learned") == 2
    page = check_page((tmp_path / "report.html").read_text())
    heads = [words for tag, words in page.texts if tag == "h2"]
    assert heads == ["How much noise", "Decisions that stand", "Images that fall first", "Reproduce it"]
    alone = ["noise", runs[0], "--images", "5", "--generators", "1", "--steps", "1", "--directions", "learned"]
    assert "learned" in ask(capsys, *alone, "--out", str(tmp_path / "one"))  # which has no spread
    told = json.loads(ask(capsys, *asked, "--directions", "gaussian", "--json"))["distances"]
    assert [row["model"] for row in told] == ["plain", "noisy"]


def test_adversaries_have_a_table_and_a_page(runs, tmp_path, capsys):
    asked = ["adversarial", runs[0], "--images", "20", "--steps", "5", "--eps", "0.05,0.5", "--out", str(tmp_path)]
    told = json.loads(ask(capsys, *asked, "--json"))["accuracies"]
    again = adversarial_accuracy(unbraid.open_run(runs[0]), DATA, "l2", 0.5, steps=5, images=20)
    assert told[1]["accuracy_percent"] == pytest.approx(100 * again.accuracy)
    assert "plain" in ask(capsys, *asked)
    assert main(["list", "attacks"]) == 0
    assert "linf, l2" in capsys.readouterr().out
    check_page((tmp_path / "report.html").read_text())


def test_runs_are_called_so_that_they_can_be_told_apart():
    folders = [Path("a/gnt/0"), Path("b/gnt/0"), Path("b/gnt/1"), Path("b/gnt/0")]
    assert list(run_names(folders).values()) == ["a/gnt/0", "b/gnt/0", "1"]


def test_what_cannot_be_is_told(runs, tmp_path, capsys):
    vae = tmp_path / "vae"
    unbraid.train("beta-vae", DATA, net="mlp:width=8", steps=1, out=vae, progress="none")
    for words, message in (
        (["corruptions", str(vae), "--suite", "fog"], "does not apply to vae on blobs16"),
        (["noise", str(vae)], "cannot be asked on blobs16: it needs a model that names classes"),
        (["adversarial", runs[0], "--eps", "0.1"], "must have a number for each of --norms"),
        (["adversarial", runs[0], "--eps", "a,b"], "'a' is no number"),
        (["adversarial", runs[0], "--norms", "", "--eps", ""], "--norms must name at least one"),
        (["noise", runs[0], "--directions", ""], "directions must name at least one of gaussian"),
        (
            ["corruptions", runs[0], "--data", "mini-sprites", "--suite", "fog"],
            "was trained on images [16, 16, 1], and mini-sprites has [64, 64, 1]",
        ),
    ):
        assert main(["robustness", *words]) == 2
        assert message in capsys.readouterr().err
