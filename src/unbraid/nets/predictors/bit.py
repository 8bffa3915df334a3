"""Residual networks with pre-activation, group normalisation and standardised weights, and BiT's released weights.

He et al. (2016), Identity mappings in deep residual networks; Kolesnikov et al. (2020), Big Transfer.
"""

from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from unbraid.errors import UsageError
from unbraid.nets.predictors.coordinates import need_image
from unbraid.nets.predictors.registry import register
from unbraid.reading import read_arrays

__all__ = ["BiT", "bit_r50x1", "bit_r101x3", "load_bit", "resnet"]

GROUPS = 32


class StandardConv(nn.Conv2d):
    """Convolution without bias whose kernels have mean 0 and variance 1 (Qiao et al., 2019)."""

    def __init__(self, inputs: int, outputs: int, kernel: int, stride: int = 1) -> None:
        super().__init__(inputs, outputs, kernel, stride, kernel // 2, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        variance, mean = torch.var_mean(self.weight, dim=(1, 2, 3), keepdim=True, correction=0)
        kernels = (self.weight - mean) / torch.sqrt(variance + 1e-10)
        middle = self.kernel_size[0] // 2
        if middle and x.shape[2:] == (1, 1):
            # Around a single pixel there is padding alone; in bfloat16 torch's gradient of such kernels is no number.
            return F.conv2d(x, kernels[:, :, middle : middle + 1, middle : middle + 1])
        return F.conv2d(x, kernels, None, self.stride, self.padding)


class Bottleneck(nn.Module):
    """Three convolutions around a narrow middle, each after normalisation and ReLU; the input is added."""

    def __init__(self, inputs: int, outputs: int, middle: int, stride: int) -> None:
        super().__init__()
        self.gn1, self.conv1 = _norm(inputs), StandardConv(inputs, middle, 1)
        self.gn2, self.conv2 = _norm(middle), StandardConv(middle, middle, 3, stride)
        self.gn3, self.conv3 = _norm(middle), StandardConv(middle, outputs, 1)
        self.downsample = StandardConv(inputs, outputs, 1, stride) if stride > 1 or inputs != outputs else None

    def forward(self, x: Tensor) -> Tensor:
        y = F.relu(self.gn1(x))
        past = x if self.downsample is None else self.downsample(y)
        y = self.conv1(y)
        y = self.conv2(F.relu(self.gn2(y)))
        return past + self.conv3(F.relu(self.gn3(y)))


class BiT(nn.Module):
    """Residual stages of bottlenecks, each but the first halving the image, and a linear layer on their mean.

    One-channel images are repeated to three, which is what released weights expect.
    """

    def __init__(self, blocks: Sequence[int], width: int, outputs: int) -> None:
        super().__init__()
        self.root = nn.Sequential(
            OrderedDict(conv=StandardConv(3, width, 7, 2), pad=nn.ConstantPad2d(1, 0.0), pool=nn.MaxPool2d(3, 2))
        )
        stages, inputs = [], width
        for k, count in enumerate(blocks):
            middle, units = width * 2**k, []
            for unit in range(count):
                units.append(Bottleneck(inputs, 4 * middle, middle, 2 if k and not unit else 1))
                inputs = 4 * middle
            stages.append(nn.Sequential(*units))
        self.body = nn.Sequential(*stages)
        self.gn, self.head = _norm(inputs), nn.Linear(inputs, outputs)

    def forward(self, images: Tensor) -> Tensor:
        x = images.expand(-1, 3, -1, -1) if images.shape[1] == 1 else images
        # On the CPU max-pooling wants channels last, and group normalisation, several times as slow there, first.
        x = self.root(x.contiguous(memory_format=torch.channels_last)).contiguous()
        x = F.relu(self.gn(self.body(x)))
        return self.head(x.mean(dim=(2, 3)))


def _norm(channels: int) -> nn.GroupNorm:
    return nn.GroupNorm(min(GROUPS, channels), channels)


@register("resnet")
def resnet(shape: tuple[int, ...], outputs: int, *, blocks: Sequence[int] = (1, 1, 1, 1), width: int = 16) -> nn.Module:
    """A residual network of any size, in the manner of BiT; by default small enough for a CPU.

    ``blocks`` counts the bottlenecks of each stage, ``width`` the channels in the first one's middle, a multiple of
    16: ``resnet:blocks=3+4+6+3,width=64`` is ``bit-r50x1`` without its weights.
    """
    _channels("resnet", shape)
    counts = [blocks] if isinstance(blocks, int) else list(blocks)
    if not counts or min(counts) < 1:
        raise UsageError(f"blocks must be counts of at least 1, got {counts}")
    if width < 1 or (width > GROUPS and width % GROUPS):
        raise UsageError(f"width must be at most {GROUPS} or a multiple of it, got {width}")
    return BiT(counts, width, outputs)


@register("bit-r50x1")
def bit_r50x1(shape: tuple[int, ...], outputs: int, *, weights: str = "") -> nn.Module:
    """The ResNet-50 of BiT; ``weights=FILE.npz`` starts from released ones (BiT-M-R50x1), with a new last layer."""
    _channels("bit-r50x1", shape)
    return _started(BiT((3, 4, 6, 3), 64, outputs), weights)


@register("bit-r101x3")
def bit_r101x3(shape: tuple[int, ...], outputs: int, *, weights: str = "") -> nn.Module:
    """The three times as wide ResNet-101 of BiT (0.38 billion weights); ``weights=FILE.npz`` as in ``bit-r50x1``."""
    _channels("bit-r101x3", shape)
    return _started(BiT((3, 4, 23, 3), 192, outputs), weights)


def _channels(name: str, shape: tuple[int, ...]) -> None:
    if need_image(name, shape, 8)[2] not in (1, 3):
        raise UsageError(f"predictor {name!r} takes images of one or three channels, got {shape[2]}")


def _started(net: BiT, weights: str) -> BiT:
    if weights:
        load_bit(net, weights)
    return net


def load_bit(net: BiT, path: str | Path) -> None:
    """Copy released BiT weights, an npz file with TensorFlow's names, into a network; its last layer stays as it is.

    Nothing is executed: pickled arrays in the file are refused.
    """
    wanted = {name: tensor for name, tensor in net.state_dict().items() if not name.startswith("head.")}
    names = [f"resnet/{_released(name)}" for name in wanted]
    limit = 4096 + 8 * sum(tensor.numel() for tensor in wanted.values())  # twice what float32 needs
    remedy = "give the path of a released BiT npz file of this network"
    found = read_arrays(Path(path), names, limit=limit, remedy=remedy)
    arrays = zip(names, wanted.items(), strict=True)
    new = {name: _tensor(found[stored], stored, tensor, path) for stored, (name, tensor) in arrays}
    net.load_state_dict(new, strict=False)


def _released(name: str) -> str:
    """The name of a tensor in the released files.

    >>> _released("body.0.1.conv2.weight"), _released("body.2.0.downsample.weight"), _released("gn.bias")
    ('block1/unit02/b/standardized_conv2d/kernel', 'block3/unit01/a/proj/standardized_conv2d/kernel', 'group_norm/beta')
    """
    if name == "root.conv.weight":
        return "root_block/standardized_conv2d/kernel"
    kinds = {"weight": "gamma", "bias": "beta"}
    if name.startswith("gn."):
        return f"group_norm/{kinds[name.removeprefix('gn.')]}"
    _, stage, unit, layer, kind = name.split(".")
    prefix = f"block{int(stage) + 1}/unit{int(unit) + 1:02d}"
    if layer == "downsample":
        return f"{prefix}/a/proj/standardized_conv2d/kernel"
    letter = "abc"[int(layer[-1]) - 1]
    return f"{prefix}/{letter}/" + (
        "standardized_conv2d/kernel" if layer.startswith("conv") else f"group_norm/{kinds[kind]}"
    )


def _tensor(array: np.ndarray, name: str, like: Tensor, path: str | Path) -> Tensor:
    if array.ndim == 4:
        array = array.transpose(3, 2, 0, 1)  # height, width, in, out there
    if array.shape != tuple(like.shape) or array.dtype.kind != "f" or not np.isfinite(array).all():
        raise UsageError(
            f"weights {str(path)!r}: {name!r} must be finite floats of shape {list(like.shape)} (out, in, "
            f"height, width), got {array.dtype} {list(array.shape)}"
        )
    return torch.from_numpy(np.ascontiguousarray(array, dtype=np.float32))
