"""Train several models of one kind on the same batches."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Literal

from unbraid import objectives
from unbraid.data import ImageDataset, Stream, load, make_stream
from unbraid.errors import UsageError
from unbraid.objectives import Objective
from unbraid.paths import user_path
from unbraid.training import numerics
from unbraid.training.amounts import check_amounts, check_batch
from unbraid.training.described import problem_of
from unbraid.training.forked import in_processes, why_not_fork
from unbraid.training.mixed_adam import load_kernel
from unbraid.training.run import INFO, Run
from unbraid.training.session import open_session
from unbraid.training.single import train
from unbraid.training.stacked import stackable, torn, train_stacked
from unbraid.training.start import Start

__all__ = ["Way", "train_together"]

Way = Literal["auto", "stacked", "sequential"]


def train_together(
    objective: str | Objective,
    data: str | ImageDataset,
    *,
    outs: Sequence[str | Path],
    seeds: Sequence[int],
    steps: int,
    batch_size: int = 64,
    stream: Stream | None = None,
    starts: Sequence[str | Path] | None = None,
    precision: str = "auto",
    way: Way = "auto",
    processes: int | None = None,
) -> list[Run]:
    """Train one model per folder of ``outs``: initial weights and noise by its seed, the same batches for all.

    The batches come from ``stream``, by default that of seed 0. Each model ends as an ordinary run folder.
    ``starts`` are runs to begin from, as in :func:`unbraid.train`. ``way`` is ``stacked`` (all at once, see
    :mod:`unbraid.training.stacked`), ``sequential`` (one after the other) or ``auto``: the faster one, which is stacked
    wherever it is possible. The models are shared out to ``processes``; by default there is one per core, where
    copies of this process can be made (Linux, training on the CPU). Give 1 where other work keeps the cores busy:
    one large stack takes less computing than several small ones. Models stacked in other groups are the same up to
    rounding. The same call again goes on from the last checkpoints. After a request to stop the runs are unfinished,
    and those that had not begun are left out.
    """
    if len(outs) != len(seeds) or (starts is not None and len(starts) != len(outs)):
        raise UsageError(f"outs, seeds and starts must be equally many, got {len(outs)} and {len(seeds)}")
    if not outs:
        raise UsageError("outs must name at least one folder, got none")
    check_amounts(steps=steps, processes=processes)
    for seed in seeds:
        check_amounts(seed=seed)
    if processes is not None and processes > 1 and (reason := why_not_fork()):
        raise UsageError(f"processes must be 1 here, got {processes}: {reason}")
    numerics.setup()
    method = objectives.make(objective) if isinstance(objective, str) else objective
    dataset = load(data) if isinstance(data, str) else data
    check_batch(batch_size, dataset.shape)
    batches = stream or make_stream(method.needs, dataset, batch_size, 0)
    stacks = way != "sequential" and stackable(method, problem_of(dataset))
    if way == "stacked" and not stacks:
        raise UsageError(
            f"models of {method.name!r} with these networks cannot be stacked: that takes a VAE of fully connected "
            "networks with a penalty on its posterior alone; way='sequential' always works"
        )
    models = [
        _Model(user_path(out, "outs"), seed, None if starts is None else user_path(starts[number], "starts"))
        for number, (out, seed) in enumerate(zip(outs, seeds, strict=True))
    ]

    def advance(models: Sequence[_Model]) -> None:
        if stacks and (len(outs) > 1 or way == "stacked"):
            _stacked(method, dataset, models, batches, steps, batch_size, precision)
            return
        for model in models:
            run = train(
                method,
                dataset,
                out=model.out,
                steps=steps,
                seed=model.seed,
                batch_size=batch_size,
                precision=precision,
                progress="none",
                stream=batches,
                start=model.start,
            )
            if not run.finished:
                return

    count = processes or (1 if why_not_fork() else numerics.cores())
    groups = _shares(models, count)
    if len(groups) > 1:
        if stacks:
            load_kernel()  # once instead of in every process
        in_processes([partial(advance, group) for group in groups])
    else:
        advance(models)
    return [Run.open(model.out) for model in models if (model.out / INFO).exists()]


@dataclass(frozen=True)
class _Model:
    out: Path
    seed: int
    start: Path | None


def _shares(models: Sequence[_Model], count: int) -> list[Sequence[_Model]]:
    """Neighbours in up to ``count`` groups of nearly equal size, the larger ones first."""
    count = min(count, len(models))
    bounds = [-(-number * len(models) // count) for number in range(count + 1)]
    return [models[begin:end] for begin, end in pairwise(bounds)]


def _stacked(
    objective: Objective,
    data: ImageDataset,
    models: Sequence[_Model],
    stream: Stream,
    steps: int,
    batch_size: int,
    precision: str,
) -> None:
    # Checkpoints of one moment are written one after the other: where only some were, all begin anew, so that the
    # result is that of an uninterrupted training to the bit.
    for fresh in (False, True):
        with contextlib.ExitStack() as stack:
            sessions = [
                stack.enter_context(
                    open_session(
                        objective,
                        data,
                        model.out,
                        seed=model.seed,
                        batch_size=batch_size,
                        precision=precision,
                        stream=stream,
                        fresh=fresh,
                        start=Start.of(model.start),
                    )
                )
                for model in models
            ]
            if fresh or not torn(sessions):
                train_stacked(sessions, objective.updates(steps))
                return
