"""Which factor breaks under which corruption: of representations in which that is known."""

import json

import numpy as np
import pytest

import unbraid
from unbraid import metrics
from unbraid.cli.app import main
from unbraid.corruptions import Corrupted
from unbraid.data import from_arrays
from unbraid.errors import UsageError
from unbraid.evaluation import FactorsUnderCorruption, kept_table, measure
from unbraid.evaluation.factor_readers import CodeReader
from unbraid.objectives import Classifier, Regressor

NAME = "factors-under-corruption"


@pytest.fixture(scope="module")
def lit():
    """Grey images of six shades with a lighter bar at one of six places: never black, and never white at +0.2."""
    shade, place = np.divmod(np.arange(144) % 36, 6)
    images = np.repeat((40 + 8 * shade)[:, None, None], 24, 1).repeat(24, 2).astype(np.uint8)
    for image, left in zip(images, place, strict=True):
        image[:, 2 + 3 * left : 5 + 3 * left] += 60
    return from_arrays(images, factors=np.stack([shade, place], 1), names=["shade", "place"])


def planted(images):
    """One code reads the brightness, the other where the bar stands, whatever the brightness."""
    columns = images[..., 0].astype(float).mean(axis=1)
    bar = columns - np.median(columns, axis=1, keepdims=True)
    return np.stack([columns.mean(axis=1), (bar * np.arange(24)).sum(1) / np.maximum(bar.sum(1), 1e-9)], axis=1)


def kept(run, data, **settings):
    asked = FactorsUnderCorruption(**{"severities": (2,), "images": 48, "train": 96} | settings)
    return kept_table(measure(run, data, asked)[NAME].rows)


@pytest.mark.parametrize("readout", ["linear", "trees"])
def test_brightness_breaks_the_factor_that_is_read_off_it_and_no_other(lit, readout):
    found = kept(planted, lit, corruptions=("brightness", "mnist-c/translate"), readout=readout)
    assert found.factors == ("shade", "place")
    assert found.rows == ("brightness 2", "translate 1")
    assert found.kept[0, 0] == 0
    assert found.kept[0, 1] == pytest.approx(1, abs=1e-6 if readout == "linear" else 0.02), "an even shift moves no bar"
    assert found.breaks_first.tolist()[0] == [True, False]
    assert "shade: least under brightness 2 (0.00 of clean)" in found.verdict()


def test_shares_are_of_the_linear_r2_on_the_same_images(lit):
    reader = CodeReader(as_codes(planted), lit, 96, 48, "linear", 0)
    spoiled = Corrupted(lit, "contrast")
    fitted, index = reader._fitted_on, reader.index
    assert not set(fitted) & set(index)
    for shown in (lit, spoiled):
        expected = metrics.r2(
            planted(lit.images(fitted)),
            lit.factors(fitted),
            test=(planted(shown.images(index)), lit.factors(index)),
            kinds=lit.factor_kinds,
        )
        assert reader.scores(shown) == pytest.approx(expected.parts["per_factor"])


def as_codes(function):
    from unbraid.evaluation import as_run

    return as_run(function)


def test_classes_and_unreadable_factors(lit):
    digits = from_arrays(lit.images(np.arange(144)), labels=lit.factors(np.arange(144))[:, 0])
    assert kept(planted, digits, corruptions=("brightness",)).factors == ("class",)
    blind = kept(lambda images: np.ones((len(images), 2)), lit, corruptions=("fog",))
    assert np.isnan(blind.kept).all()
    assert not blind.breaks_first.any()
    assert "not told from clean images either" in blind.verdict()


def test_chains_are_corruptions_too(lit):
    found = measure(planted, lit, FactorsUnderCorruption(("brightness:severity=1 then contrast", "fog"), (3,), 48, 96))
    conditions = [condition for condition, _ in found[NAME].rows]
    assert conditions[1:] == [
        {"corruption": "brightness:severity=1 then contrast:severity=3"},
        {"corruption": "fog", "severity": 3},
    ]


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    import dots  # noqa: F401 -- makes the data set known

    folder = tmp_path_factory.mktemp("runs")
    kinds = {"c": Classifier(factor="x+y", net="mlp:width=16", learning_rate=1e-2), "r": Regressor(net="mlp:width=16")}
    return {
        name: unbraid.train(objective, unbraid.data.load("dots"), steps=60, out=folder / name, progress="none")
        for name, objective in kinds.items()
    }


def test_predictors_are_judged_by_what_they_predict(trained):
    from dots import Dots

    data = Dots()
    index = np.arange(144)
    shown = Corrupted(data, "mnist-c/translate")
    said = trained["c"].predict(data.images(index), task="x").argmax(1)
    moved = trained["c"].predict(shown.images(index), task="x").argmax(1)
    x = data.factors(index)[:, 0]
    clean, told = (said == x).mean(), (moved == x).mean()
    asked = FactorsUnderCorruption(("mnist-c/translate",), images=200)
    found = kept_table(measure(trained["c"], data, asked)[NAME].rows)
    assert found.unit == "accuracy"
    assert found.factors == ("x", "y")
    assert found.clean[0] == pytest.approx(clean)
    expected = max(0.0, (told - 1 / 12) / (clean - 1 / 12))
    assert found.kept[0, 0] == pytest.approx(expected)
    rows = measure(trained["r"], data, [asked, "r2"])
    scores = rows[NAME].rows[0][1]["kept"]
    assert scores.parts["told"] == pytest.approx(rows["r2"].scores()["r2"].parts["per_factor"])


def test_the_command_prints_the_table_and_the_page_draws_it(trained, tmp_path, capsys):
    from pathlib import Path

    plugin = str(Path(__file__).parents[1] / "dots.py")
    run = str(trained["r"].path)
    asked = ["--corruptions", "contrast,fog", "--severities", "1", "5"]
    assert main(["evaluate", run, *asked, "--plugin", plugin]) == 0
    printed = capsys.readouterr().out
    assert all(word in printed for word in ("Factors under corruption", "contrast 5", "fog 1", "1 is as from"))
    stored = json.loads((trained["r"].path / "scores.json").read_text())["measures"][NAME]
    assert stored["settings"]["corruptions"] == ["contrast", "fog"]
    assert len(stored["rows"]) == 5
    assert main(["report", run, "--out", str(tmp_path / "page.html"), "--plugin", plugin]) == 0
    page = (tmp_path / "page.html").read_text()
    assert page.count("fog 5") == 1, "it stands in the heat map and not again among the measures"
    assert "Factors under corruption" in page


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"corruptions": ("foog",)}, "did you mean 'fog'"),
        ({"corruptions": ("imagenet",)}, "did you mean 'imagenet-c'"),
        ({"corruptions": ()}, "corruptions must name at least one"),
        ({"severities": (6,)}, "severity of .* must be one of 1, 2, 3, 4, 5, got 6"),
        ({"severities": ()}, "severities must be at least one"),
        ({"readout": "forest"}, "unknown readout 'forest'"),
        ({"read": "code"}, "did you mean 'codes'"),
        ({"images": 1}, "images must be at least 2"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings, words):
    with pytest.raises(UsageError, match=words):
        FactorsUnderCorruption(**settings)


def test_severities_without_corruptions_are_refused(trained, capsys):
    assert main(["evaluate", str(trained["r"].path), "--severities", "1"]) != 0
    assert "--severities are those of --corruptions" in capsys.readouterr().err
