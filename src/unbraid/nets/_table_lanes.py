"""Gradients of tables of functions, sixteen at a time, on one core with AVX-512."""

import torch
from torch import Tensor

from unbraid.compiled import compiled
from unbraid.nets._lanes import LANES, load, spread, spread_at, store

__all__ = ["scatter_windows"]


def scatter_windows(slope: Tensor, cell: Tensor, part: Tensor, size: int) -> Tensor:
    """The gradient of ``values [9, size, f]`` of ``_table.sum_windows``, f from 16 to 32.

    ``slope`` is ``[n, h, w, f]``. Two registers hold the first and the last 16 functions, which may overlap.
    """
    n, height, width, f = slope.shape
    into = torch.zeros(9, size, 2 * LANES)
    _scatter(
        slope.view(-1).numpy(), cell.view(-1).numpy(), part.view(-1).numpy(), into.view(-1).numpy(),
        n, height, width, f, size,
    )  # fmt: skip
    return torch.cat([into[..., :LANES], into[..., 3 * LANES - f :]], 2)


@compiled
def _scatter(slopes, cell, part, into, n, height, width, f, size):  # type: ignore[no-untyped-def]
    one = spread(1.0)
    for b in range(n):
        for k in range(9):  # outside, so that what is added to stays in the first-level cache
            for i in range(height):
                start = (b * (height + 2) + i + k // 3) * (width + 2) + k % 3
                for j in range(width):
                    of = ((b * height + i) * width + j) * f
                    p, q = load(slopes, of), load(slopes, of + f - LANES)
                    share = spread_at(part, start + j)
                    rest = one - share
                    to = (k * size + cell[start + j]) * 2 * LANES
                    store(into, to, load(into, to) + rest * p)
                    store(into, to + LANES, load(into, to + LANES) + rest * q)
                    store(into, to + 2 * LANES, load(into, to + 2 * LANES) + share * p)
                    store(into, to + 3 * LANES, load(into, to + 3 * LANES) + share * q)
