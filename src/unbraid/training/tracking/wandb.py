"""Weights & Biases."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from unbraid.errors import UsageError
from unbraid.training.tracking.base import Tracker, flat_scores, register, settings_of

__all__ = ["WandB"]


@register("wandb")
class WandB(Tracker):
    """Weights & Biases, offline (``wandb/`` here, for ``wandb sync``) unless WANDB_MODE says otherwise.

    The project is WANDB_PROJECT, or ``unbraid``. Neither code, nor output, nor facts of this machine are recorded.
    """

    def __init__(self) -> None:
        try:
            import wandb
        except ImportError as error:
            raise UsageError("Weights & Biases is not installed: pip install 'unbraid[wandb]'") from error
        self._wandb = wandb

    def start(self, folder: Path, record: Mapping[str, Any], before: str | None) -> str:
        self.run = self._wandb.init(
            project=os.environ.get("WANDB_PROJECT", "unbraid"),
            name=folder.resolve().name,
            id=before,
            resume=None if before is None else "allow",
            config=settings_of(record),
            mode=os.environ.get("WANDB_MODE", "offline"),
            reinit="create_new",
            settings=self._wandb.Settings(
                silent=True,
                console="off",
                save_code=False,
                disable_git=True,
                x_disable_meta=True,
                x_disable_stats=True,
                x_disable_machine_info=True,
            ),
        )
        return str(self.run.id)

    def log(self, step: int, scalars: Mapping[str, float]) -> None:
        self.run.log(dict(scalars), step=step, commit=True)  # otherwise it waits for the next row

    def picture(self, name: str, file: Path) -> None:
        # Not a row each: pictures must not use up the steps of rows that are still to come.
        self.run.log({name: self._wandb.Image(str(file))}, commit=False)

    def scores(self, table: Sequence[Mapping[str, Any]], step: int) -> None:
        self.run.summary.update(flat_scores(table))

    def finish(self, status: str) -> None:
        self.run.finish(exit_code=0 if status == "finished" else 1)
