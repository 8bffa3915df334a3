"""Classifiers whose nearest adversarial images can be computed, in double precision so that nothing is rounded away."""

from types import SimpleNamespace

import torch
from torch import nn
from torch.nn import functional as F

SHAPE = (1, 4, 4)


def grey(count=6, spread=0.1, *, rng):
    return torch.from_numpy(0.5 + spread * rng.uniform(-1, 1, (count, *SHAPE)))


class Prototypes(nn.Module):
    """Names the nearest of a few images: between each two of them the boundary is a plane. It draws them, too."""

    def __init__(self, prototypes):
        super().__init__()
        self.prototypes = nn.Parameter(prototypes)

    def forward(self, images):
        return -((images[:, None] - self.prototypes) ** 2).flatten(2).sum(2)

    def infer(self, images):
        return SimpleNamespace(reconstruction=self.prototypes.expand(len(images), *self.prototypes.shape))

    def planes(self, images, labels):
        """Normals ``[n, k, ...]`` towards the other classes, and by how much w . x falls short of each plane."""
        normals, lacks = [], []
        for image, label in zip(images, labels, strict=True):
            own, others = self.prototypes[label], torch.cat([self.prototypes[:label], self.prototypes[label + 1 :]])
            # |x - p|^2 < |x - q|^2  <=>  2 (q - p) . x < |q|^2 - |p|^2
            normal = 2 * (others - own)
            lack = (others**2).flatten(1).sum(1) - (own**2).sum() - (normal * image).flatten(1).sum(1)
            normals.append(normal), lacks.append(lack)
        return torch.stack(normals).detach(), torch.stack(lacks).detach()

    def distance(self, images, labels, norm):
        """To the nearest plane, for images that are far from the bounds: what w . x lacks over the dual norm of w."""
        normals, lacks = self.planes(images, labels)
        flat = normals.flatten(2)
        if norm == "l0":
            # The most that one pixel can give is w (1 - x) or -w x, and the pixels that give most are taken first.
            x = images.flatten(1)[:, None]
            gains = torch.maximum(flat * (1 - x), -flat * x).sort(2, descending=True).values.cumsum(2)
            return ((gains < lacks[..., None]).sum(2) + 1).amin(1).double()
        size = flat.norm(dim=2) if norm == "l2" else flat.abs().sum(2)
        return (lacks / size).amin(1)


class Ball(nn.Module):
    """Names class 0 within a distance of grey, and class 1 beyond: a quadratic boundary."""

    radius = 0.45  # less than 0.5: no point of it is outside [0, 1]

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones((), dtype=torch.float64))

    def forward(self, images):
        away = ((images - 0.5) ** 2).flatten(1).sum(1) - self.radius**2
        return self.weight * torch.stack([-away, away], 1)

    def infer(self, images):
        drawn = torch.stack([torch.full_like(images, 0.5), torch.ones_like(images)], 1)
        return SimpleNamespace(reconstruction=drawn)

    def distance(self, images, norm):
        away = (images - 0.5).flatten(1)
        if norm == "l2":  # straight away from the centre
            return self.radius - away.norm(dim=1)
        if norm == "l0":  # a pixel at its bound is 0.5 away from grey, and 0.5 > 0.45
            return torch.ones(len(images), dtype=torch.float64)
        # Every |v_i| grows by t: 16 t^2 + 2 t sum |v_i| + |v|^2 = r^2.
        a, b, c = away.shape[1], 2 * away.abs().sum(1), (away**2).sum(1) - self.radius**2
        return (-b + (b**2 - 4 * a * c).sqrt()) / (2 * a)


class Constant(nn.Module):
    """Names class 1 of anything."""

    def forward(self, images):
        return torch.tensor([[0.0, 1.0, 0.0]], dtype=torch.float64).expand(len(images), 3)

    def infer(self, images):
        return SimpleNamespace(reconstruction=torch.zeros(len(images), 3, *images.shape[1:], dtype=images.dtype))


class AtLeast(nn.Module):
    """Names class 1 of images with at least k bright pixels."""

    def __init__(self, k):
        super().__init__()
        self.k = k

    def forward(self, images):
        bright = (images >= 0.5).flatten(1).sum(1)
        return F.one_hot((bright >= self.k).long(), 2).double()


def prototypes(classes=2, spread=0.25, *, rng):
    return Prototypes(grey(classes, spread, rng=rng))
