"""What the numbers of a benchmark rest on: how every row was trained and selected, and where its data come from."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from unbraid.data import load
from unbraid.errors import UsageError
from unbraid.report.generalization.captions import CAPTIONS
from unbraid.report.page.axes import number
from unbraid.report.page.markup import Html, Section, figure, note, section, tag
from unbraid.report.page.tables import data_table
from unbraid.study.generalization import Benchmark, unmeasured

__all__ = ["COLUMNS", "budget", "budget_rows"]

COLUMNS = (
    *(
        "model",
        "kind",
        "network",
        "learning rate",
        "steps",
        "batch",
        "augmentation",
        "strength",
        "read-out",
        "its steps",
        "DCI by",
    ),
    *("data sets", "splits", "seeds", "test images"),
)


def budget(benchmark: Benchmark) -> Section:
    """Trainings, selected strengths, and data."""
    table = data_table(COLUMNS, budget_rows(benchmark), "What rows were trained with")
    blocks = [figure(CAPTIONS["budget"], table), *_without_dci(benchmark)]
    blocks += [tag("h3", "Where the images come from"), _data(benchmark)]
    return section("Budget", blocks)


def budget_rows(benchmark: Benchmark) -> list[list[object]]:
    """What the rows of a benchmark were trained with, by :data:`COLUMNS`."""
    trained = ["model", "kind", "net", "learning_rate", "steps", "batch_size", "augment"]
    rows = benchmark.chosen.group_by(trained, maintain_order=True).agg(
        pl.col("strength", "readout", "readout_steps", "dci_by").drop_nulls().unique(maintain_order=True),
        *(pl.col(name).n_unique() for name in ("data", "split", "seed")),
        pl.col("images").max(),
    )
    shown: list[list[object]] = []
    for row in rows.iter_rows(named=True):
        trained_by = [row["net"] or "its own", *(_plain(row[name]) for name in trained[3:])]
        strengths = ", ".join(number(value) for value in sorted(row["strength"]))
        read_by = [", ".join(row["readout"]), _span(sorted(row["readout_steps"])), "; ".join(row["dci_by"])]
        counts = [row["data"], row["split"], row["seed"], row["images"]]
        shown.append([row["model"], row["kind"], *trained_by, strengths, *read_by, *counts])
    return shown


def _plain(value: object) -> object:
    return "" if value is None else value


def _span(steps: Sequence[int]) -> str:
    """A number, or the least and the most."""
    return " to ".join(f"{value:,}" for value in dict.fromkeys((steps[0], steps[-1]))) if steps else ""


def _without_dci(benchmark: Benchmark) -> list[Html]:
    told = []
    for row in unmeasured(benchmark.scores).iter_rows(named=True):
        taken = "none" if row["strength"] is None else f"{row['strength']:g}"
        where = f"{row['model']} on {row['data']}, {row['split']}"
        told.append(note(f"{where}: DCI is not known, so the first strength, {taken}, is shown"))
    return told


def _data(benchmark: Benchmark) -> Html:
    rows = []
    for name in benchmark.data:
        try:
            card = load(name).card
        except UsageError as error:
            rows.append((name, f"not at hand: {error}", "not known"))
            continue
        rows.append((name, f"{card.title}. {card.source}", card.stands_in_for or "no"))
    return data_table(["data", "source", "stands in for"], rows, "Where the images come from", sentences=True)
