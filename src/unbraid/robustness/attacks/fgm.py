"""Fast gradient method (Goodfellow et al., 2015)."""

from __future__ import annotations

from torch import Tensor

from unbraid.errors import UsageError
from unbraid.robustness.attacks.classifier import Classifier
from unbraid.robustness.attacks.goals import Goal
from unbraid.robustness.attacks.line import along
from unbraid.robustness.attacks.norms import Norm
from unbraid.robustness.attacks.registry import register

__all__ = ["fgm"]


@register("fgm", norm=("linf", "l2"), needs="gradient", minimal=True)
def fgm(
    classify: Classifier,
    images: Tensor,
    goal: Goal,
    *,
    norm: Norm,
    levels: int = 50,
) -> Tensor:
    """The shortest way along the gradient at the image, or along its sign in linf (FGSM; Goodfellow et al., 2015).

    The gradient is computed once; ``levels`` lengths are tried, and the first that works is refined.
    """
    if levels < 1:
        raise UsageError(f"levels must be at least 1, got {levels}")
    gradient, _ = classify.gradient(images, goal)
    reach = norm.farthest(images) * (1 if norm.name == "linf" else 2)
    return along(classify, images, goal, norm.steepest(gradient), reach, levels)[0]
