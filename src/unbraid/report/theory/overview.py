"""A model under the VAE-PCA theory as one picture: budget, landscape, spectra, distances, alignment, loss."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from unbraid.files import save_figure
from unbraid.theory import BetaRange, Inspection, Polarisation, largest_distance, random_distance

__all__ = ["draw_beta_range", "draw_inspection"]

_INK, _FIRST, _SECOND, _THIRD, _QUIET = "#1f2430", "#0072B2", "#D55E00", "#009E73", "#b6bcc6"
_KIND = {"active": _FIRST, "mixed": _SECOND, "passive": _QUIET}


def draw_inspection(found: Inspection, path: Path, *, title: str = "") -> None:
    """Draw what an inspection found; panels a model cannot have are left out."""
    from matplotlib.figure import Figure

    panels = []
    if found.polarisation is not None:
        panels += [_budget, _landscape]
    if found.orthogonality is not None:
        panels += [_spectra, _distances]
    if found.alignment is not None:
        panels += [_alignment]
    if found.split is not None:
        panels += [_loss]
    columns = min(3, max(1, len(panels)))
    rows = -(-max(1, len(panels)) // columns)
    figure = Figure(figsize=(4.2 * columns, 3.4 * rows + 0.3), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False).ravel()
    for axis, panel in zip(axes, panels, strict=False):
        panel(axis, found)
        axis.tick_params(labelsize=8)
    for axis in axes[len(panels) :]:
        axis.set_visible(False)
    if title:
        figure.suptitle(title, fontsize=10, x=0.01, ha="left", color=_INK)
    save_figure(figure, path, dpi=150)


def draw_beta_range(found: BetaRange, path: Path) -> None:
    """Mean posterior variance of every latent while beta rises, with the proposed range."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.0, 3.6), layout="constrained")
    axis = figure.subplots()
    betas = [stage.beta for stage in found.stages]
    axis.plot(
        betas, [stage.seen.variance for stage in found.stages], color=_FIRST, linewidth=1.2, marker=".", alpha=0.8
    )
    axis.axhline(0.8, color=_QUIET, linewidth=1, linestyle="--", zorder=0)
    if found.proposed is not None:
        axis.axvspan(*found.proposed, color=_THIRD, alpha=0.15, linewidth=0, label="proposed range")
    if found.pruned is not None:
        axis.axvline(found.pruned, color=_SECOND, linewidth=1.2, label=f"fewer than {found.wanted} active")
    axis.set_xscale("log")
    axis.set_xticks(betas, [f"{beta:.2g}" for beta in betas])
    axis.set_xticks([], minor=True)
    axis.set_ylim(0, 1.08)
    axis.set_xlabel("beta, raised from left to right")
    axis.set_ylabel("mean posterior variance")
    axis.set_title("one line per latent; above the dashed line it is switched off", fontsize=9, loc="left")
    if axis.get_legend_handles_labels()[1]:
        axis.legend(frameon=False, fontsize=8, loc="lower right")
    _plain(axis)
    save_figure(figure, path, dpi=150)


def _budget(axis: Any, found: Inspection) -> None:
    seen = _posterior(found)
    order = seen.order
    axis.bar(range(len(order)), seen.precision[order], color=[_KIND[seen.kinds[j]] for j in order], width=0.7)
    axis.set_xticks(range(len(order)), [f"z{j}" for j in order], rotation=90 if len(order) > 12 else 0)
    axis.set_ylabel("$-\\log\\,\\sigma^2$, mean (nats)")
    axis.set_title(f"precision budget: {seen.precision.sum():.1f} nats in all", fontsize=9, loc="left")
    from matplotlib.patches import Patch

    handles = [Patch(color=colour, label=kind) for kind, colour in _KIND.items() if kind in seen.kinds]
    axis.legend(handles=handles, frameon=False, fontsize=8)
    _plain(axis)


def _landscape(axis: Any, found: Inspection) -> None:
    """The KL of one latent over the size of its mean and its variance; it is cheap only where it knows nothing."""
    seen = _posterior(found)
    low, high = min(float(seen.variance.min()) / 2, 0.02), max(2.0, 1.5 * float(seen.variance.max()))
    mean, variance = np.meshgrid(np.linspace(0, 2, 101), np.geomspace(low, high, 101))
    kl = 0.5 * (mean**2 + variance - np.log(variance) - 1)
    levels = [0, 0.05, 0.2, 0.5, 1, 1.5, 2, 3, 4, 6, 8]
    axis.contourf(mean, variance, kl, levels=levels, cmap="Greys", alpha=0.55, extend="max")
    lines = axis.contour(mean, variance, kl, levels=levels[1:], colors=_INK, linewidths=0.4)
    axis.clabel(lines, fontsize=6)
    path = np.geomspace(low, 1, 60)
    axis.plot(np.sqrt(1 - path), path, color=_INK, linewidth=1, linestyle="--", label="mean square $1 - \\sigma^2$")
    axis.scatter(
        np.minimum(seen.spread, 2),
        seen.variance,
        c=[_KIND[kind] for kind in seen.kinds],
        edgecolors="white",
        s=34,
        zorder=3,
    )
    axis.set_yscale("log")
    axis.set_xlim(0, 2)
    axis.set_ylim(low, high)
    axis.set_xlabel("spread of the mean code")
    axis.set_ylabel("$\\sigma^2$")
    axis.set_title("KL of a latent in nats; dots are latents", fontsize=9, loc="left")
    axis.legend(frameon=True, framealpha=0.9, edgecolor="none", fontsize=7, loc="lower left")


def _spectra(axis: Any, found: Inspection) -> None:
    assert found.orthogonality is not None
    values = found.orthogonality.singular_values
    low, middle, high = np.quantile(values, [0.1, 0.5, 0.9], axis=0)
    rank = np.arange(1, values.shape[1] + 1)
    axis.vlines(rank, low, high, color=_FIRST, alpha=0.35, linewidth=5)
    axis.plot(rank, middle, "o", color=_FIRST, markersize=4)
    axis.set_yscale("log")
    axis.set_xticks(rank if len(rank) <= 12 else rank[::4])
    axis.set_xlim(0.4, len(rank) + 0.6)
    axis.set_xlabel("rank")
    axis.set_ylabel("singular value of the Jacobian")
    axis.set_title(
        f"spectra, median and 10 to 90 %; {found.orthogonality.degenerate:.0%} degenerate", fontsize=9, loc="left"
    )
    _plain(axis)


def _distances(axis: Any, found: Inspection) -> None:
    assert found.orthogonality is not None
    distances, d = found.orthogonality.distances, found.orthogonality.singular_values.shape[1]
    limit = max(largest_distance(d), 1e-3)
    axis.hist(distances, bins=np.linspace(0, limit, 41), color=_FIRST, alpha=0.85)
    axis.axvline(found.orthogonality.mean, color=_INK, linewidth=1.2, label=f"mean {found.orthogonality.mean:.3f}")
    if d > 1:
        axis.axvline(random_distance(d), color=_SECOND, linewidth=1.2, linestyle="--", label="random rotations")
    axis.set_xlim(0, limit * 1.02)
    axis.set_xlabel("distance to orthogonality (0 to its largest)")
    axis.set_ylabel("codes")
    axis.set_title(
        f"distance to orthogonality; contrast {found.orthogonality.contrast.mean():.3f} nats", fontsize=9, loc="left"
    )
    axis.legend(frameon=False, fontsize=8)
    _plain(axis)


def _alignment(axis: Any, found: Inspection) -> None:
    assert found.alignment is not None
    table = found.alignment.table
    order = np.argsort(found.alignment.matched)
    drawn = axis.imshow(table[order], cmap="cividis", vmin=0, vmax=1, aspect="auto")
    axis.set_xticks(range(len(table)), [str(k + 1) for k in range(len(table))])
    axis.set_yticks(range(len(table)), [f"z{found.active[j]}" for j in order])
    axis.set_xlabel("principal direction")
    axis.set_title(
        f"|cos| with PCA; subspaces {found.alignment.angles.max():.1f}° apart at most", fontsize=9, loc="left"
    )
    axis.figure.colorbar(drawn, ax=axis, fraction=0.05).ax.tick_params(labelsize=7)


def _loss(axis: Any, found: Inspection) -> None:
    assert found.split is not None
    names = ("total", "deterministic", "stochastic", "stochastic, by\nthe Jacobian")
    values = (found.split.total, found.split.deterministic, found.split.stochastic, found.split.local)
    bars = axis.barh(names[::-1], values[::-1], color=[_QUIET, _SECOND, _FIRST, _INK], height=0.6)
    axis.bar_label(bars, fmt="%.3g", padding=3, fontsize=8)
    axis.margins(x=0.18)
    axis.set_xlabel("squared error, summed over pixels")
    axis.set_title("what the code misses, and what its noise adds", fontsize=9, loc="left")
    _plain(axis)


def _posterior(found: Inspection) -> Polarisation:
    assert found.polarisation is not None
    return found.polarisation


def _plain(axis: Any) -> None:
    axis.spines[["top", "right"]].set_visible(False)
