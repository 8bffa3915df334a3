"""The orthonormal cosine transform: global average pooling that can be undone."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import torch
from torch import Tensor

from unbraid.nets.bijections.bijection import Bijection, full_precision, no_volume

__all__ = ["DCT", "dct_matrix"]


def dct_matrix(size: int) -> Tensor:
    """C[u, n] = c_u cos(pi (2n + 1) u / 2N), c_0 = sqrt(1/N), else sqrt(2/N): float64, C C^T = I.

    >>> bool((dct_matrix(7) @ dct_matrix(7).T - torch.eye(7)).abs().max() < 1e-12)
    True
    """
    return torch.from_numpy(_waves(size).copy())


@lru_cache
def _waves(size: int) -> np.ndarray:
    """The matrix as an array: a tensor made in inference mode could not be used in training later."""
    u, n = np.arange(size)[:, None], np.arange(size)[None]
    waves = np.sqrt(2 / size) * np.cos(np.pi * (2 * n + 1) * u / (2 * size))
    waves[0] = np.sqrt(1 / size)
    return waves


class DCT(Bijection):
    """C_h X C_w^T of every channel; keeps volume. Coefficient (0, 0) of an N x N map is N times its mean.

    The matrices are built in float64 and no part of the state: a network that is moved to float64 has all digits.
    """

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        rows, columns = self._matrices(x)
        with full_precision(x):
            return rows @ x @ columns.T, no_volume(x)

    def undo(self, z: Tensor) -> Tensor:
        rows, columns = self._matrices(z)
        with full_precision(z):
            return rows.T @ z @ columns

    @staticmethod
    def _matrices(x: Tensor) -> tuple[Tensor, Tensor]:
        height, width = map(int, x.shape[-2:])  # whoever traces the network gives tensors
        return dct_matrix(height).to(x), dct_matrix(width).to(x)
