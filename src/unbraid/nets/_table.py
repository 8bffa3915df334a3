"""Functions of one number, known at evenly spaced places and linear between them, for many numbers at a time.

A network whose first layers see one number at a time is such a function up to its kinks. Looking it up costs a fraction
of computing it, and gradients of its values become those of the weights once they went back through the few places.
"""

from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from unbraid.compiled import compiled
from unbraid.nets import stride2

__all__ = ["LANES", "look_up", "places", "sum_windows"]

REACH = 6.0
"""A table goes from minus this to this; normal numbers lie beyond once in half a billion, and are extrapolated."""
LANES = 8
"""Numbers that a machine adds up at once."""


def places(cells: int, like: Tensor) -> Tensor:
    """Where a function must be known, ``[cells + 1]``."""
    return torch.linspace(-REACH, REACH, cells + 1, dtype=like.dtype, device=like.device)


def look_up(values: Tensor, at: Tensor) -> Tensor:
    """The function of these ``values`` at any numbers; gradients flow to the values, as the numbers are drawn."""
    found: Tensor = _LookUp.apply(values, at)
    return found


def sum_windows(values: Tensor, at: Tensor) -> Tensor:
    """Sums of 3x3 functions of the numbers in each window of images.

    ``values [9, cells + 1, f]`` are those of the functions by their place in the window, ``at [n, h + 2, w + 2]`` the
    numbers; returns ``[n * h * w, f]``. The machine adds up ``LANES`` functions at once.
    """
    found: Tensor = _SumWindows.apply(values, at)
    return found


class _LookUp(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, values: Tensor, at: Tensor) -> Tensor:
        cell, part = _cells(at, len(values) - 1)
        found = torch.empty(at.shape)
        _look_up(values.detach().numpy(), cell, part, found.view(-1).numpy())
        ctx.found = cell, part, len(values)
        return found

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        cell, part, size = ctx.found
        into = torch.zeros(size, dtype=torch.float64)
        _scatter(grad.float().contiguous().view(-1).numpy(), cell, part, into.numpy())
        return into.float(), None


class _SumWindows(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, values: Tensor, at: Tensor) -> Tensor:
        _, size, lanes = values.shape
        n, height, width = at.shape
        cell, part = (found.reshape(at.shape) for found in _cells(at, size - 1))
        found = torch.empty(n, height - 2, width - 2, lanes)
        _sum_windows(values.detach().contiguous().numpy(), cell, part, found.numpy())
        ctx.found = cell, part, size
        return found.view(-1, lanes)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        cell, part, size = ctx.found
        n, height, width = cell.shape
        slope = grad.float().contiguous().view(n, height - 2, width - 2, -1)
        if 16 <= slope.shape[3] <= 32 and stride2.one_wide_core():
            from unbraid.nets import _table_lanes  # it imports numba

            return _table_lanes.scatter_windows(slope, torch.from_numpy(cell), torch.from_numpy(part), size), None
        into = torch.zeros(9, size, slope.shape[3])
        _scatter_windows(slope.numpy(), cell, part, into.numpy())
        return into, None


def _cells(at: Tensor, cells: int) -> tuple[np.ndarray, np.ndarray]:
    """In which cell each number lies, and how far towards its right end; beyond the table, of the outermost cell."""
    numbers = at.detach().contiguous().view(-1).numpy()
    cell, part = np.empty(numbers.size, np.int32), np.empty(numbers.size, np.float32)
    _place(numbers, np.float32(REACH), np.float32(cells / (2 * REACH)), np.float32(cells - 1), cell, part)
    return cell, part


@compiled
def _place(at, reach, scale, last, cell, part):  # type: ignore[no-untyped-def]
    for i in range(at.size):
        where = (at[i] + reach) * scale
        left = np.floor(where)
        if not left > 0:  # nor is NaN
            left = np.float32(0)
        left = min(left, last)
        cell[i] = np.int32(left)
        part[i] = where - left


@compiled
def _look_up(values, cell, part, found):  # type: ignore[no-untyped-def]
    for i in range(found.size):
        left, right = values[cell[i]], values[cell[i] + 1]
        found[i] = left + part[i] * (right - left)


@compiled
def _scatter(grad, cell, part, into):  # type: ignore[no-untyped-def]
    for i in range(grad.size):
        gain = part[i] * grad[i]
        into[cell[i]] += grad[i] - gain
        into[cell[i] + 1] += gain


@compiled
def _sum_windows(table, cell, part, found):  # type: ignore[no-untyped-def]
    n, height, width, lanes = found.shape
    for b in range(n):
        for i in range(height):
            for j in range(width):
                total = found[b, i, j]
                for c in range(lanes):
                    total[c] = np.float32(0)
                for row in range(3):
                    # Three places at a time: the compiler checks whether arrays overlap, and of many it does not.
                    at, share = cell[b, i + row], part[b, i + row]
                    k, f, g, h = 3 * row, share[j], share[j + 1], share[j + 2]
                    p, q = table[k, at[j]], table[k, at[j] + 1]
                    r, s = table[k + 1, at[j + 1]], table[k + 1, at[j + 1] + 1]
                    t, u = table[k + 2, at[j + 2]], table[k + 2, at[j + 2] + 1]
                    for c in range(lanes):
                        total[c] += p[c] + f * (q[c] - p[c]) + r[c] + g * (s[c] - r[c]) + t[c] + h * (u[c] - t[c])


@compiled
def _scatter_windows(grad, cell, part, table):  # type: ignore[no-untyped-def]
    n, height, width, lanes = grad.shape
    for b in range(n):
        for i in range(height):
            for j in range(width):
                slope = grad[b, i, j]
                for k in range(9):
                    place, share = cell[b, i + k // 3, j + k % 3], part[b, i + k // 3, j + k % 3]
                    left, right = table[k, place], table[k, place + 1]
                    for c in range(lanes):
                        gain = share * slope[c]
                        left[c] += slope[c] - gain
                        right[c] += gain
