"""Models that compare pixels with a threshold first: gradients past it, and adversarials without what it ignores."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from unbraid.errors import UsageError

__all__ = ["StraightThrough", "refined", "straight_through"]


class StraightThrough(nn.Module):
    """A model of images that are 1 where they are at least the threshold, and 0 elsewhere.

    Its gradient is that of the model at the binary image, as if the threshold were not there (Bengio et al., 2013).
    """

    def __init__(self, model: nn.Module, threshold: float = 0.5) -> None:
        super().__init__()
        _check(threshold)
        self.model, self.threshold = model, threshold

    def forward(self, images: Tensor) -> Any:
        binary = (images >= self.threshold).to(images.dtype)
        return self.model(binary + (images - images.detach()))


def straight_through(model: nn.Module, threshold: float = 0.5) -> StraightThrough:
    """A module that thresholds its input before ``model`` sees it, with gradients that go straight through."""
    if not isinstance(model, nn.Module):
        raise UsageError(f"model must be a torch module, which gradients flow through, got {type(model).__name__}")
    return StraightThrough(model, threshold)


def refined(images: Tensor, adversarials: Tensor, threshold: float = 0.5) -> Tensor:
    """Adversarials without what a model that thresholds pixels cannot see (Schott et al., 2019).

    A pixel on the same side of the threshold as before is set back; one that crossed it goes just as far as it must: to
    the threshold from below, to the largest number below it from above. Neither what the model says nor any of the
    three norms can grow.
    """
    _check(threshold)
    edge = torch.full_like(images[:0].sum(), threshold)
    below = torch.nextafter(edge, torch.zeros_like(edge))
    was, now = images >= edge, adversarials >= edge
    return torch.where(was == now, images, torch.where(now, edge, below))


def _check(threshold: float) -> None:
    if not 0 < threshold < 1:
        raise UsageError(f"threshold must lie between 0 and 1, the range of pixels, got {threshold}")
