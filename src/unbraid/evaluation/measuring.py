"""Measure a run, or read what was measured of it before: answers lie with the run, under a hash of all they depend on.

``RUN/scores/<measure>-<hash>.json`` holds the rows of a measure; the hash is of its settings and the seed, of the data
and of the run's weights, and of the source of own metrics and measures. While rows are still coming they lie in
``.<measure>-<hash>.rows``, one line each, so that a killed measure goes on where it was. What a group is compared by
lies in ``<measure>-<hash>.npz``, a table that a measure leaves in ``<measure>-<hash>.parquet``.
"""

from __future__ import annotations

import contextlib
import hashlib
import inspect
import json
import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from unbraid.errors import UsageError
from unbraid.evaluation.base import (
    _LISTENER,
    Condition,
    GroupMeasure,
    Measure,
    Row,
    Scores,
    SharedMeasure,
    make,
    read_measures,
    say,
    settings_of,
)
from unbraid.evaluation.models import as_run, describe_run, fingerprint_data
from unbraid.files import make_folders, named_if_full, open_append, replace_file, write_json
from unbraid.metrics import Score, number_of, number_to_json
from unbraid.options import Named
from unbraid.reading import check_form, parse_json, read_arrays, read_bytes, read_json, understood

if TYPE_CHECKING:
    from unbraid.data import ImageDataset
    from unbraid.training import Run

__all__ = [
    "FOLDER",
    "Measured",
    "answer_path",
    "group_runs",
    "measure",
    "measure_group",
    "read_rows",
    "read_share",
    "rows_to_json",
]

FOLDER = "scores"
"""Where answers lie in a run's folder."""
BESIDE = (".json", ".npz", ".parquet")
"""Endings of an answer, of what a group is compared by, and of a table that a measure leaves with its answer."""
_ANEW = "delete it to measure anew"

Asked = str | Named | Measure | Iterable[str | Named | Measure]
Rows = tuple[tuple[Condition, Scores], ...]


@dataclass(frozen=True)
class Measured:
    """The answer of one measure."""

    measure: Measure
    rows: Rows
    """Conditions and scores; a group measure has none for a single run."""
    path: Path | None = None
    """The file that holds it; ``None`` for a function."""

    def scores(self, **condition: Any) -> dict[str, Score | float]:
        """All scores whose condition says at least this; refused where several conditions give the same one."""
        found: dict[str, Score | float] = {}
        for under, scores in self.rows:
            if all(under.get(key) == value for key, value in condition.items()):
                if twice := sorted(found.keys() & scores.keys()):
                    raise UsageError(f"{self.measure.name} has {twice[0]!r} under several conditions, such as {under}")
                found |= scores
        return found


def measure(
    run: Run | Callable[[np.ndarray], Any],
    data: ImageDataset,
    measures: Asked,
    *,
    seed: int = 0,
    again: bool = False,
    progress: Callable[[str], None] | None = None,
) -> dict[str, Measured]:
    """The answers of measures, by name; what was computed before is read from the run's folder.

    ``measures`` are names (settings behind a colon, as in ``"disentanglement:train=500"``) or :class:`Measure` objects.
    Those that do not apply to this run and these data are left out. A function from uint8 images to arrays can take the
    place of the run; nothing is stored then. With ``again`` all is computed anew. ``progress`` is told what is being
    done. Of a group measure only what the comparison needs is computed, see :func:`measure_group`.
    """
    model = as_run(run)
    chosen = _choose(measures)
    store = _Store(model, data, seed) if model.path is not None else None
    found: dict[str, Measured] = {}
    listening = _LISTENER.set(progress)
    try:
        for asked in chosen:
            if not asked.applies(model, data):
                continue
            say(asked.name)
            if again and store is not None:
                store.forget(asked)
            if isinstance(asked, GroupMeasure):
                found[asked.name] = Measured(asked, (), _share(asked, model, data, seed, store)[1])
            else:
                path = None if store is None else store.path(asked)
                found[asked.name] = Measured(asked, _rows(asked, model, data, seed, store), path)
    finally:
        _LISTENER.reset(listening)
    return found


def measure_group(
    runs: Sequence[Run | Callable[[np.ndarray], Any]],
    data: ImageDataset,
    asked: str | Named | Measure,
    *,
    seed: int = 0,
) -> list[Measured]:
    """What a group measure says of each of these runs among all of them."""
    chosen = make(asked)
    if not isinstance(chosen, GroupMeasure):
        raise UsageError(f"measure {chosen.name!r} looks at one run at a time; call unbraid.evaluation.measure")
    if len(runs) < 2:
        raise UsageError(f"measure {chosen.name!r} compares at least two runs, got {len(runs)}")
    models = [as_run(run) for run in runs]
    stores = [_Store(model, data, seed) if model.path is not None else None for model in models]
    shares = [_share(chosen, model, data, seed, store) for model, store in zip(models, stores, strict=True)]
    scores = list(chosen.compare([arrays for arrays, _ in shares], seed))
    if len(scores) != len(shares):
        raise UsageError(f"measure {chosen.name!r} compares {len(shares)} runs and gives scores of {len(scores)}")
    scores = [_checked(chosen, own) for own in scores]
    return [Measured(chosen, (({}, own),), path) for own, (_, path) in zip(scores, shares, strict=True)]


def answer_path(
    run: Run | Callable[[np.ndarray], Any], data: ImageDataset, asked: Measure, *, seed: int = 0, suffix: str = ".json"
) -> Path | None:
    """Where the answer of a measure lies, or something that belongs to it by another ending; ``None`` of a function."""
    model = as_run(run)
    if model.path is None:
        return None
    store = _Store(model, data, seed)
    store.make()
    return store.path(asked, suffix)


def read_rows(path: Path) -> Rows:
    """The rows of a stored answer."""
    with understood(path, _ANEW):
        record = read_json(path, {"rows": [{"condition": dict, "scores": dict}]}, remedy=_ANEW)
        return tuple((row["condition"], _from_json(row["scores"])) for row in record["rows"])


def rows_to_json(rows: Rows) -> list[dict[str, Any]]:
    """Rows as they stand in files."""
    return [{"condition": dict(condition), "scores": _to_json(scores)} for condition, scores in rows]


def group_runs(runs: Sequence[Run]) -> list[list[int]]:
    """Positions of the runs that differ in the seed alone, group by group."""
    groups: dict[str, list[int]] = {}
    for position, run in enumerate(runs):
        info = run.info
        about = [info["objective"]["name"], info["objective"]["options"], info["data"]["fingerprint"]]
        key = json.dumps([*about, info.get("batch_size"), info["step"], info.get("start")], sort_keys=True, default=str)
        groups.setdefault(key, []).append(position)
    return list(groups.values())


def read_share(path: Path) -> dict[str, np.ndarray]:
    """What a group measure kept of a run."""
    return read_arrays(path, remedy=_ANEW)


class _Store:
    """Where the answers of one run on some data lie."""

    def __init__(self, run: Run, data: ImageDataset, seed: int) -> None:
        run.check_data(data)
        self.folder, self.data = run.path / FOLDER, data
        self.about: dict[str, Any] = {"seed": seed, "data": fingerprint_data(data), "run": describe_run(run)}

    def record(self, asked: Measure) -> dict[str, Any]:
        """All that the answer depends on."""
        sources = {name: text for name, thing in asked.made_of().items() if (text := _own_source(thing))}
        about = {
            "measure": asked.name,
            "version": asked.version_on(self.data),
            "settings": settings_of(asked),
            **self.about,
        }
        more = {"sources": sources, "reads": dict(asked.reads())}
        return {**about, **{key: found for key, found in more.items() if found}}

    def path(self, asked: Measure, suffix: str = ".json") -> Path:
        text = json.dumps(self.record(asked), sort_keys=True, default=str)
        return self.folder / f"{asked.name}-{hashlib.sha256(text.encode()).hexdigest()[:12]}{suffix}"

    def partial(self, asked: Measure) -> Path:
        """Where rows lie while others are still coming."""
        path = self.path(asked, ".rows")
        return path.with_name(f".{path.name}")

    def whole(self, asked: Measure) -> bool:
        """Whether the answer lies there with all that belongs to it."""
        return all(self.path(asked, suffix).exists() for suffix in (".json", *asked.beside))

    def forget(self, asked: Measure) -> None:
        """Delete what was answered."""
        for path in (*(self.path(asked, suffix) for suffix in BESIDE), self.partial(asked)):
            path.unlink(missing_ok=True)

    def make(self) -> None:
        try:
            make_folders(self.folder)
        except OSError as error:
            raise UsageError(f"cannot write scores to {self.folder} ({error.strerror})") from error


def _own_source(thing: Any) -> str | None:
    """A hash of the source of a class or function defined elsewhere (its name where there is none)."""
    named = thing if hasattr(thing, "__qualname__") else type(thing)
    if named.__module__.partition(".")[0] == "unbraid":
        return None  # what these compute changes with `version`
    try:
        text = inspect.getsource(thing)
    except (OSError, TypeError):
        text = f"{named.__module__}.{named.__qualname__}"
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _choose(measures: Asked) -> list[Measure]:
    if isinstance(measures, str):
        measures = read_measures(measures)
    asked = [measures] if isinstance(measures, Named | Measure) else list(measures)
    chosen = [make(one) for one in asked]
    names = [one.name for one in chosen]
    if len(set(names)) < len(names):
        raise UsageError(f"measures must differ in their names, got {', '.join(names)}; ask for them one by one")
    return chosen


def _rows(asked: Measure, run: Run, data: ImageDataset, seed: int, store: _Store | None) -> Rows:
    """The rows of a measure; as they would be read from its file, whether or not they are."""
    if isinstance(asked, SharedMeasure):
        from unbraid.evaluation.together import rows_together

        return rows_together(asked, [run], data, seed, [store])[0]
    if store is not None and store.whole(asked):
        with contextlib.suppress(OSError):  # left if the process was killed just then; a folder may be read-only
            store.partial(asked).unlink()
        return read_rows(store.path(asked))
    partial = None
    if store is not None:
        store.make()
        partial = store.partial(asked)
    known = {} if partial is None else _read_partial(partial)
    rows: dict[str, dict[str, Any]] = {}
    for condition, scores in _each_row(asked, asked.rows(run, data, seed)):
        under = _plain_condition(asked, condition)
        key = json.dumps(under, sort_keys=True)
        if key in rows:
            raise UsageError(f"measure {asked.name!r} gives the condition {under} twice")
        if key not in known:
            if under:
                say(f"{asked.name}: {', '.join(f'{name} {value}' for name, value in under.items())}")
            found = _checked(asked, scores() if callable(scores) else scores)
            known[key] = {"condition": under, "scores": _to_json(found)}
            if partial is not None:
                _append(partial, known[key])
        rows[key] = known[key]
    if store is not None and partial is not None:
        write_json(store.path(asked), {**store.record(asked), "rows": list(rows.values())})
        partial.unlink(missing_ok=True)
    return tuple((row["condition"], _from_json(row["scores"])) for row in rows.values())


def _share(
    asked: GroupMeasure, run: Run, data: ImageDataset, seed: int, store: _Store | None
) -> tuple[dict[str, np.ndarray], Path | None]:
    if store is None:
        return asked.share(run, data, seed), None
    path = store.path(asked, ".npz")
    if not path.exists():
        store.make()
        with replace_file(path) as temporary, temporary.open("wb") as file:
            np.savez(file, **_checked_share(asked, asked.share(run, data, seed)))  # type: ignore[arg-type]
    return read_share(path), path


def _each_row(asked: Measure, rows: Any) -> Iterator[Row]:
    """The rows of a measure, which may be anybody's: what is none is refused by name."""
    for row in rows if isinstance(rows, Iterable) else [rows]:
        if not isinstance(row, tuple) or len(row) != 2 or not isinstance(row[0], Mapping):
            raise UsageError(
                f"measure {asked.name!r}: rows must yield pairs of a condition and scores by name, such as "
                f'{{"level": 3}}, {{"moved": 0.5}}; got {row!r}'
            )
        yield row


def _checked(asked: Measure, scores: Any) -> Scores:
    """Scores as they can be stored; what is no number is refused."""
    if not isinstance(scores, Mapping):
        raise UsageError(f"measure {asked.name!r} must give scores by name, got {scores!r}")
    for name, score in scores.items():
        number = isinstance(score, Score | Real) or (getattr(score, "ndim", None) == 0 and not isinstance(score, str))
        if not isinstance(name, str) or not number:
            raise UsageError(f"measure {asked.name!r} gives {name!r}: {score!r}, expected a number or a Score by name")
    return scores


def _checked_share(asked: Measure, share: Any) -> dict[str, np.ndarray]:
    if not isinstance(share, Mapping) or any(np.asarray(array).dtype == object for array in share.values()):
        raise UsageError(f"measure {asked.name!r} must share arrays of numbers by name, got {share!r}")
    return dict(share)


def _plain_condition(asked: Measure, condition: Condition) -> dict[str, Any]:
    plain = {key: value.item() if isinstance(value, np.generic) else value for key, value in condition.items()}
    for key, value in plain.items():
        finite = not isinstance(value, float) or math.isfinite(value)
        if not isinstance(key, str) or not isinstance(value, str | int | float) or not finite:
            raise UsageError(
                f"measure {asked.name!r} gives the condition {key!r}: {value!r}, expected a word or a number by name"
            )
    return plain


def _to_json(scores: Scores) -> dict[str, Any]:
    return {
        name: score.to_json() if isinstance(score, Score) else number_to_json(float(score))
        for name, score in scores.items()
    }


def _from_json(scores: Mapping[str, Any]) -> dict[str, Score | float]:
    def read(score: Any) -> Score | float:
        if isinstance(score, Mapping):
            return Score.from_json(score)
        return number_of(score)

    return {name: read(score) for name, score in scores.items()}


def _append(path: Path, row: dict[str, Any]) -> None:
    with named_if_full(path), open_append(path) as file:
        # What a killed process left of a line ends here.
        file.write(b"\n" + json.dumps(row, allow_nan=False).encode() + b"\n")
        file.flush()
        os.fsync(file.fileno())


def _read_partial(path: Path) -> dict[str, dict[str, Any]]:
    rows: dict[str, dict[str, Any]] = {}
    for line in read_bytes(path, remedy=_ANEW).splitlines() if path.exists() else ():
        try:
            row = parse_json(line, path)
            check_form(row, {"condition": dict, "scores": dict}, path)
            _from_json(row["scores"])
            rows[json.dumps(row["condition"], sort_keys=True)] = row
        except (ValueError, KeyError, TypeError, AttributeError):  # an empty line, or one cut off by kill -9
            continue
    return rows
