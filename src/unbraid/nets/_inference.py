"""Stride-2 convolutions without gradients in float32, on one core with AVX-512: fewer products, kept in the cache.

torch's convolutions come close to what such a core can multiply: only fewer multiplications can be faster. A 4x4
convolution with stride 2 is a 2x2 convolution of the image's 2x2 blocks, whose pixels count as channels, and Winograd's
F(4x4, 2x2) (Lavin & Gray, 2016) gets 16 of its outputs from 25 products instead of 64: tiles of 5x5 blocks and the
weights are transformed, multiplied point by point, and the products transformed back. Images of few channels and 2x2
windows are multiplied directly. A few images at a time go through all layers, so that features never leave the cache.

Everything is channels last and written for 16 channels at a time, the ``Lanes`` of a register, instead of hoping that
the compiler finds them.
"""

from collections.abc import Sequence

import numpy as np
import torch
import torch.nn.functional as F
from numba import njit
from torch import Tensor

from unbraid.compiled import compiled
from unbraid.nets._lanes import LANES, load, load_where, positive, spread, spread_at, store

__all__ = ["Layer", "convs"]

Layer = tuple[Tensor, Tensor, bool]
"""Weight ``[f, c, k, k]`` and bias of a convolution, and whether ReLU follows."""

ROWS, COLUMNS = 8, 2 * LANES
"""The part of a matrix product that is held in registers."""
POINTS = 25
"""Products for each tile of 4x4 outputs."""
CELLS = 1024
"""Outputs of the first layer that are made at a time: with what follows they fit into the second-level cache."""


def convs(x: Tensor, layers: Sequence[Layer]) -> Tensor:
    """Images through convolutions that halve them, kernel 4 (padding 1) or 2, to multiples of 32 channels."""
    n, c, height, width = x.shape
    pixels = x.permute(0, 2, 3, 1)
    if layers[0][0].shape[-1] == 4 and c % LANES:  # only the first layer can have few channels
        pixels = F.pad(pixels, (0, 0, 1, 1, 1, 1))
    plan = np.array(  # kernel, channels, outputs, their height and width, whether ReLU follows
        [(w.shape[-1], w.shape[1], len(w), height >> i, width >> i, relu) for i, (w, _, relu) in enumerate(layers, 1)],
        np.int64,
    )
    cells = plan[:, 3] * plan[:, 4]
    chunk = max(1, CELLS // int(cells[0]))
    out = x.new_empty(n * cells[-1] + ROWS, plan[-1, 2])
    _forward(
        pixels.contiguous().numpy().ravel(),
        n,
        chunk,
        plan,
        torch.cat([_packed(weight) for weight, _, _ in layers]).numpy(),
        torch.cat([bias for _, bias, _ in layers]).numpy(),
        np.empty((2, max((chunk * cells + ROWS) * plan[:, 2])), np.float32),
        np.zeros(ROWS * POINTS * 4 * max(plan[:, 1]), np.float32),
        np.empty(ROWS * POINTS * max(plan[:, 2]), np.float32),
        out.numpy().ravel(),
    )
    return out[: n * cells[-1]].view(n, *plan[-1, 3:5], plan[-1, 2]).permute(0, 3, 1, 2)


_POINTS = torch.tensor([[-4, -2], [4, -2], [2, 2], [-2, 2], [0, 3]], dtype=torch.float32, device="cpu") / 3
"""What two weights in a row are at the points 1/2, -1/2, 1, -1 and infinity."""
_ALL_POINTS = torch.kron(_POINTS, _POINTS)


def _packed(weight: Tensor) -> Tensor:
    """Weights in the order in which they are multiplied, transformed for 4x4 convolutions of many channels."""
    f, c, k, _ = weight.shape
    if k == 2 or c % LANES:
        return weight.permute(2, 3, 1, 0).flatten()
    blocks = weight.reshape(f, c, 2, 2, 2, 2).permute(2, 4, 3, 5, 1, 0).reshape(4, -1)
    return (_ALL_POINTS @ blocks).flatten()


_inner = njit(error_model="numpy")


@compiled
def _forward(images, n, chunk, plan, weights, biases, buffers, tiles, products, last):  # type: ignore[no-untyped-def]
    """A chunk of images at a time through all layers."""
    size, result = images.size // max(n, 1), plan[-1, 2] * plan[-1, 3] * plan[-1, 4]
    for first in range(0, n, chunk):
        count = min(chunk, n - first)
        source = images[first * size :]
        weight = bias = 0
        for layer in range(len(plan)):
            k, c, f, h, w, relu = plan[layer]
            target = last[first * result :] if layer == len(plan) - 1 else buffers[layer % 2]
            W, B = weights[weight:], biases[bias:]
            if k == 4 and c % LANES == 0:
                _winograd(source, W, B, target, count, c, f, h, w, relu, tiles, products)
                weight += POINTS * 4 * c * f
            else:
                _direct(source, W, B, target, count, k, c, f, h, w, relu)
                weight += k * k * c * f
            bias += f
            source = target


@_inner
def _direct(pixels, weights, biases, y, n, k, c, f, h, w, relu):  # type: ignore[no-untyped-def]
    """Windows k x k of images, padded for k = 4, times their weights ``[k, k, c, f]``."""
    height, width = 2 * h + k - 2, (2 * w + k - 2) * c
    rows = np.zeros(ROWS, np.int64)
    at = i = j = 0
    for first in range(0, n * h * w, ROWS):
        for row in range(min(ROWS, n * h * w - first)):
            rows[row] = at
            at, j = at + 2 * c, j + 1
            if j == w:
                at, i, j = at + 2 * (width - w * c), i + 1, 0
                if i == h:
                    at, i = at + (height - 2 * h) * width, 0
        for column in range(0, f, COLUMNS):
            a, b = load(biases, column), load(biases, column + LANES)
            _multiply(pixels, rows, k, width, k * c, weights, column, f, a, b, relu, y, first * f + column, f)


@_inner
def _winograd(pixels, weights, biases, y, n, c, f, h, w, relu, tiles, products):  # type: ignore[no-untyped-def]
    """Windows 4x4 of images, padding 1, by tiles of 4x4 outputs."""
    down, across, depth, zero = -(-h // 4), -(-w // 4), 4 * c, spread(0.0)
    rows, nothing = np.empty(ROWS, np.int64), np.zeros(LANES, np.float32)
    for first in range(0, n * down * across, ROWS):
        count = min(ROWS, n * down * across - first)
        for tile in range(count):
            image, place = (first + tile) // (down * across), (first + tile) % (down * across)
            top, left = 8 * (place // across) - 1, 8 * (place % across) - 1
            for part in range(4):
                for channel in range(0, c, LANES):
                    _transform(
                        pixels, image * 4 * h * w * c + channel, 2 * h, 2 * w, c, top + part // 2, left + part % 2,
                        tiles, tile * POINTS * depth + part * c + channel, depth, nothing,
                    )  # fmt: skip
        for point in range(POINTS):
            for row in range(ROWS):
                rows[row] = (row * POINTS + point) * depth
            for column in range(0, f, COLUMNS):
                _multiply(
                    tiles, rows, 1, 0, depth, weights, point * depth * f + column, f, zero, zero, 0,
                    products, point * f + column, POINTS * f,
                )  # fmt: skip
        for tile in range(count):
            image, place = (first + tile) // (down * across), (first + tile) % (down * across)
            top, left = 4 * (place // across), 4 * (place % across)
            for column in range(0, f, LANES):
                _transform_back(
                    products, tile * POINTS * f + column, load(biases, column), relu,
                    y, ((image * h + top) * w + left) * f + column, f, w, h - top, w - left,
                )  # fmt: skip


@_inner
def _multiply(a, rows, runs, hop, depth, b, column, width, x, y, relu, out, at, step):  # type: ignore[no-untyped-def]
    """Eight rows times 32 columns, added to x and y. A row is made of runs in ``a``, ``hop`` apart."""
    x0 = x1 = x2 = x3 = x4 = x5 = x6 = x7 = x
    y0 = y1 = y2 = y3 = y4 = y5 = y6 = y7 = y
    for run in range(runs):
        for k in range(run * hop, run * hop + depth):
            u, v = load(b, column), load(b, column + LANES)
            column += width
            x0, y0 = _add(a, rows[0] + k, u, v, x0, y0)
            x1, y1 = _add(a, rows[1] + k, u, v, x1, y1)
            x2, y2 = _add(a, rows[2] + k, u, v, x2, y2)
            x3, y3 = _add(a, rows[3] + k, u, v, x3, y3)
            x4, y4 = _add(a, rows[4] + k, u, v, x4, y4)
            x5, y5 = _add(a, rows[5] + k, u, v, x5, y5)
            x6, y6 = _add(a, rows[6] + k, u, v, x6, y6)
            x7, y7 = _add(a, rows[7] + k, u, v, x7, y7)
    _put(out, at, x0, y0, relu)
    _put(out, at + step, x1, y1, relu)
    _put(out, at + 2 * step, x2, y2, relu)
    _put(out, at + 3 * step, x3, y3, relu)
    _put(out, at + 4 * step, x4, y4, relu)
    _put(out, at + 5 * step, x5, y5, relu)
    _put(out, at + 6 * step, x6, y6, relu)
    _put(out, at + 7 * step, x7, y7, relu)


@_inner
def _add(a, index, u, v, x, y):  # type: ignore[no-untyped-def]
    number = spread_at(a, index)
    return x + number * u, y + number * v


@_inner
def _put(out, at, x, y, relu):  # type: ignore[no-untyped-def]
    store(out, at, positive(x) if relu else x)
    store(out, at + LANES, positive(y) if relu else y)


@_inner
def _transform(pixels, start, height, width, c, top, left, out, at, step, nothing):  # type: ignore[no-untyped-def]
    """A tile of every other pixel, 16 channels of it, at the 25 points."""
    p = _column(pixels, start, height, width, c, top, left, nothing)
    q = _column(pixels, start, height, width, c, top, left + 2, nothing)
    r = _column(pixels, start, height, width, c, top, left + 4, nothing)
    s = _column(pixels, start, height, width, c, top, left + 6, nothing)
    t = _column(pixels, start, height, width, c, top, left + 8, nothing)
    _put_points(out, at, step, p[0], q[0], r[0], s[0], t[0])
    _put_points(out, at + 5 * step, step, p[1], q[1], r[1], s[1], t[1])
    _put_points(out, at + 10 * step, step, p[2], q[2], r[2], s[2], t[2])
    _put_points(out, at + 15 * step, step, p[3], q[3], r[3], s[3], t[3])
    _put_points(out, at + 20 * step, step, p[4], q[4], r[4], s[4], t[4])


@_inner
def _column(pixels, start, height, width, c, top, column, nothing):  # type: ignore[no-untyped-def]
    inside, at, step = 0 <= column < width, start + (top * width + column) * c, 2 * width * c
    return _at_points(
        load_where(inside & (top >= 0), pixels, at, nothing),
        load_where(inside & (top + 2 < height), pixels, at + step, nothing),
        load_where(inside & (top + 4 < height), pixels, at + 2 * step, nothing),
        load_where(inside & (top + 6 < height), pixels, at + 3 * step, nothing),
        load_where(inside & (top + 8 < height), pixels, at + 4 * step, nothing),
    )


@_inner
def _at_points(a, b, c, d, e):  # type: ignore[no-untyped-def]
    """Five numbers in a row at the points 1/2, -1/2, 1, -1 and infinity, which lose the fewest digits."""
    quarter = spread(1 / 4)
    x, y, u, v = d - b, spread(1 / 2) * (c - a), d - quarter * b, c - quarter * a
    return x + y, x - y, u + v, u - v, e - spread(5 / 4) * c + quarter * a


@_inner
def _put_points(out, at, step, a, b, c, d, e):  # type: ignore[no-untyped-def]
    a, b, c, d, e = _at_points(a, b, c, d, e)
    store(out, at, a)
    store(out, at + step, b)
    store(out, at + 2 * step, c)
    store(out, at + 3 * step, d)
    store(out, at + 4 * step, e)


@_inner
def _transform_back(products, start, bias, relu, y, at, f, width, rows, columns):  # type: ignore[no-untyped-def]
    """Up to 4x4 outputs, 16 channels of them, from the products at 25 points."""
    p, q, r = _sums(products, start, f), _sums(products, start + f, f), _sums(products, start + 2 * f, f)
    s, t = _sums(products, start + 3 * f, f), _sums(products, start + 4 * f, f)
    _put_outputs(y, at, f, columns, _outputs(p[0], q[0], r[0], s[0], t[0]), bias, relu)
    if rows > 1:
        _put_outputs(y, at + width * f, f, columns, _outputs(p[1], q[1], r[1], s[1], t[1]), bias, relu)
    if rows > 2:
        _put_outputs(y, at + 2 * width * f, f, columns, _outputs(p[2], q[2], r[2], s[2], t[2]), bias, relu)
    if rows > 3:
        _put_outputs(y, at + 3 * width * f, f, columns, _outputs(p[3], q[3], r[3], s[3], t[3]), bias, relu)


@_inner
def _sums(products, at, f):  # type: ignore[no-untyped-def]
    return _outputs(
        load(products, at), load(products, at + 5 * f), load(products, at + 10 * f), load(products, at + 15 * f),
        load(products, at + 20 * f),
    )  # fmt: skip


@_inner
def _outputs(a, b, c, d, e):  # type: ignore[no-untyped-def]
    """Four outputs in a row from products at five points."""
    x, y, u, v = a + b, a - b, c + d, c - d
    return x + u, spread(1 / 2) * y + v, spread(1 / 4) * x + u, spread(1 / 8) * y + v + e


@_inner
def _put_outputs(y, at, f, columns, four, bias, relu):  # type: ignore[no-untyped-def]
    for i, lanes in enumerate(four):
        if i < columns:
            lanes = lanes + bias
            store(y, at + i * f, positive(lanes) if relu else lanes)
