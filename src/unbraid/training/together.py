"""Train several models of one kind on the same batches."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from unbraid.data import ImageDataset, Stream
from unbraid.errors import UsageError
from unbraid.objectives import Objective
from unbraid.training.run import Run
from unbraid.training.session import train

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

    Each ends as an ordinary run folder. ``starts`` are runs to begin from, as in :func:`unbraid.train`.
    """
    if len(outs) != len(seeds) or (starts is not None and len(starts) != len(outs)):
        raise UsageError(f"outs, seeds and starts must be equally many, got {len(outs)} and {len(seeds)}")
    if way == "stacked":
        raise UsageError("these models cannot be stacked; train them with way='sequential'")
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
