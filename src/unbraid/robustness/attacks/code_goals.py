"""What attacks on representations are after: codes that move, codes of other images, one number without the others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from unbraid.robustness.attacks.goals import Goal

__all__ = ["Changed", "CodeGoal", "Loss", "Moved", "Reproduced"]

Loss = Callable[[Tensor, Tensor], Tensor]
"""From outputs and a reference, both ``[n, k]``, to what attacks climb, ``[n]``."""


@dataclass(frozen=True)
class CodeGoal(Goal):
    """Goals about outputs ``[n, k]`` and a reference like them, in units of ``scale`` ``[k]``."""

    reference: Tensor
    scale: Tensor
    own_loss: Loss | None = None
    """What is climbed instead of the margin."""

    def loss(self, outputs: Tensor) -> Tensor:
        return self.margin(outputs) if self.own_loss is None else self.own_loss(outputs, self.reference)

    def __getitem__(self, rows: Tensor | slice) -> CodeGoal:
        return replace(self, reference=self.reference[rows])

    def _away(self, outputs: Tensor) -> Tensor:
        return (outputs - self.reference) / self.scale


@dataclass(frozen=True)
class Moved(CodeGoal):
    """The code is at least ``amount`` from where it was."""

    amount: float = 1.0
    first: Tensor | None = None
    """The way to go, ``[n, k]`` of length 1, where the code has not moved yet and no way is uphill."""

    def margin(self, outputs: Tensor) -> Tensor:
        away = self._away(outputs)
        squared = (away**2).sum(1)
        still = squared < 1e-20
        length = torch.where(still, 1, squared).sqrt()  # a root of 0 has no slope
        start = away.sum(1) * 0 if self.first is None else (away * self.first).sum(1)
        return torch.where(still, start, length) - self.amount

    def __getitem__(self, rows: Tensor | slice) -> Moved:
        first = None if self.first is None else self.first[rows]
        return replace(self, reference=self.reference[rows], first=first)


@dataclass(frozen=True)
class Reproduced(CodeGoal):
    """The code is within ``tolerance`` of another image's."""

    tolerance: float = 0.1

    def margin(self, outputs: Tensor) -> Tensor:
        return self.tolerance - self._away(outputs).norm(dim=1)


@dataclass(frozen=True)
class Changed(CodeGoal):
    """One number changes by at least ``by`` (up if positive, down if negative), and no other by more than ``hold``."""

    factor: int = 0
    by: float = 1.0
    hold: float = 0.1

    def margin(self, outputs: Tensor) -> Tensor:
        lack, leak = self._parts(outputs)
        return torch.minimum(-lack, -leak)

    def loss(self, outputs: Tensor) -> Tensor:
        if self.own_loss is not None:
            return self.own_loss(outputs, self.reference)
        lack, leak = self._parts(outputs)
        return -(lack.clamp_min(0) / abs(self.by)) - leak.clamp_min(-0.5 * self.hold) / self.hold

    def _parts(self, outputs: Tensor) -> tuple[Tensor, Tensor]:
        """What the number lacks, and by how much the loudest of the others is too loud."""
        away = self._away(outputs)
        lack = abs(self.by) - away[:, self.factor] * (1 if self.by > 0 else -1)
        others = torch.cat([away[:, : self.factor], away[:, self.factor + 1 :]], 1).abs()
        loudest = others.amax(1) if others.shape[1] else torch.zeros_like(lack)
        return lack, loudest - self.hold
