"""What the page needs to explain images by drawing them: the decoders of an ABS run, and where its search begins."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor, nn

from unbraid.data import ImageDataset, counter_rng
from unbraid.errors import UsageWarning
from unbraid.evaluation import class_names, has_classes, true_classes
from unbraid.nets import ClassVAEs, Decodings, Search
from unbraid.report.explorer.networks import export
from unbraid.robustness import synthesis

if TYPE_CHECKING:
    from unbraid.report.explorer.contents import Contents
    from unbraid.training import Run

__all__ = ["draws", "see_synthesis"]

STARTS = 256
"""Random latents whose decodings the page has; the search of the library compares with thousands."""


class _Draw(nn.Module):
    """Codes ``[n, classes * latents]`` to images ``[n, classes * c, h, w]`` in (0, 1)."""

    def __init__(self, model: ClassVAEs) -> None:
        super().__init__()
        self.decoder = model.decoder

    def forward(self, codes: Tensor) -> Tensor:
        found: Tensor = self.decoder(codes[:, :, None, None]).sigmoid()
        return found


def see_synthesis(contents: Contents, run: Run, data: ImageDataset, images: int, seed: int) -> None:
    """Fill in what the page shows of an ABS run: images, decoders, starts, and how sure energies make it.

    The images shown are explained by the full search as well, so that the page can tell both energies.
    """
    model, search = run.model, run.objective.search  # type: ignore[attr-defined]
    assert isinstance(model, ClassVAEs)
    rng = counter_rng(seed, 0)
    index = data.sample_index(images, rng)
    pixels = data.images(index, rng)
    found = synthesis.infer(run, pixels)
    known = has_classes(run, data)
    names = class_names(run, data, model.classes)
    fitted, calibration = False, synthesis.PUBLISHED
    if known and search.likelihood == "gaussian":
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UsageWarning)  # eta 0 is all right here
            calibration, fitted = synthesis.calibrate(-found.energy, true_classes(run, data, index)), True
    few = Search(STARTS, 0, radius=search.radius, seed=search.seed)
    starts = Decodings(model.drawing(), model.classes, model.latents, few, torch.empty(0))
    drawn = (-0.5 * starts.rows * 255).round().clamp(0, 255).to(torch.uint8)  # rows are -2 times the decodings
    contents.starts = drawn.numpy().tobytes()
    contents.images = np.ascontiguousarray(pixels).tobytes()
    truth = true_classes(run, data, index) if known else None
    contents.gallery = {"index": index.tolist(), "codes": [], "factors": None}
    contents.synthesis = {
        "classes": list(names),
        "latents": model.latents,
        "radius": search.radius,
        "likelihood": search.likelihood,
        "samples": search.samples,
        "iterations": search.iterations,
        "alpha": calibration.alpha,
        "eta": calibration.eta,
        "fitted": fitted,
        "starts": np.round(starts.codes.numpy(), 5).tolist(),
        "energies": np.round(found.energy, 3).tolist(),
        "truth": None if truth is None else [int(one) for one in truth],
    }
    example = torch.zeros(2, model.classes * model.latents)
    contents.decoder = export(_Draw(model), example, "codes", "images")


def draws(run: Run) -> bool:
    """Whether a run explains images by drawing them."""
    return isinstance(run.model, ClassVAEs)
