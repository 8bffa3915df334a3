"""How much noise of the worst kind it takes: generators are trained against a finished classifier."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from html import escape
from typing import Any

import numpy as np
import torch

from unbraid.data import Purpose, counter_rng
from unbraid.errors import UsageError
from unbraid.nets import NoiseGenerator
from unbraid.objectives import matching_eps, train_generator
from unbraid.robustness.attacks import Classifier, float_images
from unbraid.robustness.noise import NoiseDistance, noise_distance

__all__ = ["LearnedNoise", "learned_noise_distance"]


@dataclass(frozen=True)
class LearnedNoise:
    """What several generators with other seeds found, one distance each."""

    model: str
    found: tuple[NoiseDistance, ...]
    unreached: tuple[float, ...]
    """Of each generator, the share of images on which its noise missed ``eps`` at the end of its training.

    Noise that only erases bright strokes from a black background misses it: then distances measure blank images.
    """
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def medians(self) -> np.ndarray:
        return np.array([one.median for one in self.found])

    @property
    def mean(self) -> float:
        """Mean over generators of the median distance over images."""
        return float(self.medians.mean())

    @property
    def sd(self) -> float:
        """Standard deviation over generators; NaN of a single one, or where a median is infinite."""
        finite = len(self.found) > 1 and bool(np.isfinite(self.medians).all())
        return float(self.medians.std(ddof=1)) if finite else float("nan")

    def __str__(self) -> str:
        return (
            f"{self.model}: learned noise of L2 {self.mean:.4g} ± {self.sd:.2g} changes half of the decisions, over "
            f"{len(self.found)} generators; they missed their norm on {100 * max(self.unreached):.0f} % at most"
        )

    def _repr_html_(self) -> str:
        return f"<code>{escape(str(self))}</code>"


def learned_noise_distance(
    predict: Any,
    images: Any,
    labels: Any,
    *,
    eps: float | None = None,
    kernel: int = 1,
    generators: int = 4,
    steps: int = 1000,
    rate: float = 5e-4,
    batch_size: int = 70,
    min_room: float = 0.0,
    seed: int = 0,
    name: str = "",
) -> LearnedNoise:
    """Noise distances in directions of generators that were trained to harm this classifier (Rusak et al., 2020).

    ``generators`` of them with other seeds, ``steps`` batches each, noise of L2 ``eps`` after clipping: unless given,
    that of normal noise of standard deviation 0.5. ``kernel`` 3 makes noise that hangs together over 3x3 pixels.
    ``predict`` is a torch module or a run; images and labels are as in :func:`noise_distance`, and serve for both.
    On digits choose ``eps`` below their own norm (5 for MNIST): with more, the strongest noise erases them.
    """
    classify = Classifier(predict, name)
    classify.need_gradient("learned noise")
    for word, value in (("generators", generators), ("steps", steps), ("batch_size", batch_size)):
        if value < 1:
            raise UsageError(f"{word} must be at least 1, got {value}")
    pixels, truth = float_images(images, labels)
    pixels = classify.place(pixels)
    truth = truth.to(pixels.device)
    budget = matching_eps(pixels, seed=seed) if eps is None else eps
    found, missed = [], []
    for number in range(generators):
        rng = counter_rng(seed, number, Purpose.GENERATOR)
        first, second = (int(drawn) for drawn in rng.integers(2**62, size=2))
        generator = NoiseGenerator(pixels.shape[1], kernel, generator=torch.Generator().manual_seed(first))
        generator.to(pixels.device)
        order = torch.from_numpy(np.concatenate([rng.permutation(len(pixels)) for _ in range(2)])).to(pixels.device)
        parts = [order[start : start + batch_size] for start in range(0, len(order), batch_size)]
        batches = [(pixels[part], truth[part]) for part in parts]
        told = train_generator(generator, classify.differentiable, batches, budget, rate, steps, second, min_room)
        found.append(noise_distance(classify, pixels, truth, generator, seed=seed, label=f"learned {number}"))
        missed.append(float(told.unreached))
    about = {"eps": budget, "kernel": kernel, "steps": steps, "rate": rate, "min_room": min_room, "seed": seed}
    return LearnedNoise(classify.name, tuple(found), tuple(missed), about)
