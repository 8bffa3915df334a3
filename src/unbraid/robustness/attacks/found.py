"""What an attack found, counted after it: nothing here is the attack's own word."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import numpy as np
import torch
from torch import Tensor

from unbraid.errors import UsageError
from unbraid.robustness.attacks.binarised import refined
from unbraid.robustness.attacks.classifier import Classifier
from unbraid.robustness.attacks.goals import Goal
from unbraid.robustness.attacks.norms import Norm
from unbraid.robustness.attacks.vectors import as_rows

__all__ = ["Found", "best_of", "count", "without_unseen"]

SLACK = 1e-5
"""How far, relatively, rounding of distances may put an image outside the ball, at most."""


@dataclass(frozen=True)
class Found:
    """Of each image the nearest that was found, how far it is, and whether it does what the attack was after."""

    attack: str
    norm: str
    adversarials: Tensor
    """Images ``[n, c, h, w]``; where nothing was found, the image itself."""
    distances: Tensor
    """Float64 ``[n]``: 0 where nothing had to be done, infinite where nothing was found."""
    success: Tensor
    """Bool ``[n]``."""
    refuted: Tensor | None = None
    """Bool ``[n]``: what was found first did not stand before the model that verifies; another was looked for."""

    def __len__(self) -> int:
        return len(self.distances)

    @property
    def median(self) -> float:
        """Median distance, the mean of the two in the middle if there are two."""
        return float(np.median(self.distances.cpu().numpy()))

    def accuracy(self, bound: float) -> float:
        """Share of images that nothing nearer than ``bound``, or just as far, was found for."""
        return float((self.distances > bound).double().mean())

    def __str__(self) -> str:
        return (
            f"{self.attack}: median {self.norm} distance {self.median:.4g}, {int(self.success.sum())} of {len(self)} "
            "images moved"
        )

    def _repr_html_(self) -> str:
        return f"<code>{escape(str(self))}</code>"


def best_of(found: Sequence[Found], name: str = "all") -> Found:
    """Of each image the nearest that any of several attacks found.

    All must be of one norm and of the same images.
    """
    if not found:
        raise UsageError("found must hold the result of at least one attack, got none")
    if len({(one.norm, one.adversarials.shape) for one in found}) > 1:
        shown = ", ".join(f"{one.attack} {one.norm} {list(one.adversarials.shape)}" for one in found)
        raise UsageError(f"found must be of one norm and of the same images, got {shown}")
    distances = torch.stack([one.distances for one in found])
    which = distances.argmin(0)
    rows = torch.arange(len(which), device=which.device)
    success = torch.stack([one.success for one in found])[which, rows]
    adversarials = torch.stack([one.adversarials for one in found])[which, rows]
    refuted = torch.stack([torch.zeros_like(one.success) if one.refuted is None else one.refuted for one in found])
    return Found(name, found[0].norm, adversarials, distances[which, rows], success, refuted[which, rows])


def count(
    classify: Classifier,
    images: Tensor,
    moved: Tensor,
    goal: Goal,
    norm: Norm,
    bound: Tensor | float | None = None,
    name: str = "the attack",
) -> tuple[Tensor, Tensor, Tensor]:
    """Which of the moved images reach the goal within a bound, how far all are, and the images that were looked at.

    Bool and float64 ``[n]``, both asked of the model and of the pixels anew, and images. Those that a function on bytes
    sees are rounded before: to the nearest byte, or, where that does not do within the bound, towards the original.
    """
    if moved.shape != images.shape or not bool(((moved >= 0) & (moved <= 1)).all()):
        raise UsageError(f"{name} gave {list(moved.shape)} or left [0, 1]; images are {list(images.shape)} in [0, 1]")
    seen = classify.see(moved)
    success, sizes = _judged(classify, images, seen, goal, norm, bound)
    if bound is None or seen is moved or success.all():  # the model sees floats as they are
        return success, sizes, seen
    inner = classify.see_within(images, moved)
    better, less = _judged(classify, images, inner, goal, norm, bound)
    take = ~success & better
    seen = torch.where(take.reshape(-1, *[1] * (images.ndim - 1)), inner, seen)
    return success | better, torch.where(take, less, sizes), seen


def _judged(
    classify: Classifier, images: Tensor, seen: Tensor, goal: Goal, norm: Norm, bound: Tensor | float | None
) -> tuple[Tensor, Tensor]:
    """Which images reach the goal within the bound, and how far all of them are."""
    sizes = norm.size(seen.double() - images.double())
    success = classify.met(seen, goal)
    if bound is not None:
        # An attack on the ball's rim is within, wherever the rounding of its pixels puts it.
        reach = torch.as_tensor(bound, dtype=torch.float64, device=sizes.device)
        eps = torch.finfo(images.dtype).eps
        rounding = {"l0": 0.0, "l2": 2 * eps * images[0].numel() ** 0.5, "linf": 2 * eps}[norm.name]
        within = sizes <= reach * (1 + min(SLACK, 100 * eps)) + rounding
        sizes = torch.where(within, torch.minimum(sizes, reach), sizes)
        success = success & within
    return success, sizes


def without_unseen(judge: Classifier, images: Tensor, moved: Tensor, goal: Goal, threshold: float | None) -> Tensor:
    """Moved images without what a model that thresholds pixels does not see, where the goal stays reached."""
    if threshold is None:
        return moved
    # A model that puts the threshold itself on the other side would lose what was found.
    fewer = refined(images, moved, threshold)
    return torch.where(as_rows(judge.met(fewer, goal), images), fewer, moved)
