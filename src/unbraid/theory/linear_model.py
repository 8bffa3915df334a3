"""The linear beta-VAE in closed form: what its training ends in, and what turning its latents costs."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from unbraid.errors import UsageError

__all__ = ["LinearModel", "LinearOptimum", "linear_vae_optimum"]


@dataclass(frozen=True)
class LinearOptimum:
    """Where a linear beta-VAE ends, one entry per latent, largest data variance first."""

    directions: np.ndarray
    """Principal directions, ``[p, d]``."""
    data_variances: np.ndarray
    beta: float

    @property
    def active(self) -> np.ndarray:
        """A direction is worth its price while its variance exceeds beta / 2."""
        return self.data_variances > self.beta / 2

    @property
    def variances(self) -> np.ndarray:
        """Posterior variances: ``beta / (2 v)`` of active latents, 1 of passive ones."""
        safe = np.where(self.active, self.data_variances, 1.0)
        return np.where(self.active, self.beta / (2 * safe), 1.0)

    @property
    def decoder(self) -> np.ndarray:
        """``[p, d]``, columns of squared length ``v - beta / 2``."""
        return self.directions * np.sqrt(np.maximum(self.data_variances - self.beta / 2, 0.0))

    @property
    def kl_error(self) -> float:
        """Relative error of the simplified KL: ``sum sigma^2 / sum -log sigma^2`` over active latents."""
        used = self.variances[self.active]
        return float(used.sum() / -np.log(used).sum()) if len(used) else 0.0


def linear_vae_optimum(covariance: ArrayLike, beta: float, latents: int | None = None) -> LinearOptimum:
    """The end of training for data of this covariance ``[p, p]`` (or these variances ``[p]`` along the axes).

    Squared error summed over dimensions plus beta times KL: probabilistic PCA with noise variance beta / 2.

    >>> optimum = linear_vae_optimum([1 / 3, 1 / 12], beta=0.25)
    >>> optimum.active.tolist(), optimum.variances.round(3).tolist()
    ([True, False], [0.375, 1.0])
    """
    c = np.asarray(covariance, dtype=np.float64)
    c = np.diag(c) if c.ndim == 1 else c
    if c.ndim != 2 or c.shape[0] != c.shape[1] or not beta > 0:
        raise UsageError(f"covariance must be [p, p] or [p] and beta positive, got shape {c.shape} and beta {beta}")
    variances, directions = np.linalg.eigh(c)
    keep = len(c) if latents is None else latents
    if not 1 <= keep <= len(c):
        raise UsageError(f"latents must lie in 1..{len(c)}, got {keep}")
    return LinearOptimum(directions[:, ::-1][:, :keep], np.maximum(variances[::-1][:keep], 0.0), beta)


@dataclass(frozen=True)
class LinearModel:
    """An affine encoder and decoder with one posterior covariance, whose loss is computed without sampling."""

    encoder: np.ndarray
    """``[d, p]``."""
    decoder: np.ndarray
    """``[p, d]``."""
    covariance: np.ndarray
    """Of the posterior, ``[d, d]``."""
    centre: np.ndarray
    """Mean of the data, ``[p]``: its code is zero."""

    @classmethod
    def at_optimum(cls, points: ArrayLike, beta: float, latents: int) -> LinearModel:
        """The best model for these points ``[n, p]``."""
        x = np.asarray(points, dtype=np.float64)
        found = linear_vae_optimum(np.cov(x, rowvar=False, bias=True), beta, latents)
        decoder = found.decoder
        inner = decoder.T @ decoder + beta / 2 * np.eye(latents)
        return cls(np.linalg.solve(inner, decoder.T), decoder, np.diag(found.variances), x.mean(axis=0))

    def loss(self, points: ArrayLike, beta: float) -> float:
        """Expected squared error plus beta times KL, mean over points ``[n, p]``."""
        x = np.asarray(points, dtype=np.float64) - self.centre
        codes = x @ self.encoder.T
        error = ((codes @ self.decoder.T - x) ** 2).sum(axis=1).mean()
        noise = np.trace(self.decoder @ self.covariance @ self.decoder.T)
        log_determinant = np.linalg.slogdet(self.covariance)[1]
        kl = 0.5 * ((codes**2).sum(axis=1).mean() + np.trace(self.covariance) - log_determinant - len(self.covariance))
        return float(error + noise + beta * kl)

    def log_likelihood(self, points: ArrayLike, beta: float) -> float:
        """Mean log density of points under the decoder, whose pixels have noise of variance beta / 2."""
        from scipy.stats import multivariate_normal

        spread = self.decoder @ self.decoder.T + beta / 2 * np.eye(len(self.decoder))
        return float(multivariate_normal(self.centre, spread).logpdf(np.asarray(points, dtype=np.float64)).mean())

    def rotated(self, rotation: ArrayLike) -> LinearModel:
        """Turn the latents by U: encoder ``U E``, decoder ``D U^T``, covariance ``U S U^T``."""
        u = np.asarray(rotation, dtype=np.float64)
        return replace(self, encoder=u @ self.encoder, decoder=self.decoder @ u.T, covariance=u @ self.covariance @ u.T)

    def with_diagonal_posterior(self, beta: float) -> LinearModel:
        """The same with the best diagonal covariance for this decoder: ``sigma_j^2 = 1 / (1 + 2 |d_j|^2 / beta)``."""
        return replace(self, covariance=np.diag(1 / (1 + 2 * (self.decoder**2).sum(axis=0) / beta)))
