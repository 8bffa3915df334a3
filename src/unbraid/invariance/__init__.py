"""What a classifier ignores: metamers of bijective networks, and the information in outputs nobody looks at.

Jacobsen, Behrmann, Zemel, Bethge (2019), Excessive invariance causes adversarial vulnerability, ICLR.
Gilmer, Metz, Faghri, Schoenholz, Raghu, Wattenberg, Goodfellow (2018), Adversarial spheres, ICLR workshop.
"""

from unbraid.invariance.bijective import Bijective, Split, as_bijective, outputs_of, to_inputs, to_pictures, undone
from unbraid.invariance.definitions import (
    classes_of,
    in_preimage,
    is_invariance_adversarial,
    is_perturbation_adversarial,
    perturbation_kind,
    preimage_gap,
)
from unbraid.invariance.estimated import dependence_lower_bound, estimated_information, estimated_theorem8
from unbraid.invariance.ignored import IgnoredFactors, ignored_factors
from unbraid.invariance.metamers import MetamerReport, Metamers, Path, interpolate, metamer_report, metamers
from unbraid.invariance.nuisance import (
    NuisanceClassifier,
    Reader,
    label_entropy,
    mi_lower_bound,
    train_nuisance,
    train_reader,
)
from unbraid.invariance.planes import Plane, PlaneStats, decision_plane, plane_basis
from unbraid.invariance.searched import Searched, search_metamers
from unbraid.invariance.shifts import last_coordinate_shift, metameric_shift, noise_shift, reweighting_shift
from unbraid.invariance.spheres import (
    MisalignedRule,
    OnManifold,
    misaligned_rule,
    on_sphere,
    on_sphere_metamer,
    shift_last_coordinate,
    sphere_attack,
    sphere_oracle,
)
from unbraid.invariance.theorem import Information, Theorem8, information, theorem8
from unbraid.invariance.toy import redundant_gaussians, redundant_oracle

__all__ = [
    "Bijective",
    "IgnoredFactors",
    "Information",
    "MetamerReport",
    "Metamers",
    "MisalignedRule",
    "NuisanceClassifier",
    "OnManifold",
    "Path",
    "Plane",
    "PlaneStats",
    "Reader",
    "Searched",
    "Split",
    "Theorem8",
    "as_bijective",
    "classes_of",
    "decision_plane",
    "dependence_lower_bound",
    "estimated_information",
    "estimated_theorem8",
    "ignored_factors",
    "in_preimage",
    "information",
    "interpolate",
    "is_invariance_adversarial",
    "is_perturbation_adversarial",
    "label_entropy",
    "last_coordinate_shift",
    "metamer_report",
    "metameric_shift",
    "metamers",
    "mi_lower_bound",
    "misaligned_rule",
    "noise_shift",
    "on_sphere",
    "on_sphere_metamer",
    "outputs_of",
    "perturbation_kind",
    "plane_basis",
    "preimage_gap",
    "redundant_gaussians",
    "redundant_oracle",
    "reweighting_shift",
    "search_metamers",
    "shift_last_coordinate",
    "sphere_attack",
    "sphere_oracle",
    "theorem8",
    "to_inputs",
    "to_pictures",
    "train_nuisance",
    "train_reader",
    "undone",
]
