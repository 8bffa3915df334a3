"""Distal adversarials: images of noise that a model becomes sure of (Schott et al., 2019)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import Any, Literal, get_args

import numpy as np
import torch
from torch import Tensor

from unbraid.errors import UsageError
from unbraid.robustness.attacks import ClassGoal, Classifier, Draws, EstimatedGradient
from unbraid.robustness.synthesis import Calibration

__all__ = ["Along", "Distal", "distal"]

Along = Literal["probability", "score"]
LENGTH = 0.1
"""L2 length of a step along a class's own score."""


@dataclass(frozen=True)
class Distal:
    """Where climbing from noise led, image by image."""

    images: Tensor
    """Floats ``[n, c, h, w]`` in [0, 1]: the last of each climb."""
    labels: np.ndarray
    """The classes that were to be named, ``[n]``."""
    confidence: np.ndarray
    """Their probabilities in the end, ``[n]``."""
    steps: np.ndarray
    """After so many steps it was over, ``[n]``."""
    success: np.ndarray
    """Whether the confidence that was asked for was reached: bool ``[n]``."""

    def __len__(self) -> int:
        return len(self.labels)

    def __str__(self) -> str:
        return (
            f"{int(self.success.sum())} of {len(self)} images of noise are named with confidence, median confidence "
            f"{np.median(self.confidence):.3g}"
        )

    def _repr_html_(self) -> str:
        return f"<code>{escape(str(self))}</code>"


@dataclass(frozen=True)
class _Believed(ClassGoal):
    """A class has a probability: what is climbed is its logarithm, or the score of the class."""

    calibration: Calibration
    confidence: float

    along: Along

    def logarithm(self, outputs: Tensor) -> Tensor:
        eta = self.calibration.eta
        scores = self.calibration.alpha * outputs.double()
        logs = torch.logaddexp(scores, torch.full_like(scores, math.log(eta) if eta else -math.inf))
        return self._own(logs) - logs.logsumexp(1)

    def margin(self, outputs: Tensor) -> Tensor:
        return self._own(outputs) if self.along == "score" else self.logarithm(outputs)

    def met(self, outputs: Tensor) -> Tensor:
        return self.logarithm(outputs) >= math.log(self.confidence)

    def __getitem__(self, rows: Tensor | slice) -> _Believed:
        return replace(self, classes=self.classes[rows])


def distal(
    predict: Any,
    shape: Sequence[int],
    label: int | Sequence[int] | None = 1,
    *,
    count: int = 1,
    confidence: float = 0.9,
    calibration: Calibration | None = None,
    steps: int = 10_000,
    rate: float = 1.0,
    momentum: float = 0.95,
    h: float = 1.0,
    along: Along = "probability",
    seed: int = 0,
    verify: Any = None,
    name: str = "",
    factor: str = "",
) -> Distal:
    """Climb from images of uniform noise until a class is believed in, or for ``steps`` (Schott et al., 2019).

    ``shape`` is ``(channels, height, width)``. There are ``count`` images for a ``label``, or one for each of several;
    without a label each climbs for the class that it is taken for in the beginning.
    Probabilities are those of a ``calibration`` (``synthesis.calibrate``), softmax without one. Each step follows the
    gradient of the logarithm of the probability, with momentum, and is clipped to [0, 1]; of functions without
    gradients it is estimated by moving pixels by ``h``. Images that their gradient is too small to move stay.

    A posterior that is even away from the data has no slope there, and its climb never begins. ``along="score"``
    follows the class's own score instead, in steps of ``LENGTH``, until the probability is reached: where a model that
    explains images is sure, an image of the class should be seen (Schott et al.: a prototypical digit).

    ``verify`` is the model that decides, if ``predict`` is a cheaper stand-in for it: a climb goes on until ``verify``
    is sure, too, and probabilities in the end are its own.
    """
    _check(shape, count, confidence, steps, rate, momentum)
    if along not in get_args(Along):
        raise UsageError(f"along must be 'probability' or 'score', got {along!r}")
    classify = predict if isinstance(predict, Classifier) else Classifier(predict, name, factor)
    judge = classify if verify is None else Classifier(verify, name, factor)
    if not classify.has_gradient:
        classify = EstimatedGradient(classify, h)
    wanted = 0 if label is None else label
    labels = np.full(count, wanted) if np.ndim(wanted) == 0 else np.asarray(wanted)
    if labels.ndim != 1 or not len(labels) or labels.dtype.kind not in "iu" or labels.min() < 0:
        raise UsageError(f"label must be a class from 0, or several, got {label!r}")
    numbers = torch.arange(len(labels), dtype=torch.float32).reshape(-1, 1, 1, 1)
    x = classify.place(Draws.of(numbers, seed).uniform(*shape))
    if label is None:
        labels = judge.scores(x).argmax(1).cpu().numpy()
    goal = _Believed(
        torch.from_numpy(labels.astype(np.int64)).to(x.device), calibration or Calibration(), confidence, along
    )
    for each in {classify, judge}:
        goal.check(each.scores(x), each.name)
    velocity, taken = torch.zeros_like(x), np.full(len(x), steps)
    rows = torch.arange(len(x), device=x.device)
    for step in range(steps + 1):
        slope, scores = classify.gradient(x[rows], goal[rows], margin=True)
        reached = goal[rows].met(scores)
        if verify is not None and reached.any():
            reached[reached.clone()] = goal[rows[reached]].met(judge.scores(x[rows[reached]]))
        if step == steps or reached.all():
            taken[rows[reached].cpu().numpy()] = step
            break
        if along == "score":
            way = torch.nn.functional.normalize(slope.to(x).flatten(1)).view_as(slope)
            moved = limit = (x[rows] + LENGTH * way).clamp(0, 1)
        else:
            velocity[rows] = momentum * velocity[rows] + slope.to(x)
            moved = (x[rows] + rate * velocity[rows]).clamp(0, 1)
            # Where neither this velocity nor the one that it would tend to moves a pixel, none in between ever will.
            limit = (x[rows] + rate / (1 - momentum) * slope.to(x)).clamp(0, 1)
        still = ((moved == x[rows]) & (limit == x[rows])).flatten(1).all(1)
        over = reached | still
        taken[rows[over].cpu().numpy()] = step
        x[rows[~over]], rows = moved[~over], rows[~over]
        if not len(rows):
            break
    chances = goal.logarithm(judge.scores(x)).exp().cpu().numpy()
    # The scores of one batch and of another differ by rounding.
    return Distal(x, labels, chances, taken, chances >= confidence * (1 - 1e-6))


def _check(shape: Sequence[int], count: int, confidence: float, steps: int, rate: float, momentum: float) -> None:
    if len(shape) != 3 or any(int(side) != side or side < 1 for side in shape):
        raise UsageError(f"shape must be (channels, height, width) of the images, got {tuple(shape)}")
    if count < 1 or steps < 1:
        raise UsageError(f"count and steps must be at least 1, got {count} and {steps}")
    if not 0 < confidence < 1:
        raise UsageError(f"confidence must lie between 0 and 1, got {confidence}")
    if not rate > 0 or not 0 <= momentum < 1:
        raise UsageError(f"rate must be above 0 and momentum from 0, less than 1, got {rate} and {momentum}")
