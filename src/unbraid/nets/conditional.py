"""Encoders that are told something beside the image, and a prior that knows it."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from unbraid.nets.initialise import glorot, seeded
from unbraid.nets.registry import Shape, build_inner

__all__ = ["ConditionalEncoder", "VariancePrior", "conditional_encoder"]


class ConditionalEncoder(nn.Module):
    """A network of an image and a number of 0..values - 1, which is joined to the image's features as one-hot."""

    def __init__(self, features: nn.Module, head: nn.Module, values: int) -> None:
        super().__init__()
        self.features, self.head, self.values = features, head, values

    def forward(self, images: Tensor, u: Tensor) -> Tensor:
        found = self.features(images)
        return self.head(torch.cat([found, F.one_hot(u, self.values).to(found.dtype)], dim=1))


def conditional_encoder(
    net: str,
    shape: Shape,
    latents: int,
    values: int,
    *,
    heads: int,
    features: int,
    generator: torch.Generator | None = None,
) -> ConditionalEncoder:
    """The encoder of a network, told one of ``values``: ``[n, heads * latents]`` of images and numbers ``[n]``.

    With vectors the network sees both side by side. Of images it gives ``features`` numbers, to which the value is
    joined before a hidden layer of as many units.
    """
    with seeded(generator):
        if len(shape) == 1:
            encoder, _ = build_inner(net, (shape[0] + values,), latents, heads=heads)
            return ConditionalEncoder(nn.Identity(), encoder, values)
        encoder, _ = build_inner(net, shape, features, heads=1)
        last = nn.Linear(features, heads * latents)
        head = nn.Sequential(nn.Linear(features + values, features), nn.ReLU(), last)
        glorot(head, heads=heads, last=last)
        return ConditionalEncoder(nn.Sequential(encoder, nn.ReLU()), head, values)


class VariancePrior(nn.Module):
    """Log variances ``[n, latents]`` of a normal prior for each value of 0..values - 1; all 0 unless learned."""

    def __init__(self, values: int, latents: int, *, learned: bool = True) -> None:
        super().__init__()
        start = torch.zeros(values, latents)
        self.log_variances: Tensor
        if learned:
            self.log_variances = nn.Parameter(start)
        else:
            self.register_buffer("log_variances", start)

    def forward(self, u: Tensor) -> Tensor:
        return self.log_variances[u]
