"""Corruptions of plain uint8 images, batched and seeded; nothing here knows of models, files or torch."""

from unbraid.corruptions._corrupt import corrupt
from unbraid.corruptions._dataset import Corrupted
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
from unbraid.corruptions._steps import Step, chosen_steps, read_steps
from unbraid.registry import import_modules

VERSION = 2
"""Raised when a seed draws otherwise, so that stored answers about corrupted images are measured anew."""

__all__ = [
    "IMAGENET_C",
    "IMAGENET_C_HOLDOUT",
    "MNIST_C",
    "OWN",
    "SUITES",
    "VERSION",
    "Corrupted",
    "Corruption",
    "Draws",
    "Step",
    "chosen_steps",
    "corrupt",
    "find",
    "read_steps",
    "register",
]

import_modules(__name__)
