"""The loops of :func:`unbraid.nets.project_l2` for float32 on the CPU: one image after the other, in the cache."""

from functools import partial

import numpy as np
import torch
from torch import Tensor

from unbraid.compiled import compiled

__all__ = ["project", "pull_back"]

regrouped = partial(compiled, regroup=True)


def project(images: Tensor, delta: Tensor, eps: Tensor, low: float, high: float) -> tuple[Tensor, Tensor]:
    """Moved images ``[n, d]``, and per image the square of gamma, the slope, the largest entry and the least room."""
    moved, state = torch.empty_like(images), torch.empty(len(images), 4)
    bounds = np.float32(low), np.float32(high)
    _project(images.numpy(), delta.numpy(), eps.numpy(), *bounds, moved.numpy(), state.numpy())
    return moved, state


def pull_back(grad: Tensor, images: Tensor, delta: Tensor, state: Tensor, low: float, high: float) -> Tensor:
    """The gradient with respect to delta."""
    into = torch.empty_like(delta)
    bounds = np.float32(low), np.float32(high)
    _pull_back(grad.numpy(), images.numpy(), delta.numpy(), state.numpy(), *bounds, into.numpy())
    return into


@regrouped
def _project(images, delta, eps, low, high, moved, state):  # type: ignore[no-untyped-def]
    n, length = images.shape
    power, room = np.empty(length, np.float32), np.empty(length, np.float32)
    nothing, largest = np.float32(0), np.float32(3.4e38)
    for row in range(n):
        x, d, out = images[row], delta[row], moved[row]
        peak, least = nothing, largest
        for i in range(length):
            peak = max(peak, abs(d[i]))
            left = high - x[i] if d[i] >= nothing else x[i] - low
            room[i] = left
            least = min(least, left)
        finite, inside = True, True
        for i in range(length):
            finite &= abs(d[i]) <= largest  # NaN is not, and gets lost in a maximum
            inside &= room[i] >= nothing
        state[row, 2], state[row, 3] = peak if finite else np.float32(np.nan), least if inside else -largest
        unit = np.float32(1) / peak if peak > nothing else nothing
        slope = nothing
        for i in range(length):
            u = d[i] * unit
            power[i] = u * u
            room[i] *= room[i]
            slope += power[i] if room[i] > nothing else nothing
        target, s = eps[row] * eps[row], nothing
        for _ in range(length + 2):
            fixed = nothing
            for i in range(length):
                fixed += room[i] if s * power[i] >= room[i] else nothing
            s = max(s, min((target - fixed) / slope, largest)) if slope > nothing else largest
            flatter = nothing
            for i in range(length):
                flatter += power[i] if s * power[i] < room[i] else nothing
            if flatter == slope:
                break
            slope = flatter
        gamma = np.sqrt(s)
        for i in range(length):
            there = x[i] + gamma * (d[i] * unit)
            edge = high if d[i] > nothing else low if d[i] < nothing else x[i]
            there = there if s * power[i] < room[i] else edge
            out[i] = min(max(there, low), high)
        state[row, 0], state[row, 1] = s, slope


@regrouped
def _pull_back(grad, images, delta, state, low, high, into):  # type: ignore[no-untyped-def]
    n, length = images.shape
    nothing = np.float32(0)
    for row in range(n):
        g, x, d, out = grad[row], images[row], delta[row], into[row]
        s, slope, peak = state[row, 0], state[row, 1], state[row, 2]
        unit = np.float32(1) / peak if peak > nothing else nothing
        along = nothing
        for i in range(length):
            u = d[i] * unit
            room = high - x[i] if d[i] >= nothing else x[i] - low
            pull = g[i] if s * (u * u) < room * room else nothing
            out[i] = pull
            along += pull * u
        along = along / slope if slope > nothing else nothing
        scale = np.sqrt(s) * unit if slope > nothing else nothing
        for i in range(length):
            u = d[i] * unit
            room = high - x[i] if d[i] >= nothing else x[i] - low
            out[i] = scale * (out[i] - u * along) if s * (u * u) < room * room else nothing
