"""Images spoiled by corruptions, category by category (Hendrycks & Dietterich, 2019; Mu & Gilmer, 2019)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np

from unbraid.corruptions import SUITES, VERSION, Corruption, corrupt
from unbraid.errors import UsageError
from unbraid.evaluation import Scores, fingerprint_data
from unbraid.metrics import Score
from unbraid.transfer.domains import Domain
from unbraid.transfer.scenario import VALUE, Asked, Scenario, register
from unbraid.transfer.shared import shared_images
from unbraid.transfer.subjects import Subject

__all__ = ["Corrupted", "corruptions_of", "spoiled"]

CATEGORIES = {"geometry": "geometric"}
OTHER = {"mnist-c": "imagenet-c", "imagenet-c": "mnist-c"}
SEVERITIES = (1, 3, 5)
"""Of corruptions that have five."""


def corruptions_of(domain: Domain, category: str) -> list[tuple[Corruption, int]]:
    """The corruptions of a category in the suite that fits the domain, or in the other one where it has none."""
    word = CATEGORIES.get(category, category)
    for suite in (domain.suite, OTHER[domain.suite]):
        found = [each for each in SUITES[suite].values() if each.category == word]
        if found:
            return [
                (each, severity)
                for each in found
                for severity in each.severities
                if len(each.severities) == 1 or severity in SEVERITIES
            ]
    raise UsageError(f"no suite of corruptions has a category {category!r}")


def spoiled(asked: Asked, category: str, count: int) -> Iterator[tuple[str, int, np.ndarray, np.ndarray]]:
    """Corruption, severity, images and classes, one after the other; images are made once for all models."""
    index, images, labels = asked.images(count)
    data = fingerprint_data(asked.data)
    for corruption, severity in corruptions_of(asked.domain, category):
        about = {
            "data": data,
            "images": count,
            "seed": asked.seed,
            "corruption": corruption.full_name,
            "severity": severity,
            "version": VERSION,
        }
        make = partial(corrupt, images, corruption, severity, asked.seed, indices=index)
        yield corruption.name, severity, shared_images(about, make), labels


@dataclass(frozen=True)
class Corrupted(Scenario):
    """Accuracy under the corruptions of a category, each the mean over its severities."""

    category: ClassVar[str] = ""
    version: ClassVar[int] = VERSION
    cost = 0.001

    images: int = 500
    """At most so many images, drawn by the seed."""

    def __post_init__(self) -> None:
        if self.images < 1:
            raise UsageError(f"images must be at least 1, got {self.images}")

    def missing(self, subject: Subject, domain: Domain) -> str:
        small = min(domain.load().shape[:2]) < 16
        return super().missing(subject, domain) or ("images of at least 16 pixels" if small else "")

    def numbers(self, asked: Asked) -> Scores:
        rights: dict[str, list[np.ndarray]] = {}
        for name, _, images, labels in spoiled(asked, self.name, self.images):
            right = asked.subject.scores(images).argmax(axis=1) == labels
            rights.setdefault(name, []).append(right)
        each = {name: float(np.mean(found)) for name, found in rights.items()}
        per_image = np.mean([np.mean(found, axis=0) for found in rights.values()], axis=0)
        error = float(per_image.std(ddof=1) / np.sqrt(len(per_image))) if len(per_image) > 1 else float("nan")
        about = {"corruptions": list(each), "images": len(per_image), "standard_error": error}
        mean = float(np.mean(list(each.values())))
        return {VALUE: Score(VALUE, mean, 1.0, {"per_corruption": np.array(list(each.values()))}, about), **each}


@register("noise")
@dataclass(frozen=True)
class Noise(Corrupted):
    """Shot noise, impulse noise and their like: accuracy."""


@register("blur")
@dataclass(frozen=True)
class Blur(Corrupted):
    """Glass, motion and other blur: accuracy."""


@register("weather")
@dataclass(frozen=True)
class Weather(Corrupted):
    """Fog, brightness, spatter and their like: accuracy."""


@register("digital")
@dataclass(frozen=True)
class Digital(Corrupted):
    """Contrast, pixels, compression and their like: accuracy."""


@register("strokes")
@dataclass(frozen=True)
class Strokes(Corrupted):
    """Lines drawn over the image, or its edges alone: accuracy."""


@register("geometry")
@dataclass(frozen=True)
class Geometry(Corrupted):
    """Shear, scale, rotation and translation beyond those of the data: accuracy."""
