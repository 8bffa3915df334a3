"""Endless batches, each a pure function of the seed and the step."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np

from unbraid.data.dataset import Dataset
from unbraid.data.purpose import Purpose
from unbraid.errors import UsageError
from unbraid.options import Named, check_options
from unbraid.registry import Registry

__all__ = [
    "Batch",
    "IndependentStream",
    "Stream",
    "counter_rng",
    "get_stream",
    "make_stream",
    "register_stream",
    "stream_names",
]

Maker = TypeVar("Maker", bound=Callable[..., Any])


@dataclass(frozen=True)
class Batch:
    """What one training step sees. Fields a stream does not know stay ``None``."""

    images: np.ndarray
    """uint8 ``[n, h, w, c]``, or float32 ``[n, d]``."""
    index: np.ndarray | None = None
    factors: np.ndarray | None = None
    """Of the images, ``[n, K]``."""
    labels: np.ndarray | None = None
    """Classes of the images, int64 ``[n]``."""
    partners: np.ndarray | None = None
    """A second batch: the second image of each pair, or other draws."""
    partner_factors: np.ndarray | None = None
    """Factors of the partners, where a stream knows them."""
    changed: np.ndarray | None = None
    """Which factors differ between an image and its partner, bool ``[n, K]``."""


class Stream(Protocol):
    """Batches for ever. Asking for the same step twice gives the same bytes, in any process."""

    def __call__(self, step: int) -> Batch: ...


def counter_rng(seed: int, step: int, purpose: int = Purpose.STREAM) -> np.random.Generator:
    """The generator that belongs to (seed, step, purpose); no state is carried from step to step.

    Philox is counter based: the step selects a block of 2**64 draws, so neighbouring steps never overlap.

    >>> int(counter_rng(0, 5).integers(100)) == int(counter_rng(0, 5).integers(100))
    True
    """
    for name, value in (("seed", seed), ("step", step)):
        if not 0 <= value < 2**64:
            raise UsageError(f"{name} must lie in 0..2**64 - 1, got {value}")
    key = np.array([seed, purpose], dtype=np.uint64)
    return np.random.Generator(np.random.Philox(key=key, counter=np.array([0, step, 0, 0], dtype=np.uint64)))


_STREAMS: Registry[Callable[..., Stream]] = Registry("kind of stream")


def register_stream(kind: str) -> Callable[[Maker], Maker]:
    """Decorator: make ``maker(dataset, batch_size, seed)`` the stream for objectives that say ``needs = kind``.

    Options of a stream (numbers or words) can follow its name: ``needs = "few-labels:labels=100"`` calls
    ``maker(dataset, batch_size, seed, labels=100)``.
    """

    def keep(maker: Maker) -> Maker:
        _STREAMS.add(kind, maker)
        return maker

    return keep


@register_stream("images")
class IndependentStream:
    """Independent uniform draws from a data set, with factors or labels where it has them."""

    def __init__(self, dataset: Dataset, batch_size: int, seed: int) -> None:
        if batch_size < 1:
            raise UsageError(f"batch_size must be at least 1, got {batch_size}")
        self.dataset, self.batch_size, self.seed = dataset, batch_size, seed

    def __call__(self, step: int) -> Batch:
        rng = counter_rng(self.seed, step)
        index = self.dataset.sample_index(self.batch_size, rng)
        return Batch(
            images=self.dataset.images(index, rng),
            index=index,
            factors=self.dataset.factors(index) if self.dataset.has_factors else None,
            labels=self.dataset.labels(index) if self.dataset.has_labels else None,
        )


def stream_names() -> list[str]:
    """The kinds of stream an objective can ask for."""
    return _STREAMS.names()


def get_stream(kind: str) -> Callable[..., Stream]:
    """What makes the streams of a kind."""
    return _STREAMS[kind]


def make_stream(needs: Named | str, dataset: Dataset, batch_size: int, seed: int) -> Stream:
    """The stream that an objective needs, over a data set: ``make_stream("pairs:protocol=uni", data, 64, seed)``."""
    asked = Named.read(needs)
    name = asked.name
    make = _STREAMS[name]
    options = check_options(f"stream {name!r}", make, dict(asked.options), given=("dataset", "batch_size", "seed"))
    return make(dataset, batch_size, seed, **options)
