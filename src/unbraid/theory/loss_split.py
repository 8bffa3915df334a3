"""The reconstruction loss of a VAE in two parts: what the mean code misses, and what the noise adds."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np
import torch
from numpy.typing import ArrayLike

from unbraid.errors import UsageError
from unbraid.theory.jacobian import Decoder, decoder_jacobian

__all__ = ["LossSplit", "local_noise_loss", "split_reconstruction"]


@dataclass(frozen=True)
class LossSplit:
    """Squared errors summed over pixels, means over images and noise."""

    total: float
    """Of decoded samples of the posterior against the images."""
    deterministic: float
    """Of the decoded mean codes against the images."""
    stochastic: float
    """Of decoded samples against the decoded mean codes; total = deterministic + stochastic if noise is unbiased."""
    local: float
    """``sum_j |c_j|^2 sigma_j^2`` with the Jacobian's columns: the stochastic part of a decoder linear in the noise."""

    @property
    def leftover(self) -> float:
        """What the two parts leave unexplained, as a share of the total."""
        return (self.total - self.deterministic - self.stochastic) / self.total if self.total else 0.0

    def to_json(self) -> dict[str, float]:
        """Plain numbers."""
        return {**asdict(self), "leftover": self.leftover}


def split_reconstruction(
    decode: Decoder,
    images: ArrayLike,
    mean: ArrayLike,
    covariance: ArrayLike,
    *,
    draws: int = 16,
    seed: int = 0,
    jacobians: np.ndarray | None = None,
    batch_size: int = 256,
) -> LossSplit:
    """Split the squared error of a decoder (torch) on images ``[n, ...]`` whose posteriors are known.

    ``covariance`` is ``[n, d]`` (variances) or ``[n, d, d]``. Pass ``jacobians`` at the means if they are at hand.
    """
    x = np.asarray(images, dtype=np.float64).reshape(len(np.asarray(images)), -1)
    mu, spread = np.asarray(mean, dtype=np.float64), np.asarray(covariance, dtype=np.float64)
    if mu.ndim != 2 or len(mu) != len(x) or spread.shape not in (mu.shape, (*mu.shape, mu.shape[1])):
        raise UsageError(
            f"need one mean [n, d] and one covariance [n, d] or [n, d, d] per image, got {mu.shape} and "
            f"{spread.shape} for {len(x)} images"
        )
    if draws < 1:
        raise UsageError(f"draws must be at least 1, got {draws}")
    rng = np.random.default_rng(seed)
    clean = _decode(decode, mu, batch_size)
    total = stochastic = 0.0
    for _ in range(draws):
        noise = rng.standard_normal(mu.shape)
        if spread.ndim == 2:
            noise *= np.sqrt(spread)
        else:
            noise = (np.linalg.cholesky(spread) @ noise[..., None])[..., 0]
        noisy = _decode(decode, mu + noise, batch_size)
        total += float(((noisy - x) ** 2).sum(axis=1).mean()) / draws
        stochastic += float(((noisy - clean) ** 2).sum(axis=1).mean()) / draws
    slopes = decoder_jacobian(decode, mu) if jacobians is None else jacobians
    return LossSplit(
        total,
        float(((clean - x) ** 2).sum(axis=1).mean()),
        stochastic,
        float(local_noise_loss(slopes, spread).mean()),
    )


def local_noise_loss(jacobians: np.ndarray, covariance: np.ndarray) -> np.ndarray:
    """``E|J noise|^2`` of each Jacobian ``[n, outputs, d]`` for noise of these variances or covariances: ``[n]``."""
    if covariance.ndim == 2:
        return np.einsum("npd,npd,nd->n", jacobians, jacobians, covariance, optimize=True)
    return np.einsum("npd,npe,nde->n", jacobians, jacobians, covariance, optimize=True)


def _decode(decode: Decoder, codes: np.ndarray, batch_size: int) -> np.ndarray:
    rows = torch.as_tensor(codes, dtype=torch.float32)
    with torch.no_grad():
        parts = [decode(part).flatten(1).double().cpu().numpy() for part in rows.split(batch_size)]
    return np.concatenate(parts)
