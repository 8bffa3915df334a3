"""Pictures of the theory: theorems, experiments and models under it. Names are imported when first used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from unbraid.lazy import lazily

if TYPE_CHECKING:
    from unbraid.report.theory.eigen import eigen_traversal as eigen_traversal
    from unbraid.report.theory.eigen import save_eigen as save_eigen
    from unbraid.report.theory.identifiability import draw_collapse as draw_collapse
    from unbraid.report.theory.identifiability import draw_identifiability as draw_identifiability
    from unbraid.report.theory.identifiability import draw_rotation as draw_rotation
    from unbraid.report.theory.identifiability import draw_sweep as draw_sweep
    from unbraid.report.theory.impossibility import draw_bijection as draw_bijection
    from unbraid.report.theory.impossibility import draw_traversals as draw_traversals
    from unbraid.report.theory.overview import draw_beta_range as draw_beta_range
    from unbraid.report.theory.overview import draw_inspection as draw_inspection
    from unbraid.report.theory.perturbed import perturbation_sheet as perturbation_sheet
    from unbraid.report.theory.plane import draw_planes as draw_planes
    from unbraid.report.theory.plane import plane_images as plane_images
    from unbraid.report.theory.restarts import draw_agreement as draw_agreement
    from unbraid.report.theory.restarts import draw_restarts as draw_restarts
    from unbraid.report.theory.restarts import factor_table as factor_table
    from unbraid.report.theory.restarts import verdict_table as verdict_table
    from unbraid.report.theory.theorems import draw_theorem as draw_theorem
    from unbraid.report.theory.trials import draw_trials as draw_trials
    from unbraid.report.theory.trials import summarise_trials as summarise_trials
    from unbraid.report.theory.trials import trial_table as trial_table

_HOMES = {
    "draw_agreement": "restarts",
    "draw_beta_range": "overview",
    "draw_bijection": "impossibility",
    "draw_collapse": "identifiability",
    "draw_identifiability": "identifiability",
    "draw_inspection": "overview",
    "draw_planes": "plane",
    "draw_restarts": "restarts",
    "draw_rotation": "identifiability",
    "draw_sweep": "identifiability",
    "draw_theorem": "theorems",
    "draw_traversals": "impossibility",
    "draw_trials": "trials",
    "eigen_traversal": "eigen",
    "factor_table": "restarts",
    "perturbation_sheet": "perturbed",
    "plane_images": "plane",
    "save_eigen": "eigen",
    "summarise_trials": "trials",
    "trial_table": "trials",
    "verdict_table": "restarts",
}

__all__ = sorted(_HOMES)

__getattr__ = lazily(__name__, _HOMES)
