"""Measurements of objects over time, frame after frame, and data sets whose images lie on such tracks."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from unbraid.data.dataset import Dataset
from unbraid.errors import UsageError

__all__ = ["TrackDataset", "Tracks", "ranks"]


@dataclass(frozen=True)
class Tracks:
    """Rows of measured values, one per frame; the frames of a track follow each other.

    >>> tracks = Tracks(np.array([[0.0], [1.0], [5.0], [5.0], [7.0]]), ("x",), np.array([2, 3]))
    >>> tracks.increments()
    array([[1.],
           [0.],
           [2.]])
    """

    values: np.ndarray
    """``[frames, K]``."""
    names: tuple[str, ...]
    lengths: np.ndarray
    """Frames of each track, at least 2; their sum is the number of frames."""

    def __post_init__(self) -> None:
        if self.values.ndim != 2 or self.values.shape[1] != len(self.names):
            raise UsageError(f"values must be [frames, {len(self.names)}], got {self.values.shape}")
        if len(self.lengths) == 0 or self.lengths.min() < 2 or self.lengths.sum() != len(self.values):
            raise UsageError(
                f"lengths must be 2 or more each and add up to the {len(self.values)} frames, got "
                f"{len(self.lengths)} tracks with {self.lengths.sum()} frames"
            )

    def __len__(self) -> int:
        """The number of frames."""
        return len(self.values)

    @classmethod
    def linked(cls, values: np.ndarray, names: tuple[str, ...], links: np.ndarray) -> tuple["Tracks", np.ndarray]:
        """Tracks of the frames joined by ``links`` (bool ``[frames - 1]``: does frame i go on in i + 1?).

        Frames that are joined to no other are dropped; the positions of those that stay come second.
        """
        number = np.concatenate([[0], np.cumsum(~links)])
        lengths = np.bincount(number)
        kept = np.flatnonzero(lengths[number] > 1)
        if not len(kept):
            raise UsageError("no two frames follow each other, so there are no tracks")
        return cls(values[kept], names, lengths[lengths > 1]), kept

    @cached_property
    def last(self) -> np.ndarray:
        """For every frame the position of the last one of its track."""
        return np.repeat(np.cumsum(self.lengths) - 1, self.lengths)

    @cached_property
    def starts(self) -> np.ndarray:
        """All frames but the last ones: where a pair can begin."""
        return np.flatnonzero(self._ahead)

    @cached_property
    def _ahead(self) -> np.ndarray:
        """For every frame how many follow it in its track."""
        return self.last - np.arange(len(self))

    def draw_pairs(self, n: int, rng: np.random.Generator, max_gap: int = 1) -> tuple[np.ndarray, np.ndarray]:
        """Positions of ``n`` pairs: the first uniform, the second 1..max_gap frames on, no further than its track."""
        first = self.starts[rng.integers(len(self.starts), size=n)]
        return first, self.onward(first, rng, max_gap)

    def onward(self, first: np.ndarray, rng: np.random.Generator, max_gap: int = 1) -> np.ndarray:
        """For each position one that lies 1..max_gap frames on, or the last of its track."""
        if max_gap < 1:
            raise UsageError(f"max_gap must be at least 1 frame, got {max_gap}")
        gap = rng.integers(1, max_gap + 1, size=len(first)) if max_gap > 1 else 1
        return np.minimum(first + gap, self.last[first])

    def draw_chains(self, n: int, length: int, rng: np.random.Generator) -> np.ndarray:
        """Positions ``[n, length]`` of frames that follow each other."""
        if length < 2:
            raise UsageError(f"length must be at least 2 frames, got {length}")
        starts = np.flatnonzero(self._ahead >= length - 1)
        if not len(starts):
            raise UsageError(f"no track has {length} frames; the longest has {self.lengths.max()}")
        return starts[rng.integers(len(starts), size=n)][:, None] + np.arange(length)

    def increments(self, max_gap: int = 1, rng: np.random.Generator | None = None) -> np.ndarray:
        """One increment ``[pairs, K]`` from every frame that can begin a pair, 1..max_gap frames on."""
        second = self.onward(self.starts, rng or np.random.default_rng(0), max_gap)
        return self.values[second] - self.values[self.starts]

    def within(self, name: str, tail: float) -> "Tracks":
        """Only pairs of neighbours whose value of ``name`` lies between its ``tail`` quantiles in both frames.

        Quantiles are those of the first and of the second frames, as published. A dropped pair ends its track.
        """
        values = self.values[:, self.names.index(name)]
        keep = np.ones(len(self.starts), dtype=bool)
        for column in (values[self.starts], values[self.starts + 1]):
            low, high = np.quantile(column, [tail, 1 - tail])
            keep &= (column >= low) & (column <= high)
        links = np.zeros(len(self) - 1, dtype=bool)
        links[self.starts[keep]] = True
        return Tracks.linked(self.values, self.names, links)[0]

    def permuted(self, rng: np.random.Generator) -> "Tracks":
        """All pairs of neighbours, each factor's taken from another pair: transitions stay, dependence goes.

        Each pair is a track of its own.
        """
        pairs = np.stack([self.values[self.starts], self.values[self.starts + 1]], axis=1)  # [pairs, 2, K]
        for k in range(pairs.shape[2]):
            pairs[:, :, k] = pairs[rng.permutation(len(pairs)), :, k]
        return Tracks(pairs.reshape(-1, pairs.shape[2]), self.names, np.full(len(pairs), 2))


class TrackDataset(Dataset):
    """Images of objects over time with measured, continuous factors: transitions come from the data, not a protocol.

    Scores that need a grid do not apply; compare codes with ``factors(index)`` by rank correlation:
    ``metrics.mcc(codes, ranks(factors))``.
    """

    tracks: Tracks
    factor_names: tuple[str, ...]
    factor_sizes = None
    has_transitions = True
    max_gap: int = 1

    @abstractmethod
    def factors(self, index: np.ndarray | Sequence[int]) -> np.ndarray:
        """Measured factors ``[n, K]`` of the images at these positions."""

    @property
    def longest_chain(self) -> int:
        return int(self.tracks.lengths.max())

    def draw_pairs(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        return self.tracks.draw_pairs(n, rng, self.max_gap)

    def draw_chains(self, n: int, length: int, rng: np.random.Generator) -> np.ndarray:
        return self.tracks.draw_chains(n, length, rng)


def ranks(factors: np.ndarray) -> np.ndarray:
    """Measured factors ``[n, K]`` as integers that keep their order, the form scores by rank take.

    >>> ranks(np.array([[2.5, 7.0], [0.1, 7.0], [9.9, 3.0]])).tolist()
    [[1, 1], [0, 1], [2, 0]]
    """
    return np.stack([np.unique(column, return_inverse=True)[1].reshape(-1) for column in factors.T], axis=1)
