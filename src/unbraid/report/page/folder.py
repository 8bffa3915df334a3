"""What a run folder holds, read so that damage to one file costs only what that file says."""

from __future__ import annotations

import shlex
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np

from unbraid.errors import UsageError
from unbraid.metrics import Score
from unbraid.reading import TEXT, parse_csv, read_bytes, read_json
from unbraid.report.page.measures import StoredAnswer, answers_in, answers_of_a_study
from unbraid.sharing import last_name
from unbraid.study import EVALUATION, own_scores
from unbraid.training import CHECKPOINT, EVALUATIONS, HISTORY, INFO

__all__ = [
    "SPLIT",
    "Folder",
    "Gap",
    "History",
    "Stored",
    "plugin_words",
    "read_folder",
    "read_history",
    "train_command",
]

SPLIT = "split.json"
"""The file in which a split by values of one's own is given to the command."""


@dataclass(frozen=True)
class Gap:
    """Something that is not there: what, why, and the command that makes it."""

    what: str
    why: str
    command: str = ""


@dataclass(frozen=True)
class History:
    """The losses over training; rows that could not be read are counted."""

    step: np.ndarray
    terms: dict[str, np.ndarray]
    damaged: int = 0
    measured: dict[str, tuple[np.ndarray, np.ndarray]] = field(default_factory=dict)
    """What hooks measured during training: steps and values by name."""


@dataclass(frozen=True)
class Stored:
    """Scores found in a file of the run."""

    source: str
    scores: dict[str, Score]
    representation: str = "mean"
    step: int | None = None
    data: str | None = None
    summary: dict[str, Any] = field(default_factory=dict)


@dataclass
class Folder:
    """A run folder as far as it can be read without its model."""

    path: Path
    info: dict[str, Any]
    history: History | None
    stored: Stored | None
    gaps: list[Gap]
    answers: tuple[StoredAnswer, ...] = ()
    """What measures said, besides the stored scores of codes."""

    @property
    def objective(self) -> str:
        return str(_inside(self.info, "objective", "name") or "unknown objective")

    @property
    def options(self) -> dict[str, Any]:
        found = _inside(self.info, "objective", "options")
        return found if isinstance(found, dict) else {}

    @property
    def data(self) -> str:
        return str(_inside(self.info, "data", "name") or "unknown data")

    def asked(self, answer: StoredAnswer) -> tuple[str, str]:
        """What an answer is about: the measure, and the data by name."""
        return answer.measure, last_name(answer.data or self.data)

    @property
    def step(self) -> int | None:
        found = self.info.get("step")
        return found if isinstance(found, int) else None

    @property
    def train(self) -> str:
        """The command that trains this run."""
        return train_command(self.info, self.path)

    @property
    def evaluate(self) -> str:
        """The command that measures this run."""
        return self._command("evaluate")

    @property
    def report(self) -> str:
        """The command that makes this run's page."""
        return self._command("report")

    def _command(self, name: str) -> str:
        return shlex.join(["unbraid", *plugin_words(self.info), name, str(self.path)])


def read_folder(path: Path) -> Folder:
    """Read a run folder; refuses only what is no run folder at all."""
    if not (path / INFO).exists():
        near = sorted(str(found.parent) for found in path.glob(f"*/{INFO}"))[:8]
        inside = f" Runs inside it: {', '.join(near)}." if near else " Make one: unbraid train beta-vae --help"
        raise UsageError(f"{path} is neither a run nor a study: it has no {INFO} and no study.json.{inside}")
    gaps: list[Gap] = []
    try:
        info = read_json(path / INFO)
    except UsageError as error:
        info = {}
        gaps.append(Gap("what this run is", str(error), "unbraid train OBJECTIVE --data NAME --out NEW-FOLDER"))
    folder = Folder(path, info, None, None, gaps)
    status = info.get("status")
    if status == "failed":
        gaps.append(Gap("the rest of training", f"training failed: {info.get('error', 'no reason recorded')}"))
    elif info and status != "finished":
        why = f"training is {status or 'in an unknown state'} at step {folder.step or 0:,}"
        gaps.append(Gap("the rest of training", f"{why}; the same command again goes on from there", folder.train))
    folder.history = _history(folder)
    if not (path / CHECKPOINT).exists():
        why = f"{CHECKPOINT} is missing, so there is no model to look at"
        gaps.append(Gap("pictures and codes", why, folder.train))
    folder.stored = _stored(folder)
    return folder


def _history(folder: Folder) -> History | None:
    path = folder.path / HISTORY
    try:
        history = read_history(path) if path.exists() else None
    except UsageError as error:
        folder.gaps.append(Gap("training curves", f"{HISTORY} cannot be read ({error})", folder.train))
        return None
    if history is None or not len(history.step):
        every = folder.info.get("log_every", 100)
        why = (
            f"{HISTORY} has no row yet (a row comes every {every} steps)" if path.exists() else f"{HISTORY} is missing"
        )
        folder.gaps.append(Gap("training curves", why, folder.train))
        return None
    if history.damaged:
        why = f"{history.damaged} row(s) of {HISTORY} are cut off or no numbers; the curves show the others"
        folder.gaps.append(Gap("a part of the training curves", why))
    return replace(history, measured=_measured(folder.path / EVALUATIONS))


def read_history(path: Path) -> History:
    """A history file row by row: rows that are cut short or hold no numbers are left out and counted.

    A term that was not there is an empty cell, and no number (nan) here.
    """
    text = read_bytes(path, limit=TEXT).decode(errors="replace")
    rows = parse_csv(text, path)
    cut = not text.endswith("\n")  # what looks like an empty cell at the very end may be half a number
    if not rows or not rows[0] or rows[0][0] != "step":
        return History(np.zeros(0), {}, max(len(rows) - 1, 0))
    columns, found, damaged = rows[0], [], 0
    for number, row in enumerate(rows[1:], start=2):
        absent = "" if cut and number == len(rows) else "nan"
        try:
            numbers = [float(cell or absent) for cell in row]
        except ValueError:
            numbers = []
        if len(numbers) == len(columns):
            found.append(numbers)
        else:
            damaged += 1
    table = np.array(found, dtype=float).reshape(len(found), len(columns))
    return History(table[:, 0], {name: table[:, j] for j, name in enumerate(columns) if j}, damaged)


def _measured(path: Path) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """The rows of ``step,name,value`` by name; what is not readable as such is no curve."""
    found: dict[str, list[tuple[float, float]]] = {}
    if path.exists():
        for row in parse_csv(read_bytes(path, limit=TEXT).decode(errors="replace"), path)[1:]:
            with suppress(ValueError):
                step, name, value = row
                found.setdefault(name, []).append((float(step), float(value)))
    return {name: (np.array(rows)[:, 0], np.array(rows)[:, 1]) for name, rows in found.items()}


def _stored(folder: Folder) -> Stored | None:
    """The scores of ``unbraid evaluate``, else those that a study measured."""
    first: Stored | None = None
    for name, read in (("scores.json", _evaluated), (EVALUATION, _measured_by_a_study)):
        if not (folder.path / name).exists():
            continue
        try:
            found, answers = read(folder.path)
            known = {folder.asked(one) for one in folder.answers}
            folder.answers += tuple(one for one in answers if folder.asked(one) not in known)
            first = first if first is not None and (first.scores or found is None or not found.scores) else found
        except (UsageError, KeyError, TypeError, ValueError, AttributeError) as error:
            why = f"{name} cannot be read ({error})"
            folder.gaps.append(Gap("stored scores", why, folder.evaluate))
    return first


def _evaluated(path: Path) -> tuple[Stored, tuple[StoredAnswer, ...]]:
    record = read_json(path / "scores.json")
    scores = {str(key): Score.from_json(one) for key, one in dict(record["scores"]).items()}
    summary, step = record.get("summary"), record.get("step")
    stored = Stored(
        "scores.json",
        scores,
        str(record.get("representation", "mean")),
        step if isinstance(step, int) else None,
        None if record.get("data") is None else last_name(str(record["data"])),
        summary if isinstance(summary, dict) else {},
    )
    return stored, answers_in(record, "scores.json")


def _measured_by_a_study(path: Path) -> tuple[Stored | None, tuple[StoredAnswer, ...]]:
    found = own_scores(path)
    if found is None:
        return None, answers_of_a_study(path, None)
    source, representation, scores = found
    return Stored(str(source.relative_to(path)), scores, representation), answers_of_a_study(path, representation)


def train_command(info: dict[str, Any], path: Path) -> str:
    """The command that makes this run anew, every option written out; run with the same versions it gives the same run.

    >>> train_command({"objective": {"name": "vae", "options": {"latents": 4}}, "seed": 3, "step": 9}, Path("runs/a"))
    'unbraid train vae --data NAME --latents 4 --steps 9 --seed 3 --out runs/a'
    """
    objective = str(_inside(info, "objective", "name") or "OBJECTIVE")
    words = ["unbraid", *plugin_words(info), "train", objective, "--data", _data_name(info)]
    options = _inside(info, "objective", "options")
    for key, value in (options if isinstance(options, dict) else {}).items():
        words += _option(str(key), value)
    steps = info.get("step") or 0
    if steps and isinstance(options, dict) and options.get("half_steps"):
        steps *= 2  # this option counts the updates of both players
    if info.get("status", "finished") != "finished":
        steps = _planned(info)  # with the steps it has, the command would find nothing left to do
    words += ["--steps", str(steps or "N"), "--seed", str(info.get("seed", 0))]
    for key in ("batch_size", "log_every"):
        if key in info:
            words += _option(key, info[key])
    precision = {"torch.bfloat16": "bf16", "torch.float32": "fp32"}.get(str(_inside(info, "arithmetic", "precision")))
    words += ["--precision", precision] if precision else []
    threads = _inside(info, "arithmetic", "threads")
    words += ["--threads", str(threads)] if threads is not None else []
    return shlex.join([*words, "--out", str(path)])


def plugin_words(*records: dict[str, Any]) -> list[str]:
    """The files of own code that runs were started with, as the command takes them.

    >>> plugin_words({"command": ["unbraid", "--plugin=mine.py", "train", "vae"]})
    ['--plugin', 'mine.py']
    """
    files = dict.fromkeys(file for info in records for file in _given(info, "--plugin"))
    return [word for file in files for word in ("--plugin", file)]


def _planned(info: dict[str, Any]) -> int:
    """The steps that a run was started for, where the command line that started it says so; otherwise 0."""
    return next((int(value) for value in _given(info, "--steps") if value.isdecimal()), 0)


def _given(info: dict[str, Any], option: str) -> list[str]:
    """The values of an option in the command line that started a run, written ``--option value`` or with ``=``."""
    started = info.get("command")
    words = list(map(str, started)) if isinstance(started, list) else []
    found = []
    for word, following in zip_longest(words, words[1:], fillvalue=""):
        name, _, value = word.partition("=")
        if name == option and (value or following):
            found.append(value or following)
    return found


def _option(name: str, value: Any) -> list[str]:
    flag = name.replace("_", "-")
    if isinstance(value, bool):
        return [f"--{flag}" if value else f"--no-{flag}"]
    if isinstance(value, list | tuple):
        return [f"--{flag}", *map(str, value)] if value else []
    return [] if value is None else [f"--{flag}", str(value)]


def _data_name(info: dict[str, Any]) -> str:
    """The data set as the command takes it, its options written into the name."""
    name, options = _inside(info, "data", "recipe", "name"), _inside(info, "data", "recipe", "options")
    if not name:
        return "NAME"
    if not isinstance(options, dict) or not options:
        return str(name)
    written = {key: "+".join(map(str, value)) if isinstance(value, list) else value for key, value in options.items()}
    if isinstance(written.get("split"), dict):
        written["split"] = SPLIT
    return f"{name}:{','.join(f'{key}={value}' for key, value in written.items())}"


def _inside(record: Any, *keys: str) -> Any:
    for key in keys:
        record = record.get(key) if isinstance(record, dict) else None
    return record
