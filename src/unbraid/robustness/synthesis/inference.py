"""Representations by search instead of an encoder, for every run that decodes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn

from unbraid.errors import UsageError
from unbraid.nets import ClassVAEs, Decodings, Explained, Search, explain
from unbraid.robustness.attacks import float_images

if TYPE_CHECKING:
    from unbraid.training import Run

__all__ = ["Explanation", "Generators", "SearchClassifier", "infer"]

BATCH = 100
QUICK = (1000, 25)
"""Samples and passes of a search that is to be quick; ``benchmarks/synthesis.py table`` tells what they give away."""


@dataclass(frozen=True)
class Explanation:
    """What the search found: arrays over ``n`` images and the classes of the model (one for an autoencoder)."""

    energy: np.ndarray
    """``[n, classes]``: squared distance (or cross-entropy) and divergence, summed over pixels."""
    codes: np.ndarray
    """``[n, classes, latents]``."""
    reconstructions: np.ndarray
    """Decodings ``[n, classes, c, h, w]`` in [0, 1]."""

    @property
    def best(self) -> np.ndarray:
        """The class that explains each image best, ``[n]``."""
        found: np.ndarray = self.energy.argmin(axis=1)
        return found


class Generators:
    """The decoders of a run, one per class: of an ABS run all of them, of any other run that decodes its one."""

    shape: tuple[int, int, int] | None = None
    """Channels, height and width of the images, if they are known."""

    def __init__(self, run: Run, search: Search | None = None) -> None:
        objective, model = run.objective, run.model
        sides = tuple(run.problem.shape)
        self.shape = (sides[2], *sides[:2]) if len(sides) == 3 else None
        self.device = next(iter(model.parameters())).device
        asked = getattr(objective, "search", None)
        self.decode: Callable[[Tensor], Tensor]
        if isinstance(model, ClassVAEs):
            self.classes, self.latents, self.decode = model.classes, model.latents, model.drawing()
        elif run.can("decode") and hasattr(objective, "latents"):
            self.classes, self.latents = 1, int(objective.latents)
            self.decode = lambda codes: objective.decode(model, codes[:, 0])[:, None]
        else:
            raise UsageError(f"a model trained by {objective.name!r} does not decode: there is nothing to search with")
        self.model, self.search = model, search or asked or Search()

    @property
    def known(self) -> Decodings:
        """Decodings of random latents, made when first needed."""
        like = torch.empty(0, device=self.device)
        return Decodings.of(self.model, self.decode, self.classes, self.latents, self.search, like)

    def place(self, images: Any) -> Tensor:
        """Images as floats ``[n, c, h, w]`` in [0, 1] on the model's device."""
        pixels, _ = float_images(images, np.zeros(len(images), dtype=np.int64))
        self.check(pixels)
        return pixels.to(self.device)

    def check(self, images: Tensor) -> None:
        """Refuse images ``[n, c, h, w]`` of another shape than those that are drawn."""
        if self.shape is not None and images.shape[1:] != self.shape:
            channels, height, width = self.shape
            raise UsageError(
                f"images must be {height}x{width} pixels with {channels} channels, which this run draws, got "
                f"{images.shape[2]}x{images.shape[3]} with {images.shape[1]}"
            )


def infer(
    run: Run,
    images: Any,
    *,
    samples: int | None = None,
    iterations: int | None = None,
    quick: bool = False,
    batch_size: int = BATCH,
    generators: Generators | None = None,
) -> Explanation:
    """For every image and class the latent whose decoding explains it best (Schott et al., 2019).

    ``images`` are uint8 ``[n, h, w, c]`` or floats ``[n, c, h, w]`` in [0, 1]. ``samples`` and ``iterations`` replace
    those of the run (8,000 and 50 unless told otherwise); ``quick`` are 1,000 and 25, which name the same classes in
    half the time, with energies a little higher. Pass ``generators`` to keep decodings between calls.
    """
    if batch_size < 1:
        raise UsageError(f"batch_size must be at least 1, got {batch_size}")
    made = generators or Generators(run)
    if quick:
        samples, iterations = samples or QUICK[0], QUICK[1] if iterations is None else iterations
    changed = {name: value for name, value in (("samples", samples), ("iterations", iterations)) if value is not None}
    if changed:
        made = Generators(run, replace(made.search, **changed))
    pixels = made.place(images)
    found = []
    with torch.no_grad():
        for part in pixels.split(batch_size):
            one = explain(made.decode, part, made.known, made.search)
            found.append([piece.cpu().numpy() for piece in (one.energy, one.codes, one.reconstruction)])
    return Explanation(*(np.concatenate(pieces) for pieces in zip(*found, strict=True)))


class SearchClassifier(nn.Module):
    """Class networks without a run, such as released ones, as a classifier of float images ``[n, c, h, w]``."""

    def __init__(self, networks: ClassVAEs, search: Search | None = None) -> None:
        super().__init__()
        self.networks, self.search = networks.eval().requires_grad_(False), search or Search()

    def train(self, mode: bool = True) -> SearchClassifier:
        """Stay in evaluation mode: it is asked, not trained."""
        return super().train(False)

    def forward(self, images: Tensor) -> Tensor:
        return -self.infer(images).energy

    def infer(self, images: Tensor) -> Explained:
        """The best latent of every class, with its energy and its decoding."""
        net = self.networks
        draw = net.drawing()
        known = Decodings.of(net, draw, net.classes, net.latents, self.search, images)
        return explain(draw, images, known, self.search)
