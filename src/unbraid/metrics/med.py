"""MED, for codes of hundreds of dimensions (Cao, Nai, Yang, Huang & Gao, 2022)."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from unbraid.errors import UsageError
from unbraid.metrics._discrete import Binning, bin_codes, identity_code, mutual_information, relabel
from unbraid.metrics._kinds import standardize
from unbraid.metrics._logistic import fit_logistic, log_probabilities
from unbraid.metrics._registry import UNIT, register
from unbraid.metrics._score import Score, check_arrays, check_seed
from unbraid.metrics.dci import concentration, weighted_mean

__all__ = ["med", "med_of"]


@register(
    "med",
    range=UNIT,
    title="MED disentanglement",
    short="MED",
    about="concentration of information over factors, for many codes",
    parts={"disentanglement": "MED disentanglement", "completeness": "MED completeness"},
    usual=False,
    counts=True,
)
def med(
    codes: ArrayLike,
    factors: ArrayLike,
    *,
    bins: int = 20,
    binning: Binning = "width",
    top: int | None = None,
    debias: bool = False,
    informativeness: bool = False,
    seed: int = 0,
) -> Score:
    """DCI's disentanglement and completeness, read off shares of information instead of importances of trees.

    ``R_jk = I(z_j; v_k) / sum_j I(z_j; v_k)``: no model is fitted, so a thousand codes cost seconds. ``top=k`` keeps
    the ``k`` codes of each factor that serve it most exclusively (Top-k MED). ``informativeness=True`` adds the
    accuracy of logistic regressions on all codes, which may take longer than all else.

    Flaw: counts overestimate information, and hundreds of codes that know nothing fill R with chance.
    ``debias=True`` takes the expected chance, ``(bins - 1)(values - 1) / 2n`` nats, off every entry, and ranks codes
    for ``top`` by how much they know as well as how exclusively, since a code of pure chance may keep a single entry.
    """
    codes, factors = check_arrays(codes, factors)
    if top is not None and (isinstance(top, bool) or not isinstance(top, int) or top < 1):
        raise UsageError(f"top must be a whole number of codes per factor from 1 on, got {top!r}")

    def information(columns: np.ndarray) -> np.ndarray:
        binned = bin_codes(columns, bins, binning)
        found = mutual_information(binned, factors)
        if not debias:
            return found
        chance = np.outer(relabel(binned)[1] - 1, relabel(factors)[1] - 1) / (2 * len(factors))
        return np.maximum(found - chance, 0.0)

    table = information(codes)
    found = med_of(table, top=top, by_weight=debias)
    ideal = med_of(information(identity_code(factors)), top=top, by_weight=debias)
    value, completeness = float(found["disentanglement"]), float(found["completeness"])
    parts: dict[str, Any] = {**found, "information": table, "completeness_ceiling": float(ideal["completeness"])}
    if informativeness:
        parts["accuracy_per_factor"] = _accuracies(codes, factors)
        parts["informativeness"] = float(parts["accuracy_per_factor"].mean())
    return Score(
        "med",
        value,
        float(ideal["disentanglement"]),
        {**parts, "disentanglement": value, "completeness": completeness},
        {
            "estimator": "plug-in counts, chance taken off" if debias else "plug-in counts",
            "bins": bins,
            "binning": binning,
            "top": top,
            "debias": debias,
            "samples": len(codes),
            "seed": check_seed(seed),
        },
    )


def med_of(information: ArrayLike, *, top: int | None = None, by_weight: bool = False) -> dict[str, float | np.ndarray]:
    """Disentanglement and completeness of a matrix ``[d, K]`` of information, and what they are made of.

    A factor that no code knows has shares of 0. With ``top`` the codes go, by falling disentanglement (``by_weight``:
    times their share of all information; the lower number first among equals), each to the factor it knows most about,
    until that has ``top`` of them; the shares of those that stay are not made to add up to 1 again.

    >>> found = med_of([[3, 1], [1, 3]])
    >>> print(round(found["disentanglement"], 6), round(found["completeness"], 6))
    0.188722 0.188722
    """
    table = np.asarray(information, dtype=np.float64)
    total = table.sum(axis=0)
    shares = np.where(total > 0, table / np.where(total > 0, total, 1), 0.0)  # [d, K]
    kept = np.arange(len(shares))
    if top is not None:
        kept = _best(shares, top, by_weight)
    rows = shares[kept]
    per_code, per_factor = concentration(rows), concentration(rows.T)
    return {
        "disentanglement": weighted_mean(per_code, rows.sum(axis=1)),
        "completeness": weighted_mean(per_factor, rows.sum(axis=0)),
        "disentanglement_per_code": per_code,
        "completeness_per_factor": per_factor,
        "shares": shares,
        "kept": kept,
    }


def _best(shares: np.ndarray, top: int, by_weight: bool) -> np.ndarray:
    """The codes that stay, ascending; codes that know nothing only if there are no others."""
    per_code = concentration(shares)
    worth = per_code * shares.sum(axis=1) if by_weight else per_code
    room = np.full(shares.shape[1], top)
    kept = []
    for code in np.argsort(-worth, kind="stable"):
        factor = int(shares[code].argmax())
        if shares[code, factor] > 0 and room[factor] > 0:
            room[factor] -= 1
            kept.append(int(code))
    return np.array(sorted(kept) or range(min(len(shares), top)))


def _accuracies(codes: np.ndarray, factors: np.ndarray) -> np.ndarray:
    """How often logistic regressions on all codes name each factor's value, on the samples they were fitted on."""
    labels, sizes = relabel(factors)
    features = standardize(codes)
    found = [log_probabilities(fit_logistic(features, labels[:, k], c=1.0), features) for k in range(len(sizes))]
    return np.array([np.mean(logs.argmax(axis=1) == labels[:, k]) for k, logs in enumerate(found)])
