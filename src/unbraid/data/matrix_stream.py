"""Batches of matrices to reason about, made of the images, or the codes, of a grid of factors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from unbraid.data.dataset import Card, Dataset, FactorDataset, Index
from unbraid.data.matrices import ANSWERS, CONTEXT, Matrices, Mode, Rules, quantised_sizes
from unbraid.data.purpose import Purpose
from unbraid.data.space import FactorSpace, Kind, check_index
from unbraid.data.stream import Batch, counter_rng, register_stream
from unbraid.errors import UsageError

__all__ = ["Cells", "MatrixStream"]


class Cells(FactorDataset):
    """Every cell of a grid of factors as a vector, such as its code: float32 ``[cells, d]``, last factor fastest."""

    def __init__(self, codes: np.ndarray, sizes: Sequence[int], name: str = "cells") -> None:
        names = tuple(f"factor{k}" for k in range(len(sizes)))
        kind: Kind = "ordinal"
        self.space = FactorSpace(names, tuple(sizes), (kind,) * len(sizes))
        codes = np.ascontiguousarray(codes, dtype=np.float32)
        if codes.ndim != 2 or len(codes) != len(self.space):
            raise UsageError(f"codes must be [{len(self.space)}, d], one per cell of {list(sizes)}, got {codes.shape}")
        self.codes, self.shape, self.name, self.card = codes, (codes.shape[1],), name, Card(name)

    def images(self, index: Index, rng: np.random.Generator | None = None) -> np.ndarray:
        return self.codes[check_index(index, len(self))]


@register_stream("matrices")
class MatrixStream:
    """Matrices of :class:`~unbraid.data.matrices.Rules`: their 14 panels below each other are one image (or vector).

    The eight panels that are shown come first, then six answers; ``labels`` of a batch say which is right. Of every
    factor ``values`` are used (by default :func:`~unbraid.data.matrices.quantised_sizes`): value q of n is value
    floor(q size / n) of the data.
    """

    def __init__(
        self,
        dataset: Dataset,
        batch_size: int,
        seed: int,
        *,
        mode: Mode = "fair",
        active: int = 0,
        values: int | Sequence[int] | None = None,
    ) -> None:
        if batch_size < 1:
            raise UsageError(f"batch_size must be at least 1, got {batch_size}")
        self.space = dataset.need_space("matrices to reason about")
        sizes = self.space.sizes
        used = quantised_sizes(sizes) if not values else (values,) if isinstance(values, int) else tuple(values)
        if len(used) != len(sizes) or any(not 1 <= n <= size for n, size in zip(used, sizes, strict=False)):
            raise UsageError(
                f"values must say for each of {', '.join(self.space.names)} how many of its {list(sizes)} values are "
                f"used, got {list(used)}"
            )
        self.dataset, self.batch_size, self.seed = dataset, batch_size, seed
        self.rules = Rules(used, mode, active)

    def matrices(self, step: int) -> Matrices:
        """What the batch of a step shows."""
        return self.rules.draw(self.batch_size, counter_rng(self.seed, step, Purpose.MATRICES))

    def index(self, cells: np.ndarray) -> np.ndarray:
        """Positions in the data set of cells ``[..., K]``."""
        factors = cells * np.array(self.space.sizes) // np.array(self.rules.sizes)
        return self.space.index(factors.reshape(-1, factors.shape[-1])).reshape(factors.shape[:-1])

    def __call__(self, step: int) -> Batch:
        drawn = self.matrices(step)
        index = self.index(drawn.panels)  # [n, 14]
        panels = self.dataset.images(index.ravel(), counter_rng(self.seed, step))
        tall = panels.reshape(self.batch_size, (CONTEXT + ANSWERS) * panels.shape[1], *panels.shape[2:])
        return Batch(images=tall, labels=drawn.solution)
