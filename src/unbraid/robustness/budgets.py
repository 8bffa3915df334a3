"""Which attacks are tried with which options: a budget for every norm."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from unbraid.errors import UsageError, unknown_name

__all__ = ["BOUNDS", "BUDGETS", "DISTAL_STEPS", "FEW", "budget_of", "check_budget"]

BOUNDS = {"l0": 12.0, "l2": 1.5, "linf": 0.3}
"""Distances at which Schott et al. (2019) tell the accuracy on digits."""
Attacks = dict[str, dict[str, Any]]
"""Attacks by name, with their options."""
BUDGETS: dict[str, dict[str, Attacks]] = {
    "quick": {
        "l0": {"salt-and-pepper": {"restarts": 3}, "pointwise": {"restarts": 3}, "fmn": {}},
        "l2": {
            "gaussian": {"restarts": 3},
            "boundary": {"steps": 300},
            "pointwise": {"restarts": 1},
            "fgm": {},
            "deepfool": {},
            "bim": {},
            "ddn": {},
        },
        "linf": {"fgm": {}, "deepfool": {}, "bim": {}, "mim": {}, "fmn": {}, "square": {"steps": 100}},
    },
    "study": {
        "l0": {"salt-and-pepper": {"restarts": 3}, "pointwise": {}, "fmn": {}},
        "l2": {
            "gaussian": {"restarts": 3},
            "boundary": {"steps": 5000},
            "pointwise": {"restarts": 1},
            "fgm": {},
            "deepfool": {},
            "bim": {},
            "ddn": {},
            "fmn": {},
            "apgd": {"loss": "margin"},
        },
        "linf": {
            "gaussian": {"restarts": 3},
            "fgm": {},
            "deepfool": {},
            "bim": {},
            "mim": {},
            "fmn": {},
            "apgd": {"loss": "margin"},
            "square": {"steps": 100},
        },
    },
    "full": {
        "l0": {"salt-and-pepper": {}, "pointwise": {}, "fmn": {"steps": 500}},
        "l2": {
            "salt-and-pepper": {},
            "gaussian": {},
            "boundary": {"steps": 5000},
            "pointwise": {},
            "fgm": {},
            "deepfool": {},
            "bim": {},
            "mim": {},
            "ddn": {"steps": 300},
            "fmn": {"steps": 300},
            "pgd": {"restarts": 3},
            "apgd": {"loss": "margin"},
            "square": {},
        },
        "linf": {
            "gaussian": {},
            "fgm": {},
            "deepfool": {},
            "bim": {},
            "mim": {},
            "fmn": {"steps": 300},
            "pgd": {"restarts": 3},
            "apgd": {"loss": "margin"},
            "square": {},
        },
    },
}
"""Attacks with their options, by budget and norm."""
DEAR: dict[str, dict[str, dict[str, dict[str, Any] | None]]] = {
    "quick": {
        "l0": {"salt-and-pepper": {"restarts": 3, "levels": 30}},
        "l2": {"pointwise": None},
        "linf": {"square": {"steps": 30}},
    },
    "study": {
        "l0": {"salt-and-pepper": {"restarts": 1, "levels": 30}, "pointwise": {"restarts": 1}},
        "l2": {"boundary": {"steps": 300}, "pointwise": None, "apgd": None},
        "linf": {"apgd": None, "square": {"steps": 30}},
    },
    "full": {},
}
"""What changes for models that are dear to ask, since they search or compare with every training image: of the attacks
that ask thousands of questions, some are shorter or (None) left out."""
ESTIMATED: dict[str, dict[str, Attacks]] = {
    "full": {norm: {"fgm-estimated": {}, "deepfool-estimated": {}} for norm in ("l2", "linf")},
}
"""Attacks besides, by budget and norm, on models that are not dear to ask: each gradient that is estimated takes
thousands of questions. BIM and MIM along such gradients would take a million for each image, and nobody meets them."""
DRAWING = {"l2": "latent-descent"}
"""The attack, by norm, that models which classify by drawing have besides."""
FEW: dict[str, dict[str, Any]] = {
    "quick": {"samples": 2000, "iterations": 10, "faster": 3.0, "classes": 2},
    "study": {"samples": 2000, "iterations": 10, "faster": 3.0, "classes": 2},
    "full": {"samples": 8000, "iterations": 25, "faster": 2.0, "classes": 4},
}
"""The search that attacks on such models ask, at most: longer steps make up for fewer passes. What they find is
verified by the whole search."""
DISTAL_STEPS = {"quick": 1000, "study": 10_000, "full": 10_000}
"""Steps of climbs from noise, at most, whatever the model."""
SCORE_STEPS = 1000
"""Steps of climbs along a class's own score, of .1 each: as many as cross all of [0, 1]^784 more than three times."""


def check_budget(budget: str) -> None:
    """Refuse a budget that there is not."""
    if budget not in BUDGETS:
        raise unknown_name("budget", budget, BUDGETS)


def budget_of(
    norms: Sequence[str], budget: str, *, dear: bool = False, draws: bool = False, substitute: bool = False
) -> dict[str, Attacks]:
    """The attacks of a budget by norm; fewer if the model is ``dear`` to ask, more if it ``draws`` what it sees, or if
    there is a ``substitute``."""
    check_budget(budget)
    if not norms:
        raise UsageError(f"norms must name at least one of {', '.join(BOUNDS)}, got none")
    for norm in norms:
        if norm not in BOUNDS:
            raise unknown_name("norm", norm, BOUNDS)
    other = DEAR[budget] if dear else {}
    found: dict[str, Attacks] = {}
    for norm in norms:
        known = {**BUDGETS[budget][norm], **other.get(norm, {})}
        if not dear:
            known |= ESTIMATED.get(budget, {}).get(norm, {})
        if draws and norm in DRAWING:
            known[DRAWING[norm]] = {}
        if substitute and norm != "l0":
            known["transfer"] = {}
        found[norm] = {name: options for name, options in known.items() if options is not None}
    return found
