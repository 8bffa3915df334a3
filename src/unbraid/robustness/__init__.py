"""How classifiers bear what training did not show: corruptions, noise, adversaries.

Hendrycks and Dietterich (2019), Benchmarking neural network robustness to common corruptions and perturbations, ICLR.
Rusak, Schott, Zimmermann, Bitterwolf, Bringmann, Bethge, Brendel (2020), A simple way to make neural networks robust
against diverse image corruptions, ECCV.
"""

from typing import TYPE_CHECKING, Any

from unbraid.lazy import lazily
from unbraid.robustness._examples import Examples
from unbraid.robustness._scores import Scorer, confidences
from unbraid.robustness.budgets import BOUNDS, BUDGETS
from unbraid.robustness.climbs import climbs_by_way
from unbraid.robustness.corrupting import corruption_table, corruption_tables, plan_of
from unbraid.robustness.distances import (
    AccuracyCurve,
    accuracy_at,
    accuracy_curve,
    accuracy_interval,
    fooled_within,
    median_distance,
    median_interval,
    nearest_of,
)
from unbraid.robustness.measure import Adversarial, Corruptions, NoiseDistances, table_of
from unbraid.robustness.published import published, published_errors, published_models, published_tables
from unbraid.robustness.published_attacks import published_attacks
from unbraid.robustness.relative import corruption_errors, mce
from unbraid.robustness.smallest import ALL, attack_blocks, attack_table
from unbraid.robustness.tables import CLEAN, CorruptionTable, Spoiled, Wrong
from unbraid.robustness.target import VARIANTS, Target

if TYPE_CHECKING:
    from unbraid.robustness import attacks as attacks
    from unbraid.robustness.adversarial import AdversarialAccuracy as AdversarialAccuracy
    from unbraid.robustness.adversarial import adversarial_accuracy as adversarial_accuracy
    from unbraid.robustness.attacked import attack_doubts as attack_doubts
    from unbraid.robustness.attacked import bound_blocks as bound_blocks
    from unbraid.robustness.attacked import distal_blocks as distal_blocks
    from unbraid.robustness.falling import Fallen as Fallen
    from unbraid.robustness.falling import first_to_fall as first_to_fall
    from unbraid.robustness.from_noise import Distal as Distal
    from unbraid.robustness.from_noise import distal as distal
    from unbraid.robustness.learned import LearnedNoise as LearnedNoise
    from unbraid.robustness.learned import learned_noise_distance as learned_noise_distance
    from unbraid.robustness.masking import Doubt as Doubt
    from unbraid.robustness.masking import check_masking as check_masking
    from unbraid.robustness.masking import masking_doubts as masking_doubts
    from unbraid.robustness.noise import NoiseDistance as NoiseDistance
    from unbraid.robustness.noise import noise_distance as noise_distance
    from unbraid.robustness.representations import change_factor as change_factor
    from unbraid.robustness.representations import match_code as match_code
    from unbraid.robustness.representations import move_code as move_code

__all__ = [
    "ALL",
    "BOUNDS",
    "BUDGETS",
    "CLEAN",
    "VARIANTS",
    "AccuracyCurve",
    "Adversarial",
    "AdversarialAccuracy",
    "CorruptionTable",
    "Corruptions",
    "Distal",
    "Doubt",
    "Examples",
    "Fallen",
    "LearnedNoise",
    "NoiseDistance",
    "NoiseDistances",
    "Scorer",
    "Spoiled",
    "Target",
    "Wrong",
    "accuracy_at",
    "accuracy_curve",
    "accuracy_interval",
    "adversarial_accuracy",
    "attack_blocks",
    "attack_doubts",
    "attack_table",
    "attacks",
    "bound_blocks",
    "change_factor",
    "check_masking",
    "climbs_by_way",
    "confidences",
    "corruption_errors",
    "corruption_table",
    "corruption_tables",
    "distal",
    "distal_blocks",
    "first_to_fall",
    "fooled_within",
    "learned_noise_distance",
    "masking_doubts",
    "match_code",
    "mce",
    "median_distance",
    "median_interval",
    "move_code",
    "nearest_of",
    "noise_distance",
    "plan_of",
    "published",
    "published_attacks",
    "published_errors",
    "published_models",
    "published_tables",
    "table_of",
]

_HOMES = {
    "AdversarialAccuracy": "adversarial",
    "Distal": "from_noise",
    "Doubt": "masking",
    "Fallen": "falling",
    "LearnedNoise": "learned",
    "NoiseDistance": "noise",
    "adversarial_accuracy": "adversarial",
    "attack_doubts": "attacked",
    "bound_blocks": "attacked",
    "change_factor": "representations",
    "check_masking": "masking",
    "distal": "from_noise",
    "distal_blocks": "attacked",
    "first_to_fall": "falling",
    "learned_noise_distance": "learned",
    "masking_doubts": "masking",
    "match_code": "representations",
    "move_code": "representations",
    "noise_distance": "noise",
}
_find = lazily(__name__, _HOMES)


def __getattr__(name: str) -> Any:
    """What needs torch, imported when it is first used."""
    if name == "attacks":
        from importlib import import_module

        return import_module(f"{__name__}.attacks")
    return _find(name)
