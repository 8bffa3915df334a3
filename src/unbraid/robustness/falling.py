"""The images whose class changes first as noise grows, as they look then."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch

from unbraid.nets import project_l2
from unbraid.robustness._scores import confidences
from unbraid.robustness.attacks import Classifier, float_images
from unbraid.robustness.noise import directions_of

__all__ = ["Fallen", "first_to_fall"]

BEYOND = 1.001
"""By how much noise is lengthened, so that rounding does not put an image back to where it was right."""


class Fallen(NamedTuple):
    """An image at the least noise that makes a model name another class."""

    row: int
    """Its place among the images."""
    image: np.ndarray
    """With the noise: uint8 ``[h, w, c]``."""
    distance: float
    truth: int
    guess: int
    confidence: float


def first_to_fall(
    predict: Any,
    images: Any,
    labels: Any,
    distances: np.ndarray,
    direction: Any = "gaussian",
    *,
    seed: int = 0,
    count: int = 8,
) -> list[Fallen]:
    """The images of the smallest distances above 0, which ``noise_distance`` found with the same direction and seed."""
    classify = Classifier(predict)
    pixels, truth = float_images(images, labels)
    order = np.argsort(distances, kind="stable")
    rows = [int(row) for row in order if 0 < distances[row] < np.inf][:count]
    if not rows:
        return []
    noise = directions_of(direction, pixels, seed, np.array(rows))
    x = classify.place(pixels[rows])
    reach = torch.from_numpy(BEYOND * distances[rows]).to(x.device, x.dtype)
    moved = project_l2(x, noise.to(x.device, x.dtype), reach)
    sure = confidences(classify.scores(moved).double().cpu().numpy())
    shown = moved.mul(255).round().to(torch.uint8).permute(0, 2, 3, 1).cpu().numpy()
    return [
        Fallen(row, shown[k], float(distances[row]), int(truth[row]), int(sure[k].argmax()), float(sure[k].max()))
        for k, row in enumerate(rows)
    ]
