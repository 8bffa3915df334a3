"""How likely two feature vectors belong together, feature by feature."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

__all__ = ["PairClassifier", "PairComparison"]


class PairComparison(nn.Module):
    """Logit that h(x_t) and h(x_{t-1}) are neighbours, as if features moved on their own (Hyvärinen & Morioka, 2017).

    -sum |w1 present + w2 past + b| + sum a present^2 + sum a' past^2 + c, with a and a' positive: the logarithm of the
    ratio of a Laplace transition to a normal marginal has this form.
    """

    def __init__(self, latents: int) -> None:
        super().__init__()
        self.present = nn.Parameter(torch.ones(latents))
        self.past = nn.Parameter(-torch.ones(latents))
        self.shift = nn.Parameter(torch.zeros(latents))
        self.squares = nn.Parameter(torch.full((2, latents), -2.0))
        """Before softplus, which keeps them positive."""
        self.constant = nn.Parameter(torch.zeros(()))

    def forward(self, present: Tensor, past: Tensor) -> Tensor:
        distance = (self.present * present + self.past * past + self.shift).abs().sum(1)
        first, second = F.softplus(self.squares)
        return present.square() @ first + past.square() @ second - distance + self.constant


class PairClassifier(nn.Module):
    """An encoder and the comparison of two of its codes."""

    def __init__(self, encoder: nn.Module, comparison: PairComparison) -> None:
        super().__init__()
        self.encoder, self.comparison = encoder, comparison
