"""The theorems of the VAE-PCA theory as pictures, each with the numbers it shows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from unbraid.errors import unknown_name
from unbraid.files import save_figure
from unbraid.theory import (
    WORKED_EXAMPLE,
    LinearModel,
    best_noise_loss,
    distance_to_orthogonality,
    linear_elbo_gap,
    mechanism_contrast,
    minimise_noise_loss,
    orthogonal_noise_loss,
    random_rotation,
    theorem1_bound,
    theorem2_bound,
    theorem2_objective,
)

__all__ = ["THEOREMS", "draw_theorem"]

_INK, _FIRST, _SECOND, _THIRD, _QUIET = "#1f2430", "#0072B2", "#D55E00", "#009E73", "#b6bcc6"
_RATIOS = ((1.0, _QUIET), (1.2, _SECOND), (1.5, _THIRD), (2.0, _FIRST))


def draw_theorem(name: str, path: Path, *, seed: int = 0) -> dict[str, float]:
    """Draw one of ``THEOREMS`` into a file; returns the numbers behind it."""
    from matplotlib.figure import Figure

    if name not in THEOREMS:
        raise unknown_name("theorem", name, THEOREMS)
    figure = Figure(figsize=(9.4, 4.0), layout="constrained")
    axes = figure.subplots(1, 2)
    numbers = THEOREMS[name](axes[0], axes[1], seed)
    for axis in axes:
        axis.spines[["top", "right"]].set_visible(False)
        axis.tick_params(labelsize=8)
        if axis.get_legend_handles_labels()[1]:
            axis.legend(frameon=False, fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=3)
    save_figure(figure, path, dpi=150)
    return numbers


def _example(left: Any, right: Any, _seed: int) -> dict[str, float]:
    """The published 2-D decoder turned through a quarter: its noise is least where its columns are orthogonal."""
    angles = np.linspace(-45, 90, 541)
    turned = [WORKED_EXAMPLE @ _plane(angle).T for angle in angles]
    losses = np.array([best_noise_loss(matrix) for matrix in turned])
    best = orthogonal_noise_loss(WORKED_EXAMPLE)
    left.plot(angles, losses, color=_FIRST, linewidth=1.6)
    left.axhline(best, color=_INK, linewidth=1, linestyle="--", label=f"bound {best:.2f}")
    for angle, label, colour in ((0, "as published", _THIRD), (45, "turned by 45°", _SECOND)):
        value = best_noise_loss(WORKED_EXAMPLE @ _plane(angle).T)
        left.plot(angle, value, "o", color=colour, label=f"{label}: {value:.2f}")
    left.set_xlabel("rotation of the latents (degrees)")
    left.set_ylabel("least noise at budget 0")
    left.set_title("the worked example: least noise needs the right axes", loc="left", fontsize=10)
    right.plot(angles, [distance_to_orthogonality(matrix).mean for matrix in turned], color=_FIRST, label="distance")
    right.plot(angles, [float(mechanism_contrast(matrix)) for matrix in turned], color=_SECOND, label="contrast (nats)")
    right.set_xlabel("rotation of the latents (degrees)")
    right.set_title("distance to orthogonality and mechanism contrast", loc="left", fontsize=10)
    return {
        "as_published": best_noise_loss(WORKED_EXAMPLE),
        "turned": best_noise_loss(WORKED_EXAMPLE @ _plane(45).T),
        "bound": best,
    }


def _theorem1(left: Any, right: Any, seed: int) -> dict[str, float]:
    """Descents on rotations and variances from twenty random starts: all end at the bound."""
    jacobians = np.random.default_rng(seed).standard_normal((5, 10, 3))
    bound = theorem1_bound(jacobians, 4.0)
    found = [minimise_noise_loss(jacobians, 4.0, seed=start) for start in range(20)]
    for each in found:
        left.plot(np.maximum(each.path - bound, 1e-13), color=_FIRST, linewidth=0.9, alpha=0.6)
    left.set_yscale("log")
    left.set_xlabel("BFGS iteration")
    left.set_ylabel("loss above the bound")
    left.set_title("theorem 1: twenty starts, one minimum", loc="left", fontsize=10)
    turns = [random_rotation(3, start) for start in range(300)]
    contrast = np.array([mechanism_contrast(jacobians @ turn).sum() for turn in turns])
    gap = np.array([sum(np.log(best_noise_loss(j @ turn)) for j in jacobians) for turn in turns]) - theorem1_bound(
        jacobians, 0.0
    )
    right.plot(contrast, gap, ".", color=_SECOND, markersize=4, label="random rotations, best variances")
    right.plot([0, contrast.max()], [0, 2 / 3 * contrast.max()], color=_INK, linewidth=1, label="slope 2/d")
    right.set_xlabel("mechanism contrast, summed over samples (nats)")
    right.set_ylabel("loss above the bound")
    right.set_title("what is left is the contrast", loc="left", fontsize=10)
    worst = max(each.value - bound for each in found)
    return {"bound": bound, "worst_gap": worst, "largest_cosine": max(each.cosine for each in found)}


def _theorem2(left: Any, right: Any, seed: int) -> dict[str, float]:
    """The noise of a linear VAE over the basis it uses: least along principal directions, flat where degenerate."""
    angles = np.linspace(-90, 90, 361)
    for ratio, colour in _RATIOS:
        covariance = np.diag([ratio**2, 1.0]) / 12
        losses = np.array([theorem2_objective(_plane(angle), covariance) for angle in angles])
        left.plot(angles, losses / theorem2_bound(covariance, 2), color=colour, label=f"ratio {ratio}")
    left.set_xlabel("angle to the principal directions (degrees)")
    left.set_ylabel("noise over its bound")
    left.set_title("theorem 2: the basis of a linear VAE", loc="left", fontsize=10)
    covariance = np.diag([4.0, 2.0, 1.0, 0.5])
    bound = theorem2_bound(covariance, 4)
    values = np.array([theorem2_objective(random_rotation(4, seed * 2000 + k), covariance) for k in range(2000)])
    right.hist(values / bound, bins=40, color=_FIRST, alpha=0.85, label="2000 random bases")
    right.axvline(1.0, color=_SECOND, linewidth=1.4, label="principal directions")
    right.set_xlabel("noise over its bound")
    right.set_ylabel("bases")
    right.set_title("four dimensions: nothing beats PCA", loc="left", fontsize=10)
    return {"bound": bound, "best_random": float(values.min()), "median_random": float(np.median(values))}


def _rotation(left: Any, right: Any, seed: int) -> dict[str, float]:
    """Turning all latents of a linear VAE: free with a full posterior, priced with a diagonal one."""
    beta, angles = 0.05, np.linspace(0, 90, 181)
    numbers = {}
    for ratio, colour in _RATIOS:
        corners = np.array([[a, b] for a in (-1, 1) for b in (-1, 1)]) * np.sqrt([ratio**2 / 12, 1 / 12])
        model = LinearModel.at_optimum(corners, beta, 2)
        start = model.loss(corners, beta)
        turned = [model.rotated(_plane(angle)) for angle in angles]
        rise = [each.with_diagonal_posterior(beta).loss(corners, beta) - start for each in turned]
        left.plot(angles, rise, color=colour, label=f"diagonal, ratio {ratio}")
        numbers[f"rise_at_30_ratio_{ratio}"] = float(np.interp(30, angles, rise))
    full = [each.loss(corners, beta) - start for each in turned]
    left.plot(angles, full, color=_INK, linestyle="--", label="full covariance, ratio 2.0")
    left.set_xlabel("rotation of the latents (degrees)")
    left.set_ylabel("rise of the loss")
    left.set_title("only the diagonal posterior minds a rotation", loc="left", fontsize=10)
    w = np.random.default_rng(seed).standard_normal((3, 3))
    precisions = np.geomspace(1e-2, 1e5, 60)
    right.plot(precisions, [linear_elbo_gap(w, p) for p in precisions], color=_FIRST, label="diagonal posterior")
    right.plot(
        precisions,
        [linear_elbo_gap(w, p, posterior="full") for p in precisions],
        color=_INK,
        linestyle="--",
        label="full",
    )
    right.axhline(float(mechanism_contrast(w)), color=_SECOND, linewidth=1, label="mechanism contrast")
    right.set_xscale("log")
    right.set_xlabel("precision of the pixels")
    right.set_ylabel("log p(x) - ELBO (nats)")
    right.set_title("what the diagonal costs the bound", loc="left", fontsize=10)
    return {**numbers, "full_largest_change": float(np.abs(full).max()), "contrast": float(mechanism_contrast(w))}


THEOREMS: dict[str, Callable[[Any, Any, int], dict[str, float]]] = {
    "example": _example,
    "theorem1": _theorem1,
    "theorem2": _theorem2,
    "rotation": _rotation,
}


def _plane(degrees: float) -> np.ndarray:
    c, s = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    return np.array([[c, -s], [s, c]])
