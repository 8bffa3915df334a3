"""Perturbations of an exact size after clipping (Rusak et al., 2020), and those of at most a size, for attacks."""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from unbraid.errors import UsageError
from unbraid.nets import _projection

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
        x, d = (part.detach().flatten(1).contiguous() for part in (images, delta))
        ctx.compiled = x.dtype is torch.float32 and x.device.type == "cpu"
        if ctx.compiled:
            moved, state = _projection.project(x, d, eps.detach().contiguous(), low, high)
        else:
            moved, state = _project(x, d, eps, low, high)
        peak, least = state[:, 2], state[:, 3]
        if not peak.isfinite().all():
            raise UsageError("delta must be finite numbers, got NaN or infinity; look at what made it")
        if not least.amin() >= 0:
            raise UsageError(f"images must lie between {low} and {high}, got {x.amin():.4g} to {x.amax():.4g}")
        ctx.bounds = low, high
        ctx.save_for_backward(x, d, eps, state)
        return moved.view(images.shape)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        # Of gamma^2 sum_free delta^2 + sum_bound room^2 = eps^2, differentiated.
        x, d, eps, state = ctx.saved_tensors
        low, high = ctx.bounds
        slope_of = grad.flatten(1)
        if ctx.compiled and ctx.needs_input_grad[:3] == (False, True, False):
            into = _projection.pull_back(slope_of.contiguous(), x, d, state, low, high)
            return None, into.view(grad.shape), None, None, None
        s, slope, peak, _ = (part[:, None] for part in state.unbind(1))
        unit, room = _directions(x, d, peak, low, high)
        free = s * unit.square() < room.square()
        pull = torch.where(free, slope_of, 0)
        # How the loss changes with gamma, over the sum of free squares; nothing changes where none is free.
        along = torch.where(slope > 0, (pull * unit).sum(1, keepdim=True) / slope, 0)
        over = torch.where((s > 0) & (slope > 0), along / s.sqrt(), 0)
        into_images = pull + torch.where(free, 0, room * unit.sign() * over)
        scale = torch.where((peak > 0) & (slope > 0), s.sqrt() / peak, 0)
        into_delta = torch.where(free, scale * (pull - unit * along), 0)
        return into_images.view(grad.shape), into_delta.view(grad.shape), eps * over[:, 0], None, None


def _directions(x: Tensor, d: Tensor, peak: Tensor, low: float, high: float) -> tuple[Tensor, Tensor]:
    """Delta in units of its largest entry, so that squares neither overflow nor vanish, and the room on its way."""
    return d / torch.where(peak > 0, peak, 1), torch.where(d >= 0, high - x, x - low)


def _project(x: Tensor, d: Tensor, eps: Tensor, low: float, high: float) -> tuple[Tensor, Tensor]:
    """As :func:`unbraid.nets._projection.project`, for any device and type."""
    peak = d.abs().amax(1)
    unit, room = _directions(x, d, peak[:, None], low, high)
    s, free, slope = _solve(unit.square(), room.square(), eps.square())
    edge = torch.where(d > 0, high, torch.where(d < 0, low, x))
    moved = torch.where(free, x + s.sqrt()[:, None] * unit, edge).clamp(low, high)
    return moved, torch.stack([s, slope, peak, room.amin(1)], 1)


def _solve(power: Tensor, room: Tensor, target: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The square of gamma ``[n]``, which entries stay within their bounds, and the sum of their squares ``[n]``.

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
            return s, free, slope


def _per_image(value: float | Tensor, images: Tensor) -> Tensor:
    """A number, or one per image, so that it multiplies images."""
    number = torch.as_tensor(value, dtype=images.dtype, device=images.device)
    return number.reshape(-1, *[1] * (images.ndim - 1)) if number.ndim else number


def _check_bounds(low: float, high: float) -> None:
    if not low < high:
        raise UsageError(f"low must be below high, got {low} and {high}")
