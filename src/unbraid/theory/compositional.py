"""Compositional contrast: whether each pixel depends on one block of latents only (Brady et al., 2023)."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral

import numpy as np
from numpy.typing import ArrayLike

from unbraid.errors import UsageError

__all__ = ["compositional_contrast"]


def compositional_contrast(jacobians: ArrayLike, blocks: Sequence[int], *, channels: int = 1) -> np.ndarray:
    """Sum over pixels and pairs of blocks of ``|df_n/dz_A| |df_n/dz_B|``, for Jacobians ``[..., outputs, d]``.

    ``blocks`` are the numbers of latents of each block, in their order. Of images of several ``channels``, which come
    one channel after the other as :func:`decoder_jacobian` has them, a pixel is all its channels: one whose red depends
    on one block and whose green on another depends on both. Otherwise every output is a pixel.

    It is 0 if and only if no pixel depends on two blocks, which is more than a sum of blocks asks for: where parts
    overlap or blend, images add up and the contrast is above 0. It grows with the square of the images' scale, so
    compare decoders of the same data.

    >>> float(compositional_contrast([[3.0, 4.0, 0.0], [0.0, 3.0, 2.0]], blocks=(2, 1)))  # 5 * 0 + 3 * 2
    6.0
    >>> float(compositional_contrast([[3.0, 0.0], [0.0, 2.0]], blocks=(1, 1), channels=2))  # one pixel of two channels
    6.0
    """
    matrices, sizes = np.asarray(jacobians, dtype=np.float64), tuple(blocks)
    if matrices.ndim < 2:
        raise UsageError(f"jacobians must be [..., outputs, d], got shape {matrices.shape}")
    if not np.isfinite(matrices).all():
        bad = int(matrices.size - np.isfinite(matrices).sum())
        raise UsageError(f"jacobians have {bad} of {matrices.size} entries that are NaN or infinite")
    whole = all(isinstance(size, Integral) and not isinstance(size, bool) for size in sizes)
    if not sizes or not whole or min(sizes) < 1 or sum(sizes) != matrices.shape[-1]:
        raise UsageError(f"blocks must be whole numbers of latents that add up to {matrices.shape[-1]}, got {sizes}")
    outputs = matrices.shape[-2]
    if isinstance(channels, bool) or not isinstance(channels, Integral) or channels < 1 or outputs % channels:
        raise UsageError(f"channels must be a whole number that divides the {outputs} outputs, got {channels!r}")
    pixels = matrices.reshape(*matrices.shape[:-2], channels, outputs // channels, matrices.shape[-1])
    parts = np.split(pixels, np.cumsum(sizes)[:-1], axis=-1)
    norms = np.stack([np.linalg.norm(part, axis=(-3, -1)) for part in parts], axis=-1)  # [..., pixels, blocks]
    # The sum over pairs of products is half of what the square of the sum has beside the squares.
    pairs = (norms.sum(axis=-1) ** 2 - (norms**2).sum(axis=-1)) / 2
    contrast: np.ndarray = np.maximum(pairs, 0.0).sum(axis=-1)
    return contrast
