"""Noise generators as they were before, so that a classifier does not forget them (Rusak et al., 2020)."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.utils import parameters_to_vector

from unbraid.errors import UsageError
from unbraid.nets.noise import NoiseGenerator

__all__ = ["NoiseGame", "NoiseHistory", "NoiseRestart"]


class NoiseRestart(NamedTuple):
    """What became of a generator that began anew against the classifier of a step."""

    step: int
    loss: float
    """The classifier's loss on the new generator's noise."""
    unreached: float
    """Share of images on which the noise cannot have its full norm."""
    bright: float
    """Mean change of pixels brighter than one half."""
    dark: float
    """Mean change of the other pixels."""

    @property
    def erases(self) -> bool:
        """Whether the noise blots out what is bright instead of disturbing it.

        On a black background a purely negative noise changes strokes alone, and may wipe them out for less than its
        budget: accuracy is then that on blank images.
        """
        return self.unreached > 0.1 and self.bright < -0.5


class NoiseHistory(nn.Module):
    """Weights of up to ``size`` generators of one make, each with its norm; the oldest make room for new ones."""

    snapshots: Tensor
    budgets: Tensor
    taken: Tensor

    def __init__(self, like: NoiseGenerator, size: int) -> None:
        super().__init__()
        if size < 1:
            raise UsageError(f"a history keeps at least 1 generator, got {size}")
        self.shapes = {name: tuple(weights.shape) for name, weights in like.named_parameters()}
        length = sum(math.prod(shape) for shape in self.shapes.values())
        self.register_buffer("snapshots", torch.zeros(size, length))
        self.register_buffer("budgets", torch.zeros(size))
        self.register_buffer("taken", torch.zeros((), dtype=torch.int64))

    def __len__(self) -> int:
        """How many generators there are."""
        return min(int(self.taken), len(self.snapshots))

    def add(self, generator: NoiseGenerator, eps: float) -> None:
        """Keep a generator as it is now."""
        self.add_weights(parameters_to_vector(generator.parameters()).detach(), eps)

    def add_weights(self, weights: Tensor, eps: float) -> None:
        """Keep a generator by its weights in one vector."""
        row = int(self.taken) % len(self.snapshots)
        self.snapshots[row] = weights
        self.budgets[row] = eps
        self.taken += 1

    def draw(self, count: int, noise: torch.Generator) -> list[int]:
        """So many different generators by chance; all there are, in random order, if these are fewer."""
        return torch.randperm(len(self), generator=noise, device=noise.device)[:count].tolist()

    def weights(self, row: int) -> tuple[dict[str, Tensor], float]:
        """The weights of a generator by name, and its norm."""
        parts = self.snapshots[row].split([math.prod(shape) for shape in self.shapes.values()])
        named = zip(self.shapes.items(), parts, strict=True)
        return {name: part.view(shape) for (name, shape), part in named}, float(self.budgets[row])


class NoiseGame(nn.Module):
    """What adversarial noise training carries from step to step: the generator, its past, and a log of restarts."""

    begun: Tensor
    log: Tensor

    def __init__(self, generator: NoiseGenerator, size: int) -> None:
        super().__init__()
        self.generator = generator
        self.history = NoiseHistory(generator, size)
        self.register_buffer("begun", torch.zeros((), dtype=torch.int64))
        self.register_buffer("log", torch.zeros(size, len(NoiseRestart._fields), dtype=torch.float64))

    def record(self, entry: NoiseRestart) -> None:
        """Write a restart down; as many as generators are kept."""
        self.log[int(self.begun) % len(self.log)] = torch.tensor(entry, dtype=torch.float64)
        self.begun += 1

    def restarts(self) -> Sequence[NoiseRestart]:
        """The restarts that are written down, earliest first."""
        count, size = int(self.begun), len(self.log)
        rows = self.log.roll(-(count % size), 0) if count > size else self.log[:count]
        return [NoiseRestart(int(row[0]), *row[1:]) for row in rows.tolist()]
