"""The parts of a pooled 5x5 convolution that sixteen channels at a time make faster, on one core with AVX-512.

A convolution of one channel is multiplied and pooled in registers: its output, four times as large as what is left of
it, is never written. Of four numbers in a block one gets a gradient, or none: products with the other three are zero,
and the gradient of the weight leaves them out.

Arrays are flat, channels last, float32 or (int16) the bits of bfloat16; sums are float32 in both cases.
"""

from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numba import njit
from torch import Tensor

from unbraid.compiled import compiled
from unbraid.nets._lanes import LANES, if_above, if_equal, load, spread, spread_at, store

__all__ = ["first_backward", "first_forward", "image_gradient", "weight_gradient"]

SIDE, EDGE = 5, 2
NONE = 4
"""What stands for the place of a block's largest number if that is not above zero."""


def first_forward(images: Tensor, weight: Tensor, bias: Tensor, dtype: torch.dtype) -> tuple[Tensor, Tensor, Tensor]:
    """One-channel images to pooled features ``[n, h, w, f]``, where each came from, and the images with an edge."""
    n, _, height, width = images.shape
    padded = F.pad(images.float().reshape(n, height, width), (EDGE,) * 4).contiguous()
    pooled = torch.empty(n, height // 2, width // 2, len(weight), dtype=dtype)
    places = torch.empty_like(pooled)
    _first_forward(flat(padded), _by_tap(weight), flat(bias.float()), flat(pooled), flat(places), n, height, width)
    return pooled, places, padded


def first_backward(padded: Tensor, gradient: Tensor, places: Tensor) -> tuple[Tensor, Tensor]:
    """Gradients of weight and bias of :func:`first_forward`, float32."""
    n, height, width, f = gradient.shape
    sums = torch.zeros(SIDE * SIDE + 1, f)
    _first_backward(flat(padded), flat(gradient), flat(places), flat(sums), n, height, width, f, *padded.shape[1:])
    return sums[:-1].t().reshape(f, 1, SIDE, SIDE), sums[-1]


def image_gradient(weight: Tensor, gradient: Tensor, places: Tensor, size: tuple[int, int, int]) -> Tensor:
    """The gradient of the images of :func:`first_forward`, float32; ``size`` is their ``(n, height, width)``.

    A block sees 6x6 pixels. The weight is laid into them once for each of the four places, and once more as zeros.
    """
    n, height, width = size
    windows = torch.zeros(len(weight), NONE + 1, SIDE + 1, LANES // 2)
    for place in range(NONE):
        top, left = divmod(place, 2)
        windows[:, place, top : top + SIDE, left : left + SIDE] = weight[:, 0]
    step = width + 2 * EDGE
    sums = torch.zeros(n * (height + 2 * EDGE) * step + LANES)  # the last window's lanes reach beyond its pixels
    _image_gradient(
        flat(windows), flat(gradient.float()), places.to(torch.int32).numpy().ravel(), flat(sums), n, height, width,
        len(weight),
    )  # fmt: skip
    padded = sums[:-LANES].view(n, 1, height + 2 * EDGE, step)
    return padded[:, :, EDGE:-EDGE, EDGE:-EDGE]


def weight_gradient(features: Tensor, gradient: Tensor, places: Tensor) -> tuple[Tensor, Tensor]:
    """The gradients of weight ``[f, c, 5, 5]`` and bias, by features ``[n, h, w, c]`` and that of what was pooled."""
    n, height, width, c = features.shape
    f = gradient.shape[-1]
    sums, totals = torch.zeros(f, SIDE, SIDE, c), torch.zeros(f)
    # Made by torch, which aligns memory to whole registers; numpy does not.
    image = torch.zeros(height + 2 * EDGE, width + 2 * EDGE, c)
    _weight_gradient(
        flat(features), flat(gradient.float()), places.numpy().ravel(), flat(sums), flat(totals), flat(image),
        n, height, width, c, f,
    )  # fmt: skip
    return sums.permute(0, 3, 1, 2), totals


def flat(values: Tensor) -> Any:
    """A tensor as a flat array that shares its memory."""
    values = values.detach()
    return (values.view(torch.int16) if values.dtype is torch.bfloat16 else values).view(-1).numpy()


def _by_tap(weight: Tensor) -> Any:
    return flat(weight.float().reshape(len(weight), -1).t().contiguous())


_inner = njit(error_model="numpy")


@_inner
def _four(image, at, width, u, a, b, c, d):  # type: ignore[no-untyped-def]
    """A weight times the four pixels of a block, added."""
    return (
        a + spread_at(image, at) * u,
        b + spread_at(image, at + 1) * u,
        c + spread_at(image, at + width) * u,
        d + spread_at(image, at + width + 1) * u,
    )


@compiled
def _first_forward(images, weights, biases, pooled, places, n, height, width):  # type: ignore[no-untyped-def]
    f, down, across = biases.size, height // 2, width // 2
    step = width + 2 * EDGE
    first, second, third, fourth, none = spread(0.0), spread(1.0), spread(2.0), spread(3.0), spread(4.0)
    for group in range(0, f, LANES):
        bias = load(biases, group)
        for b in range(n):
            for i in range(down):
                for j in range(across):
                    p = q = r = s = bias
                    at = (b * (height + 2 * EDGE) + 2 * i) * step + 2 * j
                    for row in range(SIDE):
                        tap, here = row * SIDE * f + group, at + row * step
                        for column in range(SIDE):
                            p, q, r, s = _four(images, here + column, step, load(weights, tap + column * f), p, q, r, s)
                    place = if_above(q, p, second, first)
                    p = if_above(q, p, q, p)
                    place = if_above(r, p, third, place)
                    p = if_above(r, p, r, p)
                    place = if_above(s, p, fourth, place)
                    p = if_above(s, p, s, p)
                    to = ((b * down + i) * across + j) * f + group
                    store(places, to, if_above(p, first, place, none))
                    store(pooled, to, if_above(p, first, p, first))


@compiled
def _first_backward(images, slopes, places, sums, n, down, across, f, height, width):  # type: ignore[no-untyped-def]
    first, second, third, fourth, none = spread(0.0), spread(1.0), spread(2.0), spread(3.0), spread(4.0)
    for to in range(0, f, LANES):
        a, d, e = _five(sums, to, f), _five(sums, to + 5 * f, f), _five(sums, to + 10 * f, f)
        g, h, total = _five(sums, to + 15 * f, f), _five(sums, to + 20 * f, f), first
        for b in range(n):
            for i in range(down):
                for j in range(across):
                    of = ((b * down + i) * across + j) * f + to
                    slope, place = load(slopes, of), load(places, of)
                    p, q = if_equal(place, first, slope, first), if_equal(place, second, slope, first)
                    r, s = if_equal(place, third, slope, first), if_equal(place, fourth, slope, first)
                    at = (b * height + 2 * i) * width + 2 * j
                    a = _gather(images, at, width, p, q, r, s, a)
                    d = _gather(images, at + width, width, p, q, r, s, d)
                    e = _gather(images, at + 2 * width, width, p, q, r, s, e)
                    g = _gather(images, at + 3 * width, width, p, q, r, s, g)
                    h = _gather(images, at + 4 * width, width, p, q, r, s, h)
                    total = total + if_equal(place, none, first, slope)
        _put(sums, to, f, a)
        _put(sums, to + 5 * f, f, d)
        _put(sums, to + 10 * f, f, e)
        _put(sums, to + 15 * f, f, g)
        _put(sums, to + 20 * f, f, h)
        store(sums, to + 25 * f, total)


@_inner
def _gather(image, at, width, p, q, r, s, sums):  # type: ignore[no-untyped-def]
    """Five blocks in a row, each pixel times its own slopes, added."""
    return (
        _block(image, at, width, p, q, r, s, sums[0]),
        _block(image, at + 1, width, p, q, r, s, sums[1]),
        _block(image, at + 2, width, p, q, r, s, sums[2]),
        _block(image, at + 3, width, p, q, r, s, sums[3]),
        _block(image, at + 4, width, p, q, r, s, sums[4]),
    )


@_inner
def _block(image, at, width, p, q, r, s, total):  # type: ignore[no-untyped-def]
    total = total + spread_at(image, at) * p
    total = total + spread_at(image, at + 1) * q
    total = total + spread_at(image, at + width) * r
    return total + spread_at(image, at + width + 1) * s


@compiled
def _image_gradient(windows, slopes, places, sums, n, height, width, f):  # type: ignore[no-untyped-def]
    down, across, step, size = height // 2, width // 2, width + 2 * EDGE, (SIDE + 1) * LANES // 2
    nothing, half = spread(0.0), np.zeros(LANES, np.float32)
    half[: LANES // 2] = 1
    upper = load(half, 0)
    for b in range(n):
        for i in range(down):
            for j in range(across):
                x = y = z = nothing
                of = ((b * down + i) * across + j) * f
                for k in range(f):
                    slope, window = spread_at(slopes, of + k), (k * (NONE + 1) + places[of + k]) * size
                    x = x + load(windows, window) * slope
                    y = y + load(windows, window + LANES) * slope
                    z = z + load(windows, window + 2 * LANES) * slope
                at = (b * (height + 2 * EDGE) + 2 * i) * step + 2 * j
                _add_rows(sums, at, step, x, upper, nothing)
                _add_rows(sums, at + 2 * step, step, y, upper, nothing)
                _add_rows(sums, at + 4 * step, step, z, upper, nothing)


@_inner
def _add_rows(sums, at, step, both, upper, nothing):  # type: ignore[no-untyped-def]
    """Add half of the lanes to a row of the image and the others to the next."""
    store(sums, at, load(sums, at) + if_above(upper, nothing, both, nothing))
    at += step - LANES // 2
    store(sums, at, load(sums, at) + if_above(upper, nothing, nothing, both))


@compiled
def _weight_gradient(features, slopes, places, sums, totals, image, n, height, width, c, f):  # type: ignore[no-untyped-def]
    down, across, step = height // 2, width // 2, (width + 2 * EDGE) * c
    cells = down * across
    begins = np.empty(cells * f, np.int32)
    starts, values = np.empty(cells, np.int32), np.empty(cells, np.float32)
    for b in range(n):
        for i in range(height):
            for k in range(0, width * c, LANES):
                store(image, (i + EDGE) * step + EDGE * c + k, load(features, (b * height + i) * width * c + k))
        own, slope_of = places[b * cells * f : (b + 1) * cells * f], slopes[b * cells * f : (b + 1) * cells * f]
        for cell in range(cells):
            corner = np.int32(2 * (cell // across) * step + 2 * (cell % across) * c)
            for k in range(f):
                place = own[cell * f + k]
                begins[cell * f + k] = (
                    corner + np.int32(place >> 1) * np.int32(step) + np.int32(place & 1) * np.int32(c)
                )
                totals[k] += slope_of[cell * f + k] if place < NONE else np.float32(0)
        for feature in range(f):
            count = 0
            for k in range(feature, cells * f, f):
                starts[count], values[count] = begins[k], slope_of[k]
                count += own[k] < NONE
            for group in range(0, c, LANES):
                to = feature * SIDE * SIDE * c + group
                a, d, e = _five(sums, to, c), _five(sums, to + 5 * c, c), _five(sums, to + 10 * c, c)
                g, h = _five(sums, to + 15 * c, c), _five(sums, to + 20 * c, c)
                for k in range(count):
                    at, slope = starts[k] + group, spread_at(values, k)
                    a = _add_row(image, at, c, slope, a)
                    d = _add_row(image, at + step, c, slope, d)
                    e = _add_row(image, at + 2 * step, c, slope, e)
                    g = _add_row(image, at + 3 * step, c, slope, g)
                    h = _add_row(image, at + 4 * step, c, slope, h)
                _put(sums, to, c, a)
                _put(sums, to + 5 * c, c, d)
                _put(sums, to + 10 * c, c, e)
                _put(sums, to + 15 * c, c, g)
                _put(sums, to + 20 * c, c, h)


@_inner
def _five(array, at, step):  # type: ignore[no-untyped-def]
    return (
        load(array, at), load(array, at + step), load(array, at + 2 * step), load(array, at + 3 * step),
        load(array, at + 4 * step),
    )  # fmt: skip


@_inner
def _add_row(array, at, step, slope, sums):  # type: ignore[no-untyped-def]
    """Five pixels in a row times a slope, added."""
    return (
        sums[0] + load(array, at) * slope,
        sums[1] + load(array, at + step) * slope,
        sums[2] + load(array, at + 2 * step) * slope,
        sums[3] + load(array, at + 3 * step) * slope,
        sums[4] + load(array, at + 4 * step) * slope,
    )


@_inner
def _put(array, at, step, five):  # type: ignore[no-untyped-def]
    store(array, at, five[0])
    store(array, at + step, five[1])
    store(array, at + 2 * step, five[2])
    store(array, at + 3 * step, five[3])
    store(array, at + 4 * step, five[4])
