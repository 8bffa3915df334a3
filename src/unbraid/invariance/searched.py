"""Metamers of models that cannot be inverted: found by descent, from the donor towards the same logits or codes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from unbraid.errors import UsageError
from unbraid.invariance.bijective import looked_at

__all__ = ["Searched", "search_metamers"]


@dataclass(frozen=True)
class Searched:
    """Inputs near the donors with nearly the outputs of x."""

    x: Tensor
    gap: Tensor
    """Distance of outputs to those of x as a share of what it was at the donor, ``[n]``: 0 is a metamer."""
    moved: Tensor
    """Distance to the donor as a share of the distance of x to it, ``[n]``: 0 where the donor is a metamer already."""
    found: Tensor
    """Whether the gap is within the tolerance: bool ``[n]``."""

    @property
    def excess(self) -> float:
        """How much of the way to x can be saved at the same outputs, 1 - moved, median over those that were found.

        Near 1 the model hardly looks at what tells x and donor apart; 0 or below means that one has to go all the way.
        ``nan`` where none was found.
        """
        return float(1 - self.moved[self.found].median()) if bool(self.found.any()) else float("nan")


def search_metamers(
    function: Callable[[Tensor], Tensor],
    x: Tensor,
    donors: Tensor,
    *,
    steps: int = 200,
    rate: float = 0.02,
    pull: float = 0.0,
    tolerance: float = 0.05,
    bounds: tuple[float, float] | None = (0.0, 1.0),
) -> Searched:
    """Inputs that look like the donors and have the outputs of x, for any differentiable classifier or encoder.

    Adam, from the donors on, makes |f(x') - f(x)|^2 small, each sample by the scale of its own gap at the start.
    ``pull`` weighs the squared distance to the donor against it, and ``bounds`` clip (``None`` for vectors). Of the
    points on the way whose gap is within the ``tolerance`` the nearest to the donor is kept, and where there is none
    that with the smallest gap. What is not found may exist all the same: this is a search, where :func:`metamers` of a
    bijection is exact.

    ``function`` gives outputs ``[n, k]`` through which gradients flow, as ``Run.classifier()`` does.
    """
    if x.shape != donors.shape or x.ndim < 2:
        raise UsageError(f"x and donors must be inputs of one shape, got {list(x.shape)} and {list(donors.shape)}")
    if steps < 1 or not rate > 0 or pull < 0 or not tolerance > 0:
        raise UsageError(
            f"steps, rate and tolerance must be positive and pull not negative, got {steps}, {rate}, {tolerance} and "
            f"{pull}"
        )
    module = function if isinstance(function, nn.Module) else None
    with looked_at(module), torch.enable_grad():
        target, begin = (_outputs(function, points.detach()).detach() for points in (x, donors))
        scale = (begin - target).norm(dim=1).clamp_min(1e-12)
        reach = (x - donors).flatten(1).norm(dim=1).clamp_min(1e-12)
        points = donors.detach().clone().requires_grad_()
        optimizer = torch.optim.Adam([points], lr=rate)
        best = _Kept(donors.detach().clone(), torch.ones_like(scale), torch.zeros_like(scale))
        for _ in range(steps):
            gap = (_outputs(function, points) - target).norm(dim=1) / scale
            away = (points - donors).flatten(1).norm(dim=1).square() / reach.square()
            (points.grad,) = torch.autograd.grad((gap.square() + pull * away).sum(), points)
            optimizer.step()
            if bounds is not None:
                with torch.no_grad():
                    points.clamp_(*bounds)
            with torch.no_grad():
                gap = (_outputs(function, points) - target).norm(dim=1) / scale
                moved = (points - donors).flatten(1).norm(dim=1) / reach
                best = best.or_better(_Kept(points.detach(), gap, moved), tolerance)
    return Searched(best.x, best.gap, best.moved, best.gap <= tolerance)


@dataclass(frozen=True)
class _Kept:
    """The best points so far."""

    x: Tensor
    gap: Tensor
    moved: Tensor

    def or_better(self, other: _Kept, tolerance: float) -> _Kept:
        """Of each sample the nearer of two that are metamers, one that is before one that is not, the smaller gap."""
        found, new = self.gap <= tolerance, other.gap <= tolerance
        wins = torch.where(found & new, other.moved < self.moved, new | (~found & (other.gap < self.gap)))
        chosen = wins.view(-1, *[1] * (self.x.ndim - 1))
        return _Kept(
            torch.where(chosen, other.x, self.x),
            torch.where(wins, other.gap, self.gap),
            torch.where(wins, other.moved, self.moved),
        )


def _outputs(function: Callable[[Tensor], Tensor], points: Tensor) -> Tensor:
    found = function(points)
    if not isinstance(found, Tensor) or found.ndim < 2 or len(found) != len(points):
        raise UsageError(f"the function must give a row of outputs for each of {len(points)} inputs")
    return found.flatten(1)
