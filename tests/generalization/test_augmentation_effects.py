"""Models with and without augmentation: kept apart in tables, and what is said of them."""

import dataclasses

import numpy as np
import polars as pl
import pytest

from benchmark_toys import toy_runs
from unbraid.errors import UsageError
from unbraid.report.generalization.sections import sections
from unbraid.study.file import parse_study
from unbraid.study.generalization import (
    augmentation_effects,
    judge_statements,
    models_of,
    read_benchmark,
    tabulate,
)

FILE = """
data = ["mini-sprites:split=extrapolation"]
seeds = 2
steps = 10
[[objectives.regressor]]
net = "cnn"
[[objectives.regressor]]
net = "cnn"
augment = ["blur", "shear:degrees=5"]
"""


@pytest.fixture(scope="module")
def toy(tmp_path_factory):
    """A CNN on one split and three seeds, in which scores can be put."""
    made = toy_runs(tmp_path_factory.mktemp("toys"), "mini-sprites", images=200, kinds=("extrapolation",))
    return tabulate("toy", [run for run in made if run.model.name == "CNN"])


def with_scores(toy, scores):
    """The benchmark with R² of three seeds for each augmentation."""
    tables = []
    for augment, values in scores.items():
        name = f"CNN, {augment}" if augment else "CNN"
        tables.append(
            toy.scores.sort("seed").with_columns(
                pl.lit(name).alias("model"),
                pl.lit(augment or None, pl.String).alias("augment"),
                pl.Series("r2", values, pl.Float64),
            )
        )
    return dataclasses.replace(toy, scores=pl.concat(tables))


def words(toy, scores):
    return {one.name: one.verdict.word for one in judge_statements(with_scores(toy, scores))}


def test_the_table_has_mean_and_spread_by_augmentation_and_the_change(toy):
    # The one without is first, whatever came first; sample standard deviations of (.4, .5, .6) and (.5, .6, .7) are .1.
    table = augmentation_effects(with_scores(toy, {"blur": [0.5, 0.6, 0.7], "": [0.4, 0.5, 0.6]}))
    assert table["augment"].to_list() == ["none", "blur"]
    assert table["model"].to_list() == ["CNN", "CNN"]
    np.testing.assert_allclose(table["mean"], [0.5, 0.6])
    np.testing.assert_allclose(table["sd"], [0.1, 0.1])
    np.testing.assert_allclose(table["change"], [0.0, 0.1], atol=1e-12)
    assert table["seeds"].to_list() == [3, 3]


@pytest.mark.parametrize(
    ("scores", "verdict"),
    [
        # Where seeds move together the interval of a difference is narrow, else it is several times 0.07.
        ({"": [0.50, 0.51, 0.52], "blur": [0.505, 0.515, 0.525]}, "holds"),
        ({"": [0.50, 0.51, 0.52], "blur": [0.80, 0.81, 0.82]}, "does not hold"),
        ({"": [0.50, 0.51, 0.52], "blur": [0.5, 0.51, 0.52], "shear": [0.2, 0.21, 0.22]}, "does not hold"),
        ({"": [0.4, 0.5, 0.6], "blur": [0.49, 0.5, 0.51]}, "undecided"),
    ],
)
def test_means_are_judged_over_seeds(toy, scores, verdict):
    assert words(toy, scores)["augmentation, mean"] == verdict


def test_spread_is_judged_where_seeds_tell(toy):
    many = dataclasses.replace(
        toy, scores=pl.concat([toy.scores.with_columns(pl.col("seed") + 3 * k) for k in range(4)])
    )
    wide, narrow = np.linspace(0.3, 0.7, 12), np.linspace(0.49, 0.51, 12)
    # Leaving one of twelve even values out changes a standard deviation by a tenth at most, not twentyfold.
    assert words(many, {"": wide, "blur": narrow})["augmentation, spread"] == "holds"
    assert words(many, {"": narrow, "blur": wide})["augmentation, spread"] == "does not hold"
    assert words(toy, {"": [0.4, 0.5, 0.6], "blur": [0.45, 0.5, 0.55]})["augmentation, spread"] == "undecided"


def test_what_cannot_be_compared_is_not_judged(toy):
    assert words(toy, {"": [0.5, 0.5, 0.5]}) == {}
    assert words(toy, {"blur": [0.5, 0.5, 0.5]}) == {}
    one_seed = with_scores(toy, {"": [0.5, 0.5, 0.5], "blur": [0.5, 0.5, 0.5]})
    one_seed = dataclasses.replace(one_seed, scores=one_seed.scores.filter(pl.col("seed") == 0))
    found = {one.name: one.verdict for one in judge_statements(one_seed)}
    assert found["augmentation, mean"].word == "undecided"
    assert found["augmentation, spread"].word == "cannot say"
    assert "two seeds" in found["augmentation, spread"].sentence


def test_the_page_has_a_row_for_each(toy):
    found = with_scores(toy, {"": [0.4, 0.5, 0.6], "blur": [0.49, 0.5, 0.51]})
    shown = "".join(str(part) for part in sections(found))
    assert "Does augmentation help?" in shown
    assert "CNN, blur" in shown
    assert "Does augmentation help?" not in "".join(str(part) for part in sections(toy))


def test_rows_with_augmentation_have_their_own_names_and_no_published_numbers():
    study = parse_study(FILE, "file")
    found = models_of(study)
    assert [found[i].name for i in range(4)] == [
        "CNN",
        "CNN",
        "CNN, blur + shear:degrees=5",
        "CNN, blur + shear:degrees=5",
    ]
    assert [found[i].published for i in (0, 2)] == ["CNN", None]
    assert [study[i].group == study[0].group for i in range(4)] == [True, True, False, False]
    assert study[2].method == "regressor (cnn), blur + shear:degrees=5"
    alone = parse_study(FILE.replace('[[objectives.regressor]]\nnet = "cnn"\n[[', "[["), "file")
    assert {model.name for model in models_of(alone).values()} == {"CNN, blur + shear:degrees=5"}


def test_settings_that_differ_in_nothing_and_wrong_augmentations_are_refused():
    with pytest.raises(UsageError, match="could not tell apart"):
        parse_study(FILE.replace('augment = ["blur", "shear:degrees=5"]', "augment = []"), "file")
    with pytest.raises(UsageError, match="blurr"):
        list(parse_study(FILE.replace('"blur"', '"blurr"'), "file"))


def test_the_ablation_trains_the_cnn_with_each_augmentation_on_four_data_sets():
    study = read_benchmark("ablation-augmentation")
    assert len(study) == 5 * 4 * 5
    names = {model.name for model in models_of(study).values()}
    assert {name.partition(":")[0] for name in names} == {
        *("CNN", "CNN, random-erasing", "CNN, gaussian-noise", "CNN, shear", "CNN, blur")
    }
