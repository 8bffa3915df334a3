"""Analysis by synthesis: a generative model per class, and inference by search (Schott et al., 2019)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from unbraid.errors import UsageError, unknown_name
from unbraid.objectives.base import Inputs, Objective, Terms, register
from unbraid.objectives.checks import check_count, check_positive
from unbraid.objectives.tasks import Task, class_tasks
from unbraid.options import Named

if TYPE_CHECKING:
    import torch
    from torch import Tensor

    from unbraid.nets import ClassVAEs, Explained, Search
    from unbraid.problem import Problem

__all__ = ["AnalysisBySynthesis"]

LIKELIHOODS = ("gaussian", "bernoulli")


@register("abs")
@dataclass(frozen=True)
class AnalysisBySynthesis(Objective):
    """One variational autoencoder per class, each on its own images; the class that explains an image best is named.

    Encoders serve training only. An image is classified by looking, for every class, for the latent whose decoding is
    nearest: random latents first, then Adam. ``batch_size`` counts the images of each class.
    """

    title = "ABS"
    formula = "mean over c of E[‖x − G_c(z)‖² + w KL(q_c(z|x) ‖ N(0, I))], x of class c, w falls from {kl_start} to 1"
    representations = ()
    predicts = "classes"
    sees_labels = True

    factor: str = ""
    """Factor whose values are the classes. By default the data set's own classes."""
    latents: int = 8
    """Dimensions of the latent of each class; with many, parts of the space stay untrained."""
    learning_rate: float = 1e-3
    """Step size of Adam."""
    kl_start: float = 10.0
    """Weight of the divergence at the beginning; it falls to 1 in a straight line."""
    anneal_steps: int = 4_700
    """Steps over which it falls; 50 epochs of MNIST in batches of 64 images of each class."""
    likelihood: Literal["gaussian", "bernoulli"] = "gaussian"
    """How decodings explain pixels: by squared distance, or by cross-entropy, which is far less robust."""
    samples: int = 8_000
    """Random latents from which the search begins."""
    iterations: int = 50
    """Passes of the search by Adam."""
    search_rate: float = 0.05
    """Step size of the search."""
    radius: float = 5.0
    """How far from the origin latents are looked for."""

    def __post_init__(self) -> None:
        check_positive(self, "learning_rate", "kl_start", "search_rate", "radius")
        check_count(self, "latents", "anneal_steps", "samples")
        if self.iterations < 0:
            raise UsageError(f"iterations must not be negative, got {self.iterations}; 0 compares random latents only")
        if self.likelihood not in LIKELIHOODS:
            raise unknown_name("likelihood", self.likelihood, LIKELIHOODS)

    @property
    def needs(self) -> Named:  # type: ignore[override]
        return Named("by-class", {"factor": self.factor} if self.factor else {})

    @property
    def search(self) -> Search:
        """How latents are looked for when the model is asked."""
        from unbraid.nets import Search

        return Search(self.samples, self.iterations, self.search_rate, self.radius, self.likelihood)

    def tasks(self, problem: Problem) -> tuple[Task, ...]:
        found = class_tasks(self.factor, problem, self.name)
        if len(found) != 1:
            raise UsageError(f"objective {self.name!r} names the values of one factor, got {self.factor!r}")
        return found

    def build(self, problem: Problem, generator: torch.Generator) -> ClassVAEs:
        from unbraid.nets import ClassVAEs

        return ClassVAEs(problem.shape, self.tasks(problem)[0].size, self.latents, generator=generator)

    def optimizers(self, model: ClassVAEs) -> dict[str, torch.optim.Optimizer]:
        from torch.optim import Adam

        return {"model": Adam(model.parameters(), lr=self.learning_rate, fused=True)}

    def loss(self, model: ClassVAEs, inputs: Inputs, step: int, noise: torch.Generator) -> Terms:
        """Mean over images and classes."""
        import torch

        from unbraid.nets import misfit

        images, targets = (_by_class(part, model.classes) for part in (inputs.images, inputs.targets))
        mean, log_variance = (part.float() for part in model.encode(images))
        drawn = torch.randn(mean.shape, generator=noise, device=mean.device)
        with torch.autocast(mean.device.type, enabled=False):  # transposed convolutions are slower in bfloat16
            decoded = model.decode(mean + (0.5 * log_variance).exp() * drawn)
        kl = 0.5 * (mean.square() + log_variance.exp() - 1 - log_variance).sum(-1).mean()
        weight = 1 + (self.kl_start - 1) * max(0.0, 1 - step / self.anneal_steps)
        fit = misfit(targets, decoded, self.likelihood).mean()
        return Terms({"reconstruction": fit, "penalty": weight * kl}, {"kl": kl})

    def explain(self, model: ClassVAEs, images: Tensor) -> Explained:
        """The best latent of every class for each image."""
        from unbraid.nets import Decodings, explain, judged

        with judged(model):
            draw = model.drawing()
            known = Decodings.of(model, draw, model.classes, self.latents, self.search, images)
            return explain(draw, images, known, self.search)

    def predict(self, model: ClassVAEs, images: Tensor) -> Tensor:
        """Minus the energies of the classes; their gradients are those of the lowest energies (envelope theorem)."""
        return -self.explain(model, images).energy

    def answers(self, model: ClassVAEs, images: Tensor) -> dict[str, Tensor]:
        return {self.factor or "class": self.predict(model, images)}

    def infer(self, model: ClassVAEs, images: Tensor) -> Tensor:
        """The latents ``[n, latents]`` of the class that explains each image best."""
        import torch

        found = self.explain(model, images)
        return found.codes[torch.arange(len(images), device=images.device), found.energy.argmin(1)]

    def describe(self, model: ClassVAEs, images: Tensor, noise: torch.Generator) -> dict[str, Tensor]:
        """The lowest energy, and how far the second lowest is from it."""
        lowest = self.explain(model, images).energy.topk(2, largest=False).values
        return {"energy": lowest[:, 0], "lead": lowest[:, 1] - lowest[:, 0]}


def _by_class(images: Tensor, classes: int) -> Tensor:
    """Images ``[classes * n, ...]``, class after class, as ``[n, classes, ...]``."""
    if len(images) % classes:
        raise UsageError(f"objective 'abs' needs as many images of each of {classes} classes, got {len(images)} in all")
    return images.unflatten(0, (classes, -1)).transpose(0, 1)
