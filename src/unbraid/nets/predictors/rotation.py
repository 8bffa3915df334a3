"""Predictors whose features turn with the image: convolutions over the eight rotations by 45 degrees.

Cohen and Welling (2016), Group equivariant convolutional networks; Weiler and Cesa (2019) for steps of 45 degrees.
"""

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from unbraid.errors import UsageError
from unbraid.nets import stride2
from unbraid.nets.layers import CodeLinear, Pad, grid_of, halvings
from unbraid.nets.predictors.coordinates import need_image
from unbraid.nets.predictors.registry import register

__all__ = ["RotatedConv", "rotation_eq", "rotation_eq_big"]

TURNS = 8


class RotatedConv(nn.Module):
    """Each field of features has eight channels: what the same kernel finds when it is turned by 0, 45, ... degrees.

    Turning the input by 90 degrees turns the output and moves every field's channels on by two, exactly; by 45 degrees
    approximately, since pixels lie on a square grid. Kernels are zero outside a disc, and turned by 45 degrees with
    bilinear interpolation. ``lifting`` layers read an image, whose channels do not turn.
    """

    turned: Tensor
    shift: Tensor

    def __init__(
        self, inputs: int, outputs: int, kernel: int, *, stride: int = 1, lifting: bool = False, relu: bool = False
    ) -> None:
        super().__init__()
        self.kernel, self.stride, self.lifting, self.relu = kernel, stride, lifting, relu
        self.padding = kernel // 2 - 1 if stride == 2 else 0
        turns = 1 if lifting else TURNS
        self.weight = nn.Parameter(torch.empty(outputs, inputs, turns, kernel * kernel))
        self.bias = nn.Parameter(torch.empty(outputs))
        bound = 1 / math.sqrt(inputs * turns * kernel * kernel)
        nn.init.uniform_(self.weight, -bound, bound)
        nn.init.uniform_(self.bias, -bound, bound)
        self.register_buffer("turned", torch.tensor(rotations(kernel), dtype=torch.float32), persistent=False)
        # Turned by g, a kernel reads for direction h what it read for direction h - g before.
        shift = (torch.arange(turns) - torch.arange(TURNS)[:, None]) % turns
        self.register_buffer("shift", shift, persistent=False)

    def bank(self) -> Tensor:
        """The kernels of all eight directions, ``[outputs * 8, inputs * (8 or 1), kernel, kernel]``."""
        outputs, inputs, turns, size = self.weight.shape
        turned = torch.einsum("oihk,gpk->ogihp", self.weight, self.turned)
        moved = turned.gather(3, self.shift[None, :, None, :, None].expand(outputs, -1, inputs, -1, size))
        return moved.reshape(outputs * TURNS, inputs * turns, self.kernel, self.kernel)

    def forward(self, x: Tensor) -> Tensor:
        bank, bias = self.bank(), self.bias.repeat_interleave(TURNS)
        if self.stride == 2 and self.kernel in (2, 4) and stride2.use_fast_kernels(x):
            return stride2.conv(x, bank, bias, self.relu)
        if self.stride == 1 and bank.shape[2:] == x.shape[2:]:
            # One number per channel is left: a matrix product, which torch does several times as fast.
            y = F.linear(x.flatten(1), bank.flatten(1), bias)[:, :, None, None]
        else:
            y = F.conv2d(x, bank, bias, self.stride, self.padding)
        return F.relu(y) if self.relu else y


def rotations(kernel: int) -> np.ndarray:
    """Matrices ``[8, pixels, pixels]`` that turn a kernel counter-clockwise by multiples of 45 degrees in a disc."""
    middle = (kernel - 1) / 2
    rows, columns = np.indices((kernel, kernel)).reshape(2, -1)
    disc = np.hypot(rows - middle, columns - middle) <= max(middle + 0.5, math.sqrt(0.5))
    eighth = _bilinear(kernel, math.pi / 4)
    quarter = np.zeros((kernel**2, kernel**2))
    quarter[np.arange(kernel**2), np.rot90(np.arange(kernel**2).reshape(kernel, kernel)).ravel()] = 1
    masked = disc[:, None] * disc[None, :]
    found = []
    for turn in range(TURNS):
        whole = np.linalg.matrix_power(quarter, turn // 2)
        found.append(masked * (whole @ eighth if turn % 2 else whole))
    return np.stack(found)


def _bilinear(kernel: int, angle: float) -> np.ndarray:
    """The matrix of a rotation about the middle: every pixel is a mean of the four around where it comes from."""
    middle = (kernel - 1) / 2
    rows, columns = np.indices((kernel, kernel)).reshape(2, -1) - middle
    # Counter-clockwise on the screen, where rows run downwards.
    from_row = math.cos(angle) * rows + math.sin(angle) * columns + middle
    from_column = -math.sin(angle) * rows + math.cos(angle) * columns + middle
    found = np.zeros((kernel**2, kernel**2))
    for step_row in (0, 1):
        for step_column in (0, 1):
            row, column = np.floor(from_row) + step_row, np.floor(from_column) + step_column
            weight = (1 - np.abs(from_row - row)) * (1 - np.abs(from_column - column))
            inside = (row >= 0) & (row < kernel) & (column >= 0) & (column < kernel)
            source = (row * kernel + column).astype(int)
            found[np.flatnonzero(inside), source[inside]] += weight[inside]
    return found


@register("rotation-eq")
def rotation_eq(shape: tuple[int, ...], outputs: int, *, fields: Sequence[int] = (4, 4, 8, 8, 32)) -> nn.Module:
    """The Rotation-EQ of Schott et al. (2022): the layers of ``cnn`` with kernels turned in eight directions.

    ``fields`` counts the kernels of each layer; each gives eight channels, so a layer has an eighth of the CNN's
    kernels and its number of channels. Larger or smaller images repeat or drop layers in the middle, and are padded
    with black.
    """
    image = need_image("rotation-eq", shape, 8)
    counts = list(fields)
    if len(counts) != 5 or min(counts) < 1:
        raise UsageError(f"fields must be five counts of at least 1, got {counts}")
    widths = [counts[0], counts[1], *(counts[2:4] + [counts[3]] * 8)[: halvings(image) - 2]]
    first = RotatedConv(image[2], widths[0], 4, stride=2, lifting=True, relu=True)
    middle = [RotatedConv(a, b, 4, stride=2, relu=True) for a, b in pairwise(widths)]
    last = RotatedConv(widths[-1], counts[4], max(grid_of(image)), relu=True)
    return nn.Sequential(
        Pad(image),
        first,
        *middle,
        _Square(),
        last,
        nn.Flatten(),
        CodeLinear(TURNS * counts[4], outputs),
    )


@register("rotation-eq-big")
def rotation_eq_big(shape: tuple[int, ...], outputs: int) -> nn.Module:
    """Rotation-EQ with as many kernels as ``cnn`` has channels, so eight times as many channels."""
    return rotation_eq(shape, outputs, fields=(32, 32, 64, 64, 256))


class _Square(nn.Module):
    """Black at the edges, so that what is left of an oblong image can be turned."""

    def forward(self, x: Tensor) -> Tensor:
        height, width = x.shape[-2:]
        missing_rows, missing_columns = max(width - height, 0), max(height - width, 0)
        return F.pad(x, (missing_columns // 2, -(-missing_columns // 2), missing_rows // 2, -(-missing_rows // 2)))
