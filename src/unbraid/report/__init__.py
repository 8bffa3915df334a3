"""Pictures: contact sheets of data sets, traversals of runs, which code knows which factor.

Names are imported when first used; ``page``, ``explorer`` and ``theory`` are packages of their own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from unbraid.lazy import lazily

if TYPE_CHECKING:
    from unbraid.report.corruptions import corruption_sheet as corruption_sheet
    from unbraid.report.evolution import draw_lineage as draw_lineage
    from unbraid.report.evolution import draw_tree as draw_tree
    from unbraid.report.evolution_study import write_comparison as write_comparison
    from unbraid.report.invariance import draw_decisions as draw_decisions
    from unbraid.report.invariance import interpolation_sheet as interpolation_sheet
    from unbraid.report.invariance import metamer_sheet as metamer_sheet
    from unbraid.report.invariance_page import Looked as Looked
    from unbraid.report.invariance_page import invariance_report as invariance_report
    from unbraid.report.matrix import save_matrices as save_matrices
    from unbraid.report.metric_lab import lab_report as lab_report
    from unbraid.report.sheet import contact_sheet as contact_sheet
    from unbraid.report.split_picture import draw_split as draw_split
    from unbraid.report.transitions import draw_dependence as draw_dependence
    from unbraid.report.transitions import draw_fits as draw_fits
    from unbraid.report.transitions import draw_gaps as draw_gaps
    from unbraid.report.transitions import film as film
    from unbraid.report.transitions import pair_sheet as pair_sheet
    from unbraid.report.traversal import save_animation as save_animation
    from unbraid.report.traversal import save_grid as save_grid
    from unbraid.report.traversal import traverse as traverse

_HOMES = {
    "Looked": "invariance_page",
    "contact_sheet": "sheet",
    "corruption_sheet": "corruptions",
    "draw_decisions": "invariance",
    "draw_dependence": "transitions",
    "draw_fits": "transitions",
    "draw_gaps": "transitions",
    "draw_lineage": "evolution",
    "draw_split": "split_picture",
    "draw_tree": "evolution",
    "film": "transitions",
    "interpolation_sheet": "invariance",
    "invariance_report": "invariance_page",
    "lab_report": "metric_lab",
    "metamer_sheet": "invariance",
    "pair_sheet": "transitions",
    "save_animation": "traversal",
    "save_grid": "traversal",
    "save_matrices": "matrix",
    "traverse": "traversal",
    "write_comparison": "evolution_study",
}

__all__ = sorted(_HOMES)

__getattr__ = lazily(__name__, _HOMES)
