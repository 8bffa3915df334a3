"""Train several models of one kind on the same batches."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from unbraid.data import ImageDataset, Stream
from unbraid.errors import UsageError
from unbraid.objectives import Objective
from unbraid.training import numerics
from unbraid.training.run import Run, problem_of
from unbraid.training.session import open_session, train
from unbraid.training.stacked import stackable, train_stacked

__all__ = ["Way", "train_together"]

Way = Literal["auto", "stacked", "sequential"]


def train_together(
    objective: Objective,
    data: ImageDataset,
    *,
    outs: Sequence[str | Path],
    seeds: Sequence[int],
    stream: Stream,
    steps: int,
    batch_size: int,
    starts: Sequence[str | Path] | None = None,
    precision: str = "auto",
    way: Way = "auto",
) -> list[Run]:
    """Train one model per folder of ``outs``: different initial weights and noise, the same batches from ``stream``.

    Each ends as an ordinary run folder. ``starts`` are runs to begin from, as in :func:`unbraid.train`. ``way`` is
    ``stacked`` (all at once, see :mod:`unbraid.training.stacked`), ``sequential`` (one after the other) or ``auto``:
    the faster one, which is stacked wherever it is possible. The same call again goes on from the last checkpoints.
    """
    if len(outs) != len(seeds) or (starts is not None and len(starts) != len(outs)):
        raise UsageError(f"outs, seeds and starts must be equally many, got {len(outs)} and {len(seeds)}")
    numerics.setup()
    can = way != "sequential" and stackable(objective, problem_of(data))
    if way == "stacked" and not can:
        raise UsageError(
            f"models of {objective.name!r} with these networks cannot be stacked: that takes a VAE of fully connected "
            "networks with a penalty on its posterior alone; way='sequential' always works"
        )
    if can and (len(outs) > 1 or way == "stacked"):
        return _stacked(objective, data, outs, seeds, stream, steps, batch_size, starts, precision)
    return [
        train(
            objective,
            data,
            out=out,
            steps=steps,
            seed=seed,
            batch_size=batch_size,
            precision=precision,
            progress="none",
            stream=stream,
            start=None if starts is None else starts[number],
        )
        for number, (out, seed) in enumerate(zip(outs, seeds, strict=True))
    ]


def _stacked(
    objective: Objective,
    data: ImageDataset,
    outs: Sequence[str | Path],
    seeds: Sequence[int],
    stream: Stream,
    steps: int,
    batch_size: int,
    starts: Sequence[str | Path] | None,
    precision: str,
) -> list[Run]:
    # Checkpoints of one moment are written one after the other: where only some were, all begin anew.
    for fresh in (False, True):
        with contextlib.ExitStack() as stack:
            sessions = [
                stack.enter_context(
                    open_session(
                        objective,
                        data,
                        Path(out),
                        seed=seed,
                        batch_size=batch_size,
                        precision=precision,
                        stream=stream,
                        fresh=fresh,
                        start=None if starts is None else Path(starts[number]),
                    )
                )
                for number, (out, seed) in enumerate(zip(outs, seeds, strict=True))
            ]
            if fresh or len({session.loop.step for session in sessions}) == 1:
                train_stacked(sessions, objective.updates(steps))
                break
    return [Run.open(out) for out in outs]
