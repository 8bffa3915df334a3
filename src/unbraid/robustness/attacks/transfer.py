"""Adversarials of another model, made longer until they fool this one."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from unbraid.errors import UsageError
from unbraid.robustness.attacks.bim import bim
from unbraid.robustness.attacks.classifier import Classifier
from unbraid.robustness.attacks.draws import Draws
from unbraid.robustness.attacks.goals import Goal
from unbraid.robustness.attacks.line import along
from unbraid.robustness.attacks.norms import NORMS, Norm
from unbraid.robustness.attacks.registry import register
from unbraid.robustness.attacks.repeated import nearest
from unbraid.robustness.attacks.search import smallest_radius
from unbraid.robustness.attacks.vectors import as_rows

__all__ = ["transfer"]


@register("transfer", norm=("l2", "linf"), needs="substitute", minimal=True)
def transfer(
    classify: Classifier,
    images: Tensor,
    goal: Goal,
    *,
    norm: Norm,
    draws: Draws,
    substitute: Any,
    levels: int = 50,
) -> Tensor:
    """Directions that fool a substitute, followed until they fool the model itself (Schott et al., 2019).

    ``substitute`` is a torch module or a run with gradients, trained for the same classes. Four directions per image,
    of BIM and of one gradient step, in l2 and in linf; the one that leads to the nearest image stays.
    """
    other = substitute if isinstance(substitute, Classifier) else Classifier(substitute)
    other.need_gradient("the attack 'transfer' on its substitute")
    there, here = (one.scores(images[:1]).shape[1] for one in (other, classify))
    if there != here:
        raise UsageError(
            f"substitute must name the same classes as the model: {other.name} gives {there} numbers of an image, "
            f"{classify.name} {here}; train it on the same data"
        )
    other.check_gradient("the attack 'transfer' on its substitute", images)
    slope, _ = other.gradient(images, goal)
    tries = []
    for kind in (NORMS["l2"], NORMS["linf"]):

        def attempt(x: Tensor, aim: Goal, radius: Tensor, _: Draws, kind: Norm = kind) -> Tensor:
            return bim.move(other, x, aim, norm=kind, radius=radius)

        step = kind.steepest(slope)
        way = smallest_radius(attempt, other, images, goal, kind, draws) - images
        moved = (way != 0).flatten(1).any(1)  # a substitute that is wrong as it is knows one step alone
        for ways in (step, torch.where(as_rows(moved, images), way, step)):
            # So far that every pixel that moves noticeably is at its bound.
            loudest = ways.flatten(1).abs().amax(1)
            reach = torch.where(loudest > 0, 4 / loudest.clamp_min(1e-12), 0)
            tries.append(along(classify, images, goal, ways, reach, levels))
    return nearest(images, tries, norm)
