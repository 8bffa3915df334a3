"""The network inside couplings on the CPU: normalisation, ReLU and convolution, three times, as matrix products.

Couplings move few channels (2 of 16x16 pixels for digits) by way of many, and torch's convolutions leave most lanes
empty there. A 3x3 convolution of few channels is a product with its nine shifted planes, one to few channels a product
whose nine planes are added up, shifted; between them all features are rows of a matrix, which batch normalisation and
the 1x1 convolution like best. Gradients are first order only, hence the switch
:func:`unbraid.nets.fast_kernels`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

__all__ = ["planes", "residual", "shift_and_add"]

MANY = 4
"""From so many channels on, adding up planes is left to torch, which takes images one by one."""


def residual(x: Tensor, norms: Sequence[nn.BatchNorm2d], convs: Sequence[nn.Conv2d]) -> Tensor:
    """What three times normalisation, ReLU and convolution (3x3, 1x1, 3x3) make of images ``[n, c, h, w]``."""
    parameters = [weights for pair in zip(norms, convs, strict=True) for part in pair for weights in part.parameters()]
    for norm in norms:
        if norm.training and norm.track_running_stats and norm.num_batches_tracked is not None:
            norm.num_batches_tracked.add_(1)
    found: Tensor = _Residual.apply(x, norms, *parameters)
    return found


class _Residual(torch.autograd.Function):
    """Saved are the batch, the features before each normalisation and after each ReLU, and the planes."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, norms: Sequence[nn.BatchNorm2d], *parameters: Tensor) -> Tensor:
        g0, s0, w0, b0, g1, s1, w1, b1, g2, s2, w2, b2 = parameters
        n, _, *grid = x.shape
        size = (n, grid[0], grid[1])
        low = torch.get_autocast_dtype("cpu") if torch.is_autocast_enabled("cpu") else x.dtype
        with torch.autocast("cpu", enabled=False):
            x = x.contiguous()
            y0, *moments0 = _normalise(norms[0], x, g0, s0)
            laid = planes(y0.relu_().to(low))
            h1 = torch.addmm(b0.to(low), laid.t(), w0.flatten(1).t().to(low))
            y1, *moments1 = _normalise_rows(norms[1], h1, g1, s1, size)
            y1.relu_()
            h2 = torch.addmm(b1.to(low), y1, w1.flatten(1).t().to(low))
            y2, *moments2 = _normalise_rows(norms[2], h2, g2, s2, size)
            y2.relu_()
            # A convolution gathers what planes scatter: the same with its kernel turned round.
            turned = w2.flip(2, 3).permute(0, 2, 3, 1).reshape(-1, w2.shape[1]).to(low)
            out = shift_and_add(turned @ y2.t(), size) + b2[:, None, None]
        saved = (x, y0, laid, h1, y1, h2, y2, g0, w0, g1, w1, g2, turned)
        ctx.save_for_backward(*saved, *moments0, *moments1, *moments2)
        ctx.norms, ctx.size, ctx.low = [(norm.training, norm.eps) for norm in norms], size, low
        ctx.running = [(norm.running_mean, norm.running_var) for norm in norms]
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
        x, y0, laid, h1, y1, h2, y2, g0, w0, g1, w1, g2, turned, *moments = ctx.saved_tensors
        size, low = ctx.size, ctx.low

        def back(place: int, grad: Tensor, h: Tensor, y: Tensor, gain: Tensor) -> tuple[Tensor, Tensor, Tensor]:
            """Through ReLU and normalisation; to its input, its gain and its shift."""
            training, eps = ctx.norms[place]
            into = torch.ops.aten.threshold_backward(grad, y, 0)
            mean, spread = moments[2 * place : 2 * place + 2]
            found: tuple[Tensor, Tensor, Tensor] = torch.ops.aten.native_batch_norm_backward(
                into, h, gain, *ctx.running[place], mean, spread, training, eps, [True, True, True]
            )
            return found

        with torch.autocast("cpu", enabled=False):
            near = planes(grad.to(low).contiguous())
            into = _as_images(near.t() @ turned, size)
            grad_w2 = (near @ y2).view(-1, 3, 3, y2.shape[1]).flip(1, 2).permute(0, 3, 1, 2)
            into, grad_g2, grad_s2 = back(2, into, _as_images(h2, size), _as_images(y2, size), g2)
            rows = _as_rows(into)
            grad_w1, grad_b1 = rows.t() @ y1, rows.sum(0)
            into, grad_g1, grad_s1 = back(
                1, _as_images(rows @ w1.flatten(1).to(low), size), _as_images(h1, size), _as_images(y1, size), g1
            )
            rows = _as_rows(into)
            grad_w0, grad_b0 = (laid @ rows).t(), rows.sum(0)
            into = shift_and_add(w0.flatten(1).t().to(low) @ rows.t(), size).contiguous()
            into, grad_g0, grad_s0 = back(0, into, x, y0, g0)
        first = [grad_g0, grad_s0, grad_w0.reshape(w0.shape), grad_b0]
        second = [grad_g1, grad_s1, grad_w1.reshape(w1.shape), grad_b1]
        third = [grad_g2, grad_s2, grad_w2, grad.sum((0, 2, 3))]
        return into, None, *(each.to(w0.dtype) for each in (*first, *second, *third))


def planes(x: Tensor) -> Tensor:
    """The nine shifts of images, zeros around them, as a matrix ``[c * 9, n * h * w]``; rows are (channel, kernel)."""
    n, c, height, width = x.shape
    padded = F.pad(x, (1, 1, 1, 1))
    image, channel, row, column = padded.stride()
    windows = padded.as_strided((c, 3, 3, n, height, width), (channel, row, column, image, row, column))
    return windows.reshape(9 * c, n * height * width)


def shift_and_add(laid: Tensor, size: tuple[int, int, int]) -> Tensor:
    """The adjoint of :func:`planes`: images ``[n, c, h, w]`` that the nine planes add up to, in float32 at least."""
    n, height, width = size
    parts = laid.view(-1, 3, 3, n, height, width)
    exact = torch.promote_types(laid.dtype, torch.float32)
    if len(parts) >= MANY:
        columns = laid.view(len(laid), n, height * width).transpose(0, 1).to(exact)
        return F.fold(columns, (height, width), 3, padding=1)
    total = laid.new_zeros((len(parts), n, height + 2, width + 2), dtype=exact)
    for i in range(3):
        for j in range(3):
            total[:, :, i : i + height, j : j + width] += parts[:, i, j]
    return total[:, :, 1:-1, 1:-1].transpose(0, 1)


def _normalise(norm: nn.BatchNorm2d, h: Tensor, gain: Tensor, shift: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Normalised features with the moments that the way back needs."""
    kept = norm.track_running_stats or not norm.training
    running = (norm.running_mean, norm.running_var) if kept else (None, None)
    found: tuple[Tensor, Tensor, Tensor] = torch.native_batch_norm(
        h, gain, shift, *running, norm.training, norm.momentum or 0.0, norm.eps
    )
    return found


def _normalise_rows(
    norm: nn.BatchNorm2d, h: Tensor, gain: Tensor, shift: Tensor, size: tuple[int, int, int]
) -> tuple[Tensor, Tensor, Tensor]:
    """The same of features ``[n * h * w, c]``, which in training are left centred.

    torch sums up squares one after the other there, which costs a digit, and with it the sides of some ReLUs.
    """
    if not norm.training or h.dtype != gain.dtype:
        y, mean, spread = _normalise(norm, _as_images(h, size), gain, shift)
        return _as_rows(y), mean, spread
    mean = h.mean(0)
    h -= mean
    variance = h.square().mean(0)
    if norm.track_running_stats and norm.running_mean is not None and norm.running_var is not None:
        norm.running_mean.lerp_(mean, norm.momentum or 0.0)
        norm.running_var.lerp_(variance * (len(h) / (len(h) - 1)), norm.momentum or 0.0)
    spread = (variance + norm.eps).rsqrt()
    return torch.addcmul(shift, h, gain * spread), torch.zeros_like(mean), spread


def _as_images(rows: Tensor, size: tuple[int, int, int]) -> Tensor:
    return rows.view(*size, -1).permute(0, 3, 1, 2)


def _as_rows(images: Tensor) -> Tensor:
    """Features ``[n * h * w, c]``, without a copy where they lie channels last."""
    return images.permute(0, 2, 3, 1).reshape(-1, images.shape[1])
