"""What objectives on pairs of images share."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from unbraid.errors import UsageError
from unbraid.objectives.autoencoder import VAEObjective
from unbraid.objectives.base import Codes, Inputs, Objective, Terms
from unbraid.options import Named, parse_options

if TYPE_CHECKING:
    import torch
    from torch import Tensor

    from unbraid.nets import Autoencoder, Gaussian

__all__ = ["PairObjective", "PairVAEObjective", "halves", "stacked"]


def stacked(inputs: Inputs) -> Tensor:
    """First images, then second images ``[2n, c, h, w]``: one call of a network for both."""
    import torch

    if inputs.partners is None:
        raise UsageError("training on pairs needs a stream with the second image of each pair (partners), got none")
    if inputs.partners.shape != inputs.images.shape:
        raise UsageError(
            f"partners must be shaped like images, {list(inputs.images.shape)}, got {list(inputs.partners.shape)}"
        )
    return torch.cat([inputs.images, inputs.partners])


def halves(posterior: Gaussian) -> tuple[Gaussian, Gaussian]:
    """The posteriors of the first and of the second images."""
    from unbraid.nets import Gaussian

    (mean, mean2), (logvar, logvar2) = posterior.mean.chunk(2), posterior.logvar.chunk(2)
    return Gaussian(mean, logvar), Gaussian(mean2, logvar2)


@dataclass(frozen=True)
class PairObjective(Objective):
    """Mix-in for objectives that see two neighbouring images at a time; a batch of n is n pairs.

    Pairs are needed for training only: a single image is encoded alone.
    """

    pairs: str = ""
    """Options of the stream of pairs, as in protocol=uni or protocol=lap,rate=2 (otherwise: Laplace steps on a factor
    grid, or the frames of a data set that has some)."""

    @property
    def needs(self) -> Named:  # type: ignore[override]
        return Named("pairs", parse_options(self.pairs))


@dataclass(frozen=True)
class PairVAEObjective(PairObjective, VAEObjective):
    """A VAE on pairs; a method is its :meth:`penalty` on the stacked posterior ``[2n, latents]``, see :func:`halves`.

    It is averaged over pairs. ``kl`` in the history is that of an image.
    """

    counted: ClassVar[int] = 2
    """How many images' reconstruction losses a pair contributes: 2 is their sum, 1 their mean."""

    def couple(self, posterior: Gaussian, inputs: Inputs | None = None) -> Gaussian:
        """What the codes are drawn from, given the encoder's posteriors of both images."""
        return posterior

    def loss(self, model: Autoencoder, inputs: Inputs, step: int, noise: torch.Generator) -> Terms:
        images = stacked(inputs)
        posterior = self.couple(self.posterior(model, images), inputs)
        sample = posterior.sample(generator=noise)
        output = model.decoder(sample)
        targets = images if inputs.clean is None else stacked(Inputs(inputs.clean, inputs.clean_partners))
        added = self.penalty(posterior, sample, step)
        reconstruction = self.counted * self.reconstruction(output, targets).mean()
        terms = self.weighed(reconstruction, images, added, posterior.kl().mean())
        return replace(terms, codes=Codes(posterior.mean, sample))
