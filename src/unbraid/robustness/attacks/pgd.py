"""Projected gradient descent (Madry et al., 2018)."""

from __future__ import annotations

import torch
from torch import Tensor

from unbraid.errors import UsageError, unknown_name
from unbraid.nets import clip_l2_ball, clip_linf
from unbraid.robustness.attacks.classifier import Classifier
from unbraid.robustness.attacks.registry import register
from unbraid.robustness.attacks.vectors import as_rows, direction

__all__ = ["pgd"]


@register("pgd", norm=("linf", "l2"), needs="gradient")
def pgd(
    classify: Classifier,
    images: Tensor,
    labels: Tensor,
    *,
    norm: str = "linf",
    radius: float,
    steps: int = 100,
    step_size: float | None = None,
    restarts: int = 1,
    random_start: bool = True,
    generator: torch.Generator,
) -> Tensor:
    """Steps of one size up the loss, each followed by a projection on the ball and on [0, 1].

    A step is a tenth of the radius unless given. An image that was taken for something else once stays as it was then,
    and leaves the batch; with ``restarts`` the others begin anew at another random place. Images that still are named
    right at the end come back as they were.
    """
    if norm not in ("linf", "l2"):
        raise unknown_name("norm", norm, ("linf", "l2"))
    for name, value, least in (("steps", steps, 1), ("restarts", restarts, 1)):
        if value < least:
            raise UsageError(f"{name} must be at least {least}, got {value}")
    size = radius / 10 if step_size is None else step_size
    best = images.clone()
    left = (~classify.wrong(images, labels)).nonzero()[:, 0]
    for _ in range(restarts):
        if not len(left):
            break
        found, moved = _once(classify, images[left], labels[left], norm, radius, steps, size, random_start, generator)
        best[left[found]] = moved[found]
        left = left[~found]
    return best


def _once(
    classify: Classifier,
    images: Tensor,
    labels: Tensor,
    norm: str,
    radius: float,
    steps: int,
    size: float,
    random_start: bool,
    generator: torch.Generator,
) -> tuple[Tensor, Tensor]:
    """Which images were taken for something else, and where they were then."""
    clip = clip_linf if norm == "linf" else clip_l2_ball
    result, success = images.clone(), torch.zeros(len(images), dtype=torch.bool, device=images.device)
    rows = torch.arange(len(images), device=images.device)
    moved = clip(images, _start(images, norm, radius, generator), radius) if random_start else images
    for _ in range(steps):
        gradient, scores = classify.loss_gradient(moved, labels[rows])
        rows, moved, gradient = _keep(scores.argmax(1) != labels[rows], rows, moved, gradient, result, success)
        if not len(rows):
            return success, result
        uphill = gradient.sign() if norm == "linf" else direction(gradient)
        moved = clip(images[rows], moved + size * uphill - images[rows], radius)
    _keep(classify.wrong(moved, labels[rows]), rows, moved, moved, result, success)
    return success, result


def _keep(
    wrong: Tensor, rows: Tensor, moved: Tensor, gradient: Tensor, result: Tensor, success: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Note those that succeeded; the others go on."""
    result[rows[wrong]] = moved[wrong]
    success[rows[wrong]] = True
    return rows[~wrong], moved[~wrong], gradient[~wrong]


def _start(images: Tensor, norm: str, radius: float, generator: torch.Generator) -> Tensor:
    """A place in the ball, uniformly."""
    about = {"generator": generator, "device": images.device, "dtype": images.dtype}
    if norm == "linf":
        return radius * (2 * torch.rand(images.shape, **about) - 1)  # type: ignore[call-overload]
    drawn, depth = torch.randn(images.shape, **about), torch.rand(len(images), **about)  # type: ignore[call-overload]
    return direction(drawn) * as_rows(radius * depth ** (1 / images[0].numel()), images)
