"""Pages of runs that predict instead of encoding, and what is refused for them."""

import json
import re
import shutil

import numpy as np
import polars
import pytest

import unbraid
from unbraid.cli.app import main
from unbraid.data import from_arrays, load
from unbraid.errors import UsageError
from unbraid.evaluation import measure, title
from unbraid.objectives import Classifier, Regressor
from unbraid.report.explorer.contents import look_at
from unbraid.report.page import make_report
from unbraid.report.page.axes import number
from unbraid.report.traversal import traverse


@pytest.fixture(scope="module")
def classifier(tmp_path_factory):
    out = tmp_path_factory.mktemp("runs") / "classifier"
    return unbraid.train(Classifier(net="mlp:width=16"), load("digits8"), steps=60, out=out, progress="none")


@pytest.fixture(scope="module")
def regressor(tmp_path_factory):
    out = tmp_path_factory.mktemp("runs") / "regressor"
    return unbraid.train(
        Regressor(net="mlp:width=16", learning_rate=0.01), load("dots"), steps=60, out=out, progress="none"
    )


def test_the_page_of_a_classifier_has_its_confusions_and_worst_images(classifier):
    page = make_report([classifier.path])
    data = classifier.data()
    score = measure(classifier, data, "accuracy:images=5000")["accuracy"].scores()["accuracy"]
    assert f"Accuracy {number(score.value, 4)} (95 % interval" in page
    for heading in ("Predictions", "Worst images", "Training", "Reproduce it"):
        assert f"<h2>{heading}</h2>" in page
    assert "Missing:" not in page
    shares = 100 * np.asarray(score.parts["confusion"]) / np.asarray(score.parts["confusion"]).sum(1, keepdims=True)
    rows = re.search(r'<table class="heat">.*?</table>', page, re.DOTALL)[0].split("<tr")[2:]
    shown = np.array([[float(cell) for cell in re.findall(r">([\d.]+)</td>", row)] for row in rows])
    np.testing.assert_allclose(shown, shares, atol=0.051)
    # The worst image is that with the largest cross-entropy; its caption says what it is and what it is taken for.
    scores = classifier.predict(data.images(np.arange(len(data)))).astype(float)
    losses = np.log(np.exp(scores).sum(1)) - scores[np.arange(len(data)), data.labels()]
    worst = int(losses.argmax())
    assert "In brackets: the probability that the model gives to the class it names." in page
    captions = re.findall(r"<small>(\w+, taken for \w+ \([\d.]+\))</small>", page)
    assert len(captions) > 5
    taken = data.classes[scores[worst].argmax()]
    assert captions[0].startswith(f"{data.classes[data.labels()[worst]]}, taken for {taken} (")


def test_the_page_of_a_regressor_has_r2_and_predicted_against_true(regressor):
    page = make_report([regressor.path])
    score = measure(regressor, load("dots"), "r2:images=5000")["r2"].scores()["r2"]
    assert f"R² {number(score.value, 4)} on average" in page
    assert page.count("predicted</text>") == 2  # a chart per factor
    assert "<h2>Worst images</h2>" in page
    assert "Missing:" not in page


def test_the_page_tells_what_evaluate_stored(classifier, tmp_path):
    shutil.copytree(classifier.path, tmp_path / "run")
    assert main(["evaluate", str(tmp_path / "run"), "--measures", "accuracy:images=100", "--seed", "3"]) == 0
    stored = json.loads((tmp_path / "run" / "scores.json").read_text())["measures"]["accuracy"]["rows"][0]["scores"]
    page = make_report([tmp_path / "run"])
    assert f"Accuracy {number(stored['accuracy']['value'], 4)} (95 % interval" in page
    assert "100 images of digits8" in page
    table = re.search(r"<h2>Measures</h2>.*?</table>", page, re.DOTALL)[0]
    for name in ("accuracy", "cross_entropy"):
        value = stored[name]["value"] if name == "accuracy" else stored[name]
        assert f'data-key="{title(name)}"' in table
        assert f'data-key="{value!r}"' in table


def test_several_predictors_are_compared(classifier, regressor):
    page = make_report([classifier.path, regressor.path])
    assert "accuracy" in page
    assert "R²" in page
    assert ">None<" not in page  # what the other objective has no option for


def test_many_classes_are_listed_instead_of_a_matrix(tmp_path):
    rng = np.random.default_rng(0)
    labels = np.arange(200) % 20
    data = from_arrays(rng.integers(256, size=(200, 8, 8, 1)).astype(np.uint8), labels=labels)
    np.savez(tmp_path / "many.npz", images=data.images(np.arange(200)), labels=labels)
    run = unbraid.train(
        Classifier(net="mlp:width=8"), load(str(tmp_path / "many.npz")), steps=5, out=tmp_path / "run", progress="none"
    )
    page = make_report([run.path])
    assert "Most often confused" in page
    assert '<table class="heat">' not in page


def test_data_without_the_truth_leave_a_gap(classifier, tmp_path):
    np.savez(tmp_path / "plain.npz", images=np.zeros((20, 8, 8, 1), np.uint8))
    from unbraid.report.page.model import Choices

    page = make_report([classifier.path], choices=Choices(data=str(tmp_path / "plain.npz")))
    assert "Missing: predictions" in page


def test_the_command_for_training_again_has_no_empty_list(classifier):
    assert "--augment" not in make_report([classifier.path])


def test_the_explorer_says_what_it_can_show(classifier):
    found = look_at(classifier.path)
    assert found.decoder is None
    assert found.history
    assert [name for name, _, _ in found.scores if name == "accuracy"] == ["accuracy"]
    assert [problem["what"] for problem in found.problems] == ["This is a classifier."]
    assert "unbraid report" in found.problems[0]["detail"]


def test_there_is_nothing_to_walk_along(classifier, capsys):
    with pytest.raises(UsageError, match=r"no latents to walk along.*'classifier' does not encode.*unbraid report"):
        traverse(classifier, classifier.data())
    assert main(["traverse", str(classifier.path)]) != 0
    assert "no latents to walk along" in " ".join(capsys.readouterr().err.split())


def test_a_study_of_classifiers_has_a_table_and_reports(tmp_path):
    file = tmp_path / "study.toml"
    file.write_text(
        'name = "predicting"\ndata = ["digits8"]\nseeds = 1\nsteps = 5\nnet = "mlp:width=8"\n'
        "[objectives.classifier]\nlearning_rate = [0.001, 0.01]\n[measures.accuracy]\nimages = 100\n"
    )
    folder = str(tmp_path / "study")
    assert main(["study", "run", str(file), "--out", folder, "--workers", "1"]) == 0
    assert main(["study", "report", folder]) == 0
    assert main(["report", folder]) == 0
    table = polars.read_parquet(tmp_path / "study" / "table.parquet")
    assert table["accuracy"].null_count() == 0
    assert len(table) == 2
    page = next(tmp_path.rglob("*.html")).read_text()
    means = re.search(
        r'<table class="data sortable">\s*<caption[^>]*>Means over seeds</caption>.*?</table>', page, re.DOTALL
    )
    for value in table["accuracy"]:
        assert f'<td class="num" data-key="{value!r}">' in means[0]
    assert (
        f"| accuracy | digits8 | classifier learning_rate 0.001 |  | {table['accuracy'][0]:.4g} |  | 1 |"
        in (tmp_path / "study" / "report" / "report.md").read_text()
    )
