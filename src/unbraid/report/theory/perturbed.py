"""A perturbed data set beside its original and its control."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from unbraid.data import Perturbed, PixelNoise, counter_rng, unit_factors
from unbraid.files import save_picture
from unbraid.report.tiles import enlarge, labelled_rows

__all__ = ["perturbation_sheet"]


def perturbation_sheet(data: Perturbed, path: Path, *, columns: int = 10, seed: int = 0) -> None:
    """Write a PNG: original, perturbed, their difference, the noise control, and the patterns there are.

    Columns are random images, sorted by the number that decides their pattern. Differences and patterns are drawn
    around grey and enlarged so that epsilon reaches black and white.
    """
    rng = counter_rng(seed, 0)
    index = data.sample_index(columns, rng)
    scalar = data.perturbation.scalar(unit_factors(data.need_space("a perturbation"), data.factors(index)))
    index = index[np.argsort(scalar)]
    epsilon = data.perturbation.epsilon
    original, perturbed = (each.images(index, counter_rng(seed, 1)) for each in (data.base, data))
    noisy = PixelNoise(data.base, epsilon).images(index, counter_rng(seed, 1))
    patterns = data.perturbation.patterns
    shown = patterns[np.linspace(0, len(patterns) - 1, columns).astype(int)]

    def grey(change: np.ndarray) -> np.ndarray:
        return np.rint(127.5 + change * (127.5 / (255 * epsilon))).clip(0, 255).astype(np.uint8)

    moved = perturbed.astype(np.float64) - original
    rows = [original, perturbed, grey(moved), noisy, grey(shown.astype(np.float64))]
    labels = ["original", "perturbed", "difference", "noise control", "patterns"]
    notes = [
        data.base.name,
        f"ε = {epsilon:g}",
        f"{np.abs(moved).mean() / 255:.3f} on average",
        f"uniform ±{epsilon:g}",
        "number from -1 to 1",
    ]
    save_picture(labelled_rows([[enlarge(image) for image in row] for row in rows], labels, notes), path)
