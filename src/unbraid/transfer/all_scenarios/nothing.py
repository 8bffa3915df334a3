"""Images without any object: is a model sure of noise?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from unbraid.data import Purpose, counter_rng
from unbraid.errors import UsageError
from unbraid.evaluation import Scores
from unbraid.transfer.scenario import VALUE, Asked, Scenario, register

__all__ = ["Distal", "distal"]

STEP = 0.02


@register("distal")
@dataclass(frozen=True)
class Distal(Scenario):
    """No object at all: share of noise images that do not reach confidence 0.9 for any class within the step limit."""

    unit = "share"
    cost = 0.0005

    images: int = 50
    """Noise images to begin from."""
    steps: int = 100
    """Steps that may be taken to make the model sure."""
    confidence: float = 0.9
    """From which on a model is sure."""

    def __post_init__(self) -> None:
        if min(self.images, self.steps) < 1:
            raise UsageError(f"images and steps must be at least 1, got {self.images} and {self.steps}")
        if not 0 < self.confidence < 1:
            raise UsageError(f"confidence must lie between 0 and 1, got {self.confidence}")

    def seconds(self, asking: float = 1.0, training: float = 1.0) -> float:
        return self.steps * super().seconds(asking, training)

    def numbers(self, asked: Asked) -> Scores:
        _, images, labels = asked.images(200)
        scale = _calibration(asked.subject, images, labels) if asked.subject.draws else None
        found = distal(
            asked.subject, asked.data.shape, self.images, self.steps, self.confidence, seed=asked.seed, posterior=scale
        )
        return {VALUE: 1 - float((found >= self.confidence).mean()), "mean_confidence": float(found.mean())}


def distal(
    subject: Any,
    shape: tuple[int, ...],
    images: int = 50,
    steps: int = 100,
    confidence: float = 0.9,
    *,
    seed: int = 0,
    posterior: Any = None,
) -> np.ndarray:
    """The highest confidence ``[n]`` that noise images reach when they climb the score of the likeliest class.

    Along signs of gradients where there are some, else by random changes that are kept when they help.
    """
    noise = counter_rng(seed, 0, Purpose.DIRECTION).random((images, *shape), dtype=np.float32)

    def sure(points: np.ndarray) -> np.ndarray:
        pixels = np.rint(points * 255).astype(np.uint8)
        chances = subject.probabilities(pixels) if posterior is None else posterior(subject.scores(pixels))
        found: np.ndarray = chances.max(axis=1)
        return found

    best = sure(noise)
    return (
        _climb(subject, noise, best, sure, steps, confidence)
        if subject.has_gradient
        else _wander(noise, best, sure, steps, confidence, seed)
    )


def _climb(subject: Any, noise: np.ndarray, best: np.ndarray, sure: Any, steps: int, enough: float) -> np.ndarray:
    import torch

    from unbraid.robustness.attacks import Classifier

    classify = Classifier(subject.asked, factor=subject.factor)
    points = classify.place(torch.from_numpy(noise).permute(0, 3, 1, 2).contiguous())
    for _ in range(steps):
        rows = np.flatnonzero(best < enough)
        if not len(rows):
            break
        with torch.enable_grad():
            some = points[rows].detach().requires_grad_()
            score = classify.differentiable(some).log_softmax(1).amax(1)
            (slope,) = torch.autograd.grad(score.sum(), some, allow_unused=True)
        if slope is None:
            break
        points[rows] = (some.detach() + STEP * slope.nan_to_num(0.0).sign()).clamp(0, 1)
        seen = points[rows].permute(0, 2, 3, 1).cpu().numpy()
        best[rows] = np.maximum(best[rows], sure(seen))
    return best


def _wander(noise: np.ndarray, best: np.ndarray, sure: Any, steps: int, enough: float, seed: int) -> np.ndarray:
    points = noise.copy()
    for step in range(steps):
        rows = np.flatnonzero(best < enough)
        if not len(rows):
            break
        rng = counter_rng(seed, step + 1, Purpose.DIRECTION)
        change = 0.2 * rng.standard_normal((len(rows), *noise.shape[1:]), dtype=np.float32)
        tried = (points[rows] + change).clip(0, 1)
        found = sure(tried)
        better = found > best[rows]
        points[rows[better]], best[rows[better]] = tried[better], found[better]
    return best


def _calibration(subject: Any, images: np.ndarray, labels: np.ndarray) -> Any:
    """Probabilities that are even where nothing is explained, of models that give energies."""
    import warnings
    from functools import partial

    from unbraid.errors import UsageWarning
    from unbraid.robustness.synthesis import calibrate, posterior

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UsageWarning)
        return partial(posterior, calibration=calibrate(subject.scores(images), labels))
