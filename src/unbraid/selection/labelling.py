"""Surrogate labels: what the active latents of a model say about every image (Estermann, Marks & Yanik, 2020)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from unbraid.data import ImageDataset, counter_rng
from unbraid.errors import UsageError

__all__ = ["Describes", "Labels", "active_latents", "encode_dataset", "label_dataset"]


class Describes(Protocol):
    """A trained model, as :class:`unbraid.training.Run` offers it."""

    def describe(self, images: np.ndarray) -> dict[str, np.ndarray]:
        """At least ``mean`` and ``kl_per_latent``, both ``[n, d]``, of uint8 images ``[n, h, w, c]``."""


@dataclass(frozen=True)
class Labels:
    """The encodings of a data set by the active latents of one model."""

    values: np.ndarray
    """Mean codes in the active latents, ``[n, a]``."""
    active: tuple[int, ...]
    """Which latents of the model these are."""
    kl: np.ndarray
    """Mean KL to the prior of every latent of the model in nats, ``[d]``."""


def active_latents(kl: ArrayLike, threshold: float = 1.0) -> tuple[int, ...]:
    """The latents whose mean KL to the prior exceeds ``threshold`` nats.

    >>> active_latents([2.0, 0.3, 1.1, 0.0])
    (0, 2)
    """
    array = np.asarray(kl, dtype=np.float64)
    if array.ndim != 1:
        raise UsageError(f"kl must hold one number per latent, got shape {array.shape}")
    return tuple(int(latent) for latent in np.flatnonzero(array > threshold))


def label_dataset(
    model: Describes, data: ImageDataset, *, kl_threshold: float = 1.0, batch_size: int = 1024
) -> Labels | None:
    """Encode every image of a data set in order and keep the active latents; ``None`` if there are none.

    The KL is the exact one of the model's posterior to the prior, averaged over all images of the set.
    """
    means, kl = encode_dataset(model, data, batch_size=batch_size)
    active = active_latents(kl, kl_threshold)
    return Labels(means[:, active], active, kl) if active else None


def encode_dataset(model: Describes, data: ImageDataset, *, batch_size: int = 1024) -> tuple[np.ndarray, np.ndarray]:
    """Mean codes ``[n, d]`` of all images in order, and the mean KL of every latent ``[d]`` in nats."""
    means, divergences = [], []
    for start in range(0, len(data), batch_size):
        index = np.arange(start, min(start + batch_size, len(data)))
        found = model.describe(data.images(index, counter_rng(0, start)))
        if not {"mean", "kl_per_latent"} <= found.keys():
            raise UsageError(f"{model!r} has no Gaussian posterior: surrogate labels need a VAE")
        means.append(found["mean"].astype(np.float32))
        divergences.append(found["kl_per_latent"].sum(axis=0, dtype=np.float64))
    return np.concatenate(means), np.sum(divergences, axis=0) / len(data)
