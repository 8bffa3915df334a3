"""A study carried out in blocks, on machines that share nothing: their tables joined."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from unbraid.errors import UsageError
from unbraid.reading import read_table
from unbraid.study.grid import Study, added_words
from unbraid.study.table import SPECIFICATION

__all__ = ["join_blocks"]


def join_blocks(study: Study, table: pl.DataFrame, files: Sequence[Path]) -> pl.DataFrame:
    """A study's table with the measured rows of other runs of it, from ``table.parquet`` files of other folders.

    A block should have all seeds of a setting (``--index 0:25``): what compares seeds, such as UDR, was computed within
    it. A row that is of another study, or of a run that is measured already, is refused.
    """
    own = table.filter(pl.col("status") == "evaluated")
    parts, taken = [own], dict.fromkeys(own["index"].unique().to_list(), "the study's own folder")
    for file in files:
        rows = read_table(file)
        if missing := [name for name in (*SPECIFICATION, "status") if name not in rows.columns]:
            raise UsageError(f"{file} is no table of a study: it has no column {missing[0]!r}; give its table.parquet")
        rows = rows.filter(pl.col("status") == "evaluated")
        told = [name for name in (*SPECIFICATION, "augment", "penalties", "after") if name in rows.columns]
        for about in rows.select(told).unique().sort("index").iter_rows(named=True):
            _check(study, about, file, taken)
        taken |= dict.fromkeys(rows["index"].unique().to_list(), str(file))
        parts.append(rows)
    return pl.concat(parts, how="diagonal_relaxed").sort("index", maintain_order=True)


def _check(study: Study, about: dict[str, object], file: Path, taken: dict[int, str]) -> None:
    index = about["index"]
    if not isinstance(index, int) or not 0 <= index < len(study):
        raise UsageError(f"{file} has a run {index}, and this study has 0 to {len(study) - 1}: of another study?")
    if index in taken:
        raise UsageError(f"{file} has run {index}, which is in {taken[index]}, too; leave one of them out")
    spec = study[index]
    added = {key: words or None for key, words in added_words(spec.options).items()}
    named = {"strength_name": spec.parameter, **added}
    about = {**dict.fromkeys(added), "after": None, **about}
    for key, value in about.items():
        wanted = named[key] if key in named else getattr(spec, key)
        if value != wanted:
            raise UsageError(f"{file}: run {index} has {key} {value!r}, in this study it is {wanted!r}: another study?")
