"""The generalised Laplace prior of transitions, p(d) = C exp(-rate |d|^alpha), seen through Gaussian posteriors.

Everything is per latent and in closed form (Klindt et al., 2021); sums and means are left to the objectives.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor

    from unbraid.nets import Gaussian

__all__ = ["absolute_moment", "cross_entropy", "gaussian_entropy", "gaussian_kl", "log_normaliser"]

_SWITCH = 20.0
"""Above this m^2 / (2 s^2) the asymptotic series is exact to single precision, below it the power series is."""


def log_normaliser(alpha: float, rate: float) -> float:
    """log C with C = alpha rate^(1/alpha) / (2 Gamma(1/alpha)): Laplace at alpha 1, normal at alpha 2.

    The constant printed in the paper has ``rate`` where ``rate^(1/alpha)`` belongs; they agree at alpha 1 only.

    >>> round(math.exp(log_normaliser(0.5, 3.0)), 6)
    2.25
    """
    return math.log(alpha / 2) + math.log(rate) / alpha - math.lgamma(1 / alpha)


def absolute_moment(mean: Tensor, scale: Tensor, alpha: float = 1.0) -> Tensor:
    """E|N(mean, scale^2)|^alpha; at alpha 1 the mean of the folded normal distribution.

    For other alpha it is scale^alpha 2^(alpha/2) Gamma((1+alpha)/2) / sqrt(pi) 1F1(-alpha/2; 1/2; -u) with
    u = mean^2 / (2 scale^2): a power series for small u, an asymptotic one for large u.
    """
    import torch

    if alpha == 2:
        return mean.square() + scale.square()
    if alpha == 1:
        ratio = mean / scale
        return scale * math.sqrt(2 / math.pi) * torch.exp(-0.5 * ratio.square()) + mean * torch.erf(
            ratio * math.sqrt(0.5)
        )
    u = 0.5 * (mean / scale).square()
    far = u > _SWITCH
    # Each branch sees harmless numbers where the other one counts: a NaN there would spoil the gradient.
    inside = torch.where(far, torch.zeros_like(u), u)
    outside = torch.where(far, u, torch.full_like(u, 2 * _SWITCH))
    size = torch.where(far, mean.abs(), torch.ones_like(mean))
    constant = 2 ** (alpha / 2) * math.gamma((1 + alpha) / 2) / math.sqrt(math.pi)
    near = constant * scale**alpha * torch.exp(-inside) * _polynomial(_kummer(alpha), inside / _SWITCH)
    return torch.where(far, size**alpha * _polynomial(_asymptotic(alpha), 1 / outside), near)


def cross_entropy(shift: Tensor, scale: Tensor, *, rate: float = 6.0, alpha: float = 1.0) -> Tensor:
    """-E log p(d) for d ~ N(shift, scale^2), in nats."""
    return rate * absolute_moment(shift, scale, alpha) - log_normaliser(alpha, rate)


def gaussian_entropy(logvar: Tensor) -> Tensor:
    """Entropy of N(., exp(logvar)), in nats."""
    return 0.5 * (logvar + math.log(2 * math.pi * math.e))


def gaussian_kl(first: Gaussian, second: Gaussian) -> Tensor:
    """KL(first || second) of each latent, ``[n, latents]``."""
    difference = first.logvar - second.logvar
    distance = (first.mean - second.mean).square() * (-second.logvar).exp()
    return 0.5 * (difference.exp() - difference - 1 + distance)


def _polynomial(coefficients: list[float], x: Tensor) -> Tensor:
    value = x.new_full(x.shape, coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        value = value * x + coefficient
    return value


def _kummer(alpha: float, terms: int = 70) -> list[float]:
    """Coefficients of e^u 1F1(-alpha/2; 1/2; -u) = 1F1((1+alpha)/2; 1/2; u) in u / 20: all positive, none vanishing."""
    found = [1.0]
    for n in range(terms):
        found.append(found[-1] * _SWITCH * ((1 + alpha) / 2 + n) / ((0.5 + n) * (n + 1)))
    return found


def _asymptotic(alpha: float, terms: int = 10) -> list[float]:
    """Coefficients in 1/u of E|N(m, s^2)|^alpha / |m|^alpha."""
    found = [1.0]
    for n in range(terms):
        found.append(found[-1] * (n - alpha / 2) * (n + (1 - alpha) / 2) / (n + 1))
    return found
