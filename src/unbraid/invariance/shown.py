"""What pages and pictures show of a run: some metamers, the ways to them, and planes through spheres."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from unbraid.data import counter_rng
from unbraid.errors import UsageError
from unbraid.evaluation import draw_images, true_classes
from unbraid.invariance.bijective import to_inputs, to_pictures
from unbraid.invariance.metameric import interpolate, metamers
from unbraid.invariance.nuisance import train_nuisance
from unbraid.invariance.planes import Plane, decision_plane
from unbraid.invariance.spheres import on_sphere_metamer

if TYPE_CHECKING:
    from unbraid.data import Dataset
    from unbraid.training import Run

__all__ = ["Pictures", "draw_inputs", "halves", "radii_of", "show_metamers", "sphere_planes", "unlike_published"]

PUBLISHED_MOST = 0.05
"""Share of the outer circle on which the nuisance classifier may err and the picture still be the published one."""
PAIRS = 32
"""So many points of the inner sphere are tried for a metamer on the outer one."""


@dataclass(frozen=True)
class Pictures:
    """Metamers as uint8 images ``[n, h, w, c]``, and the ways to the first of them."""

    sources: np.ndarray
    metamers: np.ndarray
    donors: np.ndarray
    paths: np.ndarray
    """``[steps, m, h, w, c]``, from images to their metamers at constant logits."""
    t: tuple[float, ...]
    residual: float
    """Largest change of any logit."""


def draw_inputs(run: Run, data: Dataset, images: int, seed: int) -> tuple[Tensor, Tensor]:
    """Inputs of a run's bijection, drawn without repetition, and their true classes."""
    index = draw_images(data, images, seed)
    return to_inputs(run, data.images(index, counter_rng(seed, 1))), torch.as_tensor(true_classes(run, data, index))


def show_metamers(
    run: Run, data: Dataset, *, count: int = 12, ways: int = 8, steps: int = 7, seed: int = 0
) -> Pictures:
    """``count`` images with the nuisance of another class, and the ways of the first ``ways`` of them there."""
    if count < 2 or ways < 1:
        raise UsageError(f"at least two images and one way are shown, got {count} and {ways}")
    x, labels = draw_inputs(run, data, count, seed)
    found = metamers(run, x, labels=labels, seed=seed)
    assert found.donors is not None
    donors = x[found.donors]
    path = interpolate(run, x[:ways], donors[:ways], steps=steps)
    sources, made, others = (to_pictures(run, row) for row in (x, found.x, donors))
    paths = np.stack([to_pictures(run, points) for points in path.x])
    residual = max(float(found.residual.max()), float(path.residual.max()))
    return Pictures(sources, made, others, paths, tuple(path.t.tolist()), residual)


def radii_of(data: Dataset) -> tuple[float, float] | None:
    """Radii of adversarial spheres; ``None`` of other data."""
    radius = getattr(data, "radius", None)
    return None if data.name != "spheres" or radius is None else (1.0, float(radius))


def sphere_planes(run: Run, data: Dataset, *, points: int = 2000, seed: int = 0) -> dict[str, Plane]:
    """Decisions in the plane of two random points, and in that of a point and its metamer on the other sphere."""
    radii = radii_of(data)
    if radii is None:
        raise UsageError(f"planes are those of spheres, and {run.path} is asked about {data.name}; --data spheres:...")
    x, labels = draw_inputs(run, data, points, seed)
    inner, outer = x[labels == 0], x[labels == 1]
    pairs = min(PAIRS, len(inner), len(outer))
    found = on_sphere_metamer(run, inner[:pairs], outer[:pairs], radii[1])
    if not found.found.any():
        raise UsageError(
            f"of {pairs} points of the inner sphere none has a metamer on the outer one, radius {radii[1]:g}, towards "
            f"its donor; try another seed, or a run that was trained longer than {run.path}"
        )
    place = int(found.found.double().argmax())
    left = train_nuisance(run, *halves(x, labels), width=200, steps=500, seed=seed)
    ends = {"two random points": (inner[0], outer[1]), "a point and its metamer": (inner[place], found.x[place])}
    return {title: decision_plane(run, *pair, radii=radii, nuisance=left) for title, pair in ends.items()}


def unlike_published(planes: Mapping[str, Plane]) -> str:
    """A sentence where the nuisance classifier is wrong in a plane of spheres, too; empty where it is as published."""
    wrong = {
        title: plane.stats["nuisance"].outer_called_inner
        for title, plane in planes.items()
        if "nuisance" in plane.stats
    }
    worst = max(wrong, key=wrong.__getitem__, default="")
    if not worst or wrong[worst] <= PUBLISHED_MOST:
        return ""
    return (
        f"In the plane of {worst} the nuisance classifier calls {wrong[worst]:.1%} of the outer circle inner; it is "
        f"right there in the published picture (here: up to {PUBLISHED_MOST:.0%})."
    )


def halves(x: Tensor, labels: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Every other sample to train on and to judge by: data sets are in order, halves of them would differ."""
    return x[::2], labels[::2], x[1::2], labels[1::2]
