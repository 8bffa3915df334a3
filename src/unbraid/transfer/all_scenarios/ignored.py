"""What a model ignores: how little of a donor has to change for the logits of another image."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from unbraid.errors import UsageError
from unbraid.evaluation import Scores
from unbraid.metrics import Score
from unbraid.transfer.scenario import VALUE, Asked, Scenario, register

__all__ = ["Invariance"]

PULLS, RATE = (0.0, 0.1), 0.02
"""How strongly searches are drawn back to the donor, and their step size."""
FEWEST = 0.5
"""The share of searches that must succeed for their median to mean anything."""


@register("invariance")
@dataclass(frozen=True)
class Invariance(Scenario):
    """The class changes while the output stays: median L2 from a donor of another class to the logits of an image.

    An image near the donor whose logits are those of the other image, up to a share of their spread, is searched by
    descent, once freely and once drawn back to the donor. Where it is near, the model ignores what tells the two
    classes apart. If fewer than half of the searches reach the logits there is no number: a search that fails is no
    robustness.
    """

    version: ClassVar[int] = 2
    unit = "distance"
    interest = 0.05
    wants = ("scores", "gradients")
    cost = 0.0005

    images: int = 50
    """At most so many images, drawn by the seed."""
    tolerance: float = 0.05
    """How near logits must come, as a share of their spread."""
    steps: int = 300
    """Steps of each search."""

    def __post_init__(self) -> None:
        if self.images < 2 or self.steps < 1:
            raise UsageError(f"images must be at least 2 and steps at least 1, got {self.images} and {self.steps}")
        if not self.tolerance > 0:
            raise UsageError(f"tolerance must be above 0, got {self.tolerance}")

    def seconds(self, asking: float = 1.0, training: float = 1.0) -> float:
        return self.steps * super().seconds(asking, training)

    def ceiling(self, shape: tuple[int, ...]) -> float:
        return math.sqrt(math.prod(shape))

    def numbers(self, asked: Asked) -> Scores:
        import torch

        from unbraid.invariance import search_metamers
        from unbraid.robustness.attacks import Classifier, float_images

        _, images, labels = asked.images(self.images)
        donors = _donors(labels)
        classify = Classifier(asked.subject.asked, factor=asked.subject.factor)
        pixels, _ = float_images(images, labels)
        x = classify.place(pixels)
        wanted = classify.scores(x)
        spread = (wanted.amax(1) - wanted.amin(1)).mean()
        if not spread > 0:
            return {VALUE: 0.0, "share_of_the_way": 0.0, "found": 1.0}  # the same of every image: all is ignored
        # Where nothing is found, the way to the image itself does it.
        whole = nearest = (x - x[donors]).flatten(1).norm(dim=1)
        known = torch.zeros(len(x), dtype=torch.bool, device=x.device)
        for pull in PULLS:
            found = search_metamers(classify.differentiable, x, x[donors], steps=self.steps, rate=RATE, pull=pull).x
            met = (classify.scores(found) - wanted).abs().amax(1) <= self.tolerance * spread
            known |= met
            away = (found - x[donors]).flatten(1).norm(dim=1)
            nearest = torch.where(met, torch.minimum(nearest, away), nearest)
        share = nearest / whole.clamp_min(1e-12)
        return {
            VALUE: _told(float(np.median(nearest.cpu().numpy())), float(known.double().mean())),
            "share_of_the_way": float(np.median(share.cpu().numpy())),
            "found": float(known.double().mean()),
        }


def _told(median: float, found: float) -> Score | float:
    """The median distance, or no number and why where most searches failed."""
    if found >= FEWEST:
        return median
    reason = f"searches reached the logits of {100 * found:.0f} % of images, and of fewer than half nothing can be said"
    return Score(VALUE, math.nan, settings={"reason": reason})


def _donors(labels: np.ndarray) -> np.ndarray:
    """For each image the next one of another class."""
    count = len(labels)
    found = np.empty(count, dtype=np.int64)
    for place in range(count):
        others = ((np.arange(1, count) + place) % count)[labels[(np.arange(1, count) + place) % count] != labels[place]]
        if not len(others):
            raise UsageError("all images are of one class, so that there is no donor of another; ask for more images")
        found[place] = others[0]
    return found
