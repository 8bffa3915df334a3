"""Nonlinear eigenfaces: a model's latents in the order of their precision, beside principal components."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from unbraid.data import ImageDataset, counter_rng
from unbraid.errors import UsageError
from unbraid.files import save_picture
from unbraid.report.tiles import enlarge, labelled_rows
from unbraid.theory import principal_components
from unbraid.training import Run

__all__ = ["EigenTraversal", "eigen_traversal", "save_eigen"]


@dataclass(frozen=True)
class EigenTraversal:
    """Images ``[rows, values, h, w, c]`` of both kinds, most important row first."""

    images: np.ndarray
    """Decoded around the mean code, one latent moved per row."""
    latents: tuple[int, ...]
    variances: np.ndarray
    """Mean posterior variance of each row's latent, ascending."""
    linear: np.ndarray
    """The mean image plus so many standard deviations of one principal component per row."""
    component_variances: np.ndarray


def eigen_traversal(
    run: Run,
    data: ImageDataset,
    *,
    rows: int = 5,
    values: int = 7,
    reach: float = 2.5,
    images: int = 300,
    start: Literal["codes", "image"] = "codes",
    seed: int = 0,
) -> EigenTraversal:
    """Move the latents with the smallest mean posterior variance from ``-reach`` to ``reach`` around the mean.

    The mean is that of the codes of some images, or the code of their mean ``image``. Small variance means that much
    precision is spent on a latent, as large variance does for a principal component (Rolinek et al., 2019).
    """
    if rows < 1 or values < 2 or not reach > 0 or images < 2:
        raise UsageError(
            f"rows must be at least 1, values and images 2, and reach positive; got {rows}, {values}, {images}, {reach}"
        )
    if start not in ("codes", "image"):
        raise UsageError(f"start must be 'codes' or 'image', got {start!r}")
    data.need_pictures("a traversal along principal components")
    rng = counter_rng(seed, 0)
    pixels = data.images(data.sample_index(images, rng), rng)
    found = run.describe(pixels, seed=seed)
    if "logvar" not in found:
        raise UsageError(
            f"{run.path} was trained by {run.objective.name!r}, which has no posterior variance to sort by"
        )
    variances = np.exp(found["logvar"]).mean(axis=0)
    order = np.argsort(variances, kind="stable")[:rows]
    mean_image = np.rint(pixels.mean(axis=0, keepdims=True)).astype(np.uint8)
    middle = found["mean"].mean(axis=0) if start == "codes" else run.encode(mean_image)[0]
    steps = np.linspace(-reach, reach, values)
    codes = np.tile(middle, (len(order), values, 1))
    codes[np.arange(len(order)), :, order] += steps
    decoded = run.decode(codes.reshape(-1, len(middle)))
    flat = pixels.reshape(images, -1) / 255
    shown = min(len(order), images - 1, flat.shape[1])
    components = principal_components(flat, shown)
    moves = np.sqrt(components.variances)[:, None] * components.directions.T  # [rows, pixels]
    linear = flat.mean(axis=0) + steps[None, :, None] * moves[:, None]
    return EigenTraversal(
        decoded.reshape(len(order), values, *pixels.shape[1:]),
        tuple(int(latent) for latent in order),
        variances[order],
        np.rint(255 * linear.clip(0, 1)).astype(np.uint8).reshape(shown, values, *pixels.shape[1:]),
        components.variances,
    )


def save_eigen(found: EigenTraversal, path: Path) -> None:
    """A PNG: latents by ascending variance on the left, principal components by descending variance on the right."""
    from PIL import Image

    left = labelled_rows(
        [[enlarge(image, 48) for image in row] for row in found.images],
        [f"z{latent}" for latent in found.latents],
        [f"σ² {variance:.3f}" for variance in found.variances],
    )
    right = labelled_rows(
        [[enlarge(image, 48) for image in row] for row in found.linear],
        [f"PC {i + 1}" for i in range(len(found.linear))],
        [f"λ {variance:.3g}" for variance in found.component_variances],
    )
    both = Image.new("RGB", (left.width + right.width, max(left.height, right.height)), "#ffffff")
    both.paste(left, (0, 0))
    both.paste(right, (left.width, 0))
    save_picture(both, path)
