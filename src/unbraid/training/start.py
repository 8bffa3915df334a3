"""Another run to begin from, wholly or in part."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unbraid.errors import UsageError
from unbraid.objectives import augment, penalties
from unbraid.paths import user_path
from unbraid.reading import read_bytes
from unbraid.training.checkpoint import load_parts, load_training, read_step, same_part
from unbraid.training.loop import Loop
from unbraid.training.run import CHECKPOINT

__all__ = ["Start", "in_words"]


@dataclass(frozen=True)
class Start:
    """The folder of a run, and the parts of its model to take; none named means all, with optimiser and step."""

    path: Path
    parts: tuple[str, ...] = ()

    @classmethod
    def of(cls, start: str | Path | None, parts: Sequence[str] = ()) -> Start | None:
        """What the arguments ``start`` and ``parts`` of a training ask for."""
        if isinstance(parts, str):
            raise UsageError(f"parts must be a sequence of names such as ('encoder',), got the string {parts!r}")
        if start is None:
            if parts:
                raise UsageError(f"parts = {', '.join(parts)} of which run? Give the one to start from, too (--start)")
            return None
        return cls(user_path(start, "start"), tuple(parts))

    def give_to(self, loop: Loop) -> dict[str, Any]:
        """Put what is taken into a loop that has not begun; returns the record for ``run.json``.

        Wholly: weights, the optimisers' memory (not their settings) and the step. In part: the weights of the parts.
        """
        file = self.path / CHECKPOINT
        if not file.exists():
            raise UsageError(
                f"cannot start from {self.path}: it has no {CHECKPOINT}. Give the folder of a run that has trained"
            )
        if self.parts:
            load_parts(file, loop.model, self.parts)
        else:
            # Augmentations may differ, and so may the networks they bring: those of the new run are taken. So may
            # penalties. Generators named by a folder are not to be those of the run to start from.
            named = any(getattr(one, "snapshots", "") for one in getattr(loop.objective, "augmentations", ()))
            but = [part for part in (augment.PART, penalties.PART) if not same_part(file, loop.model, part)]
            but += [augment.PART] * named
            inherited = load_training(file, loop.model, loop.optimizers, own_settings=True, but=but)
            loop.restore({**inherited, "sums": {}, "counts": {}})
        return {
            "path": str(self.path),
            "step": read_step(file),
            "checkpoint": _fingerprint(file),
            "parts": list(self.parts),
        }

    def differs_from(self, record: dict[str, Any]) -> bool:
        """Whether this is known to be another start than the recorded one.

        The run in the recorded place may have trained on, one elsewhere with the recorded checkpoint may have been
        moved, and of one that is gone nothing is known.
        """
        if list(self.parts) != record["parts"]:
            return True
        file = self.path / CHECKPOINT
        if self.path.resolve() == Path(record["path"]).resolve() or not file.exists():
            return False
        return _fingerprint(file) != record["checkpoint"]


def _fingerprint(file: Path) -> str:
    return hashlib.sha256(read_bytes(file, limit=1 << 36)).hexdigest()[:16]


def in_words(start: Start | None) -> str:
    """What a training begins with."""
    if start is None:
        return "new weights"
    return f"{', '.join(start.parts) or 'all'} of {start.path}"
