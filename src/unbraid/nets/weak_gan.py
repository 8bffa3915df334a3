"""The three networks of the weakly supervised GAN (Shu et al., 2020), for images of any size."""

import math
from itertools import pairwise

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.parametrizations import spectral_norm, weight_norm

from unbraid.errors import UsageError
from unbraid.nets.initialise import seeded
from unbraid.nets.layers import Crop, Pad, channels_of, grid_of
from unbraid.nets.registry import Shape
from unbraid.problem import Problem

__all__ = ["WeakGAN", "WeakGenerator", "WeakPairJudge", "WeakReader"]

SMALLEST = 1e-8
"""Added to scales of codes."""


class WeakGenerator(nn.Sequential):
    """Codes to images in [0, 1]: two linear layers, transposed convolutions, a batch norm after each activation."""

    def __init__(self, shape: Shape, latents: int) -> None:
        widths, (height, width) = channels_of(shape)[::-1], grid_of(shape)
        cells = widths[0] * height * width
        parts: list[nn.Module] = []
        for inputs, outputs in ((latents, 128), (128, cells)):
            parts += [nn.Linear(inputs, outputs), nn.LeakyReLU(0.2), nn.BatchNorm1d(outputs)]
        parts.append(nn.Unflatten(1, (widths[0], height, width)))
        for inputs, outputs in pairwise(widths[:-1]):
            parts += [nn.ConvTranspose2d(inputs, outputs, 4, 2, 1), nn.LeakyReLU(0.2), nn.BatchNorm2d(outputs)]
        super().__init__(*parts, nn.ConvTranspose2d(widths[-2], widths[-1], 4, 2, 1), nn.Sigmoid(), Crop(shape))


def _convs(shape: Shape, breadth: int, outputs: int) -> nn.Sequential:
    """Convolutions that halve the image and a linear layer, all with spectral norm and leaky ReLUs."""
    channels, *widths = channels_of(shape)
    sizes = [channels, *(breadth * width for width in widths)]
    parts: list[nn.Module] = [Pad(shape)]
    for a, b in pairwise(sizes):
        parts += [spectral_norm(nn.Conv2d(a, b, 4, 2, 1)), nn.LeakyReLU(0.2)]
    cells = sizes[-1] * math.prod(grid_of(shape))
    return nn.Sequential(*parts, nn.Flatten(), spectral_norm(nn.Linear(cells, outputs)), nn.LeakyReLU(0.2))


class WeakReader(nn.Module):
    """Images to a normal law of the code that made them: means and scales ``[n, latents]``."""

    def __init__(self, shape: Shape, latents: int) -> None:
        super().__init__()
        self.features = _convs(shape, 1, 128)
        self.heads = spectral_norm(nn.Linear(128, 2 * latents))

    def forward(self, images: Tensor) -> tuple[Tensor, Tensor]:
        mean, scale = self.heads(self.features(images)).float().chunk(2, dim=1)
        return mean, F.softplus(scale) + SMALLEST


class WeakPairJudge(nn.Module):
    """Logit ``[n]`` that two images are a true pair of a condition: w'h + e(condition)'h of features h of both."""

    def __init__(self, shape: Shape, conditions: int, breadth: int) -> None:
        super().__init__()
        self.features = _convs(shape, breadth, 128 * breadth)
        self.joint = nn.Sequential(
            spectral_norm(nn.Linear(256 * breadth, 256)),
            nn.LeakyReLU(0.2),
            spectral_norm(nn.Linear(256, 256)),
            nn.LeakyReLU(0.2),
        )
        self.out = spectral_norm(nn.Linear(256, 1, bias=False))
        self.conditions = weight_norm(nn.Linear(conditions, 256, bias=False))

    def forward(self, first: Tensor, second: Tensor, condition: Tensor) -> Tensor:
        both = self.features(torch.cat([first, second])).chunk(2)
        h = self.joint(torch.cat(both, dim=1))
        hot = F.one_hot(condition, self.conditions.in_features).to(h.dtype)
        return (self.out(h)[:, 0] + (self.conditions(hot) * h).sum(1)).float()


class WeakGAN(nn.Module):
    """Generator, encoder and discriminator, and the problem they were made for."""

    def __init__(
        self,
        problem: Problem,
        *,
        latents: int,
        conditions: int,
        breadth: int,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        if len(problem.shape) != 3:
            raise UsageError(f"ws-gan draws images (height, width, channels); these data have shape {problem.shape}")
        self.problem = problem
        with seeded(generator):
            self.generator = WeakGenerator(problem.shape, latents)
            self.encoder = WeakReader(problem.shape, latents)
            self.discriminator = WeakPairJudge(problem.shape, conditions, breadth)
