"""VAEs on pairs of which it is known what changed: GVAE (Hosoya, 2019) and ML-VAE (Bouchacourt et al., 2018)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from unbraid.errors import UsageError
from unbraid.objectives.base import Inputs, Problem, register
from unbraid.objectives.sharing import SharingObjective, averaged, multiplied
from unbraid.objectives.titles import KL, NLL

if TYPE_CHECKING:
    import torch
    from torch import Tensor

    from unbraid.nets import Autoencoder, Gaussian

__all__ = ["GVAE", "MLVAE", "KnownChangeObjective"]


@dataclass(frozen=True)
class KnownChangeObjective(SharingObjective):
    """Latent k stays apart exactly where factor k changed; every other latent is shared.

    That latent k is tied to factor k is supervision, which scores of such a model must be read with.
    """

    sweep = ("beta", (1, 2, 4, 6, 8, 16))
    sees_labels = True

    pairs: str = "protocol=uni,changes=1"
    """Options of the stream of pairs, as in protocol=uni,changes=2: so many factors change in every pair."""

    def build(self, problem: Problem, generator: torch.Generator) -> Autoencoder:
        count = len(problem.factor_names)
        if not count:
            raise UsageError(
                f"objective {self.name!r} must know which factors changed, and these data have none; ada-gvae and "
                "ada-ml-vae guess it"
            )
        if self.latents < count:
            raise UsageError(
                f"latents must be at least {count}, one for each factor that may change "
                f"({', '.join(problem.factor_names)}), got {self.latents}"
            )
        return super().build(problem, generator)

    def shared(self, first: Gaussian, second: Gaussian, inputs: Inputs | None) -> Tensor:
        import torch

        if inputs is None or inputs.changed is None:
            raise UsageError(f"objective {self.name!r} needs a stream that says which factors changed in a pair")
        apart = torch.zeros_like(first.mean, dtype=torch.bool)
        apart[:, : inputs.changed.shape[1]] = inputs.changed
        return ~apart


@register("gvae")
@dataclass(frozen=True)
class GVAE(KnownChangeObjective):
    """VAE that averages mean and variance of latents whose factors did not change (Hosoya, 2019)."""

    title = "GVAE"
    formula = f"{NLL} + {{beta}} · {KL}, posteriors averaged in the latents of unchanged factors"

    def average(self, first: Gaussian, second: Gaussian) -> Gaussian:
        return averaged(first, second)


@register("ml-vae")
@dataclass(frozen=True)
class MLVAE(KnownChangeObjective):
    """VAE that multiplies the densities of latents whose factors did not change (Bouchacourt et al., 2018)."""

    title = "ML-VAE"
    formula = f"{NLL} + {{beta}} · {KL}, posteriors multiplied in the latents of unchanged factors"

    def average(self, first: Gaussian, second: Gaussian) -> Gaussian:
        return multiplied(first, second)
