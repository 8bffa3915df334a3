"""Thresholded inputs and scaled classes: Binary ABS, and any classifier behind a threshold (Schott et al., 2019)."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from unbraid.errors import UsageError

__all__ = ["PUBLISHED_SCALES", "Binarised", "fit_scales", "threshold"]

PUBLISHED_SCALES = (1.0, 0.96, 1.001, 1.06, 0.98, 0.96, 1.03, 1.0, 1.0, 1.0)
"""What Schott et al. (2019) multiply the energies of the digits 0 to 9 by in Binary ABS."""
GRID = np.round(np.arange(0.90, 1.1001, 0.005), 3)


class _StraightThrough(torch.autograd.Function):
    @staticmethod
    def forward(_: Any, images: Tensor, level: float) -> Tensor:
        return (images >= level).to(images.dtype)

    @staticmethod
    def backward(_: Any, *slopes: Tensor) -> tuple[Tensor, None]:
        return slopes[0], None


def threshold(images: Tensor, level: float = 0.5) -> Tensor:
    """1 where a pixel is at least ``level``, else 0; gradients pass as if nothing had happened."""
    found: Tensor = _StraightThrough.apply(images, level)
    return found


class Binarised(nn.Module):
    """A classifier that sees thresholded images; its scores are multiplied by ``scales`` ``[classes]``, if given.

    Scores of ABS are minus energies: a scale above 1 handicaps its class.
    """

    def __init__(self, classify: nn.Module, level: float = 0.5, scales: Any = None) -> None:
        super().__init__()
        if not 0 < level <= 1:
            raise UsageError(f"level must lie between 0 and 1, got {level}")
        self.classify, self.level = classify, level
        given = None if scales is None else torch.as_tensor(scales, dtype=torch.float32)
        if given is not None and (given.ndim != 1 or not (given > 0).all()):
            raise UsageError(f"scales must be one number above 0 for each class, got {scales}")
        self.register_buffer("scales", given)

    def forward(self, images: Tensor) -> Tensor:
        scores: Tensor = self.classify(threshold(images, self.level))
        return scores if self.scales is None else scores * self.scales.to(scores.dtype)  # type: ignore[operator]


def fit_scales(scores: Any, labels: Any, *, rounds: int = 10) -> np.ndarray:
    """Scales of the classes, 0.90 to 1.10, that make most of the images right: one class after the other, in rounds.

    Fit them on training images. A scale changes only if that makes more images right; the nearest to 1 wins a tie.
    """
    given, classes = np.asarray(scores, dtype=np.float64), np.asarray(labels)
    if given.ndim != 2 or classes.shape != (len(given),):
        raise UsageError(f"scores must be [n, classes] and labels [n], got {given.shape} and {classes.shape}")
    scales = np.ones(given.shape[1])
    order = GRID[np.argsort(np.abs(GRID - 1), kind="stable")]
    best = _right(given * scales, classes)
    for _ in range(rounds):
        before = best
        for column in range(given.shape[1]):
            tried = np.repeat(scales[None], len(order), axis=0)
            tried[:, column] = order
            counts = np.array([_right(given * one, classes) for one in tried])
            if counts.max() > best:
                best, scales = int(counts.max()), tried[int(counts.argmax())]
        if best == before:
            break
    return scales


def _right(scores: np.ndarray, classes: np.ndarray) -> int:
    return int((scores.argmax(axis=1) == classes).sum())
