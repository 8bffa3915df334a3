"""What a classifier ignores: metamers of bijective networks, and the information in outputs nobody looks at.

Jacobsen, Behrmann, Zemel, Bethge (2019), Excessive invariance causes adversarial vulnerability, ICLR.
Gilmer, Metz, Faghri, Schoenholz, Raghu, Wattenberg, Goodfellow (2018), Adversarial spheres, ICLR workshop.
"""

from typing import TYPE_CHECKING, Any

from unbraid.invariance.measure import Invariance
from unbraid.invariance.published import PUBLISHED, Published
from unbraid.lazy import lazily

if TYPE_CHECKING:
    from unbraid.invariance.bijective import Bijective as Bijective
    from unbraid.invariance.bijective import Split as Split
    from unbraid.invariance.bijective import as_bijective as as_bijective
    from unbraid.invariance.bijective import outputs_of as outputs_of
    from unbraid.invariance.bijective import to_inputs as to_inputs
    from unbraid.invariance.bijective import to_pictures as to_pictures
    from unbraid.invariance.bijective import undone as undone
    from unbraid.invariance.definitions import classes_of as classes_of
    from unbraid.invariance.definitions import in_preimage as in_preimage
    from unbraid.invariance.definitions import is_invariance_adversarial as is_invariance_adversarial
    from unbraid.invariance.definitions import is_perturbation_adversarial as is_perturbation_adversarial
    from unbraid.invariance.definitions import perturbation_kind as perturbation_kind
    from unbraid.invariance.definitions import preimage_gap as preimage_gap
    from unbraid.invariance.estimated import dependence_lower_bound as dependence_lower_bound
    from unbraid.invariance.estimated import estimated_information as estimated_information
    from unbraid.invariance.estimated import estimated_theorem8 as estimated_theorem8
    from unbraid.invariance.ignored import IgnoredFactors as IgnoredFactors
    from unbraid.invariance.ignored import ignored_factors as ignored_factors
    from unbraid.invariance.metameric import MetamerReport as MetamerReport
    from unbraid.invariance.metameric import Metamers as Metamers
    from unbraid.invariance.metameric import Path as Path
    from unbraid.invariance.metameric import interpolate as interpolate
    from unbraid.invariance.metameric import metamer_report as metamer_report
    from unbraid.invariance.metameric import metamers as metamers
    from unbraid.invariance.nuisance import NuisanceClassifier as NuisanceClassifier
    from unbraid.invariance.nuisance import Reader as Reader
    from unbraid.invariance.nuisance import label_entropy as label_entropy
    from unbraid.invariance.nuisance import mi_lower_bound as mi_lower_bound
    from unbraid.invariance.nuisance import train_nuisance as train_nuisance
    from unbraid.invariance.nuisance import train_reader as train_reader
    from unbraid.invariance.planes import Plane as Plane
    from unbraid.invariance.planes import PlaneStats as PlaneStats
    from unbraid.invariance.planes import decision_plane as decision_plane
    from unbraid.invariance.planes import plane_basis as plane_basis
    from unbraid.invariance.searched import Searched as Searched
    from unbraid.invariance.searched import search_metamers as search_metamers
    from unbraid.invariance.shifts import last_coordinate_shift as last_coordinate_shift
    from unbraid.invariance.shifts import metameric_shift as metameric_shift
    from unbraid.invariance.shifts import noise_shift as noise_shift
    from unbraid.invariance.shifts import reweighting_shift as reweighting_shift
    from unbraid.invariance.shown import Pictures as Pictures
    from unbraid.invariance.shown import draw_inputs as draw_inputs
    from unbraid.invariance.shown import halves as halves
    from unbraid.invariance.shown import radii_of as radii_of
    from unbraid.invariance.shown import show_metamers as show_metamers
    from unbraid.invariance.shown import sphere_planes as sphere_planes
    from unbraid.invariance.shown import unlike_published as unlike_published
    from unbraid.invariance.spheres import MisalignedRule as MisalignedRule
    from unbraid.invariance.spheres import OnManifold as OnManifold
    from unbraid.invariance.spheres import misaligned_rule as misaligned_rule
    from unbraid.invariance.spheres import on_sphere as on_sphere
    from unbraid.invariance.spheres import on_sphere_metamer as on_sphere_metamer
    from unbraid.invariance.spheres import shift_last_coordinate as shift_last_coordinate
    from unbraid.invariance.spheres import sphere_attack as sphere_attack
    from unbraid.invariance.spheres import sphere_oracle as sphere_oracle
    from unbraid.invariance.theorem import Information as Information
    from unbraid.invariance.theorem import Theorem8 as Theorem8
    from unbraid.invariance.theorem import information as information
    from unbraid.invariance.theorem import theorem8 as theorem8
    from unbraid.invariance.toy import redundant_gaussians as redundant_gaussians
    from unbraid.invariance.toy import redundant_oracle as redundant_oracle
    from unbraid.invariance.toy_runs import TOY_WAYS as TOY_WAYS
    from unbraid.invariance.toy_runs import ToyResult as ToyResult
    from unbraid.invariance.toy_runs import toy_experiment as toy_experiment

__all__ = [
    "PUBLISHED",
    "Bijective",
    "IgnoredFactors",
    "Information",
    "Invariance",
    "MetamerReport",
    "Metamers",
    "MisalignedRule",
    "NuisanceClassifier",
    "OnManifold",
    "Path",
    "Pictures",
    "Plane",
    "PlaneStats",
    "Published",
    "Reader",
    "Searched",
    "Split",
    "Theorem8",
    "as_bijective",
    "classes_of",
    "decision_plane",
    "dependence_lower_bound",
    "draw_inputs",
    "estimated_information",
    "estimated_theorem8",
    "halves",
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
    "radii_of",
    "redundant_gaussians",
    "redundant_oracle",
    "reweighting_shift",
    "search_metamers",
    "shift_last_coordinate",
    "show_metamers",
    "sphere_attack",
    "sphere_oracle",
    "sphere_planes",
    "theorem8",
    "to_inputs",
    "to_pictures",
    "toy_experiment",
    "train_nuisance",
    "train_reader",
    "undone",
    "unlike_published",
]

_HOMES = {
    "sphere_planes": "shown",
    "show_metamers": "shown",
    "radii_of": "shown",
    "halves": "shown",
    "draw_inputs": "shown",
    "Pictures": "shown",
    "Bijective": "bijective",
    "IgnoredFactors": "ignored",
    "Information": "theorem",
    "MetamerReport": "metameric",
    "Metamers": "metameric",
    "MisalignedRule": "spheres",
    "NuisanceClassifier": "nuisance",
    "OnManifold": "spheres",
    "Path": "metameric",
    "Plane": "planes",
    "PlaneStats": "planes",
    "Reader": "nuisance",
    "Searched": "searched",
    "Split": "bijective",
    "Theorem8": "theorem",
    "as_bijective": "bijective",
    "classes_of": "definitions",
    "decision_plane": "planes",
    "dependence_lower_bound": "estimated",
    "estimated_information": "estimated",
    "estimated_theorem8": "estimated",
    "ignored_factors": "ignored",
    "in_preimage": "definitions",
    "information": "theorem",
    "interpolate": "metameric",
    "is_invariance_adversarial": "definitions",
    "is_perturbation_adversarial": "definitions",
    "label_entropy": "nuisance",
    "last_coordinate_shift": "shifts",
    "metamer_report": "metameric",
    "metameric_shift": "shifts",
    "metamers": "metameric",
    "mi_lower_bound": "nuisance",
    "misaligned_rule": "spheres",
    "noise_shift": "shifts",
    "on_sphere": "spheres",
    "on_sphere_metamer": "spheres",
    "outputs_of": "bijective",
    "perturbation_kind": "definitions",
    "plane_basis": "planes",
    "preimage_gap": "definitions",
    "redundant_gaussians": "toy",
    "redundant_oracle": "toy",
    "reweighting_shift": "shifts",
    "search_metamers": "searched",
    "shift_last_coordinate": "spheres",
    "sphere_attack": "spheres",
    "sphere_oracle": "spheres",
    "theorem8": "theorem",
    "to_inputs": "bijective",
    "to_pictures": "bijective",
    "TOY_WAYS": "toy_runs",
    "ToyResult": "toy_runs",
    "toy_experiment": "toy_runs",
    "train_nuisance": "nuisance",
    "train_reader": "nuisance",
    "undone": "bijective",
    "unlike_published": "shown",
}
_find = lazily(__name__, _HOMES)


def __getattr__(name: str) -> Any:
    """All of it needs torch, and is imported when it is first used."""
    return _find(name)
