"""Latent descent (Schott et al., 2019)."""

from __future__ import annotations

import torch
from torch import Tensor

from unbraid.errors import UsageError
from unbraid.robustness.attacks.classifier import Classifier
from unbraid.robustness.attacks.draws import Draws
from unbraid.robustness.attacks.goals import ClassGoal, Goal, Named
from unbraid.robustness.attacks.line import closer
from unbraid.robustness.attacks.pointwise import reset
from unbraid.robustness.attacks.registry import register
from unbraid.robustness.attacks.vectors import as_rows

__all__ = ["latent_descent"]

HALVINGS = 10
STAGES = 50
"""Steps from the image to the reconstruction where the model thresholds its input."""


@register("latent-descent", norm="l2", needs="reconstructions", minimal=True)
def latent_descent(
    classify: Classifier,
    images: Tensor,
    goal: Goal,
    *,
    draws: Draws,
    step: float = 0.01,
    steps: int = 1000,
    binary: float | None = None,
) -> Tensor:
    """Small steps towards the best reconstruction by another class, which is inferred anew each time.

    For models that classify by reconstructing: ``model.infer(images).reconstruction`` is ``[n, classes, c, h, w]``.
    Each step goes ``step`` of the way; the last one and then the line to the image are halved. ``binary`` is the
    threshold of a model that compares pixels with it first: pixels then go just across it, in fifty stages, and those
    that are not needed are set back (Schott et al., 2019).
    """
    if not isinstance(goal, ClassGoal):
        raise UsageError(f"goal must be a class that is named or not, got {type(goal).__name__}")
    if not 0 < step <= 1 or steps < 1:
        raise UsageError(f"step must lie between 0 and 1 and steps be at least 1, got {step} and {steps}")
    if binary is not None and not 0 < binary < 1:
        raise UsageError(f"binary must lie between 0 and 1, the range of pixels, or be None, got {binary}")
    moved, rows = images.clone(), torch.arange(len(images), device=images.device)
    reached = torch.zeros(len(images), dtype=torch.bool, device=images.device)
    for number in range(1, (steps if binary is None else STAGES) + 1):
        other = _towards(classify, moved[rows], goal[rows])
        if binary is None:
            ahead = (1 - step) * moved[rows] + step * other
        else:
            share = number / STAGES
            ahead = (1 - share) * images[rows] + share * _across(moved[rows], other, binary)
        ahead = ahead.clamp(0, 1)
        met = classify.met(ahead, goal[rows])
        hit = met.nonzero()[:, 0]
        if len(hit):
            last = closer(classify, moved[rows[hit]], goal[rows[hit]], ahead[hit], torch.arange(len(hit)), HALVINGS)
            moved[rows[hit]], reached[rows[hit]] = last, True
        rows, ahead = rows[~met], ahead[~met]
        if not len(rows):
            break
        moved[rows] = ahead
    rows = reached.nonzero()[:, 0]
    moved = closer(classify, images, goal, moved, rows, HALVINGS)
    if binary is not None and len(rows):
        moved[rows] = reset(classify, images[rows], goal[rows], moved[rows], draws[rows])
    return torch.where(as_rows(reached, images), moved, images)


def _towards(classify: Classifier, images: Tensor, goal: ClassGoal) -> Tensor:
    """How the best of the other classes, or the one that shall be named, would draw each image."""
    scores = classify.scores(images)
    drawn = classify.reconstructions(images)
    own = goal.classes
    best = own if isinstance(goal, Named) else scores.scatter(1, own[:, None], -torch.inf).argmax(1)
    return drawn[torch.arange(len(images), device=images.device), best].to(images)


def _across(images: Tensor, other: Tensor, threshold: float) -> Tensor:
    """Pixels of an image, put just across the threshold where the other image is on its other side."""
    edge = torch.full_like(images, threshold)
    white, want = images >= threshold, other >= threshold
    return torch.where(white == want, images, torch.where(want, edge, edge - 1e-5))
