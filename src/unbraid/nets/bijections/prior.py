"""The density of what a bijection leaves to chance, and bits per dimension."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

__all__ = ["LN2", "DiagonalNormal", "bits_per_dimension"]

LN2 = math.log(2)


class DiagonalNormal(nn.Module):
    """Independent normal numbers with a trained mean and log standard deviation each; standard normal at first."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.mean = nn.Parameter(torch.zeros(size))
        self.log_std = nn.Parameter(torch.zeros(size))

    def log_prob(self, z: Tensor, *, first: int = 0) -> Tensor:
        """Log density ``[n]`` of vectors ``[n, size]``, in nats, of the entries from ``first`` on."""
        mean, log_std = self.mean[first:], self.log_std[first:]
        scaled = (z[:, first:] - mean) * (-log_std).exp()
        return -(0.5 * (scaled.square() + math.log(2 * math.pi)) + log_std).sum(1)


def bits_per_dimension(log_density: Tensor, size: int, *, width: float = 1.0) -> Tensor:
    """-log2 of the probability of a grid cell per number, from the log density (nats) of ``size`` numbers.

    ``width`` is the distance of neighbouring values: bytes that were brought to [-1, 1] lie 1/128 apart, which adds
    log2 128 = 7 bits. Continuous data have no cells; ``width=1`` gives their density in bits.

    >>> normal, uniform = 0.5 * math.log(2 * math.pi), 1 / 6  # E x^2 / 2 of x uniform in [-1, 1)
    >>> round(float(bits_per_dimension(torch.tensor(-(normal + uniform)), 1, width=1 / 128)), 3)
    8.566
    """
    return -(log_density + size * math.log(width)) / (size * LN2)
