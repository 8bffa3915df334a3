"""Which latent stands for which factor."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from unbraid.errors import UsageError
from unbraid.metrics import Score, mcc
from unbraid.report.page.model import Look

__all__ = ["factor_names", "match"]


def match(look: Look) -> dict[str, tuple[int, float]]:
    """For each factor the latent matched to it one to one (-1 if none is left) and their correlation.

    The matching of the run's own MCC score where there is one; otherwise that of the codes drawn for the page.
    Factors that do not vary among those are left out.
    """
    score = (look.scores or {}).get("mcc")
    if score is not None and look.names:
        codes, strengths = (np.atleast_1d(np.asarray(score.parts.get(k, ()))) for k in ("code_of_factor", "per_factor"))
        names = factor_names(look, score)
        if len(codes) == len(strengths) == len(names) and _fits(look, codes):
            return {name: (int(c), float(s)) for name, c, s in zip(names, codes, strengths, strict=True)}
    if look.codes is None or look.factors is None:
        return {}
    moving = np.ptp(look.factors, axis=0) > 0
    try:
        found = mcc(look.codes, look.factors[:, moving])
    except UsageError:  # no factor moves, or a code is not finite
        return {}
    names = [name for name, moves in zip(look.names, moving, strict=True) if moves]
    matched = zip(names, found.parts["code_of_factor"], found.parts["per_factor"], strict=True)
    return {name: (int(code), float(strength)) for name, code, strength in matched}


def factor_names(look: Look, score: Score) -> Sequence[str]:
    """The factors that a score was about."""
    names = score.settings.get("factors", look.names)
    return names if isinstance(names, list | tuple) and all(isinstance(name, str) for name in names) else ()


def _fits(look: Look, codes: np.ndarray) -> bool:
    return look.codes is None or int(codes.max(initial=-1)) < look.codes.shape[1]
