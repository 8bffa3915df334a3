"""Codes of a few values for each latent: nearest entries of learned codebooks, or a fixed grid."""

import torch
from torch import Tensor, nn

from unbraid.errors import UsageError

__all__ = ["CodeNorm", "Codebooks", "distinct_values", "on_grid", "straight_through"]


class Codebooks(nn.Module):
    """One codebook of scalars for each latent, at first evenly spread over [-1/2, 1/2] (Hsu et al., 2023)."""

    def __init__(self, latents: int, values: int) -> None:
        super().__init__()
        _check(values)
        self.values = nn.Parameter(torch.linspace(-0.5, 0.5, values).repeat(latents, 1))  # [latents, values]

    def forward(self, codes: Tensor) -> tuple[Tensor, Tensor]:
        """The nearest value of every latent ``[n, latents]``, through which only codebooks learn, and its number."""
        chosen = (codes.detach()[:, :, None] - self.values.detach()).abs().argmin(2)  # [n, latents]
        return self.values.expand(len(codes), -1, -1).gather(2, chosen[:, :, None])[:, :, 0], chosen


class CodeNorm(nn.BatchNorm1d):
    """Codes centred and scaled by the moments of the batch, in evaluation mode by their running averages."""

    def forward(self, codes: Tensor) -> Tensor:
        if self.training and len(codes) < 2:
            raise UsageError("codes cannot be normalised over single images; batch_size must be at least 2, got 1")
        return super().forward(codes)


def on_grid(codes: Tensor, values: int) -> tuple[Tensor, Tensor]:
    """The nearest of evenly spaced values from -1 to 1 of codes that lie there, and its number (Mentzer et al., 2024).

    >>> on_grid(torch.tensor([[-1.0, 0.1, 1.0]]), 3)
    (tensor([[-1.,  0.,  1.]]), tensor([[0, 1, 2]]))
    """
    _check(values)
    chosen = ((codes.detach() + 1) / 2 * (values - 1)).round()
    return 2 * chosen / (values - 1) - 1, chosen.long()


def straight_through(codes: Tensor, values: Tensor) -> Tensor:
    """The values, through which gradients pass as if they were the codes."""
    return codes + (values - codes).detach()


def distinct_values(chosen: Tensor, values: int) -> Tensor:
    """How many values of each latent are among the numbers ``[n, latents]`` of those chosen: ``[latents]``."""
    return torch.nn.functional.one_hot(chosen, values).amax(0).sum(1)


def _check(values: int) -> None:
    if values < 2:
        raise UsageError(f"values must be at least 2 for each latent, got {values}")
