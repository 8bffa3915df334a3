"""Images without any object: is a model sure of noise?"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Self

import numpy as np

from unbraid.errors import UsageError, UsageWarning
from unbraid.evaluation import Scores
from unbraid.transfer.scenario import VALUE, Asked, Scenario, register
from unbraid.transfer.subjects import Subject

__all__ = ["Distal"]

CLEAN = 100
"""Images that the posterior of models which draw is calibrated on."""
FURTHER = 5
"""So many times as many steps along a score, which are 0.1 long: 250 lead from noise to any digit, 16 away."""
BLIND = 5
"""Noise images at most of a function without gradients, whose slopes are asked for pixel by pixel."""


@register("distal")
@dataclass(frozen=True)
class Distal(Scenario):
    """No object at all: share of noise images that do not reach confidence 0.9 for their likeliest class.

    Each climbs by :func:`unbraid.robustness.distal`, within the step limit. Models that classify by drawing are asked
    with their calibrated posterior, which is even where nothing is explained: there each climbs the score of a class
    besides, the classes in turn, and counts if one of the two ways led to confidence.
    """

    unit = "share"
    cost = 0.0002

    images: int = 50
    """Noise images to begin from."""
    steps: int = 100
    """Steps that may be taken to make the model sure."""
    confidence: float = 0.9
    """From which on a model is sure."""
    along: Literal["probability", "both"] = field(default="probability", metadata={"usual": "probability"})
    """What is climbed: the probability, or also the score of a class, where the probability may be flat."""

    def __post_init__(self) -> None:
        if min(self.images, self.steps) < 1:
            raise UsageError(f"images and steps must be at least 1, got {self.images} and {self.steps}")
        if self.along not in ("probability", "both"):
            raise UsageError(f"along must be 'probability' or 'both', got {self.along!r}")
        if not 0 < self.confidence < 1:
            raise UsageError(f"confidence must lie between 0 and 1, got {self.confidence}")

    def seconds(self, asking: float = 1.0, training: float = 1.0) -> float:
        ways = 1 + FURTHER if self.along == "both" else 1
        return ways * self.steps * super().seconds(asking, training)

    def suited(self, objective: str) -> Self:
        return replace(self, along="both") if objective == "abs" else self

    def numbers(self, asked: Asked) -> Scores:
        from unbraid.robustness import distal

        subject = asked.subject
        height, width, channels = asked.data.shape
        _, images, labels = asked.images(CLEAN)
        scores = subject.scores(images)
        count = self.images if subject.has_gradient else min(self.images, BLIND)
        turns = (np.arange(count) % subject.classes(scores)).tolist()
        told: dict[str, Any] = {
            "count": count,
            "confidence": self.confidence,
            "calibration": _calibration(scores, labels) if subject.draws else None,
            "seed": asked.seed,
            "factor": subject.factor,
            # A model that rejects says the same of all that it rejects: the one inside is climbed, and it decides.
            "verify": subject.asked if subject.rejects else None,
        }
        climbed, shape = _climbed(subject, scores), (channels, height, width)
        ways = [distal(climbed, shape, turns if subject.rejects else None, steps=self.steps, **told)]
        if self.along == "both":
            ways.append(distal(climbed, shape, turns, steps=FURTHER * self.steps, along="score", **told))
        return {
            VALUE: 1 - float(np.any([way.success for way in ways], axis=0).mean()),
            "mean_confidence": float(np.max([way.confidence for way in ways], axis=0).mean()),
            "noise_images": float(count),
        }


def _climbed(subject: Subject, scores: np.ndarray) -> Any:
    """What is climbed: scores whose softmax are the model's probabilities, which some models give themselves."""
    if subject.rejects:
        return subject.asked.classify
    whole = (scores >= 0).all() and np.allclose(scores.sum(axis=1), 1, atol=1e-3)
    if not whole:
        return subject.asked
    if not subject.has_gradient:
        return lambda images: np.log(subject.probabilities(images) + 1e-12)
    import torch

    class Logs(torch.nn.Module):
        def __init__(self, module: torch.nn.Module) -> None:
            super().__init__()
            self.module = module

        def forward(self, images: torch.Tensor) -> Any:
            return (self.module(images) + 1e-12).log()

    return Logs(subject.asked)


def _calibration(scores: np.ndarray, labels: np.ndarray) -> Any:
    """Probabilities that are even where nothing is explained, of models that give energies."""
    from unbraid.robustness.synthesis import calibrate

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UsageWarning)
        return calibrate(scores, labels)
