"""A trained predictor as a function that gradients flow through."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from unbraid.errors import UsageError
from unbraid.objectives import Objective

__all__ = ["Classify"]


class Classify(nn.Module):
    """The predictions of a trained model as a function of float images, for attacks and other uses of gradients."""

    def __init__(self, objective: Objective, model: nn.Module, shape: Sequence[int], task: str = "") -> None:
        super().__init__()
        self.objective, self.model, self.task = objective, model, task
        self.shape = (*shape[-1:], *shape[:-1])
        """Of an image as networks see it: channels first."""
        self.requires_grad_(False).eval()

    def train(self, mode: bool = True) -> Classify:
        """Stay in evaluation mode: a trained model is looked at, not trained."""
        return super().train(False)

    def forward(self, images: Tensor) -> Tensor:
        self._check(images)
        if self.task:
            return self.objective.answers(self.model, images)[self.task]
        return self.objective.predict(self.model, images)

    def infer(self, images: Tensor) -> Any:
        """What each class makes of an image, of models that classify by drawing: energy, codes, reconstruction."""
        self._check(images)
        explain = getattr(self.objective, "explain", None)
        if explain is None:
            raise UsageError(f"a model trained by {self.objective.name!r} does not classify by drawing; 'abs' does")
        return explain(self.model, images)

    def _check(self, images: Tensor) -> None:
        if not isinstance(images, Tensor):
            raise UsageError(
                f"images must be a tensor, got {type(images).__name__}; Run.predict takes arrays as data sets give them"
            )
        dtype = next((weights.dtype for weights in self.parameters()), torch.float32)
        if images.dtype != dtype or tuple(images.shape[1:]) != self.shape:
            kind = str(dtype).removeprefix("torch.")
            shape = ", ".join(map(str, self.shape))
            hint = "; channels come first, and pixels are in [0, 1]" if len(self.shape) == 3 else ""
            raise UsageError(
                f"images must be {kind} [n, {shape}], got {str(images.dtype).removeprefix('torch.')} "
                f"{list(images.shape)}{hint}"
            )
