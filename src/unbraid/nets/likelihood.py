"""How a decoder's output describes pixels."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import torch
import torch.nn.functional as F
from torch import Tensor

from unbraid.errors import UsageError
from unbraid.options import check_options, parse_name
from unbraid.registry import Registry

__all__ = ["Bernoulli", "GaussianPixels", "Likelihood", "likelihood", "likelihoods", "register_likelihood"]

Maker = TypeVar("Maker", bound=Callable[..., Any])


class Likelihood(Protocol):
    """What objectives need to know of a decoder's output ``[n, c, h, w]``, or ``[n, d]`` for vectors."""

    def nll(self, output: Tensor, images: Tensor) -> Tensor:
        """Negative log likelihood of each image in nats, summed over pixels and channels, ``[n]``."""
        ...

    def mean(self, output: Tensor) -> Tensor:
        """The image the output describes, in [0, 1]; the vector as it is."""
        ...


_LIKELIHOODS: Registry[Callable[..., Likelihood]] = Registry("likelihood")


def register_likelihood(name: str) -> Callable[[Maker], Maker]:
    """Decorator: make a class or function that gives a :class:`Likelihood` known by name."""

    def keep(maker: Maker) -> Maker:
        _LIKELIHOODS.add(name, maker)
        return maker

    return keep


@register_likelihood("bernoulli")
@dataclass(frozen=True)
class Bernoulli:
    """Pixels as coin flips, the decoder giving logits; also used for grey values between 0 and 1.

    For grey values the smallest possible loss is the entropy of the pixels, not zero.
    """

    subtract_entropy: bool = False
    """Subtract the pixels' entropy, so that a perfect reconstruction costs nothing (gradients stay the same)."""

    def nll(self, output: Tensor, images: Tensor) -> Tensor:
        _check(output, images)
        # Torch's cross entropy of logits is a little faster, but falls apart into many operations under vmap.
        output = output.to(images.dtype)
        if images.ndim == 2:
            raise UsageError("the bernoulli likelihood is for pixels in [0, 1]; vectors need likelihood gaussian")
        loss = _sum(F.softplus(output) - output * images)
        if self.subtract_entropy:
            entropy = torch.special.entr(images) + torch.special.entr(1 - images)
            loss = loss - _sum(entropy)
        return loss

    def mean(self, output: Tensor) -> Tensor:
        return torch.sigmoid(output)


@register_likelihood("gaussian")
@dataclass(frozen=True)
class GaussianPixels:
    """Pixels with normal noise of one fixed standard deviation, the decoder giving the mean.

    The default scale makes the loss the plain sum of squared errors.
    """

    scale: float = math.sqrt(0.5)
    """Standard deviation of a pixel in units of the full range [0, 1]."""
    normalised: bool = False
    """Add the constant log(scale * sqrt(2 pi)) per pixel, so that the loss is a true density."""

    def __post_init__(self) -> None:
        if not 0 < self.scale < math.inf:
            raise UsageError(f"scale of the gaussian likelihood must be a positive number, got {self.scale}")

    def nll(self, output: Tensor, images: Tensor) -> Tensor:
        _check(output, images)
        loss = _sum((output - images).square()) / (2 * self.scale**2)
        if self.normalised:
            loss = loss + images[0].numel() * math.log(self.scale * math.sqrt(2 * math.pi))
        return loss

    def mean(self, output: Tensor) -> Tensor:
        return output if output.ndim == 2 else output.clamp(0, 1)


def likelihoods() -> list[str]:
    """The names :func:`likelihood` knows."""
    return _LIKELIHOODS.names()


def likelihood(name: str, **options: Any) -> Likelihood:
    """A likelihood by name: ``bernoulli`` (``subtract_entropy``) or ``gaussian`` (``scale``, ``normalised``).

    Options can be written into the name, as on the command line: ``gaussian:scale=0.1``.

    >>> likelihood("gaussian").nll(torch.zeros(1, 1, 2, 2), torch.ones(1, 1, 2, 2)).tolist()
    [4.0]
    >>> likelihood("gaussian:scale=0.1,normalised=true")
    GaussianPixels(scale=0.1, normalised=True)
    """
    if not options and ":" not in name:  # asked for in every step of training
        return _LIKELIHOODS[name]()
    name, written = parse_name(name)
    maker = _LIKELIHOODS[name]
    return maker(**check_options(f"likelihood {name!r}", maker, written | options))


def _sum(values: Tensor) -> Tensor:
    """Over pixels and channels, or over the numbers of a vector."""
    return values.sum(tuple(range(1, values.ndim)))


def _check(output: Tensor, images: Tensor) -> None:
    if output.shape != images.shape:
        raise UsageError(f"output {tuple(output.shape)} and images {tuple(images.shape)} must have the same shape")
