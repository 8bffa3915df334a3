"""Decisions in a plane through the origin and two points, drawn and in numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from unbraid.errors import UsageError
from unbraid.invariance.bijective import as_bijective, outputs_of

__all__ = ["Plane", "PlaneStats", "decision_plane", "plane_basis"]

CIRCLE = 3600
"""Points on a circle of which shares are counted."""


@dataclass(frozen=True)
class PlaneStats:
    """Where a classifier is wrong on the two circles in which the plane meets the spheres."""

    outer_called_inner: float
    """Share of the outer circle."""
    inner_called_outer: float
    """Share of the inner circle."""


@dataclass(frozen=True)
class Plane:
    """Decisions on a grid a e1 + b e2 of a plane."""

    axis: Tensor
    """The values of a and of b, ``[size]``."""
    basis: Tensor
    """e1 and e2, ``[2, d]``, orthonormal; the first points towards p."""
    points: Tensor
    """p and q in the plane's coordinates, ``[2, 2]``."""
    radii: tuple[float, float]
    semantic: Tensor
    """Class by the logits, ``[size, size]``: rows are b, columns a."""
    nuisance: Tensor | None
    """Class by a classifier of the nuisance outputs."""
    stats: dict[str, PlaneStats]
    """By ``semantic`` and, where there is such a classifier, ``nuisance``."""


def plane_basis(p: Tensor, q: Tensor) -> Tensor:
    """e1 = p / |p|, e2 = what is left of q without e1, normed: ``[2, d]``."""
    first = p.flatten().double()
    second = q.flatten().double()
    if not first.norm() > 0:
        raise UsageError("p is the origin: it has no direction to span a plane with")
    e1 = first / first.norm()
    rest = second - (second @ e1) * e1
    if not rest.norm() > 1e-9 * second.norm():
        raise UsageError("p and q lie on one line through the origin: they span no plane")
    return torch.stack([e1, rest / rest.norm()])


def decision_plane(
    net: Any,
    p: Tensor,
    q: Tensor,
    *,
    radii: tuple[float, float] = (1.0, 10.0),
    nuisance: Callable[[Tensor], Tensor] | None = None,
    size: int = 201,
    classes: int | None = None,
) -> Plane:
    """What the logits, and a classifier of the nuisance outputs, say in the plane through 0, p and q.

    Class 0 is the inner sphere. The grid reaches 1.2 times the outer radius. Two random points show a decision that is
    right; x and its metamer show the sector of the outer sphere that has the logits of the inner one.
    """
    flow = as_bijective(net, classes)
    basis = plane_basis(p, q)
    axis = torch.linspace(-1.2 * radii[1], 1.2 * radii[1], size, dtype=torch.float64)
    b, a = torch.meshgrid(axis, axis, indexing="ij")
    readers: dict[str, Callable[[Tensor], Tensor]] = {"semantic": lambda z: flow.split(z)[0]}
    if nuisance is not None:
        reader = nuisance
        readers["nuisance"] = lambda z: reader(flow.split(z)[1])

    def decisions(coordinates: Tensor) -> dict[str, Tensor]:
        z = outputs_of(flow, (coordinates @ basis).to(p.dtype).view(-1, *p.shape), batch_size=4096)
        with torch.no_grad():
            return {name: read(z).argmax(1) for name, read in readers.items()}

    maps = decisions(torch.stack([a.flatten(), b.flatten()], 1))
    angles = torch.arange(CIRCLE, dtype=torch.float64) * (2 * math.pi / CIRCLE)
    circle = torch.stack([angles.cos(), angles.sin()], 1)
    inner, outer = (decisions(radius * circle) for radius in radii)
    stats = {
        name: PlaneStats(float((outer[name] == 0).double().mean()), float((inner[name] == 1).double().mean()))
        for name in readers
    }
    return Plane(
        axis,
        basis,
        torch.stack([basis @ p.flatten().double(), basis @ q.flatten().double()]),
        radii,
        maps["semantic"].view(size, size),
        maps["nuisance"].view(size, size) if "nuisance" in maps else None,
        stats,
    )
