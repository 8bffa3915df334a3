"""Estimating mutual information by networks that tell pairs that belong together (MINE; Belghazi et al., 2018)."""

import math

import torch
from torch import Tensor, nn

from unbraid.errors import UsageError
from unbraid.nets.initialise import seeded

__all__ = ["PairStatistics", "information_bound"]


class PairStatistics(nn.Module):
    """A network T(z_r, y_l) for every latent and every label: codes ``[n, R]``, labels ``[n, L]`` to ``[n, R, L]``.

    Each has two inputs, ``width`` hidden units (ELU) and one output, which needs no bias: information does not see it.
    All of them are one product.
    """

    def __init__(self, codes: int, labels: int, *, width: int = 20, generator: torch.Generator | None = None) -> None:
        super().__init__()
        for name, value in (("codes", codes), ("labels", labels), ("width", width)):
            if value < 1:
                raise UsageError(f"{name} must be at least 1, got {value}")
        with seeded(generator):
            first, last = (math.sqrt(6 / (width + ends)) for ends in (2, 1))  # Glorot & Bengio (2010)
            self.of_code = nn.Parameter(torch.empty(codes, labels, width).uniform_(-first, first))
            self.of_label = nn.Parameter(torch.empty(codes, labels, width).uniform_(-first, first))
            self.shift = nn.Parameter(torch.zeros(codes, labels, width))
            self.out = nn.Parameter(torch.empty(codes, labels, width).uniform_(-last, last))

    def forward(self, codes: Tensor, labels: Tensor) -> Tensor:
        hidden = codes[:, :, None, None] * self.of_code + labels[:, None, :, None] * self.of_label + self.shift
        return (nn.functional.elu(hidden) * self.out).sum(-1)


def information_bound(joint: Tensor, product: Tensor) -> Tensor:
    """mean T - log mean e^T in nats, T of pairs that belong together and of pairs that do not, ``[n, ...]`` each.

    At most the mutual information in expectation, whatever T is, and for the best T equal to it; that of a batch may be
    negative, or too large.

    >>> float(information_bound(torch.tensor([2.0, 2.0]), torch.zeros(3)))
    2.0
    """
    return joint.mean(0) - (product.logsumexp(0) - math.log(len(product)))
