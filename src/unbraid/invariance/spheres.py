"""Adversarial spheres: their oracle, a rule that ignores one coordinate, and metamers on the spheres themselves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from unbraid.errors import UsageError
from unbraid.invariance.bijective import Bijective, as_bijective, join, outputs_of, undone

__all__ = [
    "MisalignedRule",
    "OnManifold",
    "misaligned_rule",
    "on_sphere",
    "on_sphere_metamer",
    "shift_last_coordinate",
    "sphere_attack",
    "sphere_oracle",
]

GRID, HALVINGS = 32, 50


def sphere_oracle(radii: tuple[float, float] = (1.0, 10.0)) -> Callable[[Tensor], Tensor]:
    """The true class everywhere: that of the nearer radius, o(x) = 1 where |x| > (R1 + R2) / 2.

    Off the spheres this is a decision; :func:`on_sphere` says where it is undisputed.

    >>> sphere_oracle()(torch.tensor([[1.0, 0.0], [6.0, 0.0]])).tolist()
    [0, 1]
    """
    inner, outer = _radii(radii)
    return lambda x: (x.double().norm(dim=1) > (inner + outer) / 2).long()


def on_sphere(x: Tensor, radii: tuple[float, float] = (1.0, 10.0), *, tolerance: float = 1e-3) -> Tensor:
    """Whether points lie on one of the spheres, up to the tolerance: bool ``[n]``."""
    norms = x.double().norm(dim=1)
    return torch.stack([(norms - radius).abs() <= tolerance for radius in _radii(radii)]).any(0)


@dataclass(frozen=True)
class MisalignedRule:
    """D(x) = sign(|x_1..d-1| - (R1 + R2) / 2): right on nearly every sample, and blind to the last coordinate.

    Example 6 of Jacobsen et al. (2019). In few dimensions the last coordinate matters, and the rule errs: at d = 20
    and radii 1 and 1.3 on 1.6 % of samples.
    """

    radii: tuple[float, float]

    def __call__(self, x: Tensor) -> Tensor:
        return (x[:, :-1].double().norm(dim=1) > sum(self.radii) / 2).long()


def misaligned_rule(radii: tuple[float, float] = (1.0, 10.0)) -> MisalignedRule:
    """The rule for spheres of these radii."""
    return MisalignedRule(_radii(radii))


def shift_last_coordinate(x: Tensor, radius: float) -> Tensor:
    """Points moved onto the sphere of this radius along their last coordinate alone, which keeps its sign; float64.

    x_d* = sign(x_d) sqrt(R^2 - |x_1..d-1|^2): nothing changes for who ignores x_d.
    """
    points = x.double()
    rest = radius**2 - points[:, :-1].square().sum(1)
    if bool((rest < 0).any()):
        raise UsageError(f"a point is farther than {radius} from the origin without its last coordinate already")
    sign = torch.where(points[:, -1] < 0, -1.0, 1.0)
    return torch.cat([points[:, :-1], (sign * rest.sqrt())[:, None]], 1)


@dataclass(frozen=True)
class OnManifold:
    """Inputs with the logits of x on a sphere of another radius."""

    x: Tensor
    t: Tensor
    """How far the nuisance went towards the donor's, ``[n]``."""
    found: Tensor
    """Whether x is on the sphere, where the path to the donor's nuisance meets it: bool ``[n]``; else x holds the
    nearest point looked at."""
    error: Tensor
    """Distance of the norm from the radius, ``[n]``."""
    residual: Tensor
    """Largest absolute difference of logits to those of x, ``[n]``."""


def on_sphere_metamer(
    net: Any, x: Tensor, donors: Tensor, radius: float, *, tolerance: float = 1e-3, classes: int | None = None
) -> OnManifold:
    """Walk from x towards the donor's nuisance at fixed logits until the norm is ``radius``, by bisection.

    Plain metamers leave both spheres. The norm is continuous along the path, so an invariance-based adversarial
    example lies on the data manifold itself wherever the path crosses the other sphere. Found is what ends on it: the
    norm misses the radius by at most ``tolerance`` times the radius.
    """
    if not (radius > 0 and tolerance > 0):
        raise UsageError(f"radius and tolerance must be above 0, got {radius} and {tolerance}")
    flow = as_bijective(net, classes)
    semantic, own = flow.split(outputs_of(flow, x))
    other = flow.split(outputs_of(flow, donors))[1]

    def at(t: Tensor) -> Tensor:
        return undone(flow, join(semantic, own + t[:, None].to(own.dtype) * (other - own)))

    def beyond(t: Tensor) -> Tensor:
        return at(t).double().norm(dim=1) - radius

    low, high, found, nearest = _bracket(beyond, len(x))
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        same = beyond(middle).sign() == beyond(low).sign()
        low, high = torch.where(same, middle, low), torch.where(same, high, middle)
    t = torch.where(found, (low + high) / 2, nearest)
    points = at(t)
    error = (points.double().norm(dim=1) - radius).abs()
    return OnManifold(points, t, found & (error <= tolerance * radius), error, _gap(flow, points, semantic))


def _bracket(beyond: Callable[[Tensor], Tensor], n: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The first two neighbours on a grid of t between which the norm passes the radius, and where it is nearest."""
    grid = torch.linspace(0, 1, GRID + 1, dtype=torch.float64)
    values = torch.stack([beyond(torch.full((n,), float(t), dtype=torch.float64)) for t in grid])
    crossing = (values[:-1].sign() != values[1:].sign()) & values[:-1].isfinite() & values[1:].isfinite()
    found, first = crossing.any(0), crossing.double().argmax(0)
    return grid[first], grid[first + 1], found, grid[values.abs().nan_to_num(torch.inf).argmin(0)]


def _gap(flow: Bijective, x: Tensor, semantic: Tensor) -> Tensor:
    return (flow.split(outputs_of(flow, x))[0] - semantic).abs().amax(1)


def sphere_attack(
    classify: Callable[[Tensor], Tensor], x: Tensor, labels: Tensor, *, steps: int = 100, size: float = 0.01
) -> Tensor:
    """Points of the same spheres that a classifier errs on: ascend its loss, renormalise (Gilmer et al., 2018).

    Each step is ``size`` times the radius along the normed gradient, then back to the norm of x. ``classify`` gives
    scores ``[n, C]`` through which gradients flow.
    """
    radius = x.norm(dim=1, keepdim=True)
    points = x.detach()
    for _ in range(steps):
        with torch.enable_grad():
            variable = points.requires_grad_()
            loss = torch.nn.functional.cross_entropy(classify(variable), labels, reduction="sum")
            (gradient,) = torch.autograd.grad(loss, variable)
        moved = variable.detach() + size * radius * gradient / gradient.norm(dim=1, keepdim=True).clamp_min(1e-12)
        points = moved * radius / moved.norm(dim=1, keepdim=True)
    return points


def _radii(radii: tuple[float, float]) -> tuple[float, float]:
    inner, outer = radii
    if not 0 < inner < outer:
        raise UsageError(f"radii must be positive and ascend, inner sphere first, got {radii}")
    return float(inner), float(outer)
