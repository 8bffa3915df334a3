"""The VAE whose prior knows something else about the image (Khemakhem et al., 2020)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

from unbraid.errors import UsageError, unknown_name
from unbraid.objectives.autoencoder import AutoencoderObjective
from unbraid.objectives.base import Codes, Inputs, Problem, Terms, register
from unbraid.objectives.checks import check_count
from unbraid.objectives.titles import NLL

if TYPE_CHECKING:
    import torch
    from torch import Tensor, nn

    from unbraid.nets import Autoencoder, Gaussian

__all__ = ["IVAE", "conditional_kl"]

Prior = Literal["learned", "standard"]


def conditional_kl(posterior: Gaussian, log_variance: Tensor) -> Tensor:
    """KL(q || N(0, diag l)) of each image ``[n]``: half the sum of (e^logvar + mean^2) / l - 1 - logvar + log l."""
    ratio = (posterior.logvar - log_variance).exp() + posterior.mean.square() * (-log_variance).exp()
    return 0.5 * (ratio - 1 - posterior.logvar + log_variance).sum(1)


@register("ivae")
@dataclass(frozen=True)
class IVAE(AutoencoderObjective):
    """VAE with q(z|x,u) and p(z|u) = N(0, diag l(u)), where u is a class or a factor (Khemakhem et al., 2020).

    Identifiable up to order and a map of each latent, if u takes enough values that change the variances
    independently. An image alone is encoded by the mean over u, each value weighed by how well it explains the image.
    """

    title = "iVAE"
    sees_labels = True
    formula = f"{NLL} + KL(q(z|x,u) ‖ N(0, diag l(u)))"

    factor: str = ""
    """What u is: the values of this factor (otherwise the classes of the data set)."""
    prior: Prior = "learned"
    """Variances of the prior: learned for every value of u, or standard, which is 1 everywhere."""
    sees: bool = True
    """Whether the encoder sees u as well as the image."""
    features: int = 64
    """Numbers that stand for an image before u is joined to them; vectors are joined as they are."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_count(self, "features")
        if self.prior not in get_args(Prior):
            raise unknown_name("prior", self.prior, get_args(Prior))

    def heads(self) -> int:
        return 2

    def values(self, problem: Problem) -> int:
        """How many values u has."""
        if not self.factor:
            if problem.classes is None:
                raise UsageError("objective 'ivae' needs data with classes, or the factor that u is (--factor NAME)")
            return problem.classes
        if self.factor not in problem.factor_names or problem.factor_sizes is None:
            raise unknown_name("factor with numbered values:", self.factor, problem.factor_names)
        return problem.factor_sizes[problem.factor_names.index(self.factor)]

    def build(self, problem: Problem, generator: torch.Generator) -> Autoencoder:
        from unbraid import nets

        count = self.values(problem)
        model = super().build(problem, generator)
        if self.sees:
            model.encoder = nets.conditional_encoder(
                self.net,
                problem.shape,
                self.latents,
                count,
                heads=self.heads(),
                features=self.features,
                generator=generator,
            )
        model.add_module("prior", nets.VariancePrior(count, self.latents, learned=self.prior == "learned"))
        return model

    def trained(self, model: Autoencoder) -> list[nn.Module]:
        return [*super().trained(model), model.get_submodule("prior")]

    def decays(self, name: str, parameter: nn.Parameter) -> bool:
        return name != "log_variances" and super().decays(name, parameter)

    def known(self, problem: Problem, inputs: Inputs) -> Tensor:
        """The values of u ``[n]`` in a batch."""
        found = inputs.factors if self.factor else inputs.labels
        if self.factor and found is not None:
            found = found[:, problem.factor_names.index(self.factor)]
        if found is None:
            raise UsageError("objective 'ivae' needs a stream with the classes or factors of every image, got none")
        return found.long()

    def posterior(self, model: Autoencoder, images: Tensor, u: Tensor) -> Gaussian:
        """q(z|x,u) of images and the values ``[n]`` of u that go with them."""
        from unbraid.nets import Gaussian

        return Gaussian.from_heads(model.encoder(images, u) if self.sees else model.encoder(images))

    def loss(self, model: Autoencoder, inputs: Inputs, step: int, noise: torch.Generator) -> Terms:
        u = self.known(model.problem, inputs)
        posterior = self.posterior(model, inputs.images, u)
        sample = posterior.sample(generator=noise)
        output = model.decoder(sample)
        kl = conditional_kl(posterior, model.get_submodule("prior")(u)).mean()
        loss = {"reconstruction": self.reconstruction(output, inputs.targets).mean(), "penalty": kl}
        return Terms(loss, {"kl": kl}, Codes(posterior.mean, sample))

    def explained(self, model: Autoencoder, images: Tensor) -> tuple[Tensor, Tensor]:
        """Means ``[values, n, d]`` and evidence bounds ``[values, n]``, decoded at the means, for each value of u."""
        import torch

        prior, means, bounds = model.get_submodule("prior"), [], []
        for value in range(self.values(model.problem)):
            u = torch.full((len(images),), value, device=images.device)
            posterior = self.posterior(model, images, u)
            missed = self.reconstruction(model.decoder(posterior.mean), images)
            means.append(posterior.mean)
            bounds.append(-missed - conditional_kl(posterior, prior(u)))
        return torch.stack(means), torch.stack(bounds)

    def encode(self, model: Autoencoder, images: Tensor, noise: torch.Generator | None = None) -> Tensor:
        """Mean codes over the values of u, weighed by the posterior of u that the evidence bounds give."""
        if noise is not None:
            raise UsageError("an iVAE has no sampled representation of an image without u; ask for the mean")
        means, bounds = self.explained(model, images)
        return (bounds.softmax(0)[..., None] * means).sum(0)

    representations = ("mean",)

    def describe(self, model: Autoencoder, images: Tensor, noise: torch.Generator) -> dict[str, Tensor]:
        """The best evidence bound over u, negated."""
        _, bounds = self.explained(model, images)
        return {"negative_bound": -bounds.amax(0), "mean": self.encode(model, images)}
