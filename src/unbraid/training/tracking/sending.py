"""Send a run that is there already, or what it gained since, to a tracker."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unbraid.data.files import roots
from unbraid.errors import UsageError
from unbraid.files import exclusive, write_json
from unbraid.paths import quoted
from unbraid.reading import read_json
from unbraid.training.run import INFO, Run
from unbraid.training.tracking.base import Asked, named_trackers
from unbraid.training.tracking.feed import Feed

__all__ = ["SCORES", "Sent", "score_rows", "send_run"]

SCORES = "scores.json"


@dataclass(frozen=True)
class Sent:
    """What a tracker was sent of a run."""

    run: Path
    to: str
    id: str
    """What the tracker knows the run by."""
    steps: int
    scores: int
    pictures: int


def send_run(run: str | Path | Run, to: Asked, *, again: bool = False) -> list[Sent]:
    """Send a run's settings, history, scores and pictures to trackers, named as in ``train(track=...)``.

    What they were sent before, also during training, is not sent again: to the same run there, only what is new. With
    ``again`` everything goes to a new run there.
    """
    _check_own(run)
    folder = (run if isinstance(run, Run) else Run.open(run)).path
    trackers = named_trackers(to)
    with exclusive(folder):
        info = Run.open(folder).info
        return [
            _send(Feed(name, tracker, folder, info, strict=True), again=again) for name, tracker in trackers.items()
        ]


def _check_own(run: str | Path | Run) -> None:
    """Refuse a run of the zoo, whose folder is shared and must stay as its archive is."""
    name = str(run)
    if isinstance(run, Run):
        shared = run.path.absolute().parent == (roots()[0] / "zoo").absolute()
        name = f"zoo:{run.path.name.rpartition('-')[0]}" if shared else ""
    if name.startswith("zoo:"):
        plain = name.removeprefix("zoo:")
        raise UsageError(
            f"{name} must be put into a folder first, which keeps what was sent: "
            f"unbraid zoo get {quoted(plain)} --out runs/{plain}"
        )


def _send(feed: Feed, *, again: bool) -> Sent:
    folder, info = feed.folder, feed.info
    if again:
        info.get("tracking", {}).pop(feed.name, None)
    feed.start()
    try:
        rows = feed.take()
        write_json(folder / INFO, info)
        feed.send(rows)
        known = feed.entry.setdefault("files", {})
        pictures = [path for path in sorted(folder.glob("*.png")) if known.get(path.name) != _digest(path)]
        for path in pictures:
            feed.tell(feed.tracker.picture, path.stem, path)
            known[path.name] = _digest(path)
        table: list[dict[str, Any]] = []
        if (folder / SCORES).exists() and known.get(SCORES) != _digest(folder / SCORES):
            table = score_rows(folder / SCORES)
            feed.tell(feed.tracker.scores, table, int(info["step"]))
            known[SCORES] = _digest(folder / SCORES)
        feed.finish(str(info["status"]))
    finally:
        write_json(folder / INFO, info)  # also where it failed: how far it came
    return Sent(folder, feed.name, feed.entry["id"], len(rows), len(table), len(pictures))


def score_rows(path: Path) -> list[dict[str, Any]]:
    """The numbers of a ``scores.json``, one row each: measure, score, value, condition. Empty ones are left out.

    They are the run's own summary, its disentanglement scores, and whatever other measures were asked.
    """
    form = {"scores?": dict | None, "measures?": dict | None, "summary?": dict | None, "representation?": str}
    found = read_json(path, form)
    of_codes = {"representation": found["representation"]} if "representation" in found else {}
    rows = list(_rows("summary", {}, found.get("summary") or {}))
    rows += _rows("disentanglement", of_codes, found.get("scores") or {})
    for measure, answer in (found.get("measures") or {}).items():
        for row in answer["rows"]:
            rows += _rows(measure, row["condition"], row["scores"])
    return rows


def _rows(measure: str, condition: Mapping[str, Any], scores: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for name, score in scores.items():
        value = score.get("value") if isinstance(score, dict) else score
        if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
            yield {"measure": measure, "score": name, "value": float(value), "condition": dict(condition)}


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]
