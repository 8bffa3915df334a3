"""Pictures of what classifiers ignore: metamers, the way to them, and decisions in planes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from unbraid.errors import UsageError
from unbraid.files import make_folders, save_figure, save_picture, writing
from unbraid.report.tiles import enlarge, labelled_rows

if TYPE_CHECKING:
    from unbraid.invariance import Plane

__all__ = ["draw_decisions", "interpolation_sheet", "metamer_sheet"]

INNER, OUTER = "#dfe8f5", "#f6e3d3"


def metamer_sheet(sources: np.ndarray, metamers: np.ndarray, donors: np.ndarray, path: Path, *, side: int = 64) -> None:
    """Three rows as published: where the logits come from, the metamer, where all else comes from (uint8 images)."""
    if not sources.shape == metamers.shape == donors.shape:
        raise UsageError(
            f"sources, metamers and donors must be images of one shape, got {sources.shape}, {metamers.shape} and "
            f"{donors.shape}"
        )
    rows = [[enlarge(image, side) for image in images] for images in (sources, metamers, donors)]
    notes = ("gives the logits", "has both", "gives all else")
    with writing(path):
        make_folders(path.parent)
        save_picture(labelled_rows(rows, ("image", "metamer", "donor"), notes), path)


def interpolation_sheet(
    paths: np.ndarray, donors: np.ndarray, steps: Sequence[float], path: Path, *, side: int = 64
) -> None:
    """One column per image, downwards from it to its metamer at constant logits; the donor underneath.

    ``paths`` are uint8 images ``[steps, n, h, w, c]``, ``donors`` ``[n, h, w, c]``.
    """
    rows = [[enlarge(image, side) for image in images] for images in (*paths, donors)]
    labels = [f"t = {float(step):.2g}" for step in steps]
    notes = ["" for _ in labels]
    notes[0], notes[-1] = "the image", "its metamer"
    with writing(path):
        make_folders(path.parent)
        save_picture(labelled_rows(rows, [*labels, "donor"], [*notes, "of all but the logits"]), path)


def draw_decisions(planes: Sequence[Plane], titles: Sequence[str], path: Path) -> None:
    """Class maps in planes through the origin, with both circles and both points; a row for each classifier."""
    from matplotlib.colors import ListedColormap
    from matplotlib.figure import Figure

    names = list(planes[0].stats)
    size = (3.4 * len(planes), 3.6 * len(names))
    figure = Figure(figsize=size, layout="constrained")
    grid = figure.subplots(len(names), len(planes), squeeze=False)
    for row, name in zip(grid, names, strict=True):
        for axis, plane, title in zip(row, planes, titles, strict=True):
            shown = plane.semantic if name == "semantic" else plane.nuisance
            assert shown is not None
            reach = float(plane.axis[-1])
            axis.imshow(
                shown.numpy(),
                origin="lower",
                extent=(-reach, reach, -reach, reach),
                cmap=ListedColormap([INNER, OUTER]),
                vmin=0,
                vmax=1,
                interpolation="nearest",
            )
            angles = np.linspace(0, 2 * np.pi, 400)
            for radius in plane.radii:
                axis.plot(radius * np.cos(angles), radius * np.sin(angles), color="#4b5563", linewidth=0.8)
            axis.plot(*plane.points.numpy().T, "o", color="#1f2430", markersize=4)
            wrong = plane.stats[name].outer_called_inner
            reader = "logits" if name == "semantic" else "nuisance classifier"
            axis.set_title(
                f"{title}, by {reader}:\n{wrong:.1%} of the outer circle called inner", fontsize=8, loc="left"
            )
            axis.set_xticks([])
            axis.set_yticks([])
    with writing(path):
        make_folders(path.parent)
        save_figure(figure, path, dpi=150)
