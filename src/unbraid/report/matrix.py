"""Which code knows which factor, as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from unbraid.errors import UsageError
from unbraid.evaluation import ACTIVE
from unbraid.files import save_figure

__all__ = ["save_matrices"]


def save_matrices(
    matrices: dict[str, np.ndarray], factors: Sequence[str], path: Path, kl_per_latent: np.ndarray | None = None
) -> None:
    """Heat maps of matrices ``[codes, factors]`` side by side, by title; darker is more.

    A representation that came apart has one dark cell per column, and no two in a row. With the mean KL of each latent,
    rows are sorted by it and dead latents are marked: what they seem to know comes from codes that hardly move.
    """
    if not matrices:
        raise UsageError("matrices is empty: nothing to draw")
    # Not pyplot: that would choose the backend for the whole process, a notebook's too.
    from matplotlib.figure import Figure

    codes = max(len(matrix) for matrix in matrices.values())
    order = np.arange(codes) if kl_per_latent is None else np.argsort(-kl_per_latent, kind="stable")
    dead = np.zeros(codes, bool) if kl_per_latent is None else kl_per_latent <= ACTIVE
    labels = [f"z{j} (dead)" if dead[j] else f"z{j}" for j in order]
    width = 1.3 + 0.62 * len(factors)
    figure = Figure(figsize=(width * len(matrices), 1.4 + 0.36 * codes), layout="constrained")
    axes = figure.subplots(1, len(matrices), squeeze=False)
    for axis, (title, matrix) in zip(axes[0], matrices.items(), strict=True):
        matrix = matrix[order]
        top = float(matrix.max()) or 1.0
        axis.imshow(matrix, cmap="Blues", vmin=0, vmax=top, aspect="auto")
        for row, column in np.ndindex(*matrix.shape):
            value = matrix[row, column]
            if value >= 0.05 * top:
                axis.text(
                    column,
                    row,
                    f"{value:.2f}",
                    ha="center",
                    va="center",
                    fontsize=8,
                    color="white" if value > 0.6 * top else "#1f2430",
                )
        axis.set_xticks(range(len(factors)), factors, rotation=35, ha="right", fontsize=9)
        axis.set_yticks(range(codes), labels, fontsize=9)
        axis.set_title(title, fontsize=10, loc="left")
        axis.tick_params(length=0)
        axis.spines[:].set_visible(False)
    save_figure(figure, path, dpi=150)
