"""Hausdorff factorised support (Roth, Ibrahim, Akata, Vincent & Bouchacourt, 2023)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from unbraid.errors import UsageError, unknown_name
from unbraid.objectives.checks import check_count, check_not_negative
from unbraid.objectives.penalties._differences import spread
from unbraid.objectives.penalties.base import Penalty, View, register

if TYPE_CHECKING:
    import torch
    from torch import Tensor, nn

    from unbraid.objectives.autoencoder import AutoencoderObjective
    from unbraid.problem import Problem

__all__ = ["HausdorffSupport", "all_pairs", "support_gaps"]

ROOM = 1 << 22
"""Distances in memory at a time."""


def all_pairs(latents: int) -> Tensor:
    """All pairs i < j of latents, ``[d (d - 1) / 2, 2]``."""
    import torch

    return torch.combinations(torch.arange(latents), 2)


def support_gaps(codes: Tensor, pairs: Tensor) -> Tensor:
    """For each pair (i, j) of latents, how far the worst corner of their supports is from any code: ``[pairs]``.

    ``max_{a, b} min_n (z_ai - z_ni)^2 + (z_bj - z_nj)^2`` over all rows a, b, n: 0 where every value of one occurs with
    every value of the other. The search runs without gradients; the value is then computed from the winners alone,
    which gives the same gradient, to corner and code alike.
    """
    import torch

    with torch.no_grad():
        columns = codes.T.detach()
        squares = (columns[:, :, None] - columns[:, None]).square()  # [d, n, n]
        winners = torch.tensor([_worst_corner(squares[i], squares[j]) for i, j in pairs.tolist()], device=codes.device)
    first, second, nearest = winners.reshape(-1, 3).T
    i, j = pairs.to(codes.device).T
    return (codes[first, i] - codes[nearest, i]).square() + (codes[second, j] - codes[nearest, j]).square()


def _worst_corner(first: Tensor, second: Tensor) -> tuple[int, int, int]:
    """The rows a, b whose corner is farthest from every code, and the nearest code, by squared distances ``[n, n]``."""
    import torch

    size = max(1, ROOM // first.numel())
    nearest = torch.cat([(part[:, None] + second).amin(-1) for part in first.split(size)])  # [n, n]
    a, b = divmod(int(nearest.argmax()), len(second))
    return a, b, int((first[a] + second[b]).argmin())


@register("hfs")
@dataclass(frozen=True)
class HausdorffSupport(Penalty):
    """How far the support of the code is from the product of its latents' supports (Roth et al., 2023).

    Sum over random pairs of latents of the squared Hausdorff distance, on posterior means. It asks that every
    combination of values occur, not that latents be independent, and so bears factors that are correlated mildly; where
    correlated factors hardly ever combine, mixed codes fill their square better than the truth (see the metric
    ``support``). The sum grows with the number of pairs.
    """

    title = "factorised support"

    pairs: int = 25
    """Pairs of latents that a step looks at, drawn by chance; all, if there are no more."""
    delta: float = 0.0
    """Weight of a term that keeps latents from shrinking, sum_j max(0, 1 - s_j)^2, inside of the penalty's own."""
    keep: Literal["variance", "range"] = "variance"
    """What s_j is: the standard deviation of a latent over the batch, or half of its range."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_count(self, "pairs")
        check_not_negative(self, "delta")
        if self.keep not in ("variance", "range"):
            raise unknown_name("keep", self.keep, ("variance", "range"))

    def build(self, objective: AutoencoderObjective, problem: Problem) -> nn.Module | None:
        if objective.latents < 2:
            raise UsageError(f"penalty {self.name!r} looks at pairs of latents; latents must be at least 2, got 1")
        return None

    def __call__(self, view: View, noise: torch.Generator) -> Tensor:
        import torch

        codes, pairs = view.codes.mean, all_pairs(view.codes.mean.shape[1])
        if len(pairs) > self.pairs:
            order = torch.randperm(len(pairs), generator=noise, device=noise.device)
            pairs = pairs[order[: self.pairs].cpu()]
        value = support_gaps(codes, pairs).sum()
        return value + self.delta * self.kept(codes) if self.delta else value

    def kept(self, codes: Tensor) -> Tensor:
        """The term that keeps latents from shrinking."""
        sizes = spread(codes) if self.keep == "variance" else (codes.amax(0) - codes.amin(0)) / 2
        return (1 - sizes).clamp_min(0).square().sum()
