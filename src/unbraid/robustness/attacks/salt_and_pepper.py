"""Salt and pepper: pixels set to black or white until the decision changes."""

from __future__ import annotations

from torch import Tensor

from unbraid.errors import UsageError
from unbraid.robustness.attacks.classifier import Classifier
from unbraid.robustness.attacks.draws import Draws
from unbraid.robustness.attacks.goals import Goal
from unbraid.robustness.attacks.norms import Norm
from unbraid.robustness.attacks.registry import register
from unbraid.robustness.attacks.repeated import repeated
from unbraid.robustness.attacks.starts import salted

__all__ = ["salt_and_pepper"]


@register("salt-and-pepper", norm=("l0", "l2"), needs="decision", minimal=True)
def salt_and_pepper(
    classify: Classifier,
    images: Tensor,
    goal: Goal,
    *,
    norm: Norm,
    draws: Draws,
    levels: int = 100,
    restarts: int = 10,
) -> Tensor:
    """Random pixels set to black or white, as few as change the decision, the best of several draws.

    Schott et al. (2019) take 100 levels of noise ten times; here the level between the last that failed and the first
    that worked is found by halving.
    """
    if levels < 1:
        raise UsageError(f"levels must be at least 1, got {levels}")
    return repeated(lambda x, aim, noise: salted(classify, x, aim, noise, levels), images, goal, norm, draws, restarts)
