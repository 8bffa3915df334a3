"""The table of a study: one row per run and representation, in Parquet; what is missing is counted, not hidden."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from unbraid import objectives
from unbraid.files import read_json, replace_file
from unbraid.metrics import udr
from unbraid.study.folder import EVALUATION, StudyFolder, codes_file, scores_file
from unbraid.study.grid import RunSpec

__all__ = ["TABLE", "make_table", "score_columns", "udr_scores", "write_table"]

TABLE = "table.parquet"

SPECIFICATION = {
    "index": pl.Int64,
    "data": pl.String,
    "objective": pl.String,
    "strength_name": pl.String,
    "strength": pl.Float64,
    "seed": pl.Int64,
    "net": pl.String,
    "steps": pl.Int64,
    "batch_size": pl.Int64,
    "representation": pl.String,
    "status": pl.String,
    "error": pl.String,
    "seconds": pl.Float64,
}
"""The columns that every table has."""


def make_table(folder: StudyFolder) -> pl.DataFrame:
    """One row per run x representation of all runs that were at least begun.

    ``status`` is ``evaluated``, ``trained``, ``started`` or ``failed`` (``error`` says why); what was not measured is
    null. Columns: what the run is (``index``, ``data``, ``objective``, ``strength_name``, ``strength``, ``seed``,
    ``net``, ``steps``), its training (``seconds``, and after it ``reconstruction``, ``kl``, ``regularizer``, ``elbo``,
    ``loss``), its scores by name with ``<name>_ceiling`` and scalar parts as ``<name>_<part>``
    (``dci_disentanglement``), accuracies of downstream tasks (``lr_100``: logistic regression on 100 labels;
    ``gbt_efficiency``: boosted trees on 100 labels over the same on as many as the study uses, 10,000 as published) and
    ``udr`` among the runs that differ in the seed alone.
    """
    rows: list[dict[str, Any]] = []
    measured: list[int] = []
    for spec in folder.study:
        state = folder.state(spec.index)
        if state == "pending":
            continue
        if state == "evaluated":
            measured.append(spec.index)
        entry = asdict(spec)
        entry["strength_name"] = entry.pop("parameter")
        about = (
            {key: entry.get(key) for key in SPECIFICATION}
            | {"status": state}
            | _training(folder, spec.index)
            | _variant(spec)
        )
        for representation in folder.study.evaluation.representations:
            if state == "evaluated" and not scores_file(folder.run(spec.index), representation).exists():
                continue  # a model without a posterior has no sampled code
            found = _scores(folder, spec.index, representation) if state == "evaluated" else {}
            rows.append({**about, "representation": representation, **found})
    if not rows:
        return pl.DataFrame(schema=SPECIFICATION)
    table = pl.DataFrame(rows, schema_overrides=SPECIFICATION, infer_schema_length=None)
    agreement = udr_scores(folder, measured)
    table = table.with_columns(pl.Series("udr", [agreement.get(i) for i in table["index"]], dtype=pl.Float64))
    return table.select(*SPECIFICATION, *(column for column in table.columns if column not in SPECIFICATION))


def write_table(folder: StudyFolder) -> Path:
    """Write :func:`make_table` to the study's folder."""
    path = folder.path / TABLE
    with replace_file(path) as temporary:
        make_table(folder).write_parquet(temporary)
    return path


def score_columns(name: str, record: Mapping[str, Any]) -> dict[str, float | None]:
    """The columns of one score's JSON: value, ceiling where it has one, and its scalar parts.

    >>> score_columns("mig", {"value": 0.4, "ceiling": 0.9, "parts": {"gaps": [0.3, 0.5]}})
    {'mig': 0.4, 'mig_ceiling': 0.9}
    """
    columns: dict[str, float | None] = {name: record["value"]}
    if record["ceiling"] is not None:
        columns[f"{name}_ceiling"] = float(record["ceiling"])
    for part, value in record["parts"].items():
        if isinstance(value, int | float) and not isinstance(value, bool):
            columns[f"{name}_{part}"] = float(value)
    return columns | (_downstream_columns(record) if name == "downstream" else {})


def udr_scores(folder: StudyFolder, measured: Iterable[int]) -> dict[int, float]:
    """UDR of each of these runs among those that are equal but for the seed; none for a run that is alone."""
    groups: dict[Any, list[int]] = defaultdict(list)
    for index in measured:
        groups[folder.study[index].group].append(index)
    scores: dict[int, float] = {}
    for members in groups.values():
        if len(members) < 2:
            continue
        stored = [_load_codes(codes_file(folder.run(index))) for index in members]
        kl = [known for _, known in stored if known is not None]
        per_model = udr([codes for codes, _ in stored], kl if len(kl) == len(stored) else None).parts["per_model"]
        scores |= dict(zip(members, map(float, per_model), strict=True))
    return scores


def _load_codes(path: Path) -> tuple[np.ndarray, np.ndarray | None]:
    with np.load(path, allow_pickle=False) as file:
        return file["codes"], file["kl"] if "kl" in file.files else None


def _training(folder: StudyFolder, index: int) -> dict[str, Any]:
    run = folder.run(index)
    found: dict[str, Any] = {}
    if (run / "run.json").exists():
        found["seconds"] = float(read_json(run / "run.json")["seconds"])
    if (run / EVALUATION).exists():
        found |= read_json(run / EVALUATION)["losses"]
    failure = folder.failure(index)
    return found | ({} if failure is None else {"error": failure["error"]})


def _variant(spec: RunSpec) -> dict[str, str]:
    """Which of its published losses an objective minimises, where there are several."""
    variant = spec.options.get("variant", getattr(objectives.get(spec.objective), "variant", None))
    return {} if variant is None else {"variant": variant}


def _scores(folder: StudyFolder, index: int, representation: str) -> dict[str, float | None]:
    columns: dict[str, float | None] = {}
    for name, record in read_json(scores_file(folder.run(index), representation))["scores"].items():
        columns |= score_columns(name, record)
    return {name: None if value is None or not math.isfinite(value) else value for name, value in columns.items()}


def _downstream_columns(record: Mapping[str, Any]) -> dict[str, float | None]:
    """Mean test accuracy per learner and number of labels, and what 100 labels reach of that with the most labels."""
    columns: dict[str, float | None] = {}
    sizes = record["settings"]["sizes"]
    for learner, found in record["parts"].items():
        accuracy = dict(zip(sizes, found["mean_test"], strict=True))
        columns |= {f"{learner}_{size}": value for size, value in accuracy.items()}
        if 100 in accuracy and max(sizes) > 100:
            columns[f"{learner}_efficiency"] = accuracy[100] / accuracy[max(sizes)] if accuracy[max(sizes)] else None
    return columns
