"""Make an archive of a run for a catalogue: its record, tables and weights, without the optimiser's memory."""

from __future__ import annotations

import hashlib
import io
import json
import shlex
import zipfile
from pathlib import Path

from unbraid.errors import UsageError
from unbraid.files import write_bytes
from unbraid.reading import read_bytes
from unbraid.training.checkpoint import without_optimizers
from unbraid.training.run import CHECKPOINT, EVALUATIONS, HISTORY, INFO, Run

__all__ = ["pack_run"]

_WHEN = (1980, 1, 1, 0, 0, 0)


def pack_run(run: Run, path: Path, command: str) -> str:
    """Write the archive of a finished run and return its SHA-256; the same run gives the same bytes.

    The record gets ``command`` in the place of the one it was made by, which may name folders of this machine, and
    nothing of trackers. The run can be opened and started from by ``--parts``, but not be trained on.
    """
    if not run.finished:
        raise UsageError(f"{run.path} is not finished; only whole runs belong into an archive")
    if run.info["data"]["recipe"] is None:
        raise UsageError(f"{run.path} was trained on data held in memory, which nobody else has; name the data instead")
    info = {**run.info, "command": shlex.split(command)}
    info.pop("tracking", None)
    files = {
        INFO: (json.dumps(info, indent=2, allow_nan=False) + "\n").encode(),
        CHECKPOINT: without_optimizers(run.path / CHECKPOINT),
        HISTORY: read_bytes(run.path / HISTORY),
        EVALUATIONS: read_bytes(run.path / EVALUATIONS),
    }
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name, _WHEN), content, zipfile.ZIP_DEFLATED)
    write_bytes(path, buffer.getvalue())
    return hashlib.sha256(buffer.getvalue()).hexdigest()
