"""Standard deviations of noise: one for all images, or one by chance for each."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from unbraid.errors import UsageError

if TYPE_CHECKING:
    import torch
    from torch import Tensor

__all__ = ["check_sigmas", "drawn_sigmas"]


def check_sigmas(sigmas: Sequence[float], option: str = "sigma") -> None:
    """Refuse standard deviations that are none."""
    for sigma in sigmas:
        if not 0 <= sigma < math.inf:
            raise UsageError(f"{option} must be a number that is not negative, got {sigma}; 0 adds no noise")


def drawn_sigmas(sigmas: Sequence[float], images: Tensor, noise: torch.Generator) -> Tensor | float:
    """A standard deviation for each image, one of those given with equal chances, so that it multiplies images."""
    import torch

    if len(sigmas) == 1:
        return sigmas[0]  # nothing is drawn
    known = torch.tensor(sigmas, device=images.device, dtype=images.dtype)
    rows = torch.randint(len(sigmas), (len(images),), generator=noise, device=images.device)
    return known[rows].reshape(-1, *[1] * (images.ndim - 1))
