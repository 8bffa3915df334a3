"""Compositional contrast: whether each pixel depends on one block of latents only (Brady et al., 2023)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from unbraid.errors import UsageError

__all__ = ["compositional_contrast"]


def compositional_contrast(jacobians: ArrayLike, blocks: Sequence[int]) -> np.ndarray:
    """Sum over outputs and pairs of blocks of ``|df_n/dz_A| |df_n/dz_B|``, for Jacobians ``[..., outputs, d]``.

    ``blocks`` are the numbers of latents of each block, in their order. It is 0 if and only if no output depends on two
    blocks, which is more than a sum of blocks asks for: where parts overlap or blend, images add up and the contrast is
    above 0. It grows with the square of the images' scale, so compare decoders of the same data.

    >>> float(compositional_contrast([[3.0, 4.0, 0.0], [0.0, 3.0, 2.0]], blocks=(2, 1)))  # 5 * 0 + 3 * 2
    6.0
    """
    matrices, sizes = np.asarray(jacobians, dtype=np.float64), tuple(blocks)
    if matrices.ndim < 2:
        raise UsageError(f"jacobians must be [..., outputs, d], got shape {matrices.shape}")
    if not sizes or min(sizes) < 1 or sum(sizes) != matrices.shape[-1]:
        raise UsageError(f"blocks must be numbers of latents that add up to {matrices.shape[-1]}, got {sizes}")
    parts = np.split(matrices, np.cumsum(sizes)[:-1], axis=-1)
    norms = np.stack([np.linalg.norm(part, axis=-1) for part in parts], axis=-1)  # [..., outputs, blocks]
    # The sum over pairs of products is half of what the square of the sum has beside the squares.
    pairs = (norms.sum(axis=-1) ** 2 - (norms**2).sum(axis=-1)) / 2
    contrast: np.ndarray = np.maximum(pairs, 0.0).sum(axis=-1)
    return contrast
