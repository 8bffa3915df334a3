"""The Gaussian with all covariances an encoder can describe."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from unbraid.errors import UsageError
from unbraid.nets.posterior import Gaussian

__all__ = ["FullGaussian", "full_heads"]


def full_heads(latents: int) -> int:
    """How many numbers per latent an encoder must give for the mean and the triangle of the covariance's factor.

    ``d + d (d + 1) / 2`` numbers are needed; for even d that is half a number more per latent than a whole one, and
    the last ``d / 2`` outputs stay unused.

    >>> full_heads(3), full_heads(4)
    (3, 4)
    """
    return (latents + 4) // 2


@dataclass(frozen=True)
class FullGaussian(Gaussian):
    """A normal distribution per image with any covariance: q(z|x) = N(mean, L L^T), L lower triangular.

    ``logvar`` holds the logarithm of the covariance's diagonal, so that what reads a diagonal posterior reads the
    marginal variances of this one.
    """

    factor: Tensor
    """L, ``[n, latents, latents]``, its diagonal positive."""

    @classmethod
    def from_numbers(cls, outputs: Tensor, latents: int) -> "FullGaussian":
        """Read an encoder's output: means, logarithms of L's diagonal, then what is below it, row by row."""
        rows, columns = torch.tril_indices(latents, latents, -1, device=outputs.device)
        if outputs.shape[-1] < 2 * latents + len(rows):
            raise UsageError(
                f"a full covariance of {latents} latents needs {2 * latents + len(rows)} numbers, got "
                f"{outputs.shape[-1]} (heads={full_heads(latents)}?)"
            )
        outputs = outputs.float()
        mean, diagonal = outputs[..., :latents], outputs[..., latents : 2 * latents]
        factor = torch.diag_embed(diagonal.exp())
        factor[..., rows, columns] = outputs[..., 2 * latents : 2 * latents + len(rows)]
        return cls(mean, factor.square().sum(-1).log(), factor)

    @property
    def covariance(self) -> Tensor:
        """``[n, latents, latents]``."""
        return self.factor @ self.factor.mT

    def _divergence(self) -> Tensor:
        # Trace and log-determinant fall apart over the rows of L: a share per latent, none negative, adding up to KL.
        return 0.5 * (self.mean.square() + self.logvar.exp() - self._logdet() - 1)

    def _logdet(self) -> Tensor:
        """The share of each latent in log det of the covariance."""
        return 2 * self.factor.diagonal(dim1=-2, dim2=-1).log()

    def sample(self, noise: Tensor | None = None, *, generator: torch.Generator | None = None) -> Tensor:
        """One draw per image, ``mean + L noise``; the arguments are those of :meth:`Gaussian.sample`."""
        if (noise is None) == (generator is None):
            raise UsageError("sample needs either standard normal noise or a generator to draw it from")
        if noise is None:
            noise = torch.randn(self.mean.shape, generator=generator, dtype=self.mean.dtype, device=self.mean.device)
        return self.mean + (self.factor @ noise[..., None])[..., 0]

    def log_prob(self, codes: Tensor) -> Tensor:
        """Log density of each latent given those before it; the sum over the last dimension is that of the code."""
        shift = codes - self.mean
        factor = self.factor.expand(*shift.shape, shift.shape[-1])
        whitened = torch.linalg.solve_triangular(factor, shift[..., None], upper=False)[..., 0]
        return -0.5 * (whitened.square() + self._logdet() + math.log(2 * math.pi))
