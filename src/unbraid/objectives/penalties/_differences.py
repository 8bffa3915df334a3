"""How a decoder answers small random steps of the code: what the penalties on its derivatives are made of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from unbraid.errors import UsageError, unknown_name
from unbraid.objectives.checks import check_positive
from unbraid.objectives.penalties.base import Penalty, View

if TYPE_CHECKING:
    import torch
    from torch import Tensor

__all__ = ["Outputs", "ReducedPenalty", "StagedPenalty", "normal", "second_differences", "signs", "spread"]

Outputs = Callable[["Tensor"], "list[Tensor]"]
"""From codes ``[n, d]`` to one or more tensors ``[n, ...]``."""


def signs(k: int, codes: Tensor, noise: torch.Generator) -> Tensor:
    """``k`` directions for each code, every coordinate 1 or -1: ``[k, n, d]``."""
    import torch

    drawn = torch.randint(0, 2, (k, *codes.shape), generator=noise, device=codes.device)
    return 2.0 * drawn.to(codes.dtype) - 1.0


def normal(k: int, codes: Tensor, noise: torch.Generator) -> Tensor:
    """``k`` standard normal directions for each code: ``[k, n, d]``."""
    import torch

    return torch.randn((k, *codes.shape), generator=noise, device=codes.device, dtype=codes.dtype)


def spread(codes: Tensor) -> Tensor:
    """Standard deviation of each latent over the batch ``[d]``, at least 1e-6: a step of 1 in its own units."""
    return codes.var(0).clamp_min(1e-12).sqrt()


def second_differences(outputs: Outputs, codes: Tensor, directions: Tensor, eps: float) -> list[Tensor]:
    """``[f(z + eps v) - 2 f(z) + f(z - eps v)] / eps^2`` along directions v ``[k, n, d]``: ``[k, n, ...]`` for each f.

    To the second order in eps this is v' H v, H the Hessian of each output.
    """
    import torch

    middle = outputs(codes)
    sides = [(outputs(codes + eps * v), outputs(codes - eps * v)) for v in directions]
    return [torch.stack([(up[f] - 2 * here + down[f]) / eps**2 for up, down in sides]) for f, here in enumerate(middle)]


@dataclass(frozen=True)
class SteppingPenalty(Penalty):
    """What penalties share that look at how a decoder answers small random steps."""

    k: int = 2
    """Random directions for each code; their variance needs two at least."""
    eps: float = 0.1
    """Length of a step along each latent, in the units of ``spread``."""
    spread: bool = True
    """Step in units of each latent's standard deviation over the batch, so that the scale of a code does not count."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive(self, "eps")
        if self.k < 2:
            raise UsageError(f"k must be at least 2 directions, which have a variance, got {self.k}")

    def units(self, codes: Tensor) -> Tensor:
        """What a direction is multiplied by, ``[d]``."""
        import torch

        return spread(codes) if self.spread else torch.ones_like(codes[0])


@dataclass(frozen=True)
class ReducedPenalty(SteppingPenalty):
    """One of them whose values are averaged, or the largest of them taken."""

    reduction: Literal["mean", "max"] = "mean"
    """Of all values, the mean, or max as published, which follows one pixel of one image (of orojar: one image)."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.reduction not in ("mean", "max"):
            raise unknown_name("reduction", self.reduction, ("mean", "max"))

    def reduced(self, values: Tensor) -> Tensor:
        """All of them as one number."""
        return values.amax() if self.reduction == "max" else values.mean()


@dataclass(frozen=True)
class StagedPenalty(SteppingPenalty):
    """One of them that can look into the decoder."""

    stages: Literal["image", "inner"] = "image"
    """What is looked at: the image, or the outputs of the decoder's layers before the last."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.stages not in ("image", "inner"):
            raise unknown_name("stages", self.stages, ("image", "inner"))

    def outputs(self, view: View) -> Outputs:
        """The function of codes whose curvature counts."""
        return view.stages if self.stages == "inner" else lambda codes: [view.decode(codes)]
