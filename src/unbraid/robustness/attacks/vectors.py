"""Lengths and directions of whole images."""

import torch
from torch import Tensor

__all__ = ["as_rows", "direction", "lengths"]


def lengths(delta: Tensor, norm: str = "l2") -> Tensor:
    """The norm of each image's change: ``[n]``. In l0 a place counts once, however many of its channels changed."""
    if norm == "l0":
        return (delta != 0).any(1).flatten(1).sum(1).to(delta.dtype)
    return delta.flatten(1).abs().amax(1) if norm == "linf" else delta.flatten(1).norm(dim=1)


def as_rows(values: Tensor, images: Tensor) -> Tensor:
    """One number per image, so that it multiplies images."""
    return values.reshape(-1, *[1] * (images.ndim - 1))


def direction(delta: Tensor) -> Tensor:
    """Each image's change divided by its length; no change stays none."""
    size = lengths(delta)
    return delta / as_rows(torch.where(size > 0, size, 1), delta)
