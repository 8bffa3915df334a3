"""Stride-2 convolutions on the CPU, by the fastest route for each shape.

A convolution that halves an image, the transposed one that doubles it, and the gradients of both are three maps between
an image ``[n, c, 2h, 2w]`` and features ``[n, f, h, w]`` with one weight ``[f, c, k, k]``: :func:`down`, its adjoint
:func:`up`, and :func:`correlate`, the gradient of the weight. Each is written once and serves both layers. Where torch
is slow, another route is taken:

- the weight gradient of a transposed convolution is computed as that of a convolution (three times faster);
- images of few channels leave most lanes of a blocked convolution empty. A convolution of one channel is a matrix
  product with its 16 shifted planes, and a transposed one to one channel adds up 16 such planes; a transposed one to
  few channels is a 2x2 convolution to four times as many, whose outputs are the four pixels of a block;
- 2x2 windows with stride 2 do not overlap: cutting them out makes the convolution a matrix product.

Everything is channels last. Gradients are first order only, hence the explicit switch :func:`fast_kernels`; outside
it the layers are torch's own.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.function import once_differentiable

__all__ = ["conv", "deconv", "fast_kernels", "one_wide_core", "use_fast_kernels"]

FEW_CHANNELS = 8
"""Below this many output channels a transposed convolution is faster as a 2x2 convolution."""

_ENABLED: ContextVar[bool] = ContextVar("unbraid.nets.fast_kernels", default=False)


@contextmanager
def fast_kernels(enabled: bool = True) -> Iterator[None]:
    """Inside, convolutions on the CPU take the routes of this module, in bfloat16 if torch's autocast is on.

    Only for ordinary training and inference: no second derivative, forward mode or ``torch.func`` goes through them.
    """
    token = _ENABLED.set(enabled)
    try:
        yield
    finally:
        _ENABLED.reset(token)


def use_fast_kernels(x: Tensor) -> bool:
    """Whether the switch is on and ``x`` is where these routes are the faster ones."""
    return _ENABLED.get() and x.device.type == "cpu"


def one_wide_core() -> bool:
    """Whether this process computes on one core, with the registers for which ``_inference`` is compiled."""
    wide = torch.backends.cpu.get_cpu_capability() == "AVX512" and torch.get_num_threads() == 1
    return wide and os.environ.get("NUMBA_DISABLE_JIT", "0") == "0"


def conv(x: Tensor, weight: Tensor, bias: Tensor, relu: bool = True) -> Tensor:
    """Halve an image (kernel 2 or 4, stride 2, no padding or 1), with or without ReLU."""
    if not torch.is_grad_enabled() and not torch.is_autocast_enabled("cpu"):
        # Without gradients and rounding the windows laid out as a matrix are of no further use, and torch is faster.
        plain = F.conv2d(_channels_last(x), weight, bias, 2, weight.shape[-1] // 2 - 1)
        return plain.relu_() if relu else plain
    y: Tensor = _Conv.apply(x, weight, bias, relu)
    return y


def deconv(x: Tensor, weight: Tensor, bias: Tensor, relu: bool) -> Tensor:
    """Double a grid of features (kernel 4, stride 2, padding 1), with or without ReLU."""
    y: Tensor = _Deconv.apply(x, weight, bias, relu)
    return y


class _Conv(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor, relu: bool) -> Tensor:
        x, w, b = _cast(x, weight, bias)
        laid = lay_out(x, w)
        y = down(laid, w, b, _half(x))
        if relu:
            y.relu_()
        ctx.save_for_backward(laid, w, y if relu else None)
        return y

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        laid, w, y = ctx.saved_tensors
        grad = _channels_last(grad)
        if y is not None:
            grad = torch.ops.aten.threshold_backward(grad, y, 0)
        into = up(grad, w) if ctx.needs_input_grad[0] else None
        return into, correlate(laid, grad, w), grad.sum((0, 2, 3)), None


class _Deconv(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor, relu: bool) -> Tensor:
        x, w, b = _cast(x, weight, bias)
        y = up(x, w, b)
        if relu:
            y.relu_()
        ctx.save_for_backward(x, w, y if relu else None)
        return y

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        x, w, y = ctx.saved_tensors
        grad = _channels_last(grad.to(w.dtype))
        if y is not None:
            grad = torch.ops.aten.threshold_backward(grad, y, 0)
        laid = lay_out(grad, w)
        into = down(laid, w, None, _half(grad)) if ctx.needs_input_grad[0] else None
        return into, correlate(laid, x, w), grad.sum((0, 2, 3)), None


def lay_out(image: Tensor, weight: Tensor) -> Tensor:
    """The image as :func:`down` and :func:`correlate` read it: its windows as a matrix where that pays, or as it is."""
    if weight.shape[-1] == 2:
        return _blocks(image)
    if weight.shape[1] == 1:
        return _planes(image)
    return image


def down(laid: Tensor, weight: Tensor, bias: Tensor | None, size: tuple[int, int, int]) -> Tensor:
    """Convolution with stride 2 of an image, laid out, to features ``[n, f, h, w]``; ``size`` is ``(n, h, w)``."""
    f, c, k, _ = weight.shape
    if k == 2:
        matrix = weight.permute(2, 3, 1, 0).reshape(4 * c, f)
        y = laid @ matrix if bias is None else torch.addmm(bias, laid, matrix)
    elif c == 1:
        matrix = weight.reshape(f, 16)
        y = laid[:16].t() @ matrix.t() if bias is None else laid.t() @ torch.cat([matrix, bias[:, None]], 1).t()
    else:
        return torch.ops.aten.convolution(laid, weight, bias, *_geometry(weight))
    n, h, w = size
    return y.view(n, h, w, f).permute(0, 3, 1, 2)


def up(features: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Transposed convolution with stride 2: features ``[n, f, h, w]`` to image ``[n, c, 2h, 2w]``."""
    n, f, h, w = features.shape
    _, c, k, _ = weight.shape
    if k == 2:
        blocks = _rows(features) @ weight.permute(0, 2, 3, 1).reshape(f, 4 * c)
        return _shuffle(blocks.view(n, h, w, 2, 2, c))
    if c == 1:
        return _add_planes(weight.permute(2, 3, 1, 0).reshape(16, f) @ _rows(features).t(), bias, (n, h, w))
    if c < FEW_CHANNELS:
        # Output rows 2i - 1 and 2i see the input rows i - 1 and i only, through the kernel rows (2, 0) and (3, 1).
        windows = weight.reshape(f, c, 2, 2, 2, 2).flip(2, 4).permute(3, 5, 1, 0, 2, 4).reshape(4 * c, f, 2, 2)
        y = F.conv2d(features, _channels_last(windows), None if bias is None else bias.repeat(4), padding=1)
        return _channels_last(_shuffle(y.permute(0, 2, 3, 1).view(n, h + 1, w + 1, 2, 2, c))[:, :, 1:-1, 1:-1])
    return torch.ops.aten.convolution(features, weight, bias, *_geometry(weight, transposed=True))


def correlate(laid: Tensor, features: Tensor, weight: Tensor) -> Tensor:
    """Gradient of the weight: of :func:`down` if ``features`` is the gradient, of :func:`up` if ``laid`` is."""
    f, c, k, _ = weight.shape
    if k == 2:
        return (laid.t() @ _rows(features)).view(2, 2, c, f).permute(3, 2, 0, 1)
    if c == 1:
        return (laid[:16] @ _rows(features)).t().reshape(f, 1, 4, 4)
    return torch.ops.aten.convolution_backward(features, laid, weight, None, *_geometry(weight), [False, True, False])[
        1
    ]


def _half(image: Tensor) -> tuple[int, int, int]:
    return image.shape[0], image.shape[2] // 2, image.shape[3] // 2


def _geometry(weight: Tensor, transposed: bool = False) -> tuple[Any, ...]:
    """Stride, padding, dilation, transposed, output padding, groups."""
    padding = weight.shape[-1] // 2 - 1
    return [2, 2], [padding, padding], [1, 1], transposed, [0, 0], 1


def _cast(x: Tensor, weight: Tensor, bias: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    dtype = torch.get_autocast_dtype("cpu") if torch.is_autocast_enabled("cpu") else weight.dtype
    return _channels_last(x.to(dtype)), _channels_last(weight.to(dtype)), bias.to(dtype)


def _channels_last(x: Tensor) -> Tensor:
    return x.contiguous(memory_format=torch.channels_last)


def _rows(features: Tensor) -> Tensor:
    """Features as a matrix ``[n * h * w, f]``."""
    return features.permute(0, 2, 3, 1).reshape(-1, features.shape[1])


def _blocks(image: Tensor) -> Tensor:
    """The 2x2 blocks of an image as a matrix ``[n * h * w, 4 * c]``."""
    n, c, height, width = image.shape
    grid = image.permute(0, 2, 3, 1).reshape(n, height // 2, 2, width // 2, 2, c)
    return grid.permute(0, 1, 3, 2, 4, 5).reshape(-1, 4 * c)


def _shuffle(blocks: Tensor) -> Tensor:
    """2x2 blocks ``[n, h, w, 2, 2, c]`` put together to an image ``[n, c, 2h, 2w]``."""
    n, h, w, _, _, c = blocks.shape
    return blocks.permute(0, 1, 3, 2, 4, 5).reshape(n, 2 * h, 2 * w, c).permute(0, 3, 1, 2)


def _planes(image: Tensor) -> Tensor:
    """The 4x4 windows, stride 2, padding 1, of one-channel images as a matrix ``[17, n * h * w]`` whose last row is 1.

    Even and odd rows and columns are parted first, so that every plane is then cut out in contiguous rows.
    """
    n, _, height, width = image.shape
    h, w = height // 2, width // 2
    parts = F.pad(image, (1, 1, 1, 1)).view(n, h + 1, 2, w + 1, 2).permute(2, 4, 0, 1, 3).contiguous()
    odd_row, odd_column, image_step, row, column = parts.stride()
    windows = parts.as_strided((2, 2, 2, 2, n, h, w), (row, odd_row, column, odd_column, image_step, row, column))
    planes = image.new_empty(17, n * h * w)
    planes[:16].view(windows.shape).copy_(windows)
    planes[16] = 1
    return planes


def _add_planes(planes: Tensor, bias: Tensor | None, size: tuple[int, int, int]) -> Tensor:
    """The adjoint of :func:`_planes`: the image that the 16 planes make where their windows overlap, plus a bias.

    Each of the four kinds of pixels (even or odd row and column) is a sum of four planes, added in float32 at least.
    """
    n, h, w = size
    start = planes.new_zeros(1) if bias is None else bias
    parts = start.to(torch.promote_types(planes.dtype, torch.float32)).expand(2, 2, n, h + 1, w + 1).contiguous()
    windows = planes.view(2, 2, 2, 2, n, h, w)
    for row in (0, 1):
        for column in (0, 1):
            parts[..., row : row + h, column : column + w] += windows[row, :, column]
    image = parts.permute(2, 3, 0, 4, 1).reshape(n, 1, 2 * h + 2, 2 * w + 2)
    return _channels_last(image[..., 1:-1, 1:-1].to(planes.dtype))
