"""How classifiers bear what training did not show: corruptions, noise, adversaries.

Hendrycks and Dietterich (2019), Benchmarking neural network robustness to common corruptions and perturbations, ICLR.
Rusak, Schott, Zimmermann, Bitterwolf, Bringmann, Bethge, Brendel (2020), A simple way to make neural networks robust
against diverse image corruptions, ECCV.
"""

from unbraid.robustness.corrupting import corruption_table, corruption_tables
from unbraid.robustness.published import published, published_errors, published_models, published_tables
from unbraid.robustness.relative import corruption_errors, mce
from unbraid.robustness.tables import CLEAN, CorruptionTable, Spoiled, Wrong

__all__ = [
    "CLEAN",
    "CorruptionTable",
    "Spoiled",
    "Wrong",
    "corruption_errors",
    "corruption_table",
    "corruption_tables",
    "mce",
    "published",
    "published_errors",
    "published_models",
    "published_tables",
]
