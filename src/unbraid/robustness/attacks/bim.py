"""Basic iterative method (Kurakin et al., 2017)."""

from __future__ import annotations

import math

from torch import Tensor

from unbraid.errors import UsageError
from unbraid.robustness.attacks.classifier import Classifier
from unbraid.robustness.attacks.climbing import climb
from unbraid.robustness.attacks.goals import Goal
from unbraid.robustness.attacks.norms import Norm
from unbraid.robustness.attacks.registry import register

__all__ = ["bim"]


@register("bim", norm=("linf", "l2"), needs="gradient")
def bim(
    classify: Classifier,
    images: Tensor,
    goal: Goal,
    *,
    norm: Norm,
    radius: Tensor,
    steps: int = 10,
    step: float = 1 / 6,
) -> Tensor:
    """A few equal steps up the loss from the image itself, projected on the ball and on [0, 1] (Kurakin et al., 2017).

    ``step`` is the length of one in radii; Schott et al. (2019) take ten steps of a sixth.
    """
    if not 0 < step < math.inf:
        raise UsageError(f"step must be a number above 0, in radii, got {step}")
    size = step * radius
    return climb(classify, images, goal, images, norm=norm, radius=radius, size=size, steps=steps)[0]
