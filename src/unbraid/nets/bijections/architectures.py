"""The fiRevNets of Jacobsen et al. (2019): fully connected, convolutional in stages, and the layout for ImageNet."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal

from torch import nn

from unbraid.errors import UsageError, unknown_name
from unbraid.nets.bijections.actnorm import ActNorm
from unbraid.nets.bijections.bijection import Bijection, Chain
from unbraid.nets.bijections.couplings import AdditiveCoupling, AffineCoupling, SwapCoupling
from unbraid.nets.bijections.dct import DCT
from unbraid.nets.bijections.firevnet import FiRevNet
from unbraid.nets.bijections.mixing import InvertibleConv, Permutation
from unbraid.nets.bijections.registry import register
from unbraid.nets.bijections.residual import conv_residual, fc_residual
from unbraid.nets.bijections.shapes import FactorOut, ReadOut, Squeeze

__all__ = ["conv", "fc", "imagenet"]

COUPLINGS = ("additive", "swap", "affine")
MIXINGS = ("conv", "plu", "reverse", "shuffle", "none")
READOUTS = ("dct", "position")

Coupling = Literal["additive", "swap", "affine"]
Residual = Callable[[int, int], nn.Module]


@register("fc")
def fc(
    shape: tuple[int, ...],
    classes: int,
    *,
    blocks: int = 4,
    width: int = 128,
    depth: int = 2,
    coupling: Coupling = "swap",
    scale: Literal["tanh", "sigmoid"] = "tanh",
    actnorm: bool = False,
    zero: bool = False,
) -> FiRevNet:
    """Fully connected couplings between the halves of a vector: the network for adversarial spheres.

    ``coupling`` is swap (keeps volume), additive or affine; ``scale`` bounds the latter. ``zero`` lets every block
    begin as the identity. Images are taken as vectors.
    """
    _check_counts(blocks=blocks)
    size = math.prod(shape)
    if size < 2:
        raise UsageError(f"couplings need at least two numbers to couple, got vectors of {size}")
    layers: list[Bijection] = []
    seen: tuple[int, ...] = shape
    if len(shape) == 3:
        height, across, channels = shape
        seen = (channels, height, across)
        layers += [ReadOut((channels, height, across))]
    cut = size // 2
    for _ in range(blocks):
        layers += [ActNorm(size)] if actnorm else []
        layers += [
            _coupling(coupling, scale, size, cut, lambda a, b: fc_residual(a, b, width=width, depth=depth, zero=zero))
        ]
        if coupling == "swap":
            cut = size - cut
        else:
            layers += [Permutation(size)]
    return FiRevNet(Chain(layers), seen, classes)


@register("conv", unit=lambda stages=3, squeezes=1, **_: 2 ** (stages + squeezes - 1))
def conv(
    shape: tuple[int, ...],
    classes: int,
    *,
    stages: int = 3,
    blocks: int = 6,
    width: int = 32,
    coupling: Coupling = "additive",
    last: Literal["", "additive", "swap", "affine"] = "",
    scale: Literal["tanh", "sigmoid"] = "tanh",
    mixing: Literal["conv", "plu", "reverse", "shuffle", "none"] = "conv",
    actnorm: bool = True,
    norm: Literal["batch", "none"] = "batch",
    kernel: int = 1,
    readout: Literal["dct", "position"] = "dct",
    squeezes: int = 1,
    factor_out: bool = True,
    zero: bool = True,
) -> FiRevNet:
    """Stages of couplings, each after a squeeze; between stages half of the numbers is factored out.

    ``conv:blocks=16,width=128`` is the published network for digits. A block is actnorm, mixing of channels (a trained
    1x1 convolution: conv or plu; reverse, shuffle, none), and a coupling whose network has ``width`` channels, or a
    quarter of what it moves with ``width=0``. ``last`` is the coupling of the last stage, if another. Logits are mean
    values of the final channels (``readout="dct"``) or their values at the middle (position).
    """
    _check_counts(stages=stages, blocks=blocks, squeezes=squeezes)
    if len(shape) != 3:
        raise UsageError(f"bijection 'conv' takes images (height, width, channels), got shape {shape}; try 'fc'")
    for name, value, known in (("mixing", mixing, MIXINGS), ("readout", readout, READOUTS)):
        if value not in known:
            raise unknown_name(name, value, known)
    height, across, channels = shape
    unit = 2 ** (squeezes + stages - 1)
    if height % unit or across % unit:
        larger = "x".join(str(-(-side // unit) * unit) for side in (height, across))
        raise UsageError(
            f"images of {height}x{across} cannot be squeezed {squeezes + stages - 1} times: sides must be multiples of "
            f"{unit}; pad them to {larger} or take fewer stages"
        )

    def residual(inputs: int, outputs: int) -> nn.Module:
        middle = width or max(1, outputs // 4)
        return conv_residual(inputs, outputs, width=middle, kernel=kernel, norm=norm, zero=zero)

    def stage(number: int, size: int) -> Chain:
        kind = last or coupling if number == stages - 1 else coupling
        layers: list[Bijection] = []
        for _ in range(blocks):
            layers += [ActNorm(size)] if actnorm else []
            layers += _mixing(mixing, size)
            layers += [_coupling(kind, scale, size, size // 2, residual)]
            if kind != "swap" and mixing == "none":
                layers += [Permutation(size)]  # or one half, that of the logits, would never move
        return Chain(layers)

    def rest(number: int, c: int, h: int, w: int) -> Chain:
        """All from a stage on, its squeezes included."""
        times = squeezes if number == 0 else 1
        c, h, w = c * 4**times, h // 2**times, w // 2**times
        begin = [*(Squeeze() for _ in range(times)), stage(number, c)]
        if number == stages - 1:
            return Chain([*begin, *_readout(readout, (c, h, w))])
        if factor_out:
            return Chain([*begin, FactorOut(rest(number + 1, c // 2, h, w), (c, h, w))])
        return Chain([*begin, rest(number + 1, c, h, w)])

    return FiRevNet(rest(0, channels, height, across), (channels, height, across), classes)


@register("imagenet", unit=lambda stages=4, **_: 2 ** (stages + 1))
def imagenet(
    shape: tuple[int, ...], classes: int, *, blocks: int = 4, stages: int = 4, width: int = 0, zero: bool = True
) -> FiRevNet:
    """The layout of fiRevNet48: two squeezes, four stages of four bottleneck blocks, affine in the last, DCT read-out.

    Nothing is factored out, so 224x224 colour images end as 3072 maps of 7x7; the 1000 logits are the mean values of
    the first 1000, times 7. Meant for clusters at that size: 32x32 images and ``blocks=1`` show that it inverts.
    """
    return conv(
        shape,
        classes,
        stages=stages,
        blocks=blocks,
        width=width,
        coupling="swap",
        last="affine",
        mixing="none",
        actnorm=False,
        kernel=3,
        squeezes=2,
        factor_out=False,
        zero=zero,
    )


def _coupling(kind: str, scale: Literal["tanh", "sigmoid"], size: int, cut: int, residual: Residual) -> Bijection:
    if kind == "swap":
        return SwapCoupling(residual(size - cut, cut), cut)
    if kind == "additive":
        return AdditiveCoupling(residual(cut, size - cut), cut)
    if kind == "affine":
        return AffineCoupling(residual(cut, 2 * (size - cut)), cut, scale=scale)
    raise unknown_name("coupling", kind, COUPLINGS)


def _mixing(kind: str, size: int) -> list[Bijection]:
    if kind in ("reverse", "shuffle"):
        return [Permutation(size, kind)]  # type: ignore[arg-type]
    if kind == "none":
        return []
    return [InvertibleConv(size, kind="plu" if kind == "plu" else "slogdet")]


def _readout(kind: str, shape: tuple[int, int, int]) -> list[Bijection]:
    return [DCT(), ReadOut(shape)] if kind == "dct" else [ReadOut(shape, (shape[1] // 2, shape[2] // 2))]


def _check_counts(**counts: int) -> None:
    for name, value in counts.items():
        if value < 1:
            raise UsageError(f"{name} must be at least 1, got {value}")
