"""Perturbations of an exact size after clipping (Rusak et al., 2020), and those of at most a size, for attacks."""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from unbraid.errors import UsageError

__all__ = ["clip_l2_ball", "clip_linf", "project_l2"]


def project_l2(images: Tensor, delta: Tensor, eps: float | Tensor, low: float = 0.0, high: float = 1.0) -> Tensor:
    """``clip(images + gamma * delta)`` with the gamma of each image that makes its distance ``eps`` *after* clipping.

    Images ``[n, ...]`` lie within ``low`` and ``high``; distances are Euclidean, over everything but the first axis;
    ``eps`` is a number or one per image ``[n]``. Where a direction cannot reach ``eps``, every entry that ``delta``
    moves ends at a bound, and the distance is the largest there is in this direction, below ``eps``. Gradients flow to
    all three, through gamma too, once.

    With ``s = gamma^2`` the squared distance is ``S(s) = sum_i min(s delta_i^2, room_i^2)``: increasing, concave, and
    linear between the points where an entry meets its bound. Newton's method climbs such a function from the left and
    lands on the solution itself after a few steps, without sorting those points.

    >>> dark = torch.zeros(1, 4)
    >>> project_l2(dark, torch.tensor([[3.0, 4.0, -1.0, 0.0]]), 0.5)
    tensor([[0.3000, 0.4000, 0.0000, 0.0000]])
    """
    if images.shape != delta.shape or images.ndim < 2:
        raise UsageError(
            f"images and delta must have one shape [n, ...], got {list(images.shape)} and {list(delta.shape)}"
        )
    if not images.is_floating_point() or not delta.is_floating_point():
        raise UsageError(f"images and delta must be floats, got {images.dtype} and {delta.dtype}")
    _check_bounds(low, high)
    dtype = torch.promote_types(torch.promote_types(images.dtype, delta.dtype), torch.float32)
    budgets = torch.as_tensor(eps, dtype=dtype, device=images.device).expand(len(images))
    if not ((budgets >= 0) & budgets.isfinite()).all():
        raise UsageError(f"eps must be numbers that are not negative, got {eps}")
    moved: Tensor = _Projection.apply(images.to(dtype), delta.to(dtype), budgets, low, high)
    return moved


def clip_linf(images: Tensor, delta: Tensor, radius: float | Tensor, low: float = 0.0, high: float = 1.0) -> Tensor:
    """``images + delta`` with no entry moved by more than ``radius`` (a number, or ``[n]``), clipped to the bounds."""
    _check_bounds(low, high)
    reach = _per_image(radius, images)
    return (images + delta.clamp(-reach, reach)).clamp(low, high)


def clip_l2_ball(images: Tensor, delta: Tensor, radius: float | Tensor, low: float = 0.0, high: float = 1.0) -> Tensor:
    """``images + delta``, delta shortened to the Euclidean length ``radius`` where longer, clipped to the bounds.

    Clipping only brings an image closer to where it was; :func:`project_l2` makes the distance exact.
    """
    _check_bounds(low, high)
    reach = _per_image(radius, images)
    length = _per_image(delta.flatten(1).norm(dim=1), images)
    shorter = torch.where(length > reach, reach / length.clamp_min(torch.finfo(delta.dtype).tiny), 1.0)
    return (images + delta * shorter).clamp(low, high)


class _Projection(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, images: Tensor, delta: Tensor, eps: Tensor, low: float, high: float) -> Tensor:
        x, d = images.flatten(1), delta.flatten(1)
        peak = d.abs().amax(1)
        if not peak.isfinite().all():
            raise UsageError("delta must be finite numbers, got NaN or infinity; look at what made it")
        # In units of the largest entry, so that squares neither overflow nor vanish.
        unit = d / torch.where(peak > 0, peak, 1)[:, None]
        room = torch.where(d >= 0, high - x, x - low)
        if room.amin() < 0:
            raise UsageError(f"images must lie between {low} and {high}, got {x.amin():.4g} to {x.amax():.4g}")
        gamma, free, slope = _solve(unit.square(), room.square(), eps.square())
        moved = torch.where(free, x + gamma[:, None] * unit, torch.where(d > 0, high, torch.where(d < 0, low, x)))
        ctx.save_for_backward(unit, room, gamma, free, slope, eps, peak)
        return moved.clamp_(low, high).view_as(images)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        # Of gamma^2 sum_free delta^2 + sum_bound room^2 = eps^2, differentiated.
        unit, room, gamma, free, slope, eps, peak = ctx.saved_tensors
        pull = torch.where(free, grad.flatten(1), 0)
        along = (pull * unit).sum(1) / torch.where(slope > 0, slope, 1)  # how the loss changes with gamma, over slope
        into_images = into_delta = into_eps = None
        over = torch.where(gamma > 0, along / torch.where(gamma > 0, gamma, 1), 0)
        if ctx.needs_input_grad[0]:
            into_images = (pull + torch.where(free, 0, room * unit.sign() * over[:, None])).view_as(grad)
        if ctx.needs_input_grad[1]:
            scale = (gamma / torch.where(peak > 0, peak, 1))[:, None]
            into_delta = (scale * torch.where(free, pull - unit * along[:, None], 0)).view_as(grad)
        if ctx.needs_input_grad[2]:
            into_eps = eps * over
        return into_images, into_delta, into_eps, None, None


def _solve(power: Tensor, room: Tensor, target: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Gamma ``[n]``, which entries stay within their bounds, and the sum of their squares ``[n]``.

    ``power`` and ``room`` are squares ``[n, d]``, ``target`` is a square ``[n]``.
    """
    free = room > 0
    slope = torch.where(free, power, 0).sum(1)
    largest = torch.finfo(power.dtype).max
    while True:
        left = target - torch.where(free, 0, room).sum(1)
        # Without any free entry there is no way to go: every entry is at its bound.
        s = torch.where(slope > 0, left / torch.where(slope > 0, slope, 1), largest).clamp(0, largest)
        free = free & (s[:, None] * power < room)
        before, slope = slope, torch.where(free, power, 0).sum(1)
        if bool((slope == before).all()):
            return s.sqrt(), free, slope


def _per_image(value: float | Tensor, images: Tensor) -> Tensor:
    """A number, or one per image, so that it multiplies images."""
    number = torch.as_tensor(value, dtype=images.dtype, device=images.device)
    return number.reshape(-1, *[1] * (images.ndim - 1)) if number.ndim else number


def _check_bounds(low: float, high: float) -> None:
    if not low < high:
        raise UsageError(f"low must be below high, got {low} and {high}")
