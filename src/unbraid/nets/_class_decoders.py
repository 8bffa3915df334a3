"""Decodings of ``ClassVAEs`` and their gradients with respect to codes, on one core with AVX-512.

A search for latents decodes and differentiates the same small networks thousands of times, and the weights stand still:
batch norms are folded into them, and only gradients of codes are needed. Layers have 16 or 32 channels, one or two
``Lanes``: a transposed convolution is, for every pixel, a sum over the taps that reach it, and so is its gradient. Four
images are computed at a time; one alone is added up in the same order, so that no number depends on its batch.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from numba import njit
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from unbraid.compiled import compiled
from unbraid.errors import UsageError
from unbraid.nets._lanes import LANES, at_least, load, spread, store, total, two_to_the, where_positive
from unbraid.nets._taps import tap_sums

__all__ = ["Decoders"]

FIRST, SECOND, THIRD = 32, 16, 16
"""Channels after each layer but the last."""
TOGETHER = 4
"""Images that are computed at a time."""


class Decoders:
    """The decoders of all classes as they are now: from codes ``[n, classes, latents]`` to images in (0, 1)."""

    def __init__(self, layers: nn.Sequential, classes: int, latents: int, shape: tuple[int, int, int]) -> None:
        weights, biases = zip(*_folded(layers, classes), strict=True)
        self.classes, self.latents, self.shape = classes, latents, shape
        self.width = -(-latents // LANES) * LANES
        fh, fw = weights[0].shape[-2:]
        lh, lw = weights[3].shape[-2:]
        self.plan = np.array([self.width, fh, fw, *shape, lh, lw], np.int64)
        w1 = nn.functional.pad(weights[0].permute(0, 1, 3, 4, 2).flatten(2), (0, 0, 0, self.width - latents))
        # Weights [class, in, out, k, k] with 16 outputs (inputs, for gradients) side by side.
        self.weights = (
            w1.unflatten(2, (-1, LANES)).transpose(1, 2).contiguous(),  # [class, fh * fw * 2, latents, 16]
            weights[1].permute(0, 3, 4, 1, 2).contiguous(),  # [class, 5, 5, 32, 16]
            weights[2].permute(0, 3, 4, 1, 2).contiguous(),
            weights[3].permute(0, 2, 3, 4, 1).contiguous(),  # [class, channels, lh, lw, 16]
        )
        self.backward_weights = (
            w1.transpose(1, 2).unflatten(2, (-1, LANES)).transpose(1, 2).contiguous(),
            weights[1].unflatten(1, (2, LANES)).permute(0, 1, 4, 5, 3, 2).contiguous(),  # [class, 2, 5, 5, 16, 16]
            weights[2].permute(0, 3, 4, 2, 1).contiguous(),
            weights[3].permute(0, 3, 2, 4, 1).contiguous(),  # [class, lh, channels, lw, 16]
        )
        self.biases = (biases[0].repeat(1, fh * fw), *biases[1:])

    def some(self, codes: Tensor, which: Tensor) -> Tensor:
        """Images ``[n, k, c, h, w]`` of codes ``[n, k, latents]`` by the classes ``which`` ``[n, k]``."""
        if codes.shape != (*which.shape, self.latents) or codes.dtype != torch.float32:
            raise UsageError(f"codes must be float32 [n, k, {self.latents}], got {codes.dtype} {tuple(codes.shape)}")
        if len(which) and (int(which.min()) < 0 or int(which.max()) >= self.classes):
            raise UsageError(f"which must lie in 0..{self.classes - 1}")
        order = which.flatten().argsort(stable=True)
        counts = torch.bincount(which.flatten(), minlength=self.classes).tolist()
        drawn = _DecodeSome.apply(codes.flatten(0, 1)[order], counts, self)
        back = torch.empty_like(order)
        back[order] = torch.arange(len(order))
        found: Tensor = drawn[back]
        return found.unflatten(0, which.shape)

    def __call__(self, codes: Tensor) -> Tensor:
        """Images ``[n, classes, c, h, w]``; gradients flow to codes alone."""
        if codes.shape[1:] != (self.classes, self.latents) or codes.dtype != torch.float32:
            wanted = f"float32 [n, {self.classes}, {self.latents}]"  # compiled code checks no index
            raise UsageError(f"codes must be {wanted}, got {codes.dtype} {tuple(codes.shape)}")
        found: Tensor = _Decode.apply(codes, self)
        return found


def _folded(layers: nn.Sequential, classes: int) -> list[tuple[Tensor, Tensor]]:
    """Weights ``[class, in, out, k, k]`` and biases ``[class, out]`` of the convolutions, batch norms in them."""
    found: list[tuple[Tensor, Tensor]] = []
    for layer in layers:
        if isinstance(layer, nn.ConvTranspose2d):
            assert layer.bias is not None
            weight, bias = (part.detach().double().unflatten(0, (classes, -1)) for part in (layer.weight, layer.bias))
            found.append((weight, bias))
        elif isinstance(layer, nn.BatchNorm2d):
            mean, variance = layer.running_mean, layer.running_var
            assert mean is not None
            assert variance is not None
            scale = layer.weight.detach().double() / (variance.double() + layer.eps).sqrt()
            shift = layer.bias.detach().double() - scale * mean.double()
            weight, bias = found[-1]
            by_class = scale.view(classes, -1)
            found[-1] = weight * by_class[:, None, :, None, None], bias * by_class + shift.view(classes, -1)
    return [(weight.float(), bias.float()) for weight, bias in found]


class _Decode(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, codes: Tensor, net: Decoders) -> Tensor:
        n = len(codes)
        padded = nn.functional.pad(codes, (0, net.width - net.latents)).contiguous()
        features = torch.empty(n * net.classes * _features(*net.plan[1:3]))
        out = torch.empty(n, net.classes, *net.shape)
        _forward(*_flat(padded), n, net.classes, net.plan, *_flat(*net.weights, *net.biases, features, out))
        out.sigmoid_()
        ctx.save_for_backward(features, out)
        ctx.net = net
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        features, out = ctx.saved_tensors
        net, n = ctx.net, len(out)
        slopes = torch.ops.aten.sigmoid_backward(grad.contiguous(), out)
        into = torch.empty(n, net.classes, net.width)
        scratch = torch.empty(TOGETHER * _features(*net.plan[1:3]))
        _backward(*_flat(slopes), n, net.classes, net.plan, *_flat(*net.backward_weights, features, scratch, into))
        return into[..., : net.latents], None


class _DecodeSome(torch.autograd.Function):
    """The same for codes ``[m, latents]`` that are sorted by class, of which there are so many each."""

    @staticmethod
    def forward(ctx: Any, codes: Tensor, counts: list[int], net: Decoders) -> Tensor:
        padded = nn.functional.pad(codes, (0, net.width - net.latents)).contiguous()
        features = torch.empty(len(codes), _features(*net.plan[1:3]))
        out = torch.empty(len(codes), *net.shape)
        for c, rows in _by_class(counts):
            weights = (one[c] for one in (*net.weights, *net.biases))
            _forward(*_flat(padded[rows]), counts[c], 1, net.plan, *_flat(*weights, features[rows], out[rows]))
        out.sigmoid_()
        ctx.save_for_backward(features, out)
        ctx.net, ctx.counts = net, counts
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        features, out = ctx.saved_tensors
        net = ctx.net
        slopes = torch.ops.aten.sigmoid_backward(grad.contiguous(), out)
        into = torch.empty(len(out), net.width)
        scratch = torch.empty(TOGETHER * _features(*net.plan[1:3]))
        for c, rows in _by_class(ctx.counts):
            weights = (one[c] for one in net.backward_weights)
            numbers = _flat(*weights, features[rows], scratch, into[rows])
            _backward(*_flat(slopes[rows]), ctx.counts[c], 1, net.plan, *numbers)
        return into[:, : net.latents], None, None


def _by_class(counts: list[int]) -> Iterator[tuple[int, slice]]:
    """Every class that there is, and its rows."""
    first = 0
    for c, count in enumerate(counts):
        if count:
            yield c, slice(first, first + count)
        first += count


def _flat(*tensors: Tensor) -> list[np.ndarray]:
    return [one.numpy().ravel() for one in tensors]


def _features(height: int, width: int) -> int:
    """Numbers that an image has after all layers but the last."""
    first, second = height * width, (2 * height + 3) * (2 * width + 3)
    return int(FIRST * first + SECOND * second + THIRD * (4 * height + 9) * (4 * width + 9))


_inner = njit(error_model="numpy")


@compiled
def _forward(codes, n, classes, plan, w1, w2, w3, w4, b1, b2, b3, b4, features, out):  # type: ignore[no-untyped-def]
    step = features.size // max(n * classes, 1)
    for c in range(classes):
        for first in range(0, n - n % TOGETHER, TOGETHER):
            _draw_four(codes, c, first, classes, plan, w1, w2, w3, w4, b1, b2, b3, b4, features, step, out)
        for first in range(n - n % TOGETHER, n):
            _draw_one(codes, c, first, classes, plan, w1, w2, w3, w4, b1, b2, b3, b4, features, step, out)


@compiled
def _backward(slopes, n, classes, plan, w1, w2, w3, w4, features, scratch, into):  # type: ignore[no-untyped-def]
    step = features.size // max(n * classes, 1)
    for c in range(classes):
        for first in range(0, n - n % TOGETHER, TOGETHER):
            _return_four(slopes, c, first, classes, plan, w1, w2, w3, w4, features, step, scratch, into)
        for first in range(n - n % TOGETHER, n):
            _return_one(slopes, c, first, classes, plan, w1, w2, w3, w4, features, step, scratch, into)


def _drawing(count):  # type: ignore[no-untyped-def]
    """How so many images of a class are decoded at a time."""

    @_inner
    def draw(codes, c, first, classes, plan, w1, w2, w3, w4, b1, b2, b3, b4, features, step, out):  # type: ignore[no-untyped-def]
        width, fh, fw, channels, height, wide, lh, lw = plan
        h2, w_2, h3, w_3 = 2 * fh + 3, 2 * fw + 3, 4 * fh + 9, 4 * fw + 9
        at1 = (first * classes + c) * step
        at2 = at1 + FIRST * fh * fw
        at3 = at2 + SECOND * h2 * w_2
        far, blocks = classes * step, FIRST * fh * fw // LANES
        for block in range(blocks):
            tap_sums(
                count, codes, (first * classes + c) * width, classes * width, 1, 1, width, (0, 0, 0, 0),
                w1, (c * blocks + block) * width * LANES, load(b1, (c * blocks + block) * LANES),
                features, at1 + block * LANES, far,
            )  # fmt: skip
        for image in range(count):
            _elu(features, at1 + image * far, blocks)
        _double(count, features, at1, FIRST, fh, fw, w2, c * 25 * FIRST * LANES, load(b2, c * LANES), at2, far)
        for image in range(count):
            _elu(features, at2 + image * far, h2 * w_2)
        _double(count, features, at2, SECOND, h2, w_2, w3, c * 25 * SECOND * LANES, load(b3, c * LANES), at3, far)
        for image in range(count):
            _elu(features, at3 + image * far, h3 * w_3)
            for channel in range(channels):
                number, kernel = c * channels + channel, (c * channels + channel) * lh * lw * LANES
                to = ((first + image) * classes + c) * channels * height * wide + channel * height * wide
                for y in range(height):
                    for x in range(wide):
                        found = spread(0.0)
                        for i in range(max(0, y - h3 + 1), min(lh, y + 1)):
                            for j in range(max(0, x - w_3 + 1), min(lw, x + 1)):
                                place = at3 + image * far + ((y - i) * w_3 + x - j) * LANES
                                found = found + load(features, place) * load(w4, kernel + (i * lw + j) * LANES)
                        out[to + y * wide + x] = b4[number] + total(found)

    return draw


@_inner
def _double(count, features, at, depth, h, w, weights, kernel, bias, to, far):  # type: ignore[no-untyped-def]
    """Transposed convolution with 5x5 taps and stride 2, one of its four kinds of pixels after the other."""
    for odd_row in range(2):
        for odd_column in range(2):
            for y in range(odd_row, 2 * h + 3, 2):
                last_row, above = (y - odd_row) // 2, max(0, (y - odd_row) // 2 - h + 1)
                rows = min(2 - odd_row, last_row) - above + 1
                for x in range(odd_column, 2 * w + 3, 2):
                    last, before = (x - odd_column) // 2, max(0, (x - odd_column) // 2 - w + 1)
                    columns = min(2 - odd_column, last) - before + 1
                    tap_sums(
                        count, features, at + ((last_row - above) * w + last - before) * depth, far, rows, columns,
                        depth, (-w * depth, -depth, 10 * depth * LANES, 2 * depth * LANES),
                        weights, kernel + ((odd_row + 2 * above) * 5 + odd_column + 2 * before) * depth * LANES, bias,
                        features, to + (y * (2 * w + 3) + x) * LANES, far,
                    )  # fmt: skip


@_inner
def _exp(x):  # type: ignore[no-untyped-def]
    """exp of numbers from -87 to 0: a power of two times a polynomial of what is left, to the last bit but one."""
    shifted = x * spread(1.44269504) + spread(12583039.0)
    whole = shifted - spread(12583039.0)
    rest = x - whole * spread(0.693359375) + whole * spread(2.12194440e-4)
    sum_ = spread(1.9875691500e-4) * rest + spread(1.3981999507e-3)
    sum_ = sum_ * rest + spread(8.3334519073e-3)
    sum_ = sum_ * rest + spread(4.1665795894e-2)
    sum_ = sum_ * rest + spread(1.6666665459e-1)
    sum_ = sum_ * rest + spread(5.0000001201e-1)
    return (sum_ * rest * rest + rest + spread(1.0)) * two_to_the(shifted)


@_inner
def _elu(features, at, blocks):  # type: ignore[no-untyped-def]
    for place in range(at, at + blocks * LANES, LANES):
        x = load(features, place)
        below = _exp(where_positive(x, spread(0.0), at_least(x, spread(-87.0)))) - spread(1.0)
        store(features, place, where_positive(x, x, below))


@_inner
def _slopes(scratch, to, features, at, blocks):  # type: ignore[no-untyped-def]
    """Multiply by the slopes of ELU, which its outputs tell."""
    for k in range(0, blocks * LANES, LANES):
        y = load(features, at + k)
        one = spread(1.0)
        store(scratch, to + k, load(scratch, to + k) * where_positive(y, one, y + one))


def _returning(count):  # type: ignore[no-untyped-def]
    """How gradients of so many images of a class go back to their codes."""

    @_inner
    def back(slopes, c, first, classes, plan, w1, w2, w3, w4, features, step, scratch, into):  # type: ignore[no-untyped-def]
        width, fh, fw, channels, height, wide, lh, lw = plan
        h2, w_2, h3, w_3 = 2 * fh + 3, 2 * fw + 3, 4 * fh + 9, 4 * fw + 9
        at1 = (first * classes + c) * step
        to2 = FIRST * fh * fw
        to3 = to2 + SECOND * h2 * w_2
        far, pixels, zero = classes * step, channels * height * wide, spread(0.0)
        for y in range(h3):
            for x in range(w_3):
                tap_sums(
                    count, slopes, (first * classes + c) * pixels + y * wide + x, classes * pixels, lh, channels, lw,
                    (wide, height * wide, channels * lw * LANES, lw * LANES),
                    w4, c * lh * channels * lw * LANES, zero, scratch, to3 + (y * w_3 + x) * LANES, step,
                )  # fmt: skip
        for image in range(count):
            _slopes(scratch, to3 + image * step, features, at1 + image * far + to3, h3 * w_3)
        _halve(count, scratch, to3, h2, w_2, w3, c * 25 * THIRD * LANES, to2, SECOND, step)
        for image in range(count):
            _slopes(scratch, to2 + image * step, features, at1 + image * far + to2, h2 * w_2)
        for half in range(FIRST // LANES):
            kernel = (c * (FIRST // LANES) + half) * 25 * SECOND * LANES
            _halve(count, scratch, to2, fh, fw, w2, kernel, half * LANES, FIRST, step)
        for image in range(count):
            _slopes(scratch, image * step, features, at1 + image * far, FIRST * fh * fw // LANES)
        for block in range(width // LANES):
            tap_sums(
                count, scratch, 0, step, 1, 1, to2, (0, 0, 0, 0),
                w1, (c * (width // LANES) + block) * to2 * LANES, zero,
                into, (first * classes + c) * width + block * LANES, classes * width,
            )  # fmt: skip

    return back


@_inner
def _halve(count, scratch, at, h, w, weights, kernel, to, depth, step):  # type: ignore[no-untyped-def]
    """What 5x5 taps with stride 2 send back to h x w pixels, 16 channels of ``depth``."""
    across = (2 * w + 3) * LANES
    for y in range(h):
        for x in range(w):
            tap_sums(
                count, scratch, at + 2 * y * across + 2 * x * LANES, step, 5, 1, 5 * LANES,
                (across, 0, 5 * LANES * LANES, 0), weights, kernel, spread(0.0),
                scratch, to + (y * w + x) * depth, step,
            )  # fmt: skip


_draw_four, _draw_one, _return_four, _return_one = _drawing(TOGETHER), _drawing(1), _returning(TOGETHER), _returning(1)
