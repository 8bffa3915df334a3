"""What a split costs: making one of 1,036,800 cells, and drawing a batch of 64 inside it, beside a training step.

    python benchmarks/generalization.py

Times are CPU seconds of one thread, the best of five rounds. The step is that of the regressor's CNN on 64x64x3 images.
"""

import time
import tracemalloc
from collections.abc import Callable

import numpy as np

from unbraid import data

KINDS = ("random", "composition", "interpolation", "extrapolation")


class Blank(data.FactorDataset):
    """A grid as large as that of MPI3D, without images: what is measured is the split alone."""

    name, shape = "blank", (1, 1, 1)
    space = data.FactorSpace(tuple("abcdefg"), (6, 6, 2, 3, 3, 40, 40), ("ordinal",) * 7)

    def images(self, index: np.ndarray, rng: np.random.Generator | None = None) -> np.ndarray:
        return np.zeros((len(index), 1, 1, 1), np.uint8)


def best(act: Callable[[int], object], rounds: int, count: int) -> float:
    """CPU seconds of one act."""
    found = []
    for _ in range(rounds):
        start = time.process_time()
        for k in range(count):
            act(k)
        found.append((time.process_time() - start) / count)
    return min(found)


def step() -> float:
    """CPU seconds of a training step of a plain CNN."""
    import torch
    from torch import nn

    torch.set_num_threads(1)
    sizes = ((3, 32), (32, 32), (32, 64), (64, 64))
    layers = [layer for a, b in sizes for layer in (nn.Conv2d(a, b, 4, 2, 1), nn.ReLU())]
    net = nn.Sequential(*layers, nn.Conv2d(64, 256, 4), nn.ReLU(), nn.Flatten(), nn.Linear(256, 7))
    optimizer = torch.optim.Adam(net.parameters())
    images, targets = torch.rand(64, 3, 64, 64), torch.rand(64, 7)

    def act(_: int) -> None:
        optimizer.zero_grad()
        (net(images) - targets).square().sum(1).mean().backward()
        optimizer.step()

    return best(act, 5, 4)


def main() -> None:
    """Print a table."""
    whole = step()
    print(f"a step: {whole * 1e3:.1f} ms\n\nsplit           make     batch of 64   of a step   memory")
    for kind in KINDS:
        made = best(lambda _, kind=kind: data.split(Blank(), kind).train, 5, 5)  # type: ignore[misc]
        train = data.split(Blank(), kind).train
        tracemalloc.start()
        train.to_base(train.sample_index(64, data.counter_rng(0, 0)))
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        drawn = best(lambda k, train=train: train.to_base(train.sample_index(64, data.counter_rng(0, k))), 5, 50)  # type: ignore[misc]
        print(f"{kind:14} {made * 1e3:5.2f} ms {drawn * 1e6:9.0f} us {drawn / whole:11.2%} {peak / 1e3:6.0f} kB")


if __name__ == "__main__":
    main()
