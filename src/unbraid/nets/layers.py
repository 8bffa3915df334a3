"""The layers: convolutions with their activation, linear ones at the code, padding to a size that can be halved."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from unbraid.errors import UsageError
from unbraid.nets import stride2
from unbraid.nets.registry import Shape

__all__ = [
    "BatchNorm",
    "CodeLinear",
    "Conv",
    "Convs",
    "Crop",
    "Deconv",
    "LastConv",
    "Pad",
    "Whole",
    "channels_of",
    "grid_of",
]

GRID = 4
"""The convolutions halve an image until its longer side is at most this."""


class Conv(nn.Conv2d):
    """Convolution with stride 2 that halves height and width, then ReLU unless told otherwise."""

    bias: nn.Parameter

    def __init__(self, inputs: int, outputs: int, kernel: int, *, relu: bool = True) -> None:
        super().__init__(inputs, outputs, kernel, stride=2, padding=kernel // 2 - 1)
        self.relu = relu

    def forward(self, x: Tensor) -> Tensor:
        if stride2.use_fast_kernels(x):
            return stride2.conv(x, self.weight, self.bias, self.relu)
        y = super().forward(x)
        return F.relu(y) if self.relu else y


class Convs(nn.Sequential):
    """Convolutions one after the other; where only codes are wanted they run as one, with fewer products.

    That is inside :func:`fast_kernels`, without gradients, in float32, on one core that has AVX-512.
    """

    def forward(self, x: Tensor) -> Tensor:
        layers = [layer for layer in self if isinstance(layer, Conv)]
        wanted = stride2.use_fast_kernels(x) and not torch.is_grad_enabled() and not torch.is_autocast_enabled("cpu")
        whole = len(layers) == len(self) and not (x.shape[-2] % 2 ** len(self) or x.shape[-1] % 2 ** len(self))
        known = all(w.dtype == x.dtype == torch.float32 and len(w) % 32 == 0 for w in self.parameters())
        # Compiled code checks no index: what does not fit together is left to torch, which says what is wrong.
        widths = [x.shape[1] if x.ndim == 4 else 0, *(layer.out_channels for layer in layers)]
        fits = all(
            layer.in_channels == width and layer.kernel_size in ((2, 2), (4, 4))
            for layer, width in zip(layers, widths, strict=False)
        )
        if wanted and whole and known and fits and self.in_cache():
            from unbraid.nets import _inference  # it imports numba, and whoever only trains need not wait for that

            return _inference.convs(x, [(layer.weight, layer.bias, layer.relu) for layer in layers])
        y: Tensor = super().forward(x)
        return y

    @staticmethod
    def in_cache() -> bool:
        """Whether features then stay in the CPU's cache however many the images are."""
        return stride2.one_wide_core()


class Deconv(nn.ConvTranspose2d):
    """Transposed 4x4 convolution with stride 2 that doubles height and width, then ReLU unless it is the last layer."""

    bias: nn.Parameter

    def __init__(self, inputs: int, outputs: int, *, relu: bool = True) -> None:
        super().__init__(inputs, outputs, 4, stride=2, padding=1)
        self.relu = relu

    def forward(self, x: Tensor, output_size: list[int] | None = None) -> Tensor:
        if stride2.use_fast_kernels(x):
            return stride2.deconv(x, self.weight, self.bias, self.relu)
        y = super().forward(x, output_size)
        return F.relu(y) if self.relu else y


class LastConv(nn.Conv2d):
    """Convolution whose input and output are channels last in memory: on a CPU up to three times as fast in bfloat16.

    The parameter itself stays as it is, as do checkpoints.
    """

    def forward(self, x: Tensor) -> Tensor:
        layout = torch.channels_last
        return self._conv_forward(
            x.contiguous(memory_format=layout), self.weight.contiguous(memory_format=layout), self.bias
        )


class Whole(nn.Conv2d):
    """Convolution whose kernel is as large as its image: a matrix product, which torch does several times as fast."""

    def forward(self, x: Tensor) -> Tensor:
        return F.linear(x.flatten(1), self.weight.flatten(1), self.bias)[:, :, None, None]


class BatchNorm(nn.BatchNorm2d):
    """Batch normalisation: by the batch's own moments in training, by their running averages in evaluation mode."""

    def forward(self, x: Tensor) -> Tensor:
        if self.training and len(x) < 2:
            raise UsageError("batch normalisation cannot train on single images; batch_size must be at least 2, got 1")
        return super().forward(x)


class CodeLinear(nn.Linear):
    """Linear layer next to the code, in full precision even under autocast.

    It costs nothing, and rounding means, variances and codes to the three digits of bfloat16 would blur the posterior.
    """

    def forward(self, x: Tensor) -> Tensor:
        kind = x.device.type
        if not (torch.amp.is_autocast_available(kind) and torch.is_autocast_enabled(kind)):
            return super().forward(x)
        with torch.autocast(kind, enabled=False):
            return super().forward(x.to(self.weight.dtype))


def halvings(shape: Shape) -> int:
    """How many stride-2 layers bring an image down to a grid of at most 4x4; at least two.

    >>> halvings((64, 64, 1)), halvings((8, 8, 1)), halvings((96, 64, 3))
    (4, 2, 5)
    """
    if len(shape) != 3:
        raise UsageError(
            f"convolutional networks take images, got vectors of {shape[0]} numbers; try a fully connected one ('mlp')"
        )
    height, width, _ = shape
    if min(height, width) < 8 or max(height, width) > 256:
        raise UsageError(
            f"convolutional networks take images of 8 to 256 pixels a side, got {height}x{width}; "
            "try a fully connected one ('mlp', 'fc')"
        )
    return max(2, math.ceil(math.log2(max(height, width) / GRID)))


def padded_size(shape: Shape) -> tuple[int, int]:
    """The image size after padding, divisible by two as often as the network halves it.

    >>> padded_size((64, 64, 1)), padded_size((17, 28, 1))
    ((64, 64), (24, 32))
    """
    unit = 2 ** halvings(shape)
    return -(-shape[0] // unit) * unit, -(-shape[1] // unit) * unit


def channels_of(shape: Shape) -> list[int]:
    """Channels of the image and after each halving: 32 twice, then 64.

    >>> channels_of((64, 64, 1))
    [1, 32, 32, 64, 64]
    """
    more = halvings(shape) - 2
    return [shape[2], 32, 32, *[64] * more]


def grid_of(shape: Shape) -> tuple[int, int]:
    """Height and width after the last halving.

    >>> grid_of((64, 64, 1)), grid_of((17, 28, 1))
    ((4, 4), (3, 4))
    """
    height, width = padded_size(shape)
    return height // 2 ** halvings(shape), width // 2 ** halvings(shape)


def _margins(shape: Shape) -> tuple[int, int, int, int]:
    """Pixels to add left, right, above and below."""
    height, width = (padded - size for padded, size in zip(padded_size(shape), shape, strict=False))
    return width // 2, width - width // 2, height // 2, height - height // 2


class Pad(nn.Module):
    """Put an image in the middle of a black one whose size can be halved often enough."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.margins = _margins(shape)

    def forward(self, images: Tensor) -> Tensor:
        return F.pad(images, self.margins) if any(self.margins) else images


class Crop(nn.Module):
    """Cut the middle out of a padded image: the inverse of :class:`Pad`."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.margins = _margins(shape)

    def forward(self, images: Tensor) -> Tensor:
        if not any(self.margins):
            return images
        left, right, top, bottom = self.margins
        return images[..., top : images.shape[-2] - bottom, left : images.shape[-1] - right]
