"""One process's share of a run: it holds the folder, trains from the last checkpoint on and leaves another."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from unbraid.data import ImageDataset, Purpose, Stream, counter_rng, make_stream
from unbraid.errors import UsageError
from unbraid.files import cannot_write, exclusive, write_json
from unbraid.objectives import Objective
from unbraid.progress import Progress, ProgressKind
from unbraid.reading import understood
from unbraid.training import numerics
from unbraid.training.checkpoint import check_step, load_training, save_checkpoint
from unbraid.training.described import problem_of
from unbraid.training.folder import clear, identity, make_folder, open_or_begin, sweep
from unbraid.training.loop import Diverged, Hook, Loop, run_hooks, stop_requests
from unbraid.training.records import Records
from unbraid.training.run import CHECKPOINT, INFO
from unbraid.training.start import Start
from unbraid.training.tracking import Feed, Rows, Tracker

__all__ = ["Session", "open_session"]


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
    trackers: Mapping[str, Tracker] | None = None,
    fresh: bool = False,
    start: Start | None = None,
) -> Iterator[Session]:
    """Hold a run folder and give the session that trains in it, put back to where the last one stopped."""
    if start is not None and start.path.resolve() == out.resolve():
        raise UsageError(f"a run cannot start from itself: start and out are both {out}; give it a folder of its own")
    where = numerics.device(device)
    arithmetic = {"device": where.type, "precision": str(numerics.precision(where, precision)), "threads": threads}
    folder = make_folder(out)
    with exclusive(folder):
        sweep(folder)
        asked = identity(objective, dataset, seed, batch_size, log_every, own_stream=stream is not None)
        info = open_or_begin(folder, objective, asked, start, fresh)
        _take_arithmetic(folder, info, arithmetic)
        generator = torch.Generator().manual_seed(int(counter_rng(seed, 0, Purpose.INIT).integers(2**63)))
        loop = Loop(
            objective,
            objective.make_model(problem_of(dataset), generator),
            stream or make_stream(objective.needs, dataset, batch_size, seed),
            seed,
            where,
            precision,
        )
        if start is not None and (fresh or not (folder / CHECKPOINT).exists()):
            info["start"] = start.give_to(loop)
        if fresh:
            clear(folder)  # only now that nothing asked for has turned out to be impossible
        session = Session(folder, info, loop, hooks, log_every, checkpoint_seconds, trackers or {})
        with contextlib.closing(session):
            yield session


def _take_arithmetic(folder: Path, info: dict[str, Any], arithmetic: dict[str, Any]) -> None:
    """Refuse to go on in another precision; another device may have another usual one, which is written down."""
    before = info.get("arithmetic") or arithmetic
    if before.get("precision", arithmetic["precision"]) != arithmetic["precision"]:
        if before.get("device") == arithmetic["device"]:
            raise UsageError(
                f"{folder} holds a run in {_short(before)}, now asked for {_short(arithmetic)}. Go on with "
                f"--precision {_short(before)}, give the run its own folder (--out), or --fresh to start this one anew"
            )
        info["earlier_arithmetic"] = [*info.get("earlier_arithmetic", []), {**before, "until_step": info["step"]}]
    info["arithmetic"] = arithmetic


def _short(arithmetic: dict[str, Any]) -> str:
    return {"torch.bfloat16": "bf16", "torch.float32": "fp32"}.get(arithmetic["precision"], arithmetic["precision"])


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
        trackers: Mapping[str, Tracker],
    ) -> None:
        self.folder, self.info, self.loop, self.hooks = folder, info, loop, hooks
        self.log_every, self.checkpoint_seconds = log_every, checkpoint_seconds
        self.earlier, self.begin = float(info["seconds"]), time.monotonic()
        state: dict[str, Any] = {}
        if (folder / CHECKPOINT).exists():
            state = load_training(folder / CHECKPOINT, loop.model, loop.optimizers)
            check_step(folder / CHECKPOINT, state["step"], info)
            with understood(folder / CHECKPOINT, "let --fresh start the run anew"):
                loop.restore(state)
        if not (folder / INFO).exists():
            # Before any other file: a folder with run files but without this one would be refused the next time.
            write_json(folder / INFO, info)
        self.saved_step, self.saved_at, self.saved = loop.step, time.monotonic(), bool(state)
        self.status = "running"
        with understood(folder / CHECKPOINT, "let --fresh start the run anew"):
            self.records = Records(folder, state)
        self.feeds = [Feed(name, tracker, folder, info) for name, tracker in trackers.items()]

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
            self._track()
            if not (self.folder / CHECKPOINT).exists():
                self.save("running")
            if not self._spent(steps, budget):
                self.allow(steps, budget)
            loop.model.train()
            for hook in self.hooks:
                if hook.begin is not None:
                    hook.begin(loop.step)
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

    def allow(self, steps: int | None, seconds: float | None = None) -> None:
        """Write down how far this may go, before it goes there: no checkpoint beyond is believed."""
        self.note(budget={"steps": steps, "minutes": None if seconds is None else round(seconds / 60, 3)})

    def close(self) -> None:
        """Close the tables and let trackers go."""
        self.records.close()
        for feed in self.feeds:
            feed.finish(self.status)

    def log(self) -> None:
        """Write the rows that are due after this step."""
        loop = self.loop
        if loop.step % self.log_every == 0:
            self.records.add(loop.step, loop.means.take())
        self.records.add_evaluations(run_hooks(self.hooks, loop))

    def save(self, status: str) -> None:
        """Make everything up to this step survive."""
        self.loop.check_weights()
        state = {**self.loop.state(), "tables": self.records.flush()}
        save_checkpoint(self.folder / CHECKPOINT, self.loop.model, self.loop.optimizers, state)
        self.saved, self.saved_step = True, self.loop.step
        new = [feed.take() for feed in self.feeds]
        if status == "finished" and self.loop.means.counts:
            # Beyond what the checkpoint remembers: a run that goes on cuts this row off and writes the whole one.
            self.records.history.append({"step": self.loop.step, **self.loop.means.current()})
        self.info |= {"status": status, "step": self.loop.step, "seconds": round(self.seconds, 3)}
        write_json(self.folder / INFO, self.info)
        self._send(new)
        self.saved_at, self.status = time.monotonic(), status

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
            self.status = "failed"
            write_json(self.folder / INFO, {**self.info, **failed})
            raise
        except OSError as error:
            safe = f"The checkpoint of step {self.saved_step} is whole" if self.saved else "There is no checkpoint yet"
            raise UsageError(
                f"{cannot_write(error, self.folder)} at step {self.loop.step}. {safe}: make room and give the same "
                "command again"
            ) from error

    def _track(self) -> None:
        """Let trackers begin, and write down at once what they know the run by."""
        for feed in self.feeds:
            feed.start()
        if self.feeds:
            write_json(self.folder / INFO, self.info)

    def _send(self, new: Sequence[Rows]) -> None:
        """Send what the record says was sent; where a tracker failed the record must not say so."""
        for feed, rows in zip(self.feeds, new, strict=True):
            feed.send(rows)
            if rows and not feed.alive:
                write_json(self.folder / INFO, self.info)

    def _spent(self, steps: int | None, budget: float | None) -> bool:
        return (steps is not None and self.loop.step >= steps) or (budget is not None and self.seconds >= budget)

    def _part(self, steps: int | None, budget: float | None) -> float:
        return min(1.0, max(self.loop.step / steps if steps else 0.0, self.seconds / budget if budget else 0.0))
