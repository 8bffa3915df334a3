"""The published tables: whole, and in agreement with each other."""

import numpy as np
import pytest

from unbraid.corruptions import IMAGENET_C, MNIST_C
from unbraid.errors import UsageError
from unbraid.robustness import mce, published, published_errors, published_models, published_tables

COUNTS = {
    "alexnet": 1,
    "resnet50": 14,
    "adversarial-training": 6,
    "inception-v3": 5,
    "densenet121": 2,
    "generator-depth": 5,
    "mnist-c": 8,
    "noise-distance": 4,
    "imagenet-adversarial": 4,
    "mnist-adversarial": 3,
}


def value(table, model, score):
    rows = published(table, model, score).filter(corruption="")
    return rows["value"].item() if len(rows) else None


def test_all_models_of_all_tables_are_there():
    assert {name: len(published_models(name)) for name in published_tables()} == COUNTS


def test_mce_of_published_accuracies_is_the_published_mce():
    # One-decimal accuracies give 76.7; of rounded ones, an error of at most half a point over 0.78 on average.
    assert mce(published_errors("adversarial-training", "vanilla RN50"), published_errors()) == pytest.approx(
        76.7, abs=0.1
    )
    assert mce(published_errors("resnet50", "ANT1x1"), published_errors()) == pytest.approx(62.5, abs=0.7)
    assert mce(published_errors(), published_errors()) == 100.0


@pytest.mark.parametrize("model", published_models("resnet50")[:13])
def test_means_of_the_table_by_corruption_are_those_of_the_main_table(model):
    accuracies = published("resnet50", model, "top1").filter(pl_corruption())
    assert accuracies["corruption"].to_list() == list(IMAGENET_C)
    assert accuracies["value"].mean() == pytest.approx(value("resnet50", model, "top1"), abs=0.5)
    without = accuracies["value"][3:].mean()
    assert without == pytest.approx(value("resnet50", model, "top1_without_noise"), abs=0.6)
    relative = published("resnet50", model, "ce").filter(pl_corruption())["value"].to_numpy()
    assert relative.mean() == pytest.approx(value("resnet50", model, "mce"), abs=0.8)
    errors, alexnet = published_errors("resnet50", model), published_errors()
    again = [100 * errors[name] / alexnet[name] for name in IMAGENET_C]
    np.testing.assert_allclose(again, relative, atol=1.5)


@pytest.mark.parametrize("table", ["adversarial-training", "inception-v3"])
def test_means_of_other_tables_are_those_of_their_corruptions(table):
    for model in published_models(table):
        errors = published_errors(table, model)
        assert list(errors) == list(IMAGENET_C)
        assert 100 - 100 * np.mean(list(errors.values())) == pytest.approx(value(table, model, "top1"), abs=0.35)


def test_means_of_mnist_c_are_those_of_its_corruptions():
    for model in published_models("mnist-c"):
        errors = published_errors("mnist-c", model)
        assert list(errors) == list(MNIST_C)
        assert 100 - 100 * np.mean(list(errors.values())) == pytest.approx(value("mnist-c", model, "top1"), abs=0.5)


def test_numbers_of_models_that_saw_a_test_corruption_are_bracketed():
    rows = published("resnet50", score="top1").filter(corruption="")
    bracketed = set(rows.filter(bracketed=True)["model"])
    assert bracketed == {"Patch GN", "GNT mult", "GNT 0.5", "ANT1x1", "ANT1x1+SIN", "ANT1x1 w/o EP"}


def test_unknown_names_are_told():
    with pytest.raises(UsageError, match="did you mean 'resnet50'"):
        published("resnet-50")
    with pytest.raises(UsageError, match="did you mean 'ANT1x1'"):
        published("mnist-c", "ANT1")
    with pytest.raises(UsageError, match="did you mean 'uniform'"):
        published("noise-distance", score="unifrom")
    with pytest.raises(UsageError, match="no accuracies of ANT1x1 by corruption"):
        published_errors("densenet121", "ANT1x1")


def pl_corruption():
    import polars as pl

    return pl.col("corruption") != ""
