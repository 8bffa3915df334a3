"""TensorBoard."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from unbraid.errors import UsageError
from unbraid.reading import open_image
from unbraid.training.tracking.base import Tracker, flat_scores, register, settings_of

__all__ = ["FOLDER", "TensorBoard"]

FOLDER = "tensorboard"


@register("tensorboard")
class TensorBoard(Tracker):
    """Event files in ``tensorboard/`` of the run folder; ``tensorboard --logdir runs`` shows those of all runs."""

    def __init__(self) -> None:
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError as error:
            raise UsageError("TensorBoard is not installed: pip install 'unbraid[tensorboard]'") from error
        self._make = SummaryWriter

    def start(self, folder: Path, record: Mapping[str, Any], before: str | None) -> str:
        if before is None and (folder / FOLDER).exists():
            shutil.rmtree(folder / FOLDER)  # everything is sent anew, and rows of both would be shown together
        self.writer = self._make(str(folder / FOLDER))
        if before is None:
            lines = [f"| {name} | {value} |" for name, value in settings_of(record).items()]
            self.writer.add_text("settings", "\n".join(["| setting | value |", "|---|---|", *lines]))
        return FOLDER

    def log(self, step: int, scalars: Mapping[str, float]) -> None:
        for name, value in scalars.items():
            self.writer.add_scalar(name, value, step)
        self.writer.flush()  # what counts as sent must survive a kill

    def picture(self, name: str, file: Path) -> None:
        import numpy as np

        with open_image(file) as image:
            self.writer.add_image(name, np.asarray(image.convert("RGB")), dataformats="HWC")

    def scores(self, table: Sequence[Mapping[str, Any]], step: int) -> None:
        for name, value in flat_scores(table).items():
            self.writer.add_scalar(f"scores/{name}", value, step)

    def finish(self, status: str) -> None:
        self.writer.close()
