"""Train an objective on a data set into a run folder, or go on where an earlier process stopped."""

from __future__ import annotations

import contextlib
import platform
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch

from unbraid import objectives
from unbraid.data import ImageDataset, Stream, counter_rng, load, make_stream
from unbraid.errors import UsageError
from unbraid.files import exclusive, read_json, write_json
from unbraid.objectives import Objective
from unbraid.progress import Progress, ProgressKind
from unbraid.training import numerics
from unbraid.training.checkpoint import load_training, save_checkpoint
from unbraid.training.history import Table, extent_of_bytes
from unbraid.training.loop import INIT, Diverged, Hook, Loop, run_hooks, stop_requests
from unbraid.training.run import CHECKPOINT, EVALUATIONS, HISTORY, INFO, Run, describe_data, problem_of

__all__ = ["Session", "check_steps", "open_session", "train"]


def train(
    objective: str | Objective,
    data: str | ImageDataset,
    *,
    out: str | Path,
    steps: int | None = None,
    minutes: float | None = None,
    seed: int = 0,
    batch_size: int = 64,
    device: str = "auto",
    precision: str = "auto",
    threads: int = 1,
    log_every: int = 100,
    checkpoint_seconds: float = 30.0,
    progress: ProgressKind = "auto",
    hooks: Sequence[Hook] = (),
    stream: Stream | None = None,
    tensorboard: bool = False,
    fresh: bool = False,
    start: str | Path | None = None,
) -> Run:
    """Train, and return the finished (or, after Ctrl-C, stopped) run.

    The budget is a number of ``steps``, of ``minutes``, or whichever is used up first. The same call again goes on from
    the last checkpoint and ends with the same bytes as if it had never stopped; a larger budget extends a finished
    run. ``fresh`` throws away what is in the folder. An own ``stream`` takes the place of the objective's usual one.
    ``start`` is another run's folder to begin from: its weights, optimiser state and step count (which is part of the
    budget), but the hyperparameters given here.
    """
    objective = objectives.make(objective) if isinstance(objective, str) else objective
    dataset = load(data) if isinstance(data, str) else data
    if not isinstance(dataset, ImageDataset):
        raise UsageError(
            f"data must be a data set or the name of one, got {type(data).__name__}; own arrays become one by "
            "unbraid.data.from_arrays(images)"
        )
    if steps is not None:
        check_steps(steps)
    if steps is None and minutes is None:
        raise UsageError("give a budget: steps, minutes, or both")
    for name, value in (("minutes", minutes), ("log_every", log_every), ("threads", threads)):
        if value is not None and not value > 0:
            raise UsageError(f"{name} must be positive, got {value}")
    numerics.setup(threads=threads)
    board = _board_class() if tensorboard else None
    with open_session(
        objective,
        dataset,
        Path(out),
        seed=seed,
        batch_size=batch_size,
        device=device,
        precision=precision,
        threads=threads,
        log_every=log_every,
        checkpoint_seconds=checkpoint_seconds,
        hooks=hooks,
        stream=stream,
        board=board,
        fresh=fresh,
        start=None if start is None else Path(start),
    ) as session:
        session.run(
            None if steps is None else objective.updates(steps), None if minutes is None else 60 * minutes, progress
        )
    return Run.open(out, device=device)


def check_steps(steps: int) -> None:
    """Refuse a number of steps that is none."""
    if not steps > 0:
        raise UsageError(f"steps must be positive, got {steps}")
    if steps != int(steps):
        raise UsageError(f"steps must be a whole number, got {steps}")


@contextlib.contextmanager
def open_session(
    objective: Objective,
    dataset: ImageDataset,
    out: Path,
    *,
    seed: int,
    batch_size: int,
    device: str = "auto",
    precision: str = "auto",
    threads: int = 1,
    log_every: int = 100,
    checkpoint_seconds: float = 30.0,
    hooks: Sequence[Hook] = (),
    stream: Stream | None = None,
    board: Callable[..., Any] | None = None,
    fresh: bool = False,
    start: Path | None = None,
) -> Iterator[Session]:
    """Hold a run folder and give the session that trains in it, put back to where the last one stopped."""
    where = numerics.device(device)
    arithmetic = {"device": where.type, "precision": str(numerics.precision(where, precision)), "threads": threads}
    folder = _make_folder(out)
    with exclusive(folder):
        _sweep(folder)
        info = _open_or_begin(folder, objective, dataset, seed, batch_size, log_every, fresh)
        info["arithmetic"] = arithmetic
        generator = torch.Generator().manual_seed(int(counter_rng(seed, 0, INIT).integers(2**63)))
        loop = Loop(
            objective,
            objective.make_model(problem_of(dataset), generator),
            stream or make_stream(objective.needs, dataset, batch_size, seed),
            seed,
            where,
            precision,
        )
        session = Session(folder, info, loop, hooks, log_every, checkpoint_seconds, board, start)
        with contextlib.closing(session):
            yield session


class Session:
    """One process's share of a run: the loop with its files around it."""

    def __init__(
        self,
        folder: Path,
        info: dict[str, Any],
        loop: Loop,
        hooks: Sequence[Hook],
        log_every: int,
        checkpoint_seconds: float,
        board: Callable[..., Any] | None,
        start: Path | None = None,
    ) -> None:
        self.folder, self.info, self.loop, self.hooks = folder, info, loop, hooks
        self.log_every, self.checkpoint_seconds = log_every, checkpoint_seconds
        self.earlier, self.begin = float(info["seconds"]), time.monotonic()
        if not (folder / INFO).exists():
            # Before any other file: a folder with run files but without this one would be refused the next time.
            write_json(folder / INFO, info)
        state: dict[str, Any] = {}
        if (folder / CHECKPOINT).exists():
            state = load_training(folder / CHECKPOINT, loop.model, loop.optimizers)
            loop.restore(state)
        elif start is not None:
            inherited = load_training(start / CHECKPOINT, loop.model, loop.optimizers, own_settings=True)
            loop.restore({**inherited, "sums": {}, "counts": {}})
        self.saved_step, self.saved_at = loop.step, time.monotonic()
        self.history = _table(folder / HISTORY, state)
        self.evaluations = _table(folder / EVALUATIONS, state)
        self.board = None if board is None else board(str(folder / "tensorboard"), purge_step=loop.step)

    @property
    def seconds(self) -> float:
        return self.earlier + time.monotonic() - self.begin

    def run(self, steps: int | None, budget: float | None, progress: ProgressKind) -> None:
        """Advance until the budget is used up or somebody asks to stop."""
        loop = self.loop
        with contextlib.ExitStack() as stack:
            title = f"{loop.objective.name} on {self.info['data']['name']}"
            display = stack.enter_context(
                Progress(title, steps, unit="steps", kind=progress, start=loop.step, every=2, tenths=True)
            )
            stop = stack.enter_context(stop_requests())
            stack.enter_context(self.explained())
            self.info.pop("stack", None)  # from now on it trains alone
            if not (self.folder / CHECKPOINT).exists():
                self.save("running")
            loop.model.train()
            while not self._spent(steps, budget):
                if stop():
                    self.save("stopped")
                    return
                loop.advance()
                display.update(loop.step, part=self._part(steps, budget), numbers=loop.means.current())
                self.log()
                if time.monotonic() - self.saved_at >= self.checkpoint_seconds:
                    self.save("running")
            self.save("finished")

    def close(self) -> None:
        """Close the tables."""
        for table in (self.history, self.evaluations):
            with contextlib.suppress(OSError):  # a full disk was reported already
                table.close()
        if self.board is not None:
            self.board.close()

    def log(self) -> None:
        """Write the rows that are due after this step."""
        loop = self.loop
        if loop.step % self.log_every == 0:
            row = {"step": loop.step, **loop.means.take()}
            self.history.append(row)
            if self.board is not None:
                for name, value in row.items():
                    self.board.add_scalar(name, value, loop.step)
        for found in run_hooks(self.hooks, loop):
            self.evaluations.append(found)
            if self.board is not None:
                self.board.add_scalar(str(found["name"]), found["value"], loop.step)

    def save(self, status: str) -> None:
        """Make everything up to this step survive."""
        self.loop.check_weights()
        state = self.loop.state()
        state["tables"] = {HISTORY: self.history.flush(), EVALUATIONS: self.evaluations.flush()}
        save_checkpoint(self.folder / CHECKPOINT, self.loop.model, self.loop.optimizers, state)
        if status == "finished" and self.loop.means.counts:
            # Beyond what the checkpoint remembers: a run that goes on cuts this row off and writes the whole one.
            self.history.append({"step": self.loop.step, **self.loop.means.current()})
        self.info |= {"status": status, "step": self.loop.step, "seconds": round(self.seconds, 3)}
        write_json(self.folder / INFO, self.info)
        self.saved_step, self.saved_at = self.loop.step, time.monotonic()

    def note(self, **facts: Any) -> None:
        """Write something down in ``run.json``, now."""
        self.info |= facts
        write_json(self.folder / INFO, self.info)

    @contextlib.contextmanager
    def explained(self) -> Iterator[None]:
        """Record why a run ended early; what the last checkpoint holds is kept."""
        try:
            yield
        except Diverged as error:
            failed = {"status": "failed", "error": str(error), "seconds": round(self.seconds, 3)}
            write_json(self.folder / INFO, {**self.info, **failed})
            raise
        except OSError as error:
            raise UsageError(
                f"cannot write to {self.folder} ({error.strerror or error}) at step {self.loop.step}. The checkpoint "
                f"of step {self.saved_step} is whole: make room and give the same command again"
            ) from error

    def _spent(self, steps: int | None, budget: float | None) -> bool:
        return (steps is not None and self.loop.step >= steps) or (budget is not None and self.seconds >= budget)

    def _part(self, steps: int | None, budget: float | None) -> float:
        return min(1.0, max(self.loop.step / steps if steps else 0.0, self.seconds / budget if budget else 0.0))


def _table(path: Path, state: dict[str, Any]) -> Table:
    """A table cut back to what the checkpoint remembers of it."""
    if "tables" in state:
        rows, columns = state["tables"][path.name]
        return Table(path, (rows, columns))
    return Table(path, extent_of_bytes(path, state.get(f"{path.stem}_bytes", 0)))


def _make_folder(folder: Path) -> Path:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / ".lock").touch()
    except OSError as error:
        raise UsageError(f"cannot write to {folder} ({error.strerror}); choose another folder (--out)") from error
    free = shutil.disk_usage(folder).free
    if free < 100 * 2**20:
        raise UsageError(f"only {free / 2**20:.0f} MB are free at {folder}; a run needs about 100: make room first")
    return folder


def _sweep(folder: Path) -> None:
    """Remove the unfinished files of a process that was killed while it wrote them."""
    for name in (INFO, CHECKPOINT, HISTORY, EVALUATIONS):
        for left in folder.glob(f".{name}.*.part"):
            left.unlink(missing_ok=True)


def _clear(folder: Path) -> None:
    """Remove a run's own files, and nothing else that may lie in the folder."""
    made_from_it = ("scores.json", "factors.png", "traversal.png", "traversal.gif", "report.html")
    # The record goes last: without it the folder would no longer be known as a run's.
    for name in (*made_from_it, CHECKPOINT, HISTORY, EVALUATIONS, INFO):
        (folder / name).unlink(missing_ok=True)
    for name in ("scores", "tensorboard"):
        shutil.rmtree(folder / name, ignore_errors=True)


def _open_or_begin(
    folder: Path, objective: Objective, dataset: ImageDataset, seed: int, batch_size: int, log_every: int, fresh: bool
) -> dict[str, Any]:
    identity: dict[str, Any] = {
        "objective": {
            "name": objective.name,
            "options": objectives.options_of(objective),
            "module": type(objective).__module__,
        },
        "data": describe_data(dataset),
        "seed": seed,
        "batch_size": batch_size,
        "log_every": log_every,
    }
    known = (folder / INFO).exists()
    if known and not fresh:
        info = read_json(folder / INFO)
        _check_same(folder, _flat(_completed(info, objective)), _flat(identity))
        info.pop("error", None)
        # The same images by another name: the file may have been moved, or the run may have been.
        info["data"] = identity["data"]
        return info
    if known:
        _clear(folder)
    elif strangers := sorted(found.name for found in folder.iterdir() if found.name != ".lock"):
        raise UsageError(f"{folder} is no run folder and not empty ({strangers[0]}, ...); choose another --out")
    return {
        "format": 1,
        **identity,
        "status": "running",
        "step": 0,
        "seconds": 0.0,
        "command": sys.argv,
        "versions": {
            "unbraid": version("unbraid"),
            "torch": torch.__version__,
            "python": platform.python_version(),
            "machine": platform.machine(),
        },
    }


def _completed(info: dict[str, Any], objective: Objective) -> dict[str, Any]:
    """The record of a run with what an earlier version did not write: options at their defaults, facts of the data."""
    stored = info["objective"]
    if stored["name"] != objective.name:
        return info
    return {**info, "objective": {**stored, "options": {**objectives.default_options(objective), **stored["options"]}}}


def _flat(tree: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in tree.items():
        flat |= _flat(value, f"{prefix}{key}.") if isinstance(value, dict) else {prefix + key: value}
    return flat


def _check_same(folder: Path, stored: dict[str, Any], asked: dict[str, Any]) -> None:
    for key, value in asked.items():
        # Where code and images come from may change; the fingerprint says whether the images did.
        if key.startswith(("objective.module", "data.name", "data.recipe")):
            continue
        if key == "data.factor_sizes" and stored.get(key) is None:
            continue  # earlier versions did not know the factors of a part
        if key in ("data.factor_names", "data.factor_ranges") and key not in stored:
            continue  # an earlier version did not write them
        if stored.get(key) != value:
            raise UsageError(
                f"{folder} holds a run with {key} = {stored.get(key)!r}, now asked for {value!r}. Give the run its own "
                "folder (--out), or --fresh to start this one anew"
            )


def _board_class() -> Callable[..., Any]:
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError as error:
        raise UsageError("TensorBoard is not installed: pip install 'unbraid[tensorboard]'") from error
    return SummaryWriter
