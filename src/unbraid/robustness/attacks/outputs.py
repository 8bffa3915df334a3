"""Any numbers that a model gives of images, as attacks see them: codes, read-outs, regressed factors."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from unbraid.errors import UsageError
from unbraid.robustness._scores import names_of
from unbraid.robustness.attacks.classifier import Classifier

__all__ = ["Outputs"]


class Outputs(Classifier):
    """Numbers ``[n, k]`` of float images: of a torch module, a run, or a function on uint8 images.

    Of a run, its codes (means) if it encodes, otherwise what it predicts: factors scaled to [0, 1], or scores.
    """

    def __init__(self, model: Any, name: str = "") -> None:
        if isinstance(model, Classifier):
            self.__dict__.update(model.__dict__)
            return
        self.name = name or names_of(model)
        self._module: nn.Module | None = None
        self._scorer = None
        self._function: Any = None
        if isinstance(model, nn.Module):
            self._module = model
        elif hasattr(model, "objective") and hasattr(model, "can"):
            self._module = _Codes(model) if model.can("encode") else model.classifier()
        elif callable(model):
            self._function = model
        else:
            raise UsageError(
                f"model must be a torch module from float images to numbers [n, k], a run (unbraid.open_run(path)), or "
                f"a function on uint8 images, got {type(model).__name__}"
            )

    def scores(self, images: Tensor) -> Tensor:
        if self._module is not None:
            return super().scores(images)
        pixels = images.mul(255).round().to(torch.uint8).permute(0, 2, 3, 1)
        told = np.asarray(self._function(np.ascontiguousarray(pixels.cpu().numpy())), dtype=np.float64)
        found = torch.from_numpy(told).to(images.device)
        self._check_outputs(found, len(images))
        return found

    def _check_outputs(self, found: Tensor, images: int) -> None:
        if found.ndim != 2 or len(found) != images:
            raise UsageError(
                f"{self.name} must give numbers [n, k], one row per image; of {images} images it gave "
                f"{list(found.shape)}"
            )
        if not found.isfinite().all():
            wrong = int((~found.isfinite()).any(1).sum())
            raise UsageError(
                f"{self.name} gives what are no numbers (NaN or infinite) for {wrong} of {images} images; did its "
                "training diverge?"
            )


class _Codes(nn.Module):
    """The codes of a run as a function of float images that gradients flow through."""

    def __init__(self, run: Any) -> None:
        super().__init__()
        with torch.inference_mode(False):
            self.objective, self.model = run.objective, copy.deepcopy(run.model)
        self.requires_grad_(False).eval()

    def forward(self, images: Tensor) -> Any:
        return self.objective.encode(self.model, images)
