"""A 5x5 convolution, 2x2 max-pooling and ReLU as one layer on the CPU, with gradients of first order.

torch's max-pooling guesses which of four numbers is the largest, and guesses wrong on noise. Here it is decided without
guessing: floats above zero are in the order of their bits as integers, and those below zero have negative bits, so that
ReLU and maximum are one integer maximum. A convolution of one channel is a matrix product with its 25 shifted planes,
whose gradients torch computes several times as slowly. Sixteen channels at a time go through ``_pooled_lanes``, if this
process computes on one core that has AVX-512.
"""

import math
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.function import once_differentiable

from unbraid.compiled import compiled
from unbraid.nets import stride2

__all__ = ["can_pool", "conv_pool"]

SIDE = 5
NARROWEST = 4
"""Rows of the image gradient are written from eight numbers before the next one on, which must exist."""
_BITS = {torch.bfloat16: torch.int16, torch.float32: torch.int32}


def can_pool(x: Tensor, weight: Tensor) -> bool:
    """Whether numbers of this type are pooled here."""
    return _working_type(weight) in _BITS and x.ndim == 4 and x.shape[1] == weight.shape[1]


def conv_pool(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """``relu(max_pool2d(conv2d(x, weight, bias, padding=2), 2))``, in bfloat16 if torch's autocast is on."""
    dtype = _working_type(weight)
    y: Tensor
    if weight.shape[1] == 1 and _wide(weight, len(weight)) and x.shape[3] >= NARROWEST:
        y = _FirstConvPool.apply(x, weight, bias, dtype)
    else:
        y = _ConvPool.apply(x, weight, bias, dtype)
    return y


def _working_type(weight: Tensor) -> torch.dtype:
    return torch.get_autocast_dtype("cpu") if torch.is_autocast_enabled("cpu") else weight.dtype


def _wide(weight: Tensor, channels: int) -> bool:
    """Whether so many channels are taken sixteen at a time."""
    return channels % 16 == 0 and weight.dtype is torch.float32 and stride2.one_wide_core()


def _lost(*parts: Tensor) -> bool:
    """Whether numbers that are none are among them: they would get lost where numbers are ordered."""
    return not math.isfinite(sum(float(part.sum()) for part in parts))


class _FirstConvPool(torch.autograd.Function):
    """Images of one channel to a multiple of 16."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor, dtype: torch.dtype) -> Tensor:
        from unbraid.nets import _pooled_lanes  # it imports numba

        pooled, places, padded = _pooled_lanes.first_forward(x, weight, bias, dtype)
        if _lost(x, weight, bias):
            pooled.fill_(math.nan)
        ctx.save_for_backward(padded, weight, places)
        ctx.dtype, ctx.size = x.dtype, (len(x), *x.shape[2:])
        return pooled.permute(0, 3, 1, 2)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        from unbraid.nets import _pooled_lanes

        padded, weight, places = ctx.saved_tensors
        grad = grad.to(places.dtype).permute(0, 2, 3, 1).contiguous()
        into, weighted, biased, _ = ctx.needs_input_grad
        learns = weighted or biased
        images = into_weight = into_bias = None
        if learns:
            into_weight, into_bias = _pooled_lanes.first_backward(padded, grad, places)
        if into:
            images = _pooled_lanes.image_gradient(weight, grad, places, ctx.size).to(ctx.dtype)
        return images, into_weight, into_bias, None


class _ConvPool(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor, dtype: torch.dtype) -> Tensor:
        n, channels, height, width = x.shape
        ctx.types = [part.dtype for part in (x, weight, bias)]
        ctx.sparse = _wide(weight, channels)
        x, weight, bias = x.to(dtype), weight.to(dtype).contiguous(memory_format=torch.channels_last), bias.to(dtype)
        if channels == 1:
            laid = _planes(x)
            matrix = torch.cat([weight.reshape(len(weight), -1), bias[:, None]], 1)
            y = (laid.t() @ matrix.t()).view(n, height, width, -1)
        else:
            laid = x.contiguous(memory_format=torch.channels_last)
            y = F.conv2d(laid, weight, bias, padding=SIDE // 2).permute(0, 2, 3, 1)
        pooled = y.new_empty(n, height // 2, width // 2, y.shape[3])
        places = torch.empty_like(pooled, dtype=_BITS[y.dtype])
        _pool(_bits(y.contiguous()), _bits(pooled), places.numpy(), *_codes(places))
        if _lost(x, weight, bias):
            pooled.fill_(math.nan)
        ctx.save_for_backward(laid, weight, places)
        ctx.size = (n, height, width)
        return pooled.permute(0, 3, 1, 2)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        laid, weight, places = ctx.saved_tensors
        into, weighted, biased, _ = ctx.needs_input_grad
        learns = weighted or biased
        grad = grad.to(laid.dtype).permute(0, 2, 3, 1).contiguous()
        images = into_weight = into_bias = None
        if learns and ctx.sparse:
            from unbraid.nets import _pooled_lanes

            into_weight, into_bias = _pooled_lanes.weight_gradient(laid.permute(0, 2, 3, 1), grad, places)
            learns = False
        full = _unpooled(grad, places, ctx.size) if into or learns else grad
        rows = full.view(-1, len(weight))
        if weight.shape[1] == 1:
            if learns:
                both = (laid @ rows).t()
                into_weight, into_bias = both[:, :-1].reshape(weight.shape), both[:, -1]
            if into:
                images = _add_planes(weight.reshape(len(weight), -1).t() @ rows.t(), ctx.size)
        elif into or learns:
            found = torch.ops.aten.convolution_backward(
                full.permute(0, 3, 1, 2), laid, weight, [len(weight)], [1, 1], [SIDE // 2] * 2, [1, 1], False, [0, 0],
                1, [into, learns, learns],
            )  # fmt: skip
            images = found[0]
            if learns:
                into_weight, into_bias = found[1:]
        slopes = zip((images, into_weight, into_bias), ctx.types, strict=True)
        return *(None if slope is None else slope.to(dtype) for slope, dtype in slopes), None


def _unpooled(grad: Tensor, places: Tensor, size: tuple[int, int, int]) -> Tensor:
    """Gradients of blocks put where their largest numbers were, zero elsewhere."""
    make = grad.new_empty if size[1] % 2 == size[2] % 2 == 0 else grad.new_zeros
    full = make(*size, grad.shape[3])
    _unpool(_bits(grad), places.numpy(), _bits(full), *_codes(places)[:4])
    return full


def _planes(image: Tensor) -> Tensor:
    """The 5x5 windows of one-channel images as a matrix ``[26, n * h * w]`` whose last row is 1."""
    n, _, height, width = image.shape
    edge = SIDE // 2
    padded = F.pad(image.reshape(n, height, width), (edge,) * 4)
    step, row, column = padded.stride()
    windows = padded.as_strided((SIDE, SIDE, n, height, width), (row, column, step, row, column))
    planes = image.new_empty(SIDE * SIDE + 1, n * height * width)
    planes[:-1].view(windows.shape).copy_(windows)
    planes[-1] = 1
    return planes


def _add_planes(planes: Tensor, size: tuple[int, int, int]) -> Tensor:
    """The adjoint of :func:`_planes`: the images whose windows these are, where they overlap added up in float32."""
    n, height, width = size
    edge = SIDE // 2
    padded = torch.zeros(n, height + 2 * edge, width + 2 * edge)
    windows = planes.view(SIDE, SIDE, n, height, width)
    for row in range(SIDE):
        for column in range(SIDE):
            padded[:, row : row + height, column : column + width] += windows[row, column]
    return padded[:, None, edge : edge + height, edge : edge + width].to(planes.dtype)


def _bits(values: Tensor) -> Any:
    return values.detach().view(_BITS[values.dtype]).numpy()


def _codes(places: Tensor) -> list[Any]:
    """The four places of a block, and none, as numbers of the same width: the compiler then takes many at a time."""
    kind = places.numpy().dtype.type
    return [kind(code) for code in range(5)]


@compiled
def _pool(y, pooled, places, first, second, third, fourth, none):  # type: ignore[no-untyped-def]
    n, height, width, channels = pooled.shape
    for b in range(n):
        for i in range(height):
            for j in range(width):
                p, q, r, s = (
                    y[b, 2 * i, 2 * j],
                    y[b, 2 * i, 2 * j + 1],
                    y[b, 2 * i + 1, 2 * j],
                    y[b, 2 * i + 1, 2 * j + 1],
                )
                most, where = pooled[b, i, j], places[b, i, j]
                for c in range(channels):
                    best, place = p[c], first
                    if q[c] > best:
                        best, place = q[c], second
                    if r[c] > best:
                        best, place = r[c], third
                    if s[c] > best:
                        best, place = s[c], fourth
                    if best <= first:  # which is zero
                        best, place = first, none
                    most[c] = best
                    where[c] = place


@compiled
def _unpool(grad, places, full, first, second, third, fourth):  # type: ignore[no-untyped-def]
    n, height, width, channels = grad.shape
    for b in range(n):
        for i in range(height):
            for j in range(width):
                p, q = full[b, 2 * i, 2 * j], full[b, 2 * i, 2 * j + 1]
                r, s = full[b, 2 * i + 1, 2 * j], full[b, 2 * i + 1, 2 * j + 1]
                slope, where = grad[b, i, j], places[b, i, j]
                for c in range(channels):
                    g, place = slope[c], where[c]
                    p[c] = g if place == first else first
                    q[c] = g if place == second else first
                    r[c] = g if place == third else first
                    s[c] = g if place == fourth else first
