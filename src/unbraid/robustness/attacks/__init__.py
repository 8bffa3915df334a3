"""Attacks on classifiers, one per file: float images ``[n, c, h, w]`` in [0, 1] in and out.

An attack does one thing, move images; how far is enough and how many fall is counted elsewhere, once for all.
"""

from unbraid.registry import import_modules
from unbraid.robustness.attacks.classifier import Classifier, float_images
from unbraid.robustness.attacks.ddn import ddn
from unbraid.robustness.attacks.pgd import pgd
from unbraid.robustness.attacks.registry import Attack, get, names, register
from unbraid.robustness.attacks.vectors import as_rows, direction, lengths

import_modules(__name__)

__all__ = [
    "Attack",
    "Classifier",
    "as_rows",
    "ddn",
    "direction",
    "float_images",
    "get",
    "lengths",
    "names",
    "pgd",
    "register",
]
