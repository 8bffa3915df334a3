"""How far a decision is: along noise, and by the best of several attacks."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from unbraid.errors import UsageError, unknown_name
from unbraid.evaluation import Scores, say
from unbraid.metrics import Score
from unbraid.transfer.masked import doubts_beside
from unbraid.transfer.scenario import VALUE, Asked, Scenario, register
from unbraid.transfer.subjects import Subject

__all__ = ["GaussianDistance", "Norm", "attacks_on", "reachable"]

BUDGETS = ("smoke", "light", "quick", "full")
SMOKE: dict[str, dict[str, dict[str, Any]]] = {
    "l0": {"salt-and-pepper": {"restarts": 1}},
    "l2": {"gaussian": {"restarts": 1}, "ddn": {"steps": 20}},
    "linf": {"fgm": {}, "bim": {"steps": 10}},
}
LIGHT: dict[str, dict[str, dict[str, Any]]] = {
    "l0": {"salt-and-pepper": {"restarts": 1}, "fmn": {"steps": 40}},
    "l2": {"gaussian": {"restarts": 1}, "fgm": {}, "ddn": {"steps": 40}},
    "linf": {"fgm": {}, "fmn": {"steps": 40}, "bim": {"steps": 10}},
}
BLIND: dict[str, dict[str, dict[str, Any]]] = {
    "l0": {"salt-and-pepper": {"restarts": 3}, "pointwise": {"restarts": 3}},
    "l2": {"gaussian": {"restarts": 3}, "boundary": {"steps": 500}},
    "linf": {"square": {"steps": 200}},
}
"""For functions without gradients."""
DRAWN: dict[str, dict[str, dict[str, Any]]] = {"l2": {"latent-descent": {}}}
"""Beside all others against models that classify by drawing."""


@register("gaussian-distance")
@dataclass(frozen=True)
class GaussianDistance(Scenario):
    """Noise of growing norm along one normal direction per image: median L2 that changes the decision."""

    title = "Gaussian distance"
    unit = "distance"
    interest = 0.05
    cost = 0.002

    images: int = 500
    """At most so many images, drawn by the seed."""

    def ceiling(self, shape: tuple[int, ...]) -> float:
        return math.sqrt(math.prod(shape))

    def numbers(self, asked: Asked) -> Scores:
        from unbraid.robustness import noise_distance

        _, images, labels = asked.images(self.images)
        found = noise_distance(asked.subject.asked, images, labels, seed=asked.seed)
        value = _median(found.distances, self.ceiling(asked.data.shape))
        return {VALUE: value, "misclassified": found.misclassified, "unmoved": found.unmoved}


@dataclass(frozen=True)
class Norm(Scenario):
    """The nearest image that any attack finds: median distance, and accuracy at the domain's bound."""

    unit = "distance"
    interest = 0.05
    cost = 0.025
    version: ClassVar[int] = 2

    images: int = 100
    """At most so many images, drawn by the seed."""
    budget: str = "quick"
    """Which attacks: smoke, light, quick, full."""

    def __post_init__(self) -> None:
        if self.images < 1:
            raise UsageError(f"images must be at least 1, got {self.images}")
        if self.budget not in BUDGETS:
            raise unknown_name("budget", self.budget, BUDGETS)

    def seconds(self, asking: float = 1.0, training: float = 1.0) -> float:
        return {"smoke": 0.2, "light": 0.5, "quick": 1.0, "full": 20.0}[self.budget] * super().seconds(asking, training)

    def ceiling(self, shape: tuple[int, ...]) -> float:
        pixels = math.prod(shape)
        return {"l0": float(math.prod(shape[:2])), "l2": math.sqrt(pixels), "linf": 1.0}[self.name]

    def numbers(self, asked: Asked) -> Scores:
        from unbraid.robustness import attacks

        _, images, labels = asked.images(self.images)
        subject, each = asked.subject, {}
        for name, options in attacks_on(subject, self.name, self.budget).items():
            say(f"{self.name}: {name}")
            told: dict[str, Any] = {
                "norm": self.name,
                "seed": asked.seed,
                "threshold": subject.threshold,
                "factor": subject.factor,
            }
            found = attacks.get(name)(subject.asked, images, labels, **told, **options)
            each[name] = found.distances.cpu().numpy()
        nearest = np.min(list(each.values()), axis=0)
        most = self.ceiling(asked.data.shape)
        parts = {
            "medians": np.array([_median(found, most) for found in each.values()]),
            "distances": reachable(nearest, most),
        }
        doubts = doubts_beside(subject, self.name, each, images, labels)
        about = {"attacks": list(each), "budget": self.budget, "images": len(nearest), "doubts": list(doubts)}
        scores: dict[str, Score | float] = {VALUE: Score(VALUE, _median(nearest, most), most, parts, about)}
        if self.name in asked.domain.bounds:
            scores["accuracy_at_bound"] = float((nearest > asked.domain.bounds[self.name]).mean())
        scores |= {"misclassified": float((nearest == 0).mean()), "unmoved": float(np.isinf(nearest).mean())}
        return {**scores, "doubts": float(len(doubts))}


@register("l0")
@dataclass(frozen=True)
class L0(Norm):
    """Worst case by the number of changed pixels: median over the best of all attacks."""

    title = "L0"


@register("l2")
@dataclass(frozen=True)
class L2(Norm):
    """Worst case by Euclidean distance: median over the best of all attacks."""

    title = "L2"


@register("linf")
@dataclass(frozen=True)
class Linf(Norm):
    """Worst case by the largest change of a pixel: median over the best of all attacks."""

    title = "L∞"
    cost = 0.05


def attacks_on(subject: Subject, norm: str, budget: str = "quick") -> dict[str, dict[str, Any]]:
    """The attacks with their options that a model is put to: by gradients where there are some, and blind ones.

    A model that draws is also attacked along its drawings: no defended model is attacked less than its twin.
    """
    from unbraid.robustness import BUDGETS as KNOWN

    if not subject.has_gradient:
        return BLIND[norm]
    own = {"smoke": SMOKE, "light": LIGHT}
    chosen = own[budget][norm] if budget in own else KNOWN[budget][norm]
    return {**chosen, **(DRAWN.get(norm, {}) if subject.draws else {})}


def reachable(distances: np.ndarray, most: float) -> np.ndarray:
    """Distances, the largest that there is where none was found."""
    return np.minimum(distances, most)


def _median(distances: np.ndarray, most: float) -> float:
    return float(np.median(reachable(distances, most)))
