"""The part that all autoencoders share, and the plain one."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, get_args

from unbraid.errors import UsageError, unknown_name
from unbraid.objectives.base import Codes, Inputs, Objective, Problem, Terms, register
from unbraid.objectives.checks import check_count, check_not_negative, check_positive
from unbraid.objectives.recombine import check_recombines, recombination_terms

if TYPE_CHECKING:
    import torch
    from torch import Tensor, nn

    from unbraid.nets import Autoencoder, Gaussian
    from unbraid.objectives.penalties import Penalty

__all__ = ["AE", "AutoencoderObjective", "VAEObjective"]

Optimizer = Literal["adam", "adagrad"]
OPTIMIZERS = get_args(Optimizer)


@dataclass(frozen=True)
class AutoencoderObjective(Objective):
    """An encoder and a decoder trained to give the image back, with Adam as in Locatello et al. (2019)."""

    latents: int = 10
    """Number of latent dimensions."""
    net: str = "conv"
    """Encoder and decoder by name: conv (the study's), light, broadcast, fc, mlp, slow, burgess, additive, conv-bn,
    or an own registered pair."""
    likelihood: str = "bernoulli"
    """What the decoder's output means: bernoulli (logits) or gaussian (squared errors), with options as in
    gaussian:scale=0.1 (standard deviation of a pixel) or bernoulli:subtract_entropy=true (perfect images cost 0)."""
    learning_rate: float = 1e-4
    """Step size of the optimiser."""
    optimizer: Optimizer = "adam"
    """How steps are taken: adam, or adagrad (Duchi et al., 2011), whose steps only ever become smaller."""
    weight_decay: float = field(default=0.0, kw_only=True)
    """Decoupled decay of weight matrices and kernels, as AdamW has it; biases stay. 0 is plain Adam."""
    penalties: tuple[str, ...] = field(default=(), kw_only=True)
    """What is added to the loss, a list, as in nhp:weight=100 or hfs:weight=10,pairs=25."""

    def __post_init__(self) -> None:
        check_count(self, "latents")
        check_positive(self, "learning_rate")
        check_not_negative(self, "weight_decay")
        if self.optimizer not in OPTIMIZERS:
            raise unknown_name("optimizer", self.optimizer, OPTIMIZERS)
        if self.weight_decay and self.optimizer != "adam":
            raise UsageError(f"weight_decay goes with optimizer adam, got {self.optimizer}; leave one of them out")

    def heads(self) -> int:
        """How many numbers the encoder gives per latent."""
        return 1

    def own_penalties(self) -> tuple[Penalty, ...]:
        """Penalties that are a part of the method, before those of the list."""
        return ()

    @property
    def active_penalties(self) -> tuple[Penalty, ...]:
        """The penalties, made; those of weight 0 change nothing and are left out."""
        from unbraid.objectives.penalties import make

        if isinstance(self.penalties, str):
            raise UsageError(
                f"penalties must be a list of penalties, got {self.penalties!r}; write [{self.penalties!r}]"
            )
        every = (*self.own_penalties(), *(make(text) for text in self.penalties))
        return tuple(entry for entry in every if entry.weight)

    def make_model(self, problem: Problem, generator: torch.Generator) -> nn.Module:
        """Also with what penalties remember inside it."""
        from unbraid.objectives.penalties import added

        penalties = self.active_penalties
        model = super().make_model(problem, generator)
        added.attach(self, penalties, model, problem)
        return model

    def play(self, model: nn.Module, inputs: Inputs, step: int, noise: torch.Generator) -> Iterator[tuple[str, Terms]]:
        """The losses of one step, penalties included."""
        from unbraid.objectives.penalties import added

        losses, penalties = super().play(model, inputs, step, noise), self.active_penalties
        return added.penalised(self, penalties, model, losses, step, noise) if penalties else losses

    def build(self, problem: Problem, generator: torch.Generator) -> Autoencoder:
        """Encoder and decoder; ``model.problem`` stays at hand for losses that depend on the data set's size."""
        from unbraid import nets

        found = nets.likelihood(self.likelihood)
        if len(problem.shape) == 1 and isinstance(found, nets.Bernoulli):
            raise UsageError(
                f"likelihood {self.likelihood!r} is for pixels in [0, 1], and these data are vectors of "
                f"{problem.shape[0]} numbers: they need likelihood gaussian (--likelihood gaussian)"
            )
        encoder, decoder = nets.build(self.net, problem.shape, self.latents, heads=self.heads(), generator=generator)
        nets.check_additive(decoder, found)
        return nets.Autoencoder(encoder, decoder, problem)

    def optimizers(self, model: Autoencoder) -> dict[str, torch.optim.Optimizer]:
        from torch.optim import Adagrad, Adam, AdamW

        named = [(name, weights) for part in self.trained(model) for name, weights in part.named_parameters()]
        parameters = [weights for _, weights in named]
        if self.optimizer == "adagrad":
            # Sums of squares begin at 0.1, as in TensorFlow: from 0 the first step moves every weight by the whole
            # rate, which throws the log variances of wide networks out of all bounds.
            return {"model": Adagrad(parameters, lr=self.learning_rate, initial_accumulator_value=0.1)}
        if self.weight_decay:
            decayed = [weights for name, weights in named if self.decays(name, weights)]
            others = [weights for name, weights in named if not self.decays(name, weights)]
            groups = [{"params": decayed, "weight_decay": self.weight_decay}, {"params": others, "weight_decay": 0.0}]
            return {"model": AdamW(groups, lr=self.learning_rate, betas=(0.9, 0.999), eps=1e-8, fused=True)}
        return {"model": Adam(parameters, lr=self.learning_rate, betas=(0.9, 0.999), eps=1e-8, fused=True)}

    def trained(self, model: Autoencoder) -> list[nn.Module]:
        """The parts that learn from the loss."""
        return [model.encoder, model.decoder]

    def decays(self, name: str, parameter: nn.Parameter) -> bool:
        """Whether a parameter of these parts decays: matrices and kernels do, biases and scales do not."""
        return parameter.ndim > 1

    def reconstruction(self, output: Tensor, images: Tensor) -> Tensor:
        """Negative log-likelihood of each image, summed over pixels and channels: ``[n]``."""
        from unbraid import nets

        return nets.likelihood(self.likelihood).nll(output, images)

    def decode(self, model: Autoencoder, codes: Tensor) -> Tensor:
        from unbraid import nets

        return nets.likelihood(self.likelihood).mean(model.decoder(codes))


@register("ae")
@dataclass(frozen=True)
class AE(AutoencoderObjective):
    """Plain autoencoder: a deterministic code and nothing but the reconstruction loss."""

    title = "Autoencoder"
    formula = "−log p(x|z), z = f(x)"

    representations = ("mean",)

    recombine: int = 0
    """With net additive: from this step on the decoder stays as it is, and the encoder learns from images that it
    draws of recombined codes, block by block. 0: never."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_not_negative(self, "recombine")
        if self.recombine and self.penalties:
            raise UsageError(
                "recombine trains the encoder alone in the end, where penalties have no place: name only one of the two"
            )

    def build(self, problem: Problem, generator: torch.Generator) -> Autoencoder:
        model = super().build(problem, generator)
        if self.recombine:
            check_recombines(model.decoder)
        return model

    def loss(self, model: Autoencoder, inputs: Inputs, step: int, noise: torch.Generator) -> Terms:
        if self.recombine and step >= self.recombine:
            return recombination_terms(model, inputs.images, lambda codes: self.decode(model, codes), noise)
        codes = model.encoder(inputs.images)
        output = model.decoder(codes)
        return Terms({"reconstruction": self.reconstruction(output, inputs.targets).mean()}, codes=Codes(codes, codes))

    def encode(self, model: Autoencoder, images: Tensor, noise: torch.Generator | None = None) -> Tensor:
        if noise is not None:
            raise UsageError("a plain autoencoder has no sampled representation; ask for the mean")
        return model.encoder(images)

    def describe(self, model: Autoencoder, images: Tensor, noise: torch.Generator) -> dict[str, Tensor]:
        output = model.decoder(self.encode(model, images))
        return {"reconstruction": self.reconstruction(output, images)}


@dataclass(frozen=True)
class VAEObjective(AutoencoderObjective):
    """A variational autoencoder; a method is its :meth:`penalty`, added to the reconstruction loss.

    The methods here call that sum ``penalty`` in the history, so that loss = reconstruction + penalty for all of them.
    """

    reference_size: int = 0
    """Weigh the reconstruction as on square images of this many pixels a side (published strengths are for 64): its sum
    over pixels counts reference_size^2 / (height * width) times. 0 leaves it as it is."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_not_negative(self, "reference_size")

    def heads(self) -> int:
        return 2

    def build(self, problem: Problem, generator: torch.Generator) -> Autoencoder:
        self.weight(problem.shape[:-1])  # refuses data that have no size
        return super().build(problem, generator)

    def weight(self, size: Sequence[int]) -> float:
        """How often the reconstruction loss counts on images of this height and width.

        >>> from unbraid.objectives import BetaVAE
        >>> BetaVAE(reference_size=64).weight((32, 32)), BetaVAE().weight((32, 32))
        (4.0, 1.0)
        """
        if not self.reference_size:
            return 1.0
        if len(size) != 2:
            raise UsageError("reference_size is for images, which have a height and a width; leave it at 0")
        return self.reference_size**2 / math.prod(size)

    def weighed(self, reconstruction: Tensor, images: Tensor, added: Terms, kl: Tensor) -> Terms:
        """The loss: a mean reconstruction loss of images, weighed, and what a method adds to it.

        Where ``reference_size`` is set, the history has both: ``weighed_reconstruction`` is part of the loss, and
        ``reconstruction`` is in nats per image, as the KL divergence always is.
        """
        watched = {"kl": kl, **added.watched}
        if not self.reference_size:
            return Terms({"reconstruction": reconstruction, **added.terms}, watched)
        weighed = self.weight(images.shape[2:]) * reconstruction
        return Terms({"weighed_reconstruction": weighed, **added.terms}, {"reconstruction": reconstruction, **watched})

    def penalty(self, posterior: Gaussian, sample: Tensor, step: int) -> Terms:
        """What is added to the reconstruction loss, as scalars averaged over the batch."""
        raise UsageError(f"objective {self.name!r} has no penalty: define penalty(posterior, sample, step)")

    def regulariser(self, model: Autoencoder, inputs: Inputs, posterior: Gaussian, sample: Tensor, step: int) -> Terms:
        """The wider form of :meth:`penalty`, for methods that also look at the model or the rest of the batch."""
        return self.penalty(posterior, sample, step)

    def posterior(self, model: Autoencoder, images: Tensor) -> Gaussian:
        """The approximate posterior q(z|x)."""
        from unbraid.nets import Gaussian

        return Gaussian.from_heads(model.encoder(images))

    def loss(self, model: Autoencoder, inputs: Inputs, step: int, noise: torch.Generator) -> Terms:
        posterior = self.posterior(model, inputs.images)
        return self.terms(model, inputs, posterior, posterior.sample(generator=noise), step)

    def terms(self, model: Autoencoder, inputs: Inputs, posterior: Gaussian, sample: Tensor, step: int) -> Terms:
        """The loss of a batch whose posterior and sampled codes are known already."""
        output = model.decoder(sample)
        added = self.regulariser(model, inputs, posterior, sample, step)
        reconstruction = self.reconstruction(output, inputs.targets).mean()
        terms = self.weighed(reconstruction, inputs.images, added, posterior.kl().mean())
        return replace(terms, codes=Codes(posterior.mean, sample))

    def encode(self, model: Autoencoder, images: Tensor, noise: torch.Generator | None = None) -> Tensor:
        posterior = self.posterior(model, images)
        return posterior.mean if noise is None else posterior.sample(generator=noise)

    def describe(self, model: Autoencoder, images: Tensor, noise: torch.Generator) -> dict[str, Tensor]:
        posterior = self.posterior(model, images)
        output = model.decoder(posterior.sample(generator=noise))
        return {
            "reconstruction": self.reconstruction(output, images),
            "kl_per_latent": posterior.kl_per_latent(),
            "mean": posterior.mean,
            "logvar": posterior.logvar,
        }
