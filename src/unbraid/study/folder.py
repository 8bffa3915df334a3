"""The folder of a study: what is done is what its files say.

::

    study.json            the study, all defaults written out
    runs/00042/           a run folder; evaluation.json says which answers in its scores/ are the study's
    runs/.00042.lock      held by the process at work on it; the system lets go even after kill -9
    failures/00042.json   why it failed
    table.parquet         one row per run and condition

There is no other record, so parts computed on several machines merge by copying, and deleting a run's folder makes it
to be done again.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

from unbraid.errors import UsageError
from unbraid.files import claim, make_folders, write_json
from unbraid.paths import quoted, user_path
from unbraid.reading import read_json
from unbraid.study.evaluation import forget_damaged, forget_evaluation, is_evaluated
from unbraid.study.grid import OWN, Evaluation, Study

__all__ = ["RECORD", "State", "StudyFolder", "begin_study", "claim", "open_study"]

RECORD = "study.json"

_FAILURE = {"stage": str, "error": str, "traceback": str}

State = Literal["pending", "started", "trained", "evaluated", "failed"]


class StudyFolder:
    """A study with its place on disk."""

    def __init__(self, path: Path, study: Study) -> None:
        self.path, self.study = path, study

    def run(self, index: int) -> Path:
        return self.path / "runs" / f"{index:05d}"

    def failure(self, index: int) -> dict[str, Any] | None:
        """What is known of a failed run: stage, error, traceback."""
        path = self._failure_file(index)
        return read_json(path, _FAILURE, remedy="delete it to have the run done again") if path.exists() else None

    def record_failure(self, index: int, stage: str, error: str, traceback: str) -> None:
        path = self._failure_file(index)
        make_folders(path.parent)
        write_json(path, {"stage": stage, "error": error, "traceback": traceback})

    def forget_failure(self, index: int) -> None:
        self._failure_file(index).unlink(missing_ok=True)

    def _failure_file(self, index: int) -> Path:
        return self.path / "failures" / f"{index:05d}.json"

    def state(self, index: int) -> State:
        """How far a run is."""
        if self._failure_file(index).exists():
            return "failed"
        return self.progress(index)

    def progress(self, index: int) -> State:
        """How far a run is, whether or not the next stage failed."""
        run = self.run(index)
        if is_evaluated(run, self.study.measures):
            return "evaluated"
        if not (run / "run.json").exists():
            return "pending"
        return "trained" if read_json(run / "run.json", {"status": str})["status"] == "finished" else "started"

    def forget_scores(self, index: int) -> None:
        """Let a run be asked all measures again, unless some process is at it; what is damaged is measured anew."""
        with self.claim(index) as held:
            if held:
                forget_evaluation(self.run(index))
                forget_damaged(self.run(index))

    @contextlib.contextmanager
    def claim(self, index: int) -> Iterator[bool]:
        """Try to become the one that works on a run; gives whether it worked."""
        with claim(self.path / "runs" / f".{index:05d}.lock") as held:
            yield held

    def claimed(self, index: int) -> bool:
        """Whether some process is at work on a run."""
        with self.claim(index) as held:
            return not held


def open_study(path: str | Path) -> StudyFolder:
    """Open the folder of a study."""
    folder = user_path(path, "study folder")
    if not (folder / RECORD).exists():
        raise UsageError(
            f"{folder} holds no study: it has no {RECORD}. Start one: unbraid study run smoke --out {quoted(folder)}"
        )
    return StudyFolder(folder, Study.from_json(read_json(folder / RECORD), str(folder / RECORD)))


def begin_study(path: Path, study: Study, *, reevaluate: bool = False) -> StudyFolder:
    """Make the folder of a study, or go on in it if no run it holds changes its meaning.

    Accepted between two calls: more data sets at the end of the list (or more networks or numbers of steps, whichever
    is the slowest axis), because every old index keeps its run; and, with ``reevaluate``, another way of measuring.
    """
    path = user_path(path, "study folder")
    try:
        make_folders(path / "runs")
    except OSError as error:
        raise UsageError(f"cannot write to {path} ({error.strerror}); choose another folder (--out)") from error
    with claim(path / ".lock", wait=True):
        if (path / RECORD).exists():
            stored = open_study(path).study
            _check_same_runs(path, stored, study)
            if not reevaluate:
                _check_same_measures(path, stored, study)
        write_json(path / RECORD, study.to_json())
    return StudyFolder(path, study)


def _check_same_runs(path: Path, stored: Study, study: Study) -> None:
    if len(study) >= len(stored) and all(stored[index] == study[index] for index in range(len(stored))):
        return
    old, new = stored.to_json(), study.to_json()
    keys = ("data", "settings", "seeds", "steps", "nets", "batch_size", "precision")
    key = next(key for key in keys if old[key] != new[key])
    words = {"settings": "objectives", "nets": "net"}
    before, after = (_settings_words(old[key], new[key])) if key == "settings" else (old[key], new[key])
    raise UsageError(
        f"{study.source}: {words.get(key, key)} is now {after}, but {path} was begun with {before}, and its runs would "
        f"change their meaning. Undo the edit, or give the edited study its own folder (--out)"
    )


def _settings_words(old: list[dict[str, Any]], new: list[dict[str, Any]]) -> tuple[str, str]:
    def words(settings: list[dict[str, Any]], position: int) -> str:
        if position >= len(settings):
            return "nothing"
        setting = settings[position]
        own = {key: setting[key] for key in OWN if key in setting}
        return f"{setting['objective']} {setting['options'] | own}"

    first = next(i for i in range(max(len(old), len(new))) if old[i : i + 1] != new[i : i + 1])
    return words(old, first), words(new, first)


def _check_same_measures(path: Path, stored: Study, study: Study) -> None:
    old, new = _measures_words(stored.measures), _measures_words(study.measures)
    for key in {**old, **new}:
        if old.get(key) != new.get(key):
            raise UsageError(
                f"{study.source}: {key} is now {new.get(key, 'not asked for')}, but {path} was measured with "
                f"{old.get(key, 'nothing of the kind')}. Undo the edit, or give --reevaluate to measure its runs anew "
                "by what changed"
            )


def _measures_words(measures: Sequence[Evaluation]) -> dict[str, Any]:
    """Every setting of every measure by a dotted name."""
    words: dict[str, Any] = {}
    for entry in measures:
        record = entry.to_json()
        flat = {**record["settings"], "data": record["data"], "seed": record["seed"]}
        words |= {f"{record['measure']}.{key}": value for key, value in flat.items()}
    return words
