"""The published results: R² of seventeen models, six data sets and four splits (Schott et al., 2022, tables 5-10)."""

from __future__ import annotations

import csv
from functools import cache
from importlib import resources
from typing import NamedTuple

from unbraid.data import SPLITS
from unbraid.errors import unknown_name

__all__ = ["Cell", "published", "published_data", "published_models"]


class Cell(NamedTuple):
    """R² x 100 over seeds: mean and standard deviation; the latter is NaN of a single seed."""

    mean: float
    sd: float


def published(data: str, split: str, model: str) -> Cell:
    """One cell of the published tables, such as ``published("mpi3d", "extrapolation", "CNN")``.

    >>> published("mpi3d", "extrapolation", "CNN")
    Cell(mean=18.3, sd=10.0)
    """
    table = _table()
    if data not in published_data():
        raise unknown_name("published data set", data, published_data())
    if split not in SPLITS:
        raise unknown_name("split", split, SPLITS)
    if model not in published_models():
        raise unknown_name("published model", model, published_models())
    return table[data, split, model]


def published_data() -> tuple[str, ...]:
    """The data sets of the published tables."""
    return tuple(dict.fromkeys(data for data, _, _ in _table()))


def published_models() -> tuple[str, ...]:
    """The models of the published tables, in their order."""
    return tuple(dict.fromkeys(model for _, _, model in _table()))


@cache
def _table() -> dict[tuple[str, str, str], Cell]:
    with resources.files(__package__).joinpath("published.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return {(row["data"], row["split"], row["model"]): Cell(float(row["mean"]), float(row["sd"])) for row in rows}
