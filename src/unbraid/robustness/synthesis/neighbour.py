"""The nearest neighbour as a classifier: a baseline without training."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from unbraid.errors import UsageError
from unbraid.robustness.attacks import float_images

__all__ = ["NearestNeighbour"]


class NearestNeighbour(nn.Module):
    """Minus the smallest L2 distance to any known image of each class; gradients flow through that distance."""

    def __init__(self, images: Any, labels: Any, classes: int | None = None) -> None:
        super().__init__()
        pixels, truth = float_images(images, labels)
        self.classes = int(truth.max()) + 1 if classes is None else classes
        missing = sorted(set(range(self.classes)) - set(truth.tolist()))
        if missing:
            raise UsageError(f"there is no image of class {missing[0]}: every class needs some")
        order = truth.argsort(stable=True)
        self.register_buffer("images", pixels[order].flatten(1))
        self.register_buffer("squares", pixels.flatten(1).square().sum(1)[order])
        self.counts = torch.bincount(truth, minlength=self.classes).tolist()

    def forward(self, images: Tensor) -> Tensor:
        known, squares = (self.get_buffer(name).to(images.dtype) for name in ("images", "squares"))
        flat = images.flatten(1)
        with torch.no_grad():  # |x - k|² but for |x|²; torch.cdist copies all known images on every call
            far = torch.addmm(squares, flat, known.T, alpha=-2)
            nearest = [part.argmin(1) for part in far.split(self.counts, dim=1)]
        starts = torch.tensor([0, *self.counts[:-1]]).cumsum(0).tolist()
        # Distances to the nearest ones once more, exactly: products of matrices lose small ones.
        apart = [flat - known[start + row] for start, row in zip(starts, nearest, strict=True)]
        return -torch.stack([one.square().sum(1).clamp_min(1e-20).sqrt() for one in apart], dim=1)
