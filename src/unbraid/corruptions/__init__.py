"""Corruptions of plain uint8 images, batched and seeded; nothing here knows of models, files or torch."""

from unbraid.corruptions._corrupt import corrupt
from unbraid.corruptions._draws import Draws
from unbraid.corruptions._registry import (
    IMAGENET_C,
    IMAGENET_C_HOLDOUT,
    MNIST_C,
    OWN,
    SUITES,
    Corruption,
    find,
    register,
)
from unbraid.registry import import_modules

__all__ = [
    "IMAGENET_C",
    "IMAGENET_C_HOLDOUT",
    "MNIST_C",
    "OWN",
    "SUITES",
    "Corruption",
    "Draws",
    "corrupt",
    "find",
    "register",
]

import_modules(__name__)
