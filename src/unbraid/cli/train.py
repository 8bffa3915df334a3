"""unbraid train OBJECTIVE"""

from __future__ import annotations

import json as json_module
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from tyro.conf import OmitArgPrefixes, arg

from unbraid.cli.early import check_net
from unbraid.cli.hints import next_commands
from unbraid.objectives import Objective

if TYPE_CHECKING:
    from unbraid.data import ImageDataset
    from unbraid.training import Hook, Run

__all__ = ["TrainOptions", "train_command"]


@dataclass(frozen=True)
class TrainOptions:
    """What every objective's training takes."""

    data: str
    """Data set: a name (unbraid data list), name:factor=value,... for a part of its grid, an npz file, or a folder of
    images, as in pictures/:size=64,skip_bad=true."""
    out: Path
    """Folder of the run. The same command again goes on where it stopped."""
    steps: Annotated[int | None, arg(metavar="INT")] = None
    """Number of optimiser steps (20000 if no --minutes are given)."""
    minutes: Annotated[float | None, arg(metavar="FLOAT")] = None
    """Stop after this much training time, summed over resumed processes."""
    seed: int = 0
    """Decides initial weights, batches and noise."""
    batch_size: int = 64
    """Images per step."""
    device: str = "auto"
    """auto, cpu, cuda or mps."""
    precision: Literal["auto", "fp32", "bf16"] = "auto"
    """Of matrix products; auto is bf16 where the hardware multiplies it natively. Weights are always fp32."""
    threads: int = 1
    """CPU threads; several runs at once are faster with one each."""
    log_every: int = 100
    """Steps per row of history.csv."""
    checkpoint_seconds: float = 30.0
    """Time between checkpoints: what a kill -9 can cost at most."""
    progress: Literal["auto", "bar", "lines", "none"] = "auto"
    """How progress is shown (on stderr)."""
    watch: Annotated[Literal["nothing", "polarisation", "learning"], arg(metavar="NAME")] = "nothing"
    """Recorded every 500 steps in evaluations.csv: polarisation, which latents of a VAE are active; learning, how much
    of each factor the codes know, MIG and CPU time."""
    track: Annotated[str, arg(metavar="NAME")] = ""
    """Also tell a tracker: tensorboard, wandb, mlflow or an own FILE.py:CLASS; several are separated by commas."""
    start: Annotated[Path | None, arg(metavar="RUN")] = None
    """Folder of another run to begin from: its weights, optimiser state and step."""
    parts: str = ""
    """Of --start take only the weights of these parts, as in encoder,decoder, or a predictor's trunk (all but its last
    layer); optimiser and step are fresh."""
    fresh: bool = False
    """Throw away what the folder holds and start anew."""
    json: bool = False
    """Print the result as JSON."""


def train_command(cls: type[Objective]) -> Callable[..., None]:
    """The sub-command that trains one objective; its options are the dataclass's fields."""

    def run(objective: Objective, training: TrainOptions) -> None:
        from unbraid.data import load

        dataset = load(training.data)  # before torch is imported: a wrong name is answered at once
        check_net(objective)
        from unbraid.training import train

        steps = 20_000 if training.steps is None and training.minutes is None else training.steps
        result = train(
            objective,
            dataset,
            out=training.out,
            steps=steps,
            minutes=training.minutes,
            seed=training.seed,
            batch_size=training.batch_size,
            device=training.device,
            precision=training.precision,
            threads=training.threads,
            log_every=training.log_every,
            checkpoint_seconds=training.checkpoint_seconds,
            progress=training.progress,
            hooks=_hooks(training.watch, dataset),
            track=training.track,
            fresh=training.fresh,
            start=training.start,
            parts=tuple(part.strip() for part in training.parts.split(",") if part.strip()),
        )
        _tell(result, training.json)
        if not result.finished:
            raise KeyboardInterrupt  # saved and told, but what a script does next must not take it for finished

    run.__annotations__ = {
        "objective": Annotated[cls, arg(prefix_name=False, name="")],
        "training": OmitArgPrefixes[TrainOptions],
    }
    run.__doc__ = cls.__doc__
    return run


def _hooks(watch: str, dataset: ImageDataset) -> list[Hook]:
    if watch == "nothing":
        return []
    if watch == "learning":
        from unbraid.evaluation import learning_hook

        return [learning_hook(dataset)]
    from unbraid.theory import polarisation_hook

    return [polarisation_hook(dataset)]


def _tell(run: Run, json: bool) -> None:
    info = run.info
    rows = run.history().tail(1).to_dicts()
    last = rows[0] if rows else {}
    if json:
        print(
            json_module.dumps(
                {"run": str(run.path), **{k: info[k] for k in ("status", "step", "seconds")}, "last": last}
            )
        )
        return
    numbers = ", ".join(f"{name} {value:.4g}" for name, value in last.items() if name != "step" and value is not None)
    print(f"{info['status']} at step {info['step']} after {info['seconds']:.0f} s: {numbers or 'no history row yet'}")
    if run.finished:
        print(next_commands(run.path))
    else:
        print("the same command again goes on from here")
