"""Streams of pairs and of sequences, each batch a pure function of the seed and the step."""

from typing import Protocol as TypingProtocol
from typing import runtime_checkable

import numpy as np

from unbraid.data.dataset import FactorDataset, ImageDataset
from unbraid.data.motion.transitions import Protocol, protocol
from unbraid.data.stream import Batch, counter_rng, register_stream
from unbraid.errors import UsageError

__all__ = ["HasTransitions", "PairStream", "SequenceStream"]

PAIRS = 5
"""Purpose of the counter-based generator."""


@runtime_checkable
class HasTransitions(TypingProtocol):
    """A data set that knows which images follow each other, as :class:`unbraid.data.TrackDataset` does."""

    def pair_images(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]: ...

    def draw_chains(self, n: int, length: int, rng: np.random.Generator) -> np.ndarray: ...


@register_stream("pairs")
class PairStream:
    """Pairs of images, the second one step after the first: ``images`` and ``partners``, ``batch_size`` of each.

    A data set with transitions of its own (tracks of measured objects) uses those. On a plain factor grid ``protocol``
    makes them: ``uni``, ``lap`` or ``lap-nc`` (see :mod:`unbraid.data.motion.transitions`); ``rate`` is that of LAP (0
    draws one for every pair), ``frozen`` names the factors it keeps, joined by ``+``, instead of the categories.
    """

    def __init__(
        self,
        dataset: ImageDataset,
        batch_size: int,
        seed: int,
        *,
        protocol: str = "lap",
        rate: float = 1.0,
        frozen: str | None = None,
    ) -> None:
        if batch_size < 1:
            raise UsageError(f"batch_size must be at least 1, got {batch_size}")
        self.dataset, self.batch_size, self.seed = dataset, batch_size, seed
        self.protocol = None if isinstance(dataset, HasTransitions) else _on_grid(dataset, protocol, rate, frozen)

    def __call__(self, step: int) -> Batch:
        rng = counter_rng(self.seed, step, PAIRS)
        if self.protocol is None:
            assert isinstance(self.dataset, HasTransitions)
            images, partners, index = self.dataset.pair_images(self.batch_size, rng)
            return Batch(images, index=index, factors=self._factors(index), partners=partners)
        first, second = self.protocol.pairs(self.batch_size, rng)
        index = self.protocol.space.index(np.concatenate([first, second]))
        both = self.dataset.images(index, rng)
        return Batch(
            both[: self.batch_size], index=index[: self.batch_size], factors=first, partners=both[self.batch_size :]
        )

    def _factors(self, index: np.ndarray) -> np.ndarray | None:
        return self.dataset.space.factors(index) if isinstance(self.dataset, FactorDataset) else None


@register_stream("sequences")
class SequenceStream(PairStream):
    """Sequences of ``length`` images, cut into pairs of neighbours: a Markov model sees each transition once.

    ``batch_size`` counts pairs and must be a multiple of ``length - 1``; the pairs of one sequence lie together.
    :meth:`frames` gives the sequences whole. Tracks are followed frame by frame, whatever the gap of their pairs.
    """

    def __init__(
        self,
        dataset: ImageDataset,
        batch_size: int,
        seed: int,
        *,
        length: int = 5,
        protocol: str = "lap",
        rate: float = 1.0,
        frozen: str | None = None,
    ) -> None:
        super().__init__(dataset, batch_size, seed, protocol=protocol, rate=rate, frozen=frozen)
        if length < 2 or batch_size % (length - 1):
            raise UsageError(
                f"length must be 2 or more with length - 1 dividing the batch size {batch_size}, got {length}"
            )
        self.length = length

    def frames(self, step: int) -> np.ndarray:
        """The sequences of a step, uint8 ``[sequences, length, h, w, c]``."""
        return self._draw(step)[1]

    def _draw(self, step: int) -> tuple[np.ndarray, np.ndarray]:
        """Positions ``[sequences, length]`` and their images."""
        rng = counter_rng(self.seed, step, PAIRS)
        count = self.batch_size // (self.length - 1)
        if self.protocol is None:
            assert isinstance(self.dataset, HasTransitions)
            index = self.dataset.draw_chains(count, self.length, rng)
        else:
            rows = [self.protocol.space.sample(count, rng)]
            while len(rows) < self.length:
                rows.append(self.protocol.step(rows[-1], rng))
            index = np.stack([self.protocol.space.index(row) for row in rows], axis=1)
        return index, self.dataset.images(index.ravel(), rng).reshape(*index.shape, *self.dataset.shape)

    def __call__(self, step: int) -> Batch:
        index, frames = self._draw(step)
        before, after = (part.reshape(-1, *self.dataset.shape) for part in (frames[:, :-1], frames[:, 1:]))
        first = index[:, :-1].ravel()
        return Batch(before, index=first, factors=self._factors(first), partners=after)


def _on_grid(dataset: ImageDataset, name: str, rate: float, frozen: str | None) -> Protocol:
    if not isinstance(dataset, FactorDataset):
        raise UsageError(
            f"data set {dataset.name!r} has neither transitions nor a factor grid to make them on; "
            "pairs need one with factors, or one of tracks such as 'pedestrians'"
        )
    if name == "uni":
        return protocol(name, dataset.space)
    names = None if frozen is None else frozen.split("+")
    return protocol(name, dataset.space, rate=rate or None, frozen=names)
