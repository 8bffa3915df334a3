"""DeepFool (Moosavi-Dezfooli et al., 2016)."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from unbraid.errors import UsageError
from unbraid.robustness.attacks.classifier import Classifier
from unbraid.robustness.attacks.goals import ClassGoal, Goal, Named
from unbraid.robustness.attacks.line import closer
from unbraid.robustness.attacks.norms import Norm
from unbraid.robustness.attacks.registry import register
from unbraid.robustness.attacks.vectors import as_rows

__all__ = ["deepfool"]

BEYOND = 1e-6
"""How far beyond the nearest plane a step goes at least, in units of scores."""


@register("deepfool", norm=("l2", "linf"), needs="gradient", minimal=True)
def deepfool(
    classify: Classifier,
    images: Tensor,
    goal: Goal,
    *,
    norm: Norm,
    steps: int = 50,
    candidates: int = 10,
    overshoot: float = 0.02,
) -> Tensor:
    """Steps to the nearest boundary as it would be if scores were linear (Moosavi-Dezfooli et al., 2016).

    Of the classes, those ``candidates`` with the highest scores at the image are looked at. The way so far is made
    longer by ``overshoot``, and in the end shortened by halving; in linf, then, all pixels may go as far as the one
    that went farthest, if that is shorter. Pixels at a bound that would have to leave it take no part in a step.
    """
    if not isinstance(goal, ClassGoal):
        raise UsageError(
            f"goal must be a class that is named or not, since DeepFool compares scores of classes, got "
            f"{type(goal).__name__}; take pgd, apgd or fmn"
        )
    for option, value in (("steps", steps), ("candidates", candidates)):
        if value < 1:
            raise UsageError(f"{option} must be at least 1, got {value}")
    if not 0 <= overshoot < math.inf:
        raise UsageError(f"overshoot must be a number that is not negative, got {overshoot}")
    classes = _candidates(classify.scores(images), goal, candidates)
    result, reached = images.clone(), torch.zeros(len(images), dtype=torch.bool, device=images.device)
    rows, total = torch.arange(len(images), device=images.device), torch.zeros_like(images)
    for step in range(steps + 1):
        moved = (images[rows] + (1 + overshoot) * total[rows]).clamp(0, 1)
        slopes, scores = classify.jacobian(moved, classes[rows])
        met = goal[rows].met(scores)
        result[rows[met]], reached[rows[met]] = moved[met], True
        rows, moved, slopes, scores = rows[~met], moved[~met], slopes[~met], scores[~met]
        if not len(rows) or step == steps:
            break
        total[rows] += _to_the_plane(moved, slopes, scores.gather(1, classes[rows]), norm, isinstance(goal, Named))
    result = closer(classify, images, goal, result, reached.nonzero()[:, 0])
    return _all_as_far(classify, images, goal, result) if norm.name == "linf" else result


def _all_as_far(classify: Classifier, images: Tensor, goal: Goal, moved: Tensor) -> Tensor:
    """What is nearer in linf if all pixels go as far as the one that went farthest, by the slope where it led to.

    Steps add up to different lengths, and only the longest counts: the others may as well help.
    """
    farthest = as_rows((moved - images).flatten(1).abs().amax(1), images)
    rows = (farthest.flatten() > 0).nonzero()[:, 0]
    if not len(rows):
        return moved
    slope, _ = classify.gradient(moved[rows], goal[rows], margin=True)
    equal = moved.clone()
    equal[rows] = (images[rows] + farthest[rows] * slope.sign()).clamp(0, 1)
    rows = rows[classify.met(equal[rows], goal[rows])]
    result = moved.clone()
    result[rows] = closer(classify, images, goal, equal, rows)[rows]
    return result


def _candidates(scores: Tensor, goal: ClassGoal, count: int) -> Tensor:
    """The class of the goal, then the others with the highest scores: ``[n, k]``."""
    own = goal.classes[:, None]
    others = scores.scatter(1, own, -torch.inf).topk(min(count, scores.shape[1] - 1), dim=1).indices
    return torch.cat([own, others], 1)


def _to_the_plane(moved: Tensor, slopes: Tensor, scores: Tensor, norm: Norm, named: bool) -> Tensor:
    """The shortest change after which another class would be named, if scores were linear."""
    sign = -1 if named else 1
    ahead = (sign * (scores[:, 1:] - scores[:, :1])).double()  # below 0: not there yet
    slopes = sign * (slopes[:, 1:] - slopes[:, :1])  # [n, k, c, h, w]
    here = moved[:, None]
    slopes = torch.where(((here <= 0) & (slopes < 0)) | ((here >= 1) & (slopes > 0)), 0, slopes)
    speed = torch.stack([norm.dual(one) for one in slopes.unbind(1)], 1).double()
    away = torch.where(speed > 0, (BEYOND - ahead).clamp_min(BEYOND) / speed, torch.inf)
    # Another class is the nearest one; a class that shall be named has to overtake the best of the others.
    chosen = ahead.argmin(1) if named else away.argmin(1)
    pick = torch.arange(len(moved), device=moved.device)
    length = away[pick, chosen]
    step = as_rows(torch.where(length.isfinite(), length, 0).to(moved), moved) * norm.steepest(slopes[pick, chosen])
    return step.clamp(-1, 1)
