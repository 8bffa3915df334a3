"""Kernel estimates of how much latents know of each other (Hsu, Hamid, Burns, Finn & Wu, 2024)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from unbraid.errors import UsageError, unknown_name
from unbraid.objectives.checks import check_not_negative
from unbraid.objectives.penalties._differences import spread
from unbraid.objectives.penalties.base import Penalty, View, register
from unbraid.objectives.penalties.hfs import all_pairs

if TYPE_CHECKING:
    import torch
    from torch import Tensor, nn

    from unbraid.objectives.autoencoder import AutoencoderObjective
    from unbraid.problem import Problem

__all__ = ["KernelInformation", "information_of_pairs", "released_multi_information"]


def _log_kernels(codes: Tensor, centres: Tensor, widths: Tensor) -> Tensor:
    """Log of normal kernels of each latent, of all codes by all centres: ``[d, n, m]``."""
    apart = (codes.T[:, :, None] - centres.T[:, None]) / widths[:, None, None]
    return -0.5 * apart.square() - widths.log()[:, None, None] - 0.5 * math.log(2 * math.pi)


def released_multi_information(codes: Tensor) -> Tensor:
    """``mean_i log q(z_i) - sum_k log q_k(z_ik)`` by kernels on the batch itself, as the release computes it.

    Every code is among its own kernels, which for a dozen latents is nearly all it sees, and joint and marginals have
    bandwidths of their own: the value is far above 0 for independent latents, and the same where one is a copy.
    """
    n, d = codes.shape
    widths = spread(codes)
    narrow = widths * (4 / (d + 2)) ** (1 / (d + 4)) * n ** (-1 / (d + 4))
    joint = _log_kernels(codes, codes, narrow).sum(0).logsumexp(1)
    marginals = _log_kernels(codes, codes, widths).logsumexp(2).sum(0)
    return (joint - marginals).mean() + (d - 1) * math.log(n)


def information_of_pairs(codes: Tensor, memory: Tensor | None = None) -> Tensor:
    """Sum over pairs of latents of ``mean_i log q(z_ik, z_il) - log q(z_ik) - log q(z_il)``.

    Kernels of width ``s m^(-1/6)``, m the number of codes, for joint and marginals alike; a code is not among its
    own. ``memory`` ``[m, d]`` are earlier codes to compare with, too.
    """
    import torch

    n, d = codes.shape
    every = codes if memory is None else torch.cat([codes, memory])
    kernels = _log_kernels(codes, every, spread(every) * len(every) ** (-1 / 6))  # [d, n, m]
    itself = torch.zeros(n, len(every), dtype=torch.bool, device=codes.device)
    kernels = kernels.masked_fill(itself.fill_diagonal_(True), -math.inf)
    marginals = kernels.logsumexp(2).mean(1)  # [d]
    i, j = all_pairs(d).to(codes.device).T
    joints = (kernels[i] + kernels[j]).logsumexp(2).mean(1)
    return (joints - marginals[i] - marginals[j] + math.log(len(every) - 1)).sum()


@register("klm")
@dataclass(frozen=True)
class KernelInformation(Penalty):
    """How much latents know of each other, by kernels on the codes of a batch (Hsu et al., 2024).

    As published the estimate cannot see dependence among a dozen latents; by default pairs of latents are compared,
    each code with all others. Kernels smooth, so independent latents score below 0, and what a batch of 64 cannot show,
    such as two uniform latents turned by 45 degrees, takes a ``memory``.
    """

    title = "kernel information"

    estimator: Literal["pairs", "released"] = "pairs"
    """pairs, all pairs of latents, or released, the published one."""
    memory: int = 0
    """How many earlier codes are compared with, too, by pairs; they are of encoders that have moved on since."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_not_negative(self, "memory")
        if self.estimator not in ("pairs", "released"):
            raise unknown_name("estimator", self.estimator, ("pairs", "released"))
        if self.memory and self.estimator == "released":
            raise UsageError("memory goes with estimator=pairs; the released estimator knows the batch alone")

    def build(self, objective: AutoencoderObjective, problem: Problem) -> nn.Module | None:
        import torch
        from torch import nn

        if objective.latents < 2:
            raise UsageError(f"penalty {self.name!r} compares latents; latents must be at least 2, got 1")
        if not self.memory:
            return None
        own = nn.Module()
        own.register_buffer("codes", torch.zeros(self.memory, objective.latents))
        own.register_buffer("count", torch.zeros((), dtype=torch.int64))
        return own

    def __call__(self, view: View, noise: torch.Generator) -> Tensor:
        codes = view.codes.mean
        if len(codes) < 3:
            raise UsageError(f"penalty {self.name!r} compares the codes of a batch; batch_size must be 3 at least")
        if self.estimator == "released":
            return released_multi_information(codes)
        if view.own is None:
            return information_of_pairs(codes)
        kept, count = view.own.get_buffer("codes"), view.own.get_buffer("count")
        known = kept[: int(count)]
        value = information_of_pairs(codes, known.clone())
        if view.own.training:  # a model that is only judged learns nothing
            newest = codes.detach()[: self.memory]
            kept.copy_(kept.roll(len(newest), 0))
            kept[: len(newest)] = newest
            count.add_(len(newest)).clamp_(max=self.memory)
        return value
