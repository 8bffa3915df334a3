"""Autoencoders whose latents take a few values each: QLAE (Hsu et al., 2023) and FSQ (Mentzer et al., 2024)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from unbraid.errors import UsageError
from unbraid.objectives.autoencoder import AE
from unbraid.objectives.base import Codes, Inputs, Problem, Terms, register
from unbraid.objectives.checks import check_not_negative

if TYPE_CHECKING:
    import torch
    from torch import Tensor, nn

    from unbraid.nets import Autoencoder

__all__ = ["FSQ", "QLAE", "QuantisedObjective"]


@dataclass(frozen=True)
class QuantisedObjective(AE):
    """An autoencoder with a bottleneck: the decoder sees the nearest of a few values of each latent.

    Gradients pass through it as if nothing had been rounded. :meth:`encode` gives the values, and the run says that its
    codes are discrete, so that scores count values instead of cutting bins. The history has how many latents are
    ``active``, taking more than one value in a batch, and ``used_values``, the mean over latents of how many they take.
    """

    codes: ClassVar[Literal["continuous", "discrete"]] = "discrete"

    values: int = 10
    """How many values a latent can take."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.values < 2:
            raise UsageError(f"values must be at least 2 for each latent, got {self.values}")
        if self.recombine:
            raise UsageError(f"recombine is for ae: codes of {self.name!r} are rounded and not recombined; leave it 0")

    def quantised(self, model: Autoencoder, images: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Codes before rounding, after it, and the numbers of the values chosen, each ``[n, latents]``."""
        raise UsageError(f"objective {self.name!r} does not say how it rounds: define quantised(model, images)")

    def bottleneck(self, model: Autoencoder, codes: Tensor, values: Tensor) -> dict[str, Tensor]:
        """What rounding adds to the loss."""
        return {}

    def loss(self, model: Autoencoder, inputs: Inputs, step: int, noise: torch.Generator) -> Terms:
        from unbraid.nets import distinct_values, straight_through

        codes, values, chosen = self.quantised(model, inputs.images)
        passed = straight_through(codes, values)
        reconstruction = self.reconstruction(model.decoder(passed), inputs.targets).mean()
        used = distinct_values(chosen, self.values).to(codes.dtype)
        return Terms(
            {"reconstruction": reconstruction, **self.bottleneck(model, codes, values)},
            {"active": (used > 1).to(codes.dtype).sum(), "used_values": used.mean()},
            Codes(codes, passed),
        )

    def encode(self, model: Autoencoder, images: Tensor, noise: torch.Generator | None = None) -> Tensor:
        if noise is not None:
            raise UsageError("rounded codes are not drawn: there is no sampled representation; ask for the mean")
        return self.quantised(model, images)[1]


@register("qlae")
@dataclass(frozen=True)
class QLAE(QuantisedObjective):
    """Autoencoder whose latents choose among a few learned values each, with weight decay (Hsu et al., 2023).

    The loss is the reconstruction, what moves the values chosen towards the codes (quantisation) and what moves codes
    towards the values chosen (commitment). The paper has twice as many latents as factors and decays weights by 0.1; on
    short runs of small networks that leaves every latent with one value, so less is the default here: watch ``active``.
    """

    title = "QLAE"
    formula = "−log p(x|q) + pixels · ({quantisation} · ‖sg z − q‖² + {commitment} · ‖z − sg q‖²), means over latents"

    learning_rate: float = 1e-3
    """Step size of the optimiser."""
    weight_decay: float = 0.01
    """Decoupled decay of weight matrices and kernels; biases and the learned values stay."""
    quantisation: float = 0.01
    """How much values are drawn to the codes they stand for. Published beside a reconstruction averaged over pixels, so
    the loss has it times the numbers of an image."""
    commitment: float = 0.01
    """How much codes are drawn to the values they are rounded to, counted likewise."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_not_negative(self, "quantisation", "commitment")

    def build(self, problem: Problem, generator: torch.Generator) -> Autoencoder:
        from unbraid.nets import Codebooks

        model = super().build(problem, generator)
        model.add_module("codebooks", Codebooks(self.latents, self.values))
        return model

    def trained(self, model: Autoencoder) -> list[nn.Module]:
        return [*super().trained(model), model.get_submodule("codebooks")]

    def decays(self, name: str, parameter: nn.Parameter) -> bool:
        return name != "values" and super().decays(name, parameter)

    def quantised(self, model: Autoencoder, images: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        codes = model.encoder(images)
        return codes, *model.get_submodule("codebooks")(codes)

    def bottleneck(self, model: Autoencoder, codes: Tensor, values: Tensor) -> dict[str, Tensor]:
        pixels = math.prod(model.problem.shape)
        return {
            "quantisation": pixels * self.quantisation * (codes.detach() - values).square().mean(),
            "commitment": pixels * self.commitment * (codes - values.detach()).square().mean(),
        }


@register("fsq")
@dataclass(frozen=True)
class FSQ(QuantisedObjective):
    """Autoencoder whose latents are rounded to evenly spaced values from -1 to 1: nothing to learn, nothing to add.

    Finite scalar quantisation (Mentzer et al., 2024) of tanh(z), as in the first leg of Tripod (Hsu et al., 2024).
    """

    title = "FSQ autoencoder"
    formula = "−log p(x|q), q = tanh f(x) rounded to {values} values"

    learning_rate: float = 2e-4
    """Step size of the optimiser."""
    values: int = 12
    """How many values a latent can take."""
    normalise: bool = True
    """Centre and scale every latent over the batch before tanh, with a learned shift and scale. Without it small
    networks push all images to one end of tanh while they learn the mean image, where no gradient brings them back."""

    def build(self, problem: Problem, generator: torch.Generator) -> Autoencoder:
        from unbraid.nets import CodeNorm

        model = super().build(problem, generator)
        if self.normalise:
            model.add_module("norm", CodeNorm(self.latents))
        return model

    def trained(self, model: Autoencoder) -> list[nn.Module]:
        return [*super().trained(model), *([model.get_submodule("norm")] if self.normalise else [])]

    def quantised(self, model: Autoencoder, images: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        from unbraid.nets import on_grid

        codes = model.encoder(images)
        codes = (model.get_submodule("norm")(codes) if self.normalise else codes).tanh()
        return codes, *on_grid(codes, self.values)
