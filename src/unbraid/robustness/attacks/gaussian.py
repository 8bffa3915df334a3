"""Gaussian noise that grows until the decision changes."""

from __future__ import annotations

from torch import Tensor

from unbraid.errors import UsageError
from unbraid.robustness.attacks.classifier import Classifier
from unbraid.robustness.attacks.draws import Draws
from unbraid.robustness.attacks.goals import Goal
from unbraid.robustness.attacks.line import along
from unbraid.robustness.attacks.norms import Norm
from unbraid.robustness.attacks.registry import register
from unbraid.robustness.attacks.repeated import repeated
from unbraid.robustness.attacks.vectors import direction

__all__ = ["gaussian"]


@register("gaussian", norm=("l2", "linf"), needs="decision", minimal=True)
def gaussian(
    classify: Classifier,
    images: Tensor,
    goal: Goal,
    *,
    norm: Norm,
    draws: Draws,
    levels: int = 50,
    restarts: int = 10,
) -> Tensor:
    """Normal noise clipped to [0, 1], as little as changes the decision, the best of several draws.

    Each draw is a direction that is followed to where the decision changes. :func:`unbraid.robustness.noise_distance`
    follows a single one, which is how far noise has to go on average rather than at best.
    """
    if levels < 1:
        raise UsageError(f"levels must be at least 1, got {levels}")

    def attempt(x: Tensor, aim: Goal, noise: Draws) -> tuple[Tensor, Tensor]:
        ways = direction(noise.normal(*x.shape[1:]))
        # Noise three times as long as the longest way sets most pixels to a bound.
        reach = 3 * x.flatten(1).norm(dim=1).maximum((1 - x).flatten(1).norm(dim=1))
        return along(classify, x, aim, ways, reach, levels)

    return repeated(attempt, images, goal, norm, draws, restarts)
