"""What a model ignores: how little of a donor has to change for the logits of another image."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from unbraid.data import counter_rng
from unbraid.errors import UsageError
from unbraid.evaluation import Scores, draw_images
from unbraid.transfer.scenario import VALUE, Asked, Scenario, register

__all__ = ["Invariance"]

PULLS, RATE = (0.0, 0.1), 0.02
"""How strongly searches are drawn back to the donor, and their step size."""
KNOWN, KEPT = 2_000, 1e-3
"""Training images that say what a metamer looks like; how near its logits must come to count."""


@register("invariance")
@dataclass(frozen=True)
class Invariance(Scenario):
    """The class changes while the output stays: median L2 from a donor of another class to the logits of an image.

    An image near the donor whose logits are those of the other image, up to a share of their spread, is searched by
    descent, once freely and once drawn back to the donor. Where it is near, the model ignores what tells the two
    classes apart. Of a bijection, the share of exact metamers whose reference label follows their logits stands beside
    it.
    """

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
            VALUE: float(np.median(nearest.cpu().numpy())),
            "share_of_the_way": float(np.median(share.cpu().numpy())),
            "found": float(known.double().mean()),
            **_metamers(asked, images, labels),
        }


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


def _metamers(asked: Asked, images: np.ndarray, labels: np.ndarray) -> dict[str, float]:
    """Exact metamers of a bijection: how many keep their logits, and whether those look like the class of the logits.

    A reference that sees what a person would is the nearest of the training images. Of a model that ignores nothing of
    the class, all metamers follow their logits; of one that ignores all of it they look like the donor.
    """
    run = asked.subject.source
    if not asked.subject.inverts or run is None:
        return {}
    import torch

    from unbraid.invariance import metamer_report, metamers, to_inputs, to_pictures
    from unbraid.robustness.synthesis import NearestNeighbour

    x, data = to_inputs(run, images), run.data()
    index = draw_images(data, KNOWN, 0)
    reference = NearestNeighbour(data.images(index, counter_rng(0, 0)), asked.subject.labels(data, index))

    def looks(inputs: torch.Tensor) -> torch.Tensor:
        pictures = torch.from_numpy(to_pictures(run, inputs))
        return reference(pictures.permute(0, 3, 1, 2).float().div(255))

    found = metamers(run, x, labels=torch.from_numpy(labels), seed=asked.seed)
    told = metamer_report(found, x, looks, proxy=True, tolerance=KEPT)
    numbers = {
        "metamers_kept": told.kept,
        "metamer_distance": told.distance,
        "reference_follows_logits": told.agreement,
        "reference_follows_donor": told.as_donor,
    }
    return {name: float(one) for name, one in numbers.items() if one is not None and math.isfinite(one)}
