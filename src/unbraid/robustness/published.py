"""The published results on corruptions, noise and adversaries (Rusak, Schott, Zimmermann et al., 2020)."""

from __future__ import annotations

import csv
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

from unbraid.errors import UsageError, unknown_name

if TYPE_CHECKING:
    import polars

__all__ = ["published", "published_errors", "published_models", "published_tables"]

TABLES = {
    "alexnet": "errors of AlexNet on ImageNet-C, shares: what mCE divides by (Hendrycks & Dietterich, 2019)",
    "resnet50": "ImageNet-C, ResNet50: %, and mCE and its parts; in brackets where a test corruption was trained on",
    "adversarial-training": "ImageNet-C, adversarially trained networks beside plain ones, %",
    "inception-v3": "ImageNet-C, InceptionV3, % (Ford et al., 2019, trained from scratch; the others fine-tuned)",
    "densenet121": "ImageNet-C, DenseNet121, %",
    "generator-depth": "ImageNet-C, ResNet50 trained against noise generators of one to five layers, %",
    "mnist-c": "MNIST-C, %",
    "noise-distance": "ImageNet, ResNet50: median L2 of the noise that changes the decision, and clean %",
    "imagenet-adversarial": "ImageNet, accuracy in % at L2 0.12 (DDN) and Linf 0.001 (PGD)",
    "mnist-adversarial": "MNIST, accuracy in % at L2 1.5 (DDN) and Linf 0.1 (PGD)",
}


def published_tables() -> dict[str, str]:
    """The published tables by name, with what each holds."""
    return dict(TABLES)


def published(table: str, model: str | None = None, score: str | None = None) -> polars.DataFrame:
    """Rows of a published table: columns model, score, corruption (empty of means), value, sd, bracketed.

    >>> published("noise-distance", "ANT1x1", "learned").select("value", "sd").row(0)
    (95.4, 5.7)
    """
    import polars as pl

    rows = _rows(table)
    if model is not None and model not in published_models(table):
        raise unknown_name(f"model of the published table {table!r}:", model, published_models(table))
    scores = dict.fromkeys(row["score"] for row in rows)
    if score is not None and score not in scores:
        raise unknown_name(f"score of the published table {table!r}:", score, scores)
    kept = [row for row in rows if model in (None, row["model"]) and score in (None, row["score"])]
    types = {"model": pl.String, "score": pl.String, "corruption": pl.String, "value": pl.Float64, "sd": pl.Float64}
    return pl.DataFrame(kept, schema={**types, "bracketed": pl.Boolean})


def published_models(table: str) -> tuple[str, ...]:
    """The models of a published table, in its order."""
    return tuple(dict.fromkeys(row["model"] for row in _rows(table)))


def published_errors(table: str = "alexnet", model: str = "AlexNet") -> dict[str, float]:
    """Errors by corruption over all severities, as shares: of AlexNet, or of any model whose accuracies are known.

    They are of the published files of ImageNet-C (MNIST-C) and no reference for other images.

    >>> published_errors()["fog"]
    0.819324
    """
    rows = [row for row in published(table, model).iter_rows(named=True) if row["corruption"]]
    errors = {row["corruption"]: row["value"] for row in rows if row["score"] == "error"}
    errors = errors or {row["corruption"]: 1 - row["value"] / 100 for row in rows if row["score"] == "top1"}
    if not errors:
        raise UsageError(f"the published table {table!r} has no accuracies of {model} by corruption")
    return errors


def _rows(table: str) -> list[dict[str, Any]]:
    if table not in TABLES:
        raise unknown_name("published table", table, TABLES)
    return _all()[table]


@cache
def _all() -> dict[str, list[dict[str, Any]]]:
    with resources.files(__package__).joinpath("published.csv").open(encoding="utf-8") as file:
        found: dict[str, list[dict[str, Any]]] = {name: [] for name in TABLES}
        for row in csv.DictReader(file):
            sd = float(row["sd"]) if row["sd"] else None
            about = {key: row[key] for key in ("model", "score", "corruption")}
            found[row["table"]].append(
                {**about, "value": float(row["value"]), "sd": sd, "bracketed": row["bracketed"] == "1"}
            )
    return found
