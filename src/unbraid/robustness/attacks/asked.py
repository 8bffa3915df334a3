"""What an attack is asked: images, and what shall be made of them."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from unbraid.errors import UsageError
from unbraid.robustness._examples import check_labels
from unbraid.robustness.attacks.classifier import Classifier, float_images
from unbraid.robustness.attacks.goals import Goal, Misclassified, Named

__all__ = ["asked", "check_same"]


def asked(classify: Classifier, images: Any, labels: Any, target: Any, goal: Goal | None) -> tuple[Tensor, Goal]:
    """The images where the model is, and what is asked of it."""
    if (labels is None) == (goal is None):
        raise UsageError("give labels, the true classes of the images, or a goal instead of them")
    if goal is not None and target is not None:
        raise UsageError("give a target, a class to be named, or a goal, not both")
    pixels, truth = float_images(images, [0] * len(images) if labels is None else labels)
    x = classify.place(pixels)
    if goal is not None:
        return x, goal
    if target is None:
        return x, Misclassified(truth.to(x.device))
    wanted = [target] * len(pixels) if isinstance(target, int) else target
    numbers = check_labels(wanted.cpu().numpy() if isinstance(wanted, Tensor) else wanted, len(pixels), "target")
    return x, Named(torch.from_numpy(numbers).to(x.device))


def check_same(judged: Tensor, given: Tensor, judge: Classifier, classify: Classifier) -> None:
    """Refuse a model that verifies and gives other outputs than the one that is attacked."""
    if judged.shape[1] != given.shape[1]:
        raise UsageError(
            f"verify must give what predict gives: {judge.name} gives {judged.shape[1]} numbers of an image, "
            f"{classify.name} {given.shape[1]}"
        )
