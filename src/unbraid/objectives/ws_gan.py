"""A GAN that learns what a factor is from pairs that share, change or rank it (Shu et al., 2020)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

from unbraid.errors import UsageError, unknown_name
from unbraid.objectives.base import Inputs, Objective, Problem, Terms, register
from unbraid.objectives.checks import check_count, check_not_negative, check_positive
from unbraid.options import Named

if TYPE_CHECKING:
    import torch
    from torch import Tensor

    from unbraid.nets import WeakGAN

__all__ = ["WSGAN"]

Rule = Literal["share", "change", "rank"]


@register("ws-gan")
@dataclass(frozen=True)
class WSGAN(Objective):
    """Generator, discriminator of pairs and encoder: each factor gets a latent by weak supervision (Shu et al., 2020).

    Real pairs share one factor, or differ in one alone, or are ranked by one, and the discriminator is told which.
    The generator makes its pairs alike from its latents; the encoder learns to read generated images only.
    """

    title = "WS-GAN"
    sees_labels = True
    formula = "D tells true pairs from drawn ones, G deceives it, −log N(z; μ(G(z)), σ(G(z))) for the encoder"
    representations = ("mean",)

    rule: Rule = "share"
    """What is known of a pair: that it may share one factor alone, that one alone may change, or how one ranks."""
    nuisance: int = 0
    """Latents beyond one for each factor, drawn anew for both images of a pair."""
    breadth: int = 2
    """How many times as wide the discriminator is as the encoder."""
    learning_rate: float = 1e-3
    """Step size of all three optimisers, Adam with betas 0.5 and 0.999."""

    def __post_init__(self) -> None:
        check_not_negative(self, "nuisance")
        check_count(self, "breadth")
        check_positive(self, "learning_rate")
        if self.rule not in get_args(Rule):
            raise unknown_name("rule", self.rule, get_args(Rule))

    @property
    def needs(self) -> Named:  # type: ignore[override]
        return Named("weak-pairs", {"rule": self.rule})

    def build(self, problem: Problem, generator: torch.Generator) -> WeakGAN:
        from unbraid import nets

        count = len(problem.factor_names)
        if not count:
            raise UsageError(f"objective {self.name!r} needs data with known factors; see `unbraid data list`")
        return nets.WeakGAN(
            problem,
            latents=count + self.nuisance,
            conditions=2 * count if self.rule == "rank" else count,
            breadth=self.breadth,
            generator=generator,
        )

    def optimizers(self, model: WeakGAN) -> dict[str, torch.optim.Optimizer]:
        from torch.optim import Adam

        players = ("encoder", "generator", "discriminator")  # the first one's loss stands for the run in the history
        return {
            name: Adam(model.get_submodule(name).parameters(), lr=self.learning_rate, betas=(0.5, 0.999), fused=True)
            for name in players
        }

    def losses(self, model: WeakGAN, inputs: Inputs, step: int, noise: torch.Generator) -> Iterator[tuple[str, Terms]]:
        import torch
        from torch.nn.functional import softplus

        if inputs.partners is None or inputs.labels is None:
            raise UsageError("ws-gan needs the stream of weak pairs, with partners and labels; got something else")
        chosen = inputs.labels // 2 if self.rule == "rank" else inputs.labels
        first, second, condition = self.latent_pairs(model, chosen, noise)
        with torch.no_grad():
            drawn = model.generator(torch.cat([first, second])).chunk(2)
        real = model.discriminator(inputs.images, inputs.partners, inputs.labels)
        fake = model.discriminator(*drawn, condition)
        right = 0.5 * ((real > 0).float().mean() + (fake < 0).float().mean())
        yield (
            "discriminator",
            Terms({"real": softplus(-real).mean(), "fake": softplus(fake).mean()}, {"accuracy": right}),
        )
        mean, scale = model.encoder(drawn[0])
        yield "encoder", Terms({"code": -torch.distributions.Normal(mean, scale).log_prob(first).sum(1).mean()})
        first, second, condition = self.latent_pairs(model, chosen, noise)
        drawn = model.generator(torch.cat([first, second])).chunk(2)
        yield "generator", Terms({"deception": softplus(-model.discriminator(*drawn, condition)).mean()})

    def latent_pairs(self, model: WeakGAN, chosen: Tensor, noise: torch.Generator) -> tuple[Tensor, Tensor, Tensor]:
        """Two codes ``[n, latents]`` that obey the rule in the chosen factor of each row, and their condition."""
        import torch

        factors = len(model.problem.factor_names)
        first, other = torch.randn(2, len(chosen), factors + self.nuisance, generator=noise, device=noise.device)
        own = torch.nn.functional.one_hot(chosen, factors + self.nuisance).bool()
        if self.rule == "rank":
            larger = (first > other)[own]
            return first, other, 2 * chosen + larger
        always = torch.arange(factors + self.nuisance, device=noise.device) >= factors
        redrawn = ~own if self.rule == "share" else own | always
        return first, torch.where(redrawn, other, first), chosen

    def encode(self, model: WeakGAN, images: Tensor, noise: torch.Generator | None = None) -> Tensor:
        if noise is not None:
            raise UsageError("codes of ws-gan are asked for by their mean; there is no sampled representation")
        return model.encoder(images)[0]

    def decode(self, model: WeakGAN, codes: Tensor) -> Tensor:
        return model.generator(codes)

    def describe(self, model: WeakGAN, images: Tensor, noise: torch.Generator) -> dict[str, Tensor]:
        mean, scale = model.encoder(images)
        return {"mean": mean, "scale": scale}
