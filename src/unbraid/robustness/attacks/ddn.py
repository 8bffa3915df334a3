"""Decoupled direction and norm (Rony et al., 2019)."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from unbraid.errors import UsageError
from unbraid.robustness.attacks.classifier import Classifier
from unbraid.robustness.attacks.registry import register
from unbraid.robustness.attacks.vectors import as_rows, direction, lengths

__all__ = ["ddn"]

LAST = 0.01
"""Length of the last step; the first is 1, and a cosine leads from one to the other."""


@register("ddn", norm="l2", needs="gradient", minimal=True)
def ddn(
    classify: Classifier,
    images: Tensor,
    labels: Tensor,
    *,
    steps: int = 100,
    gamma: float = 0.05,
    generator: torch.Generator,
) -> Tensor:
    """The nearest image in L2 that is taken for something else, by steps on spheres that shrink and grow.

    After each step along the gradient the change is put on a sphere that is ``gamma`` smaller than the last one if the
    image was taken for something else there, and larger otherwise. The nearest such image comes back, or the image as
    it was where none was found.
    """
    if steps < 1:
        raise UsageError(f"steps must be at least 1, got {steps}")
    if not 0 < gamma < 1:
        raise UsageError(f"gamma must lie between 0 and 1, got {gamma}")
    best = images.clone()
    # No image of [0, 1] is farther away than this.
    farthest = torch.maximum(images, 1 - images).flatten(1).norm(dim=1)
    nearest = torch.full_like(farthest, torch.inf)
    sphere = torch.ones_like(farthest)
    delta = torch.zeros_like(images)
    for step in range(steps + 1):
        moved = images + delta
        gradient, scores = classify.loss_gradient(moved, labels)
        wrong, size = scores.argmax(1) != labels, lengths(delta)
        closer = wrong & (size < nearest)
        best[closer], nearest = moved[closer], torch.where(closer, size, nearest)
        if step == steps:
            return best
        flat = lengths(gradient) == 0
        if flat.any():  # nothing to follow: any way is as good
            gradient[flat] = torch.randn(
                gradient[flat].shape, generator=generator, device=images.device, dtype=images.dtype
            )
        length = LAST + (1 - LAST) * (1 + math.cos(math.pi * step / steps)) / 2
        delta = delta + length * direction(gradient)
        sphere = torch.where(wrong, (1 - gamma) * sphere, (1 + gamma) * sphere)
        sphere = torch.minimum(sphere, torch.minimum(nearest, farthest))
        delta = (images + as_rows(sphere, images) * direction(delta)).clamp(0, 1) - images
    return best
