"""Which of the classifiers of Schott et al. (2019) a run is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from unbraid.options import Named

if TYPE_CHECKING:
    from unbraid.training import Run

__all__ = ["ROLES", "role_of"]

ROLES = {
    "CNN": "CNN",
    "Binary CNN": "Binary CNN",
    "nearest neighbour": "NN",
    "Linf-trained": "Madry",
    "Binary ABS": "Binary ABS",
    "ABS": "ABS",
}
"""What they are called here, and in the published table."""


def role_of(run: Run, variant: str = "") -> str:
    """One of ``ROLES``, or nothing for a classifier that the paper does not have.

    ABS has a Gaussian likelihood; networks trained on other images than clean or Linf-adversarial ones are none of
    them.
    """
    if variant:
        return {"binarised": "Binary ABS", "neighbour": "nearest neighbour"}[variant]
    objective = run.objective
    if objective.name == "abs":
        return "ABS" if getattr(objective, "likelihood", "") == "gaussian" else ""
    if objective.name != "classifier":
        return ""
    shown = [Named.read(entry) for entry in getattr(objective, "augment", ())]
    if shown:
        attacked = all(one.name == "adversarial" and one.options.get("norm", "linf") == "linf" for one in shown)
        return "Linf-trained" if attacked else ""
    net = Named.read(str(getattr(objective, "net", ""))).name
    return "Binary CNN" if net == "binarised" else "CNN"
