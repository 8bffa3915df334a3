"""Whether images follow their logits where all that a bijection ignores is exchanged."""

from __future__ import annotations

import math
from dataclasses import dataclass

from unbraid.data import counter_rng
from unbraid.errors import UsageError
from unbraid.evaluation import Scores, draw_images
from unbraid.metrics import Score
from unbraid.transfer.domains import Domain
from unbraid.transfer.scenario import VALUE, Asked, Scenario, register
from unbraid.transfer.subjects import Subject

__all__ = ["Metamers"]

KNOWN, KEPT = 2_000, 1e-3
"""Training images that say what a metamer looks like; how near its logits must come to count."""
FEWEST = 0.5
"""The share of metamers that must keep their logits for the others to mean anything."""


@register("metamers")
@dataclass(frozen=True)
class Metamers(Scenario):
    """All that a bijection ignores comes from another class: share of these images that look like their logits' class.

    A reference that sees what a person would is the nearest of the training images. Of a model that ignores nothing of
    the class all follow their logits; of one that ignores all of it they look like the donor (Jacobsen et al., 2019).
    """

    unit = "share"
    wants = ("scores", "bijection")
    cost = 0.01

    images: int = 50
    """At most so many images, drawn by the seed; each is also a donor."""

    def __post_init__(self) -> None:
        if self.images < 2:
            raise UsageError(f"images must be at least 2, one of them a donor, got {self.images}")

    def missing(self, subject: Subject, domain: Domain) -> str:
        return super().missing(subject, domain) or ("" if subject.inverts else "a bijection, which can be inverted")

    def chance(self, classes: int) -> float:
        """Of images that look like nothing; those of a model that ignores the class follow the donor, and get less."""
        return 1 / classes

    def numbers(self, asked: Asked) -> Scores:
        import torch

        from unbraid.invariance import metamer_report, metamers, to_inputs, to_pictures
        from unbraid.robustness.synthesis import NearestNeighbour

        run = asked.subject.source
        assert run is not None
        _, images, labels = asked.images(self.images)
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
            "reference_follows_donor": told.as_donor,
        }
        details = {name: float(one) for name, one in numbers.items() if one is not None and math.isfinite(one)}
        return {VALUE: _told(told.agreement, told.kept), **details}


def _told(agreement: float, kept: float) -> Score | float:
    """The share, or no number and why where most images lost the logits that they were made for."""
    if kept >= FEWEST and math.isfinite(agreement):
        return agreement
    reason = f"{100 * kept:.0f} % of metamers keep their logits, and of fewer than half nothing can be said"
    return Score(VALUE, math.nan, settings={"reason": reason})
