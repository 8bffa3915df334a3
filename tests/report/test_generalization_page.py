"""The page of a generalisation benchmark."""

import dataclasses

import pytest
from page_checks import Page, check_page

from benchmark_toys import toy_runs
from unbraid.data import load, split
from unbraid.generalization import write_predictions
from unbraid.report.generalization.sections import sections, tile_numbers
from unbraid.report.generalization.split_panels import split_panels
from unbraid.report.page.shell import page as make_page
from unbraid.study.generalization import Model, tabulate


def _page(benchmark) -> str:
    return make_page("Benchmark toy", "toy", str(tile_numbers(benchmark)), sections(benchmark), "unbraid generalize")


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """The same answers under the name of a data set of the paper, and under their own."""
    made = toy_runs(tmp_path_factory.mktemp("toys"), "mini-sprites", images=400)
    return [
        dataclasses.replace(run, data=data, index=index + 1000 * number)
        for number, data in enumerate(("mini-sprites", "dsprites-90"))
        for index, run in enumerate(made)
    ]


@pytest.fixture(scope="module")
def text(runs):
    return _page(tabulate("toy", runs))


@pytest.fixture(scope="module")
def page(text):
    return check_page(text)


def test_the_page_has_every_part(page):
    assert [words for tag, words in page.texts if tag == "h2"] == [
        "Findings",
        "How well factors are known",
        "Beside the published table",
        "What is trained on",
        "Predicted against true",
        "Is one factor lost, or all?",
        "Which factor costs most",
        "Towards the mean",
        "Do models fail alike?",
        "Does disentanglement help?",
        "How far beyond?",
        "Budget",
    ]


def test_verdicts_stand_with_their_numbers_and_rules(page):
    cells = [words for tag, words in page.texts if tag == "td"]
    assert cells.count("holds") >= 4
    assert any(words.startswith("median R² over 5 models: random 0.") for words in cells)
    assert "median over models above 0.8 on random, and 0.1 above the mean of the others" in cells
    # Statements are for data with published numbers alone.
    assert sum("published models" in words for words in cells) == 2


def test_published_cells_stand_under_measured_ones(page):
    small = [words for tag, words in page.texts if tag == "small"]
    assert "[53.3 ± 10.4]" in small  # the CNN on the composition of dSprites-90
    assert "[78.4 ± 0.5]" in small


def test_every_chart_says_its_numbers_in_words(page, runs):
    labels = [a["aria-label"] for a in page.all("svg") if a.get("role") == "img"]
    scores = next(words for words in labels if words.startswith("R² by model and split on mini-sprites"))
    mlp = [run for run in runs if (run.data, run.split, run.model.name) == ("mini-sprites", "random", "MLP")]
    mean = sum(run.answers().scores.mean for run in mlp) / len(mlp)
    assert f"MLP random {mean:.2f}".rstrip("0") in scores
    assert sum(words.startswith("extrapolation: ") for words in labels) == 2
    assert sum("predicted against true" in words for words in labels) == 2 * 5 * 3  # data, models, split factors


def test_baselines_are_drawn_beside_the_models(page):
    named = [words for tag, words in page.texts if tag == "text"]
    for name in ("constant", "training mean", "clamped truth"):
        assert named.count(name) == 2


def test_the_page_says_what_its_numbers_rest_on(runs):
    own = [run for run in runs if (run.data, run.model.name) == ("mini-sprites", "BetaVAE")]
    by = "trees, 10 stages, 500 + 250 codes"
    several = [
        dataclasses.replace(run, index=run.index + 5000 * place, strength=strength, dci=dci, dci_by=by)
        for place, (strength, known) in enumerate(((2.0, 0.1), (8.0, 0.4)))
        for run in own
        for dci in (None if run.split == "random" else known,)
    ]
    about = {"objective": {"options": {"learning_rate": 0.003}}}
    about |= {"readout": "mlp", "readout_recipe": "cpu", "readout_steps": 41}
    for run in own:
        write_predictions(run.predictions, run.read(), about)
    page = check_page(_page(tabulate("toy", several)))
    cells = [words for tag, words in page.texts if tag == "td"]
    for words in ("0.003", "2, 8", "mlp, recipe cpu", "41", by):
        assert words in cells, words
    assert any(words.startswith("dSprites in tests") for words in cells)
    assert "BetaVAE on mini-sprites, random: DCI is not known, so the first strength, 2, is shown" in [
        words for _, words in page.texts
    ]


def test_names_of_models_stay_text(runs):
    evil = Model("<script>alert(1)</script>", "supervised")
    renamed = [dataclasses.replace(run, model=evil) if run.model.name == "CNN" else run for run in runs]
    text = _page(tabulate("evil", renamed))
    check_page(text)
    assert "<script>alert" not in text


def test_a_benchmark_of_random_splits_alone_leaves_out_what_it_cannot_show(runs):
    alone = tabulate("random", [run for run in runs if run.split == "random" and run.data == "mini-sprites"])
    headings = [words for tag, words in check_page(_page(alone)).texts if tag == "h2"]
    assert "Predicted against true" not in headings
    assert "Towards the mean" not in headings
    assert headings[0] == "Findings"


def test_no_part_is_wider_than_a_phone(visit, text, tmp_path):
    (tmp_path / "page.html").write_text(text)
    for dark in (False, True):
        page = visit((tmp_path / "page.html").as_uri(), width=390, dark=dark)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
    wide = visit((tmp_path / "page.html").as_uri(), width=1280)
    drawn = wide.evaluate("[...document.querySelectorAll('svg image')].map(i => i.getBoundingClientRect().width)")
    assert len(drawn) == 4 * (3 + 6)  # splits, pairs of the three and four factors that are split
    assert min(drawn) > 20


def test_captions_say_what_the_random_split_leaves_out(runs):
    # Of mini-sprites, 2 of the 64 places are never trained on; of dSprites-90 with its 60,000 images every cell is.
    for data, words in (("mini-sprites", "Random leaves out some cells by chance."), ("dsprites-90", "leaves no cell")):
        alone = tabulate("random", [run for run in runs if run.split == "random" and run.data == data])
        assert words in check_page(_page(alone)).text
    systematic = tabulate("one", [run for run in runs if run.split == "extrapolation" and run.data == "mini-sprites"])
    assert "Random leaves" not in check_page(_page(systematic)).text


def test_labels_of_a_split_with_one_panel_do_not_overlap():
    page = Page(str(split_panels(split(load("mini-sprites"), "extrapolation"), ["x", "y"])))
    share = next(a for a in page.all("text") if a.get("class") != "name" and float(a["y"]) == 14)
    assert float(share["x"]) == 240  # where it ends; the title begins at 0 and takes 100
