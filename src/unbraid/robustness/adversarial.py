"""How often a classifier is right when an adversary may change the image a little."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from unbraid.errors import unknown_name
from unbraid.evaluation import wilson
from unbraid.robustness import attacks
from unbraid.robustness._examples import Examples
from unbraid.robustness.settings import ADVERSARIES, Adversary

if TYPE_CHECKING:
    import polars

__all__ = ["AdversarialAccuracy", "adversarial_accuracy"]

BATCH = 128
"""Images that are attacked at a time."""


@dataclass(frozen=True)
class AdversarialAccuracy:
    """Which images a model still names right at a distance, and how far the nearest others were."""

    model: str
    norm: str
    eps: float
    clean: np.ndarray
    """Whether the image itself is named right: bool ``[n]``."""
    robust: np.ndarray
    """Whether the attack found nothing within ``eps``: bool ``[n]``."""
    distances: np.ndarray
    """How far the found images are: 0 where the image itself is named wrong, infinite where nothing was found."""
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def accuracy(self) -> float:
        """Share of images that are named right whatever the attack tried. Stronger attacks can only lower it."""
        return float(self.robust.mean())

    @property
    def standard_error(self) -> float:
        return float(np.sqrt(self.accuracy * (1 - self.accuracy) / len(self.robust)))

    @property
    def interval(self) -> tuple[float, float]:
        """95 %, Wilson's."""
        return wilson(int(self.robust.sum()), len(self.robust))

    def table(self) -> polars.DataFrame:
        """One row."""
        import polars

        low, high = self.interval
        about = {"model": self.model, "norm": self.norm, "eps": self.eps, "clean": float(self.clean.mean())}
        numbers = {"accuracy": self.accuracy, "standard_error": self.standard_error, "low": low, "high": high}
        return polars.DataFrame([{**about, **numbers, "images": len(self.robust)}])

    def __str__(self) -> str:
        return (
            f"{self.model}: {100 * self.accuracy:.1f} ± {100 * self.standard_error:.1f} % right at {self.norm} "
            f"{self.eps:g}, clean {100 * self.clean.mean():.1f} %, {len(self.robust):,} images"
        )

    def _repr_html_(self) -> str:
        return f"<code>{escape(str(self))}</code>"


def adversarial_accuracy(
    predict: Any,
    data: Any,
    norm: str = "linf",
    eps: float = 0.1,
    *,
    attack: str = "",
    steps: int | None = None,
    step_size: float | None = None,
    gamma: float | None = None,
    restarts: int | None = None,
    images: int | None = None,
    factor: str = "",
    seed: int = 0,
    name: str = "",
) -> AdversarialAccuracy:
    """The share of images that stay named right within ``eps``, attacked by PGD in linf and by DDN in l2.

    ``predict`` is a torch module from floats ``[n, c, h, w]`` in [0, 1] to scores, or a run that names classes;
    ``data`` a data set with classes, or a pair of images and classes. These two take 100 steps unless told;
    ``step_size`` (of PGD) is a tenth of ``eps``, ``restarts`` are 1, ``gamma`` (of DDN) is 0.05. ``attack`` is another
    one by name, with what it usually does where nothing is told. Rusak et al. (2020) take, on MNIST, 100
    steps at linf 0.1 and l2 1.5, on ImageNet 200 steps at linf 0.001 and, with gamma 0.02, l2 0.125. Attacks that fail
    prove nothing.
    """
    asked = Adversary(norm, eps, attack or ADVERSARIES.get(norm, ""), steps, step_size, gamma, restarts)
    known = attacks.get(asked.attack)
    if norm not in known.norms:
        raise unknown_name(f"norm of the attack {asked.attack!r}:", norm, known.norms)
    classify = attacks.Classifier(predict, name, factor)
    if known.needs == "gradient":
        classify.need_gradient(f"the attack {asked.attack!r}")
    pixels, labels = _inputs(classify, data, images, factor, seed)
    bound = None if known.minimal else eps
    found = known(classify, pixels, labels, norm=norm, bound=bound, seed=seed, batch=BATCH, **asked.options())
    distances = found.distances.cpu().numpy()
    clean = distances > 0
    robust = clean & (distances > eps)
    settings = {"attack": asked.attack, **asked.record(known.minimal), "images": len(clean), "seed": seed}
    return AdversarialAccuracy(classify.name, norm, float(eps), clean, robust, distances, settings)


def _inputs(
    classify: attacks.Classifier, data: Any, images: int | None, factor: str, seed: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """Float images and classes of a data set, or of a pair that may hold floats."""
    if isinstance(data, tuple | list) and len(data) == 2 and getattr(data[0], "dtype", None) != np.uint8:
        pixels, labels = attacks.float_images(*data)
        return pixels[:images], labels[:images]
    examples = Examples(data, images, seed)
    return attacks.float_images(examples.read(slice(None)), examples.labels(classify.run, factor))
