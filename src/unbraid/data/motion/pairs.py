"""Streams of pairs and of sequences, each batch a pure function of the seed and the step."""

from typing import Any

import numpy as np

from unbraid.data.accepted import accepted
from unbraid.data.dataset import Dataset
from unbraid.data.motion.transitions import PROTOCOLS, Protocol, protocol
from unbraid.data.purpose import Purpose
from unbraid.data.stream import Batch, counter_rng, register_stream
from unbraid.errors import UsageError

__all__ = ["PairStream", "SequenceStream"]


TRIAL = 32
"""How many pairs a stream must find in a part before it is taken."""


@register_stream("pairs")
class PairStream:
    """Pairs of images, the second one step after the first: ``images`` and ``partners``, ``batch_size`` of each.

    A data set with transitions of its own (tracks of measured objects) uses those. On a plain factor grid ``protocol``
    makes them: ``uni``, ``loc``, ``lap`` or ``lap-nc`` (see :mod:`unbraid.data.motion.transitions`); ``changes`` is the
    number of factors that UNI changes (0 draws it for every pair), ``rate`` is that of LAP (0 draws one for every
    pair), ``frozen`` names the factors it keeps, joined by ``+``, instead of the categories. In a part of either, pairs
    are those of the whole whose two images both lie in the part.
    """

    def __init__(
        self,
        dataset: Dataset,
        batch_size: int,
        seed: int,
        *,
        protocol: str = "lap",
        rate: float = 1.0,
        frozen: str | None = None,
        changes: int = 0,
    ) -> None:
        if batch_size < 1:
            raise UsageError(f"batch_size must be at least 1, got {batch_size}")
        self.dataset, self.batch_size, self.seed = dataset, batch_size, seed
        self.protocol = None if dataset.has_transitions else _on_grid(dataset, protocol, rate, frozen, changes)
        if dataset.space is None:
            self._positions(TRIAL, counter_rng(seed, 0, Purpose.PAIRS))  # a part may hold no pairs: say so at once

    def __call__(self, step: int) -> Batch:
        rng = counter_rng(self.seed, step, Purpose.PAIRS)
        index, second = self._positions(self.batch_size, rng)
        images, partners = self.dataset.pairs_at(index, second, rng)
        factors, other = self._factors(index), self._factors(second)
        changed = None if factors is None or other is None else factors != other
        return Batch(images, index=index, factors=factors, partners=partners, changed=changed)

    def _positions(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        if self.protocol is None:
            return self.dataset.draw_pairs(n, rng)
        first, second = _walks(self.dataset, self.protocol, n, 2, rng).T
        return first, second

    def _factors(self, index: np.ndarray) -> np.ndarray | None:
        return self.dataset.factors(index) if self.dataset.has_factors else None


@register_stream("sequences")
class SequenceStream(PairStream):
    """Sequences of ``length`` images, cut into pairs of neighbours: a Markov model sees each transition once.

    ``batch_size`` counts pairs and must be a multiple of ``length - 1``; the pairs of one sequence lie together.
    :meth:`frames` gives the sequences whole. Tracks are followed frame by frame, whatever the gap of their pairs.
    """

    def __init__(
        self,
        dataset: Dataset,
        batch_size: int,
        seed: int,
        *,
        length: int = 5,
        protocol: str = "lap",
        rate: float = 1.0,
        frozen: str | None = None,
        changes: int = 0,
    ) -> None:
        super().__init__(dataset, batch_size, seed, protocol=protocol, rate=rate, frozen=frozen, changes=changes)
        if length < 2 or batch_size % (length - 1):
            raise UsageError(
                f"length must be 2 or more with length - 1 dividing the batch size {batch_size}, got {length}"
            )
        self.length = length
        if dataset.space is None:
            self._chains(TRIAL, counter_rng(seed, 0, Purpose.PAIRS))  # it may hold pairs, but none so long

    def frames(self, step: int) -> np.ndarray:
        """The sequences of a step, uint8 ``[sequences, length, h, w, c]``."""
        return self._draw(step)[1]

    def _draw(self, step: int) -> tuple[np.ndarray, np.ndarray]:
        """Positions ``[sequences, length]`` and their images."""
        rng = counter_rng(self.seed, step, Purpose.PAIRS)
        index = self._chains(self.batch_size // (self.length - 1), rng)
        return index, self.dataset.images(index.ravel(), rng).reshape(*index.shape, *self.dataset.shape)

    def _chains(self, n: int, rng: np.random.Generator) -> np.ndarray:
        if self.protocol is None:
            return self.dataset.draw_chains(n, self.length, rng)
        return _walks(self.dataset, self.protocol, n, self.length, rng)

    def __call__(self, step: int) -> Batch:
        index, frames = self._draw(step)
        before, after = (part.reshape(-1, *self.dataset.shape) for part in (frames[:, :-1], frames[:, 1:]))
        first = index[:, :-1].ravel()
        return Batch(before, index=first, factors=self._factors(first), partners=after)


def _walks(dataset: Dataset, law: Protocol, n: int, length: int, rng: np.random.Generator) -> np.ndarray:
    """Positions ``[n, length]``, the first uniform and each other a step of the law after the one before.

    In a part of a grid these are the walks on the whole grid that never leave the part.
    """
    if dataset.space is not None and dataset.uniform:
        rows = [law.space.sample(n, rng)]
        while len(rows) < length:
            rows.append(law.step(rows[-1], rng))
        return np.stack([law.space.index(row) for row in rows], axis=1)

    def propose(count: int) -> np.ndarray:
        walks = np.full((count, length), -1)
        walks[:, 0] = dataset.sample_index(count, rng)
        inside = np.arange(count)
        for step in range(1, length):
            walks[inside, step] = dataset.follow(law, walks[inside, step - 1], rng)
            inside = inside[walks[inside, step] >= 0]
        return walks

    return accepted(propose, n, dataset.name)


def _on_grid(dataset: Dataset, name: str, rate: float, frozen: str | None, changes: int) -> Protocol:
    if dataset.grid is None:
        raise UsageError(
            f"data set {dataset.name!r} has neither transitions nor a factor grid to make them on; "
            "pairs need one with factors, or one of tracks such as 'pedestrians'"
        )
    options: dict[str, Any] = {"changes": changes or None} if name == "uni" else {}
    if name.startswith("lap"):
        options = {"rate": rate or None, "frozen": None if frozen is None else frozen.split("+")}
    told = {"changes": changes != 0, "rate": rate != 1.0, "frozen": frozen is not None}
    foreign = [option for option, given in told.items() if given and option not in options]
    if foreign and name in PROTOCOLS:
        raise UsageError(f"protocol {name!r} of pairs has no option {', '.join(foreign)}")
    return protocol(name, dataset.grid, **options)
