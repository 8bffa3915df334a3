"""Batch normalisation of each logit, as the last step of a bijective classifier."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from unbraid.errors import UsageError
from unbraid.nets.bijections.bijection import Bijection

__all__ = ["LogitNorm"]

KEPT = 0.9
"""What running averages keep of themselves at each step (Jacobsen et al., 2019, public code)."""


class LogitNorm(Bijection):
    """The first ``classes`` numbers of vectors ``[n, d]``, each by its own mean and deviation, then scaled and shifted.

    By those of the batch in training, by their running averages in evaluation mode, where it is one-to-one for every
    sample and inputs have the same logits with it if and only if they have without.
    """

    def __init__(self, classes: int) -> None:
        super().__init__()
        self.classes = classes
        self.norm = nn.BatchNorm1d(classes, momentum=1 - KEPT)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        logits = x[:, : self.classes]
        if self.training and len(x) < 2:
            raise UsageError("logits cannot be normalised by a single sample; batch_size must be at least 2, got 1")
        with torch.autocast(x.device.type, enabled=False):
            moved = self.norm(logits)
            variance = logits.var(0, correction=0) if self.training else self._running()[1]
            log_scale = self.norm.weight.abs().log() - 0.5 * (variance + self.norm.eps).log()
        return torch.cat([moved, x[:, self.classes :]], 1), log_scale.sum().expand(len(x))

    def undo(self, z: Tensor) -> Tensor:
        mean, variance = self._running()
        scale = (variance + self.norm.eps).sqrt() / self.norm.weight
        return torch.cat([(z[:, : self.classes] - self.norm.bias) * scale + mean, z[:, self.classes :]], 1)

    def _running(self) -> tuple[Tensor, Tensor]:
        assert self.norm.running_mean is not None
        assert self.norm.running_var is not None
        return self.norm.running_mean, self.norm.running_var
