"""How models of the benchmark are trained, by name: as published, or in minutes on a CPU (Schott et al., 2022)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from types import MappingProxyType
from typing import Any

from unbraid.errors import UsageError, unknown_name
from unbraid.options import Named

__all__ = ["ESTIMATORS", "RECIPES", "Recipe", "Selection", "Training", "get_recipe"]

ESTIMATORS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "boosted-trees-100": MappingProxyType({"stages": 100}),
        "boosted-trees-10": MappingProxyType({"stages": 10}),
    }
)
"""What DCI is estimated by, with its arguments; scores of different ones must not be compared."""


@dataclass(frozen=True)
class Training:
    """How one group of models is trained; no weight decay, no schedule, and the last weights are those that count."""

    learning_rate: float
    batch_size: int
    seeds: int
    steps: int | None = None
    """Updates; ``None`` where ``epochs`` say it."""
    epochs: int | None = None
    """As many updates as see so many images as the training side has, so many times."""
    images: int | None = None
    """At most so many training images, drawn evenly; ``None`` for all."""
    optimizer: str = "adam"

    def __post_init__(self) -> None:
        if (self.steps is None) == (self.epochs is None):
            raise UsageError("a training is so many steps or so many epochs: give one of the two")
        for name in ("learning_rate", "batch_size", "seeds", "steps", "epochs", "images"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise UsageError(f"{name} must be above 0, got {value}")

    def steps_on(self, count: int) -> int:
        """Updates on so many training images.

        >>> RECIPES["paper"].readout.steps_on(240_000)
        30000
        """
        if self.steps is not None:
            return self.steps
        assert self.epochs is not None
        return math.ceil(self.epochs * count / self.batch_size)


@dataclass(frozen=True)
class Selection:
    """By what the best hyperparameter of a representation is chosen: DCI disentanglement on training images."""

    estimator: str
    train: int
    """Codes that the estimator is fitted on."""
    test: int

    def __post_init__(self) -> None:
        if self.estimator not in ESTIMATORS:
            raise unknown_name("estimator of DCI", self.estimator, ESTIMATORS)


@dataclass(frozen=True)
class Recipe:
    """A budget for the whole benchmark."""

    name: str
    representation: Training
    """Models that learn codes, before their read-out."""
    readout: Training
    """The network from codes to factors."""
    supervised: Training
    densenet: Training
    """DenseNet from scratch, which diverges at the rate of the others."""
    transfer: Training
    """Networks with weights of another task, all of which are trained."""
    selection: Selection
    test_images: int | None
    """At most so many test images, drawn evenly; ``None`` for all."""

    def of(self, net: str, *, pretrained: bool = False) -> Training:
        """The training of a supervised network by name."""
        if pretrained:
            return self.transfer
        return self.densenet if Named.read(net).name.startswith("densenet") else self.supervised

    def to_json(self) -> dict[str, Any]:
        """As it is recorded beside numbers."""
        return asdict(self)


RECIPES: Mapping[str, Recipe] = MappingProxyType(
    {
        "paper": Recipe(
            "paper",
            representation=Training(1e-4, 64, 10, steps=500_000),
            readout=Training(1e-3, 64, 1, epochs=8),
            supervised=Training(5e-4, 64, 3, steps=500_000),
            densenet=Training(1e-4, 64, 3, steps=500_000),
            transfer=Training(1e-4, 64, 3, steps=50_000),
            selection=Selection("boosted-trees-100", 10_000, 5_000),
            test_images=None,
        ),
        "cpu": Recipe(
            "cpu",
            representation=Training(5e-4, 64, 3, steps=5_000),
            readout=Training(1e-3, 64, 1, epochs=8, images=20_000),
            supervised=Training(5e-4, 64, 3, steps=2_500),
            densenet=Training(1e-4, 64, 3, steps=2_500),
            transfer=Training(1e-4, 64, 3, steps=1_000),
            selection=Selection("boosted-trees-10", 3_000, 1_500),
            test_images=10_000,
        ),
    }
)
"""``paper`` is how the published models were trained: about 20,000 hours of a GPU for all of them; ``cpu`` takes
minutes for each."""


def get_recipe(recipe: str | Recipe) -> Recipe:
    """A recipe by name, or as it is."""
    if isinstance(recipe, Recipe):
        return recipe
    if recipe not in RECIPES:
        raise unknown_name("recipe", recipe, RECIPES)
    return RECIPES[recipe]
