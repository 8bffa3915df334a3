"""Images over a plane of two latents: axes or polar coordinates show at a glance."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from unbraid.errors import UsageError
from unbraid.files import save_figure
from unbraid.training import Run

__all__ = ["draw_planes", "plane_images"]


def plane_images(
    run: Run, codes: np.ndarray, latents: tuple[int, int], *, values: int = 9, reach: float = 2.0
) -> np.ndarray:
    """Images ``[values, values, h, w, c]``: both latents from ``-reach`` to ``reach`` around the mean code.

    The first latent goes to the right, the second up.
    """
    if values < 2 or not reach > 0:
        raise UsageError(f"values must be at least 2 and reach positive, got {values} and {reach}")
    middle, steps = codes.mean(axis=0), np.linspace(-reach, reach, values)
    grid = np.tile(middle, (values, values, 1))
    grid[:, :, latents[0]] += steps[None, :]
    grid[:, :, latents[1]] += steps[::-1, None]
    images = run.decode(grid.reshape(-1, len(middle)).astype(np.float32))
    return images.reshape(values, values, *images.shape[1:])


def draw_planes(planes: Sequence[np.ndarray], titles: Sequence[str], path: Path, *, columns: int = 4) -> None:
    """Several planes in one picture, row by row."""
    from matplotlib.figure import Figure

    rows = -(-len(planes) // columns)
    figure = Figure(figsize=(3.1 * min(columns, len(planes)), 3.35 * rows), layout="constrained")
    grid = figure.subplots(rows, min(columns, len(planes)), squeeze=False)
    for axis in grid.flat:
        axis.axis("off")
    for axis, images, text in zip(grid.flat, planes, titles, strict=False):
        values, _, height, width, channels = images.shape
        tiled = images.transpose(0, 2, 1, 3, 4).reshape(values * height, values * width, channels)
        axis.imshow(tiled.repeat(3, axis=2) if channels == 1 else tiled)
        axis.set_title(text, fontsize=8, loc="left")
    save_figure(figure, path, dpi=150)
