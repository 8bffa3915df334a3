"""Unsupervised disentanglement ranking (Duan, Matthey, Saraiva, Watters, Burgess, Lerchner & Higgins, 2020)."""

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from unbraid.errors import UsageError, unknown_name
from unbraid.metrics._kinds import ranks, standardize
from unbraid.metrics._registry import UNIT, register
from unbraid.metrics._score import Score, check_codes, check_seed, generator

__all__ = ["pair_scores", "udr"]


@register("udr", needs="models", range=UNIT, title="UDR", about="agreement of models trained alike, without factors")
def udr(
    codes_per_model: Sequence[ArrayLike],
    kl_per_model: Sequence[ArrayLike] | None = None,
    *,
    kind: Literal["lasso", "spearman"] = "lasso",
    alpha: float = 0.1,
    kl_threshold: float = 0.01,
    weighting: Literal["models", "codes"] = "models",
    rescale: bool = False,
    seed: int = 0,
) -> Score:
    """How far models trained alike from different seeds agree, code by code, up to order and sign; needs no factors.

    ``codes_per_model`` holds the mean codes ``[n, d]`` of the same images for every model, ``kl_per_model`` the mean KL
    of each code to the prior; codes with KL at or below ``kl_threshold`` are left out (without it, constant codes are).
    ``R`` is the size of the weights of a Lasso from one model's standardised codes to the other's, or the absolute
    rank correlation; a pair scores ``max^2 / sum`` of each column and each row of ``R``, both averaged. A model's score
    (``parts["per_model"]``) is the median over its partners, with itself as the regression target; the value is the
    mean over models.

    ``weighting="codes"`` averages over the codes of both models together (the paper) rather than model by model; they
    differ only where numbers of active codes do.

    Flaw: the Lasso shrinks every weight by ``alpha``, so identical models get ``1 - alpha``; ``rescale=True``
    divides by that. Rank correlation stays below 1 through chance correlations, see ``Score.ceiling``.
    """
    if kind not in ("lasso", "spearman"):
        raise unknown_name("kind", kind, ("lasso", "spearman"))
    if weighting not in ("models", "codes"):
        raise unknown_name("weighting", weighting, ("models", "codes"))
    if not 0 < alpha < 1:
        raise UsageError(f"alpha must lie between 0 and 1, got {alpha}")
    codes, kept = _check(codes_per_model, kl_per_model, kl_threshold)
    pairs = pair_scores(codes, kept, kind=kind, alpha=alpha, weighting=weighting)
    unit = 1 - alpha if rescale and kind == "lasso" else 1.0
    partners = ~np.eye(len(codes), dtype=bool)
    per_model = np.array([np.median(pairs[partners[:, i], i]) for i in range(len(codes))])
    return Score(
        "udr",
        float(per_model.mean() / unit),
        _ceiling(codes.shape[1], max(int(kept.sum(axis=1).max()), 1), kind, alpha, seed) / unit,
        {"per_model": per_model / unit, "pairs": pairs / unit, "active": kept},
        {
            "kind": kind,
            "alpha": alpha if kind == "lasso" else None,
            "kl_threshold": kl_threshold,
            "weighting": weighting,
            "rescale": rescale,
            "models": len(codes),
            "samples": codes.shape[1],
            "seed": check_seed(seed),
        },
    )


def _check(
    codes_per_model: Sequence[ArrayLike], kl_per_model: Sequence[ArrayLike] | None, threshold: float
) -> tuple[np.ndarray, np.ndarray]:
    codes = [check_codes(c, name=f"codes of model {i}") for i, c in enumerate(codes_per_model)]
    if len(codes) < 2:
        raise UsageError(f"codes_per_model holds {len(codes)} model(s); UDR compares at least two")
    for i, array in enumerate(codes):
        if array.shape != codes[0].shape:
            raise UsageError(
                f"codes of model {i} have shape {array.shape}, those of model 0 {codes[0].shape}; "
                "UDR compares models of one size on the same images"
            )
    stacked = np.stack(codes)
    moves = np.ptp(stacked, axis=1) > 0
    if kl_per_model is None:
        return stacked, moves
    try:
        kl = [np.asarray(k, dtype=np.float64) for k in kl_per_model]
    except (TypeError, ValueError) as error:
        raise UsageError(f"kl_per_model must hold numbers, one row per model: {error}") from error
    if len(kl) != len(codes):
        raise UsageError(f"kl_per_model holds {len(kl)} models, codes_per_model {len(codes)}")
    for i, row in enumerate(kl):
        if row.shape != stacked.shape[2:] or not np.isfinite(row).all():
            raise UsageError(f"kl of model {i} must be {stacked.shape[2]} finite numbers, one per code, got {row!r}")
    return stacked, (np.stack(kl) > threshold) & moves


def pair_scores(
    codes: np.ndarray, kept: np.ndarray, *, kind: str = "lasso", alpha: float = 0.1, weighting: str = "models"
) -> np.ndarray:
    """Score of every ordered pair ``[source, target]`` of models: ``[m, m]`` from codes ``[m, n, d]``."""
    m, n, d = codes.shape
    columns = codes.transpose(1, 0, 2).reshape(n, m * d)
    columns = standardize(ranks(columns) if kind == "spearman" else columns) * kept.reshape(-1)
    gram = (columns.T @ columns / n).reshape(m, d, m, d)
    weights = np.abs(gram) if kind == "spearman" else np.abs(lasso(gram, alpha))
    weights = weights.transpose(0, 2, 1, 3)  # [source, target, source code, target code]

    def concentrated(axis: int) -> np.ndarray:
        total = weights.sum(axis=axis)
        return (weights.max(axis=axis) ** 2 / np.where(total > 0, total, 1)).sum(axis=-1)

    actives = kept.sum(axis=1)
    by_target, by_source = concentrated(axis=2), concentrated(axis=3)  # sums over the codes of one side
    if weighting == "codes":
        return (by_target + by_source) / np.maximum(actives[:, None] + actives[None, :], 1)
    return 0.5 * (by_target / np.maximum(actives[None, :], 1) + by_source / np.maximum(actives[:, None], 1))


def lasso(gram: np.ndarray, alpha: float, *, tol: float = 1e-9, max_sweeps: int = 20_000) -> np.ndarray:
    """Lasso weights of all models' columns on each model's columns, by coordinate descent on the Gram matrix.

    ``gram`` is ``[m, d, m, d]`` with the inner products of standardised columns divided by n. The problem of
    source ``a`` and target column ``t`` is ``min 0.5 w'G_aa w - w'G_at + alpha |w|_1``; all ``m * m * d`` of them take
    a step in the same coordinate at once, in the cyclic order that scikit-learn uses, and leave when no coordinate
    moves by more than ``tol`` in a sweep. Returns ``[m, d, m, d]``.
    """
    m, d = gram.shape[:2]
    own = gram[np.arange(m), :, np.arange(m), :].transpose(1, 2, 0)  # [d, d, m]
    cross = gram.transpose(1, 0, 2, 3).reshape(d, m * m * d)  # one column per problem
    source = np.repeat(np.arange(m), m * d)
    found = np.zeros_like(cross)
    left = np.arange(m * m * d)
    weights = found.copy()
    for _ in range(max_sweeps):
        change = np.zeros(len(left))
        for j in range(d):
            row = own[j][:, source]
            scale = row[j]
            pull = cross[j] - np.einsum("kp,kp->p", row, weights) + scale * weights[j]
            new = np.sign(pull) * np.maximum(np.abs(pull) - alpha, 0) / np.where(scale > 0, scale, 1)
            np.maximum(change, np.abs(new - weights[j]), out=change)
            weights[j] = new
        moving = change > tol
        found[:, left] = weights
        if not moving.any():
            break
        cross, weights, source, left = cross[:, moving], weights[:, moving], source[moving], left[moving]
    return found.reshape(d, m, m, d).transpose(1, 0, 2, 3)


def _ceiling(n: int, d: int, kind: str, alpha: float, seed: int) -> float:
    """What two identical models with ``d`` independent codes get; for the Lasso up to chance this is ``1 - alpha``."""
    if kind == "lasso":
        return 1 - alpha
    draws = generator(seed).standard_normal((8, n, d))
    same = [pair_scores(np.stack([x, x]), np.ones((2, d), dtype=bool), kind=kind)[0, 1] for x in draws]
    return float(np.mean(same))
