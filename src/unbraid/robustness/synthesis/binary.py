"""Thresholded inputs and scaled classes: Binary ABS, and any classifier behind a threshold (Schott et al., 2019)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from unbraid.errors import UsageError
from unbraid.robustness.attacks import StraightThrough

__all__ = ["PUBLISHED_SCALES", "Binarised", "fit_scales"]

PUBLISHED_SCALES = (1.0, 0.96, 1.001, 1.06, 0.98, 0.96, 1.03, 1.0, 1.0, 1.0)
"""What Schott et al. (2019) multiply the energies of the digits 0 to 9 by in Binary ABS."""
GRID = np.round(np.arange(0.90, 1.1001, 0.005), 3)


class Binarised(StraightThrough):
    """A classifier that sees thresholded images; its scores are multiplied by ``scales`` ``[classes]``, if given.

    Scores of ABS are minus energies: a scale above 1 handicaps its class. Gradients pass the threshold as if it were
    not there.
    """

    def __init__(self, classify: nn.Module, threshold: float = 0.5, scales: Any = None) -> None:
        super().__init__(classify, threshold)
        given = None if scales is None else torch.as_tensor(scales, dtype=torch.float32)
        if given is not None and (given.ndim != 1 or not (given > 0).all()):
            raise UsageError(f"scales must be one number above 0 for each class, got {scales}")
        self.register_buffer("scales", given)

    def forward(self, images: Tensor) -> Tensor:
        return self._scaled(super().forward(images))

    def infer(self, images: Tensor) -> Any:
        """What each class would make of the thresholded image, of models that classify by drawing."""
        found = self.model.infer((images >= self.threshold).to(images.dtype))  # type: ignore[operator]
        return replace(found, energy=self._scaled(found.energy))

    def _scaled(self, numbers: Tensor) -> Tensor:
        scales = self.scales
        if scales is None:
            return numbers
        assert isinstance(scales, Tensor)
        if len(scales) != numbers.shape[1]:
            raise UsageError(f"scales must be {numbers.shape[1]} numbers, one for each class, got {len(scales)}")
        return numbers * scales.to(numbers)


def fit_scales(scores: Any, labels: Any, *, rounds: int = 10) -> np.ndarray:
    """Scales of the classes, 0.90 to 1.10, that make most of the images right: one class after the other, in rounds.

    Fit them on training images. A scale changes only if that makes more images right; the nearest to 1 wins a tie.
    """
    given, classes = np.asarray(scores, dtype=np.float64), np.asarray(labels)
    if given.ndim != 2 or classes.shape != (len(given),):
        raise UsageError(f"scores must be [n, classes] and labels [n], got {given.shape} and {classes.shape}")
    if not len(given) or not np.isfinite(given).all():
        raise UsageError(f"scores must be finite numbers of at least one image, got {len(given)} images")
    if classes.dtype.kind not in "iu" or classes.min() < 0 or classes.max() >= given.shape[1]:
        raise UsageError(
            f"labels must be whole numbers in 0..{given.shape[1] - 1}, the columns of scores, got {classes.dtype} "
            f"{classes.min()} to {classes.max()}"
        )
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
