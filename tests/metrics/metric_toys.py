"""Codes and data sets whose scores are known beforehand."""

from collections.abc import Sequence

import numpy as np

from unbraid.data import FactorDataset, FactorSpace

DSPRITES = (3, 6, 40, 32, 32)


def grid(*sizes: int) -> np.ndarray:
    """Every combination of factor values once."""
    return np.indices(sizes).reshape(len(sizes), -1).T


def draws(sizes: Sequence[int], n: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, sizes, size=(n, len(sizes)))


def rotation(degrees: float) -> np.ndarray:
    angle = np.deg2rad(degrees)
    return np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])


class FactorPixels(FactorDataset):
    """Images of one pixel whose channels are the factor values, so that an encoder may be any formula of them."""

    def __init__(self, sizes: Sequence[int], *, noisy: bool = False) -> None:
        names = tuple(f"f{i}" for i in range(len(sizes)))
        self.space = FactorSpace(names, tuple(sizes), ("ordinal",) * len(sizes))
        self.shape = (1, 1, len(sizes))
        self.noisy = noisy
        self.served = 0

    @property
    def stochastic(self) -> bool:
        return self.noisy

    def images(self, index, rng=None):
        self.served += len(index)
        pixels = self.space.factors(index)
        if self.noisy:
            pixels = pixels * 8 + rng.integers(0, 8, size=pixels.shape)
        return pixels.astype(np.uint8).reshape(-1, *self.shape)


def identity(images: np.ndarray) -> np.ndarray:
    """The encoder that reads the factors off the pixels, on a scale between 0 and 1 or so."""
    return images.reshape(len(images), -1) / 4.0
