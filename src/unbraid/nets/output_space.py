"""Where codes live: anywhere, in a box of learned sides, or on a sphere of a learned radius."""

from typing import Literal, get_args

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from unbraid.errors import unknown_name

__all__ = ["Box", "InSpace", "OutputSpace", "Sphere", "output_space"]

OutputSpace = Literal["free", "box", "sphere"]


class Box(nn.Module):
    """Numbers between 0 and a learned side in each dimension, by a sigmoid."""

    def __init__(self, latents: int, side: float) -> None:
        super().__init__()
        self.side = nn.Parameter(torch.full((latents,), float(side)))

    def forward(self, codes: Tensor) -> Tensor:
        return self.side * torch.sigmoid(codes)


class Sphere(nn.Module):
    """Directions, of a learned length."""

    def __init__(self, radius: float) -> None:
        super().__init__()
        self.radius = nn.Parameter(torch.tensor(float(radius)))

    def forward(self, codes: Tensor) -> Tensor:
        return self.radius * F.normalize(codes, dim=1)


class InSpace(nn.Module):
    """An encoder and the space that its codes are brought into."""

    def __init__(self, encoder: nn.Module, space: nn.Module) -> None:
        super().__init__()
        self.encoder, self.space = encoder, space

    def forward(self, images: Tensor) -> Tensor:
        return self.space(self.encoder(images).float())


def output_space(name: OutputSpace, latents: int, extent: float) -> nn.Module:
    """A space by name; sides or radius begin at ``extent``."""
    if name not in get_args(OutputSpace):
        raise unknown_name("output space", name, get_args(OutputSpace))
    if name == "free":
        return nn.Identity()
    return Box(latents, extent) if name == "box" else Sphere(extent)
