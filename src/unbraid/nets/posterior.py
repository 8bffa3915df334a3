"""The diagonal Gaussian an encoder describes."""

import math
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from unbraid.errors import UsageError

__all__ = ["Gaussian"]


@dataclass(frozen=True)
class Gaussian:
    """Independent normal distributions, one per image and latent: q(z|x) = N(mean, exp(logvar))."""

    mean: Tensor
    """``[n, latents]``."""
    logvar: Tensor
    """``[n, latents]``."""

    @classmethod
    def from_heads(cls, outputs: Tensor) -> "Gaussian":
        """Read an encoder's output ``[n, 2 * latents]``: the means, then the log variances.

        >>> Gaussian.from_heads(torch.tensor([[1.0, 2.0, 0.0, 0.5]])).logvar.tolist()
        [[0.0, 0.5]]
        """
        if outputs.shape[-1] % 2:
            raise UsageError(f"a Gaussian needs two numbers per latent, got {outputs.shape[-1]} in all (heads=2?)")
        mean, logvar = outputs.float().chunk(2, dim=-1)
        return cls(mean, logvar)

    def kl_per_latent(self) -> Tensor:
        """KL divergence to the standard normal prior, in nats, ``[n, latents]``; computed once, then remembered."""
        # What was computed without gradients must not stand in for what needs them.
        return self._kl_per_latent if torch.is_grad_enabled() else self._divergence()

    @cached_property
    def _kl_per_latent(self) -> Tensor:
        return self._divergence()

    def _divergence(self) -> Tensor:
        return 0.5 * (self.mean.square() + self.logvar.exp() - self.logvar - 1)

    def kl(self) -> Tensor:
        """KL divergence to the standard normal prior, in nats, ``[n]``."""
        return self.kl_per_latent().sum(-1)

    def sample(self, noise: Tensor | None = None, *, generator: torch.Generator | None = None) -> Tensor:
        """One draw per image, ``mean + exp(logvar / 2) * noise``, through which gradients flow.

        Give the standard normal ``noise`` (it may have leading dimensions for several draws) or a ``generator`` on the
        device of the mean to draw it from.
        """
        if (noise is None) == (generator is None):
            raise UsageError("sample needs either standard normal noise or a generator to draw it from")
        if noise is None:
            noise = torch.randn(self.mean.shape, generator=generator, dtype=self.mean.dtype, device=self.mean.device)
        return self.mean + torch.exp(0.5 * self.logvar) * noise

    def log_prob(self, codes: Tensor) -> Tensor:
        """Log density of each latent of ``codes``, which broadcasts against ``[n, latents]``.

        Sum over the last dimension for the log density of whole codes. All pairs of codes and images,
        ``[m, n, latents]``: ``posterior.log_prob(codes[:, None])``.
        """
        squares = (codes - self.mean).square() * torch.exp(-self.logvar)
        return -0.5 * (squares + self.logvar + math.log(2 * math.pi))
