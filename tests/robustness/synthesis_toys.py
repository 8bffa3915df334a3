"""Analysis by synthesis with linear decoders, whose lowest energies are known."""

import torch
from torch import nn

from unbraid.nets import Search, explain
from unbraid.robustness.synthesis import Generators


class LinearGenerators(Generators):
    """Decoders ``W_c z + b_c`` in place of trained ones."""

    def __init__(self, classes=3, latents=2, seed=0):
        noise = torch.Generator().manual_seed(seed)
        self.weights = 0.15 * torch.randn(classes, 9, latents, generator=noise)
        self.shifts = torch.rand(classes, 9, generator=noise)
        self.classes, self.latents, self.device, self.model = classes, latents, torch.device("cpu"), nn.Linear(1, 1)
        self.search = Search(samples=300, iterations=80, rate=0.1)

    def decode(self, codes):
        return (torch.einsum("cpl,ncl->ncp", self.weights, codes) + self.shifts).view(-1, self.classes, 1, 3, 3)

    def energies(self, flat):
        """Exactly the lowest energies: z = (W'W + I / 2)^-1 W'(x - b)."""
        apart = flat[:, None] - self.shifts
        inner = torch.einsum("cpl,cpm->clm", self.weights, self.weights) + 0.5 * torch.eye(self.latents)
        codes = torch.linalg.solve(inner, torch.einsum("cpl,ncp->ncl", self.weights, apart)[..., None])[..., 0]
        left = apart - torch.einsum("cpl,ncl->ncp", self.weights, codes)
        return left.square().sum(-1) + 0.5 * codes.square().sum(-1)


class LinearSynthesis(nn.Module):
    """Analysis by synthesis with linear generators, two unless given, as attacks see it."""

    def __init__(self, made=None):
        super().__init__()
        self.made = made or LinearGenerators(classes=2, seed=3)

    def infer(self, images):
        return explain(self.made.decode, images, self.made.known, self.made.search)

    def forward(self, images):
        return -self.infer(images).energy
