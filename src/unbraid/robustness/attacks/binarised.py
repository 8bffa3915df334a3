"""Models that compare pixels with a threshold first: gradients past it, and adversarials without what it ignores."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from unbraid.errors import UsageError
from unbraid.nets.predictors import StraightThrough, check_threshold

__all__ = ["StraightThrough", "refined", "straight_through"]


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
    check_threshold(threshold)
    if images.shape != adversarials.shape:
        raise UsageError(f"adversarials must be like the images {list(images.shape)}, got {list(adversarials.shape)}")
    edge = torch.full_like(images[:0].sum(), threshold)
    below = torch.nextafter(edge, torch.zeros_like(edge))
    was, now = images >= edge, adversarials >= edge
    return torch.where(was == now, images, torch.where(now, edge, below))
