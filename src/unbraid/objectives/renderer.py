"""Factors found by drawing: a network from factors to images, searched for the picture nearest to an image."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from unbraid.errors import UsageError
from unbraid.objectives.base import Inputs, Objective, Problem, Terms, register
from unbraid.objectives.checks import check_positive
from unbraid.objectives.regressor import scaled_targets
from unbraid.objectives.tasks import Task

if TYPE_CHECKING:
    import torch
    from torch import Tensor

    from unbraid.nets import Renderer

__all__ = ["RendererObjective"]


@register("renderer")
@dataclass(frozen=True)
class RendererObjective(Objective):
    """Network trained to draw an image from its factors, by squared error; images are read by searching it.

    With net additive it is the compositional function of Wiedemer et al. (2023), which knows the picture of every
    combination of what its blocks were seen with. The factors of an image are those of the nearest picture among all
    combinations of values: it uses the labels that a regressor uses.
    """

    title = "Renderer"
    formula = "|f(v) − x|², v the factors scaled to [−1, 1]; v(x) = the nearest f(v)"
    representations = ("mean",)
    codes: ClassVar[Literal["continuous", "discrete"]] = "discrete"
    predicts = "factors"
    sees_labels = True

    net: str = "additive"
    """Decoder by name, of which the encoder is left out: additive:net=conv,blocks=2 sums one image per block of
    factors, in their order; conv, mlp, ... see all factors at once."""
    learning_rate: float = 1e-3
    """Step size of Adam."""

    def __post_init__(self) -> None:
        check_positive(self, "learning_rate")

    def build(self, problem: Problem, generator: torch.Generator) -> Renderer:
        from unbraid import nets

        if not problem.factor_names:
            raise UsageError(f"objective {self.name!r} needs data with known factors; see `unbraid data list`")
        _, decoder = nets.build(self.net, problem.shape, len(problem.factor_names), heads=1, generator=generator)
        return nets.Renderer(decoder, problem)

    def optimizers(self, model: Renderer) -> dict[str, torch.optim.Optimizer]:
        from torch.optim import Adam

        return {"model": Adam(model.parameters(), lr=self.learning_rate, fused=True)}

    def loss(self, model: Renderer, inputs: Inputs, step: int, noise: torch.Generator) -> Terms:
        """Squared error of the images as the batch shows them, augmented or not, summed over pixels."""
        drawn = model.decoder(2 * scaled_targets(self.name, model.problem, inputs) - 1)
        errors = (drawn - inputs.images).square().flatten(1)
        return Terms({"squared_error": errors.sum(1).mean()}, {"rmse": errors.mean().sqrt()})

    def tasks(self, problem: Problem) -> tuple[Task, ...]:
        return (Task("factors", "factors", len(problem.factor_names)),)

    def predict(self, model: Renderer, images: Tensor) -> Tensor:
        return (self.encode(model, images) + 1) / 2

    def answers(self, model: Renderer, images: Tensor) -> dict[str, Tensor]:
        return {"factors": self.predict(model, images)}

    def encode(self, model: Renderer, images: Tensor, noise: torch.Generator | None = None) -> Tensor:
        """The factors found, each scaled to [-1, 1]."""
        if noise is not None:
            raise UsageError("a renderer has no sampled representation; ask for the mean")
        return model.scaled(model.find(images))

    def decode(self, model: Renderer, codes: Tensor) -> Tensor:
        found = model.decoder(codes)
        return found if found.ndim == 2 else found.clamp(0, 1)

    def describe(self, model: Renderer, images: Tensor, noise: torch.Generator) -> dict[str, Tensor]:
        """Squared error of the nearest picture."""
        drawn = model.decoder(self.encode(model, images))
        return {"reconstruction": (drawn - images).square().flatten(1).sum(1)}
