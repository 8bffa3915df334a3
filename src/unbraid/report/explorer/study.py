"""The table of a study's runs, with a picture of each; explorers of single runs are made when they are opened."""

from __future__ import annotations

import math
import re
from collections import Counter, OrderedDict
from collections.abc import Iterator
from pathlib import Path
from threading import Lock
from typing import Any
from zipfile import BadZipFile

from unbraid import objectives
from unbraid.errors import UsageError
from unbraid.report.explorer.contents import FILES, look_at
from unbraid.report.explorer.looks import NOTHING, data_of, looks
from unbraid.report.explorer.networks import check_exporter
from unbraid.report.explorer.packing import ASSETS, asset, data_script, page
from unbraid.report.explorer.site import run_files
from unbraid.study import TABLE, StudyFolder, answers_of, condition_rows, open_study
from unbraid.training import open_run

__all__ = ["StudySite", "study_site"]

SHOWN = ("mig", "dci_disentanglement", "factor_vae", "sap", "modularity", "udr", "reconstruction", "kl")
"""Scores that the table shows at first, where they were measured; where none was, the first of what was."""
KEPT = 6
"""Explorers held in memory; each has a few megabytes."""
PATH = re.compile(r"runs/(\d{5})/([a-z]+\.[a-z]+)")


class StudySite:
    """The explorer of a study: a table, and below ``runs/`` a picture and an explorer per run.

    ``limit`` bounds how many runs get their picture and explorer when all is written into a folder; a server makes
    them for any run that is asked for.
    """

    def __init__(self, folder: StudyFolder, *, limit: int | None = None, images: int = 64, sample: int = 4000) -> None:
        if limit is not None and limit < 0:
            raise UsageError(f"limit must not be negative, got {limit}")
        self.folder, self.images, self.sample = folder, images, sample
        begun = [index for index in range(len(folder.study)) if folder.run(index).is_dir()]
        self.limited = limit is not None and limit < len(begun)
        self._pages = set(begun[:limit]) if self.limited else None
        self._begun = len(begun)
        self._explorers: OrderedDict[int, dict[str, bytes]] = OrderedDict()
        self._pictures: dict[tuple[int, int], bytes] = {}
        self._computing = Lock()
        """A server asks from several threads; models are not made for that."""

    def paths(self) -> Iterator[str]:
        yield from ("index.html", "study.js")
        yield from (f"assets/{name}" for name in ASSETS)
        for index in sorted(self._pages) if self._pages is not None else self._all():
            names = list(self._explorer(index))
            yield from (f"runs/{index:05d}/{name}" for name in [*names, "looks.png"])

    def get(self, path: str) -> bytes | None:
        if path in ("", "index.html"):
            return page(f"{self.folder.study.name} · unbraid", "study", "assets/")
        if path == "study.js":
            return data_script("study", self.record())
        if path.startswith("assets/"):
            name = path.removeprefix("assets/")
            return asset(name) if name in ASSETS else None
        match = PATH.fullmatch(path)
        if match is None or not self._has_page(int(match[1])):
            return None
        index, name = int(match[1]), match[2]
        with self._computing:
            return self._picture(index) if name == "looks.png" else self._explorer(index).get(name)

    def record(self) -> dict[str, Any]:
        """What goes to the page as JSON: read anew each time, since a study may be at work."""
        agreement = _agreement(self.folder)
        rows = [row for index in self._all() if (row := self._row(index, agreement)) is not None]
        measured = Counter(name for row in rows for name, value in row["scores"].items() if value is not None)
        shown = [name for name in SHOWN if name in measured] or sorted(measured)[: len(SHOWN)]
        notes = []
        if self.limited and self._pages is not None:
            notes.append(
                f"This folder holds explorers and pictures of the first {len(self._pages)} of {self._begun} runs; "
                "`unbraid explore` on the study's own folder makes them for every run."
            )
        return {
            "name": self.folder.study.name,
            "rows": rows,
            "columns": [*shown, *sorted(set(measured) - set(shown))],
            "shown": shown,
            "planned": len(self.folder.study),
            "notes": notes,
        }

    def _all(self) -> Iterator[int]:
        return (index for index in range(len(self.folder.study)) if self.folder.run(index).is_dir())

    def _has_page(self, index: int) -> bool:
        begun = index < len(self.folder.study) and any((self.folder.run(index) / name).is_file() for name in FILES[:3])
        return begun and (self._pages is None or index in self._pages)

    def _row(self, index: int, agreement: dict[int, float]) -> dict[str, Any]:
        spec, run = self.folder.study[index], self.folder.run(index)
        row: dict[str, Any] = {
            "index": index,
            "folder": f"{index:05d}",
            "data": spec.data,
            "objective": spec.objective,
            "title": objectives.title(spec.objective),
            "strength_name": spec.parameter,
            "strength": spec.strength,
            "seed": spec.seed,
            "steps": spec.steps,
            "error": None,
            "scores": {},
            "page": self._has_page(index),
        }
        try:
            row["status"] = self.folder.state(index)
            failure = self.folder.failure(index)
            row["error"] = None if failure is None else str(failure["error"])
            if row["status"] == "evaluated":
                row["scores"] = _scores(run) | ({"udr": agreement[index]} if index in agreement else {})
        except (UsageError, KeyError) as error:
            row |= {"status": "damaged", "error": str(error)}
        return row

    def _explorer(self, index: int) -> dict[str, bytes]:
        """The page of one run; the latest few are kept."""
        if index not in self._explorers:
            found = look_at(self.folder.run(index), data_of, images=self.images, sample=self.sample)
            found.title, found.home = f"{found.title}, run {index:05d}", "../../index.html"
            self._explorers[index] = run_files(found, "../../assets/")
            if len(self._explorers) > KEPT:
                self._explorers.popitem(last=False)
        self._explorers.move_to_end(index)
        return self._explorers[index]

    def _picture(self, index: int) -> bytes:
        """A PNG of what a run draws; a clear pixel if it draws nothing, since the table is to show all the same."""
        checkpoint = self.folder.run(index) / "checkpoint.safetensors"
        key = (index, checkpoint.stat().st_mtime_ns if checkpoint.exists() else 0)
        if key not in self._pictures:
            try:
                self._pictures[key] = looks(open_run(self.folder.run(index), device="cpu"))
            except (OSError, ValueError, KeyError, BadZipFile):
                self._pictures[key] = NOTHING
        return self._pictures[key]


def study_site(path: str | Path, *, limit: int | None = None, images: int = 64, sample: int = 4000) -> StudySite:
    """The explorer of a study's folder."""
    check_exporter()
    return StudySite(open_study(path), limit=limit, images=images, sample=sample)


def _scores(run: Path) -> dict[str, float | None]:
    """Scores under the first condition (the mean representation) on the run's own data, to four digits.

    Those of a run that was measured on other data alone say in their names on which.
    """
    asked = answers_of(run)
    kept: dict[str, float | None] = {}
    for place in [None] if any(answer.own for answer in asked) else dict.fromkeys(answer.on for answer in asked):
        found = [
            (answer.evaluation.measure.name, condition, scores)
            for answer in asked
            if (answer.own if place is None else answer.on == place)
            for condition, scores in answer.rows
        ]
        _, columns = condition_rows({0: found}, [])[0][0]
        kept |= {n if place is None else f"{n} on {place}": v for n, v in columns.items() if not n.endswith("_ceiling")}
    return {n: float(f"{v:.4g}") if v is not None and math.isfinite(v) else None for n, v in kept.items()}


def _agreement(folder: StudyFolder) -> dict[int, float]:
    """UDR from the study's table, if it has been written: it compares runs and takes a while."""
    import polars as pl

    path = folder.path / TABLE
    if not path.exists():
        return {}
    try:
        table = pl.read_parquet(path)
    except (OSError, pl.exceptions.PolarsError):  # a damaged table costs this column only
        return {}
    if "udr" not in table.columns:
        return {}
    if "on" in table.columns:
        table = table.filter(pl.col("on").is_null() | (pl.col("on") == "training"))
    known = table.select("index", "udr").drop_nulls().unique("index")
    return {int(index): round(float(value), 4) for index, value in known.iter_rows()}
