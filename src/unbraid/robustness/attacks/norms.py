"""Three ways to say how far an image was moved: pixels changed, Euclidean length, largest change."""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch
from torch import Tensor

from unbraid.errors import unknown_name
from unbraid.nets import clip_l2_ball, clip_linf
from unbraid.robustness.attacks.vectors import direction, lengths

__all__ = ["NORMS", "Norm", "norm_of"]


class Norm(ABC):
    """A norm of changes of images ``[n, c, h, w]``, and what attacks need to know of it."""

    name: str
    start: float
    """Share of the longest way that a search for the smallest radius tries first."""

    def __repr__(self) -> str:
        return f"norm_of({self.name!r})"

    def size(self, delta: Tensor) -> Tensor:
        """How long each change is: ``[n]``."""
        return lengths(delta, self.name)

    def farthest(self, images: Tensor) -> Tensor:
        """How far the farthest image of [0, 1] is: ``[n]``."""
        return self.size(torch.maximum(images, 1 - images))

    @abstractmethod
    def dual(self, gradient: Tensor) -> Tensor:
        """How fast a loss of this gradient can grow per unit of length: ``[n]``."""

    @abstractmethod
    def steepest(self, gradient: Tensor) -> Tensor:
        """The change of length 1 along which a loss of this gradient grows fastest."""

    @abstractmethod
    def clip(self, images: Tensor, delta: Tensor, radius: Tensor | float) -> Tensor:
        """``images + delta`` with the change shortened to ``radius`` where it is longer, in [0, 1]."""


class _Linf(Norm):
    name, start = "linf", 0.1

    def dual(self, gradient: Tensor) -> Tensor:
        return gradient.flatten(1).abs().sum(1)

    def steepest(self, gradient: Tensor) -> Tensor:
        return gradient.sign()

    def clip(self, images: Tensor, delta: Tensor, radius: Tensor | float) -> Tensor:
        return clip_linf(images, delta, radius)


class _L2(Norm):
    name, start = "l2", 0.1

    def dual(self, gradient: Tensor) -> Tensor:
        return lengths(gradient)

    def steepest(self, gradient: Tensor) -> Tensor:
        return direction(gradient)

    def clip(self, images: Tensor, delta: Tensor, radius: Tensor | float) -> Tensor:
        return clip_l2_ball(images, delta, radius)


class _L0(Norm):
    """Pixels are places: one whose three colours changed counts once."""

    name, start = "l0", 0.02

    def dual(self, gradient: Tensor) -> Tensor:
        return gradient.abs().sum(1).flatten(1).amax(1)

    def steepest(self, gradient: Tensor) -> Tensor:
        loud = gradient.abs().sum(1).flatten(1)
        best = torch.zeros_like(loud).scatter(1, loud.argmax(1, keepdim=True), 1.0)
        return gradient.sign() * best.reshape(len(gradient), 1, *gradient.shape[2:])

    def clip(self, images: Tensor, delta: Tensor, radius: Tensor | float) -> Tensor:
        size = delta.norm(dim=1).flatten(1)  # of each place, over its channels
        rank = size.argsort(dim=1, descending=True, stable=True).argsort(1)
        most = torch.as_tensor(radius, device=delta.device).expand(len(delta))
        keep = (rank < most[:, None]).reshape(len(delta), 1, *delta.shape[2:])
        return torch.where(keep, (images + delta).clamp(0, 1), images)


NORMS: dict[str, Norm] = {norm.name: norm for norm in (_L0(), _L2(), _Linf())}


def norm_of(name: str) -> Norm:
    """The norm of this name: l0, l2 or linf."""
    if name not in NORMS:
        raise unknown_name("norm", name, NORMS)
    return NORMS[name]
