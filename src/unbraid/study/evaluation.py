"""Measure a finished run of a study, and read what was measured.

The answers lie in the run's folder as :func:`unbraid.evaluation.measure` stores them; ``evaluation.json``, written
last, says which of them belong to the study as it is now.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unbraid.errors import UsageError
from unbraid.evaluation import FOLDER, Condition, GroupMeasure, Scores, measure, read_rows, read_share
from unbraid.files import write_json
from unbraid.metrics import Score
from unbraid.reading import check_form, read_columns, read_json, understood
from unbraid.study.earlier import earlier_answers, earlier_measures
from unbraid.study.grid import TRAINING, Evaluation

if TYPE_CHECKING:
    from unbraid.data import ImageDataset
    from unbraid.training import Run

__all__ = [
    "EVALUATION",
    "Answered",
    "answers_of",
    "evaluate_run",
    "forget_damaged",
    "forget_evaluation",
    "is_evaluated",
    "own_scores",
]

EVALUATION = "evaluation.json"
_ANEW = "delete it to measure the run anew"


@dataclass(frozen=True)
class Answered:
    """What one measure says of a run on one data set."""

    evaluation: Evaluation
    on: str | None
    """The data set that was named; ``None`` if none was."""
    rows: tuple[tuple[Condition, Scores], ...]
    source: Path | None = None
    """The file it was read from; for a group measure it holds what was kept of the run."""

    @property
    def own(self) -> bool:
        """Whether it is about the data that the run was trained on."""
        return self.on in (None, TRAINING)

    @property
    def share(self) -> Path | None:
        return self.source if isinstance(self.evaluation.measure, GroupMeasure) else None


def evaluate_run(run: Run, evaluations: Sequence[Evaluation], load: Callable[[str | None], ImageDataset]) -> None:
    """Ask a run all measures of a study; ``load`` gives data by name, the run's own for ``None``."""
    forget_evaluation(run.path)
    record: list[dict[str, Any]] = []
    for entry in evaluations:
        answers = []
        for on in entry.data or (None,):
            found = measure(run, load(None if on == TRAINING else on), entry.measure, seed=entry.seed)
            path = found[entry.measure.name].path if found else None
            answers.append({"on": on, "file": None if path is None else path.name})
        record.append({**_asked(entry), "answers": answers})
    write_json(run.path / EVALUATION, {"format": 2, "step": int(run.info["step"]), "measures": record})


def is_evaluated(run: Path, evaluations: Sequence[Evaluation]) -> bool:
    """Whether a run's folder holds the answers of just these measures, as they are now."""
    if not (run / EVALUATION).exists() or not (run / "run.json").exists():
        return False
    record = _record(run)
    if record.get("format", 1) == 1:
        with understood(run / EVALUATION, _ANEW):
            return [entry.to_json() for entry in earlier_measures(record)] == [entry.to_json() for entry in evaluations]
    stored = [{"version": 1, **entry} for entry in record["measures"]]
    for entry in stored:
        entry.pop("answers")
    with understood(run / EVALUATION, _ANEW):  # a name may be too long for the system
        return (
            stored == [_asked(entry) for entry in evaluations]
            and record["step"] == read_json(run / "run.json", {"step": int})["step"]
            and all((run / FOLDER / name).is_file() for name in _files(record, evaluations))
        )


def _files(record: dict[str, Any], evaluations: Sequence[Evaluation]) -> Iterator[str]:
    """The names of all files that the answers consist of."""
    for stored, entry in zip(record["measures"], evaluations, strict=True):
        for name in (answer["file"] for answer in stored["answers"] if answer["file"] is not None):
            yield name
            yield from (str(Path(name).with_suffix(suffix)) for suffix in entry.measure.beside)


def _record(run: Path) -> dict[str, Any]:
    """``evaluation.json``, checked."""
    path = run / EVALUATION
    record = read_json(path, remedy=_ANEW)
    if record.get("format", 1) != 1:
        form = {"step": int, "measures": [{"answers": [{"on": str | None, "file": str | None}]}]}
        check_form(record, form, path, remedy=_ANEW)
        for entry in record["measures"]:
            for answer in entry["answers"]:
                if answer["file"] is not None and Path(answer["file"]).name != answer["file"]:
                    raise UsageError(f"{path} names a file outside the run's {FOLDER}/: {answer['file']!r}; {_ANEW}")
    return record


def forget_evaluation(run: Path) -> None:
    """Let a run count as not measured; the answers themselves stay, and are read again if nothing changed."""
    (run / EVALUATION).unlink(missing_ok=True)


def forget_damaged(run: Path) -> None:
    """Delete answers that cannot be read, so that they are computed anew."""
    for path in sorted((run / FOLDER).glob("*.*")):
        try:
            if path.suffix == ".json":
                read_rows(path)
            elif path.suffix == ".parquet":
                read_columns(path)
            elif path.suffix == ".npz" and any(array.dtype.kind not in "fiub" for array in read_share(path).values()):
                raise UsageError(f"{path} holds something else than numbers")
        except UsageError:
            path.unlink()


def _asked(entry: Evaluation) -> dict[str, Any]:
    """What an answer of this measure is an answer to."""
    return {**entry.to_json(), "version": entry.measure.version}


def answers_of(run: Path) -> list[Answered]:
    """What a study measured of a run; a measure that does not apply to it has no rows."""
    record = _record(run)
    if record.get("format", 1) == 1:
        with understood(run / EVALUATION, _ANEW):
            return [Answered(entry, None, rows, source) for entry, rows, source in earlier_answers(run, record)]
    with understood(run / EVALUATION, _ANEW):
        found = []
        for stored in record["measures"]:
            entry = Evaluation.from_json(stored)
            for answer in stored["answers"]:
                path = None if answer["file"] is None else run / FOLDER / answer["file"]
                rows = () if path is None or path.suffix != ".json" else read_rows(path)
                found.append(Answered(entry, answer["on"], rows, path))
        return found


def own_scores(run: Path) -> tuple[Path, str, dict[str, Score]] | None:
    """The scores of a run's codes on its own data as its study measured them, with their file and representation.

    Where several representations were scored, the first: the mean, unless the study says otherwise.
    """
    if not (run / EVALUATION).exists():
        return None
    for answer in answers_of(run):
        if answer.source is not None and answer.own:
            for condition, scores in answer.rows:
                found = {name: score for name, score in scores.items() if isinstance(score, Score)}
                if "representation" in condition and found:
                    return answer.source, str(condition["representation"]), found
    return None
