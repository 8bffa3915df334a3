"""Supervised regression of factors (Schott et al., 2022)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from unbraid.errors import UsageError
from unbraid.objectives.base import Inputs, Terms, register
from unbraid.objectives.predictor import PredictorObjective

if TYPE_CHECKING:
    import torch
    from torch import Tensor

    from unbraid.nets import Predictor
    from unbraid.problem import Problem

__all__ = ["Regressor", "scaled_targets"]


@register("regressor")
@dataclass(frozen=True)
class Regressor(PredictorObjective):
    """Network trained to tell all factors of an image, by squared error (Schott et al., 2022).

    Every factor is scaled to [0, 1]: value j of a factor with n values becomes j / (n - 1), a measured one is scaled by
    its smallest and largest value in the data. Factors without an order are regressed like the others.
    """

    title = "Regressor"
    formula = "E[Σⱼ (fⱼ(x) − tⱼ)²], tⱼ factor j scaled to [0, 1]"
    predicts = "factors"

    def outputs(self, problem: Problem) -> int:
        """One number per factor."""
        if not problem.factor_names:
            raise UsageError(f"objective {self.name!r} needs data with known factors; see `unbraid data list`")
        return len(problem.factor_names)

    def targets(self, problem: Problem, inputs: Inputs) -> Tensor:
        """The factors ``[n, K]``, each scaled to [0, 1]."""
        return scaled_targets(self.name, problem, inputs)

    def loss(self, model: Predictor, inputs: Inputs, step: int, noise: torch.Generator) -> Terms:
        return self.regression(self.predict(model, inputs.images), model.problem, inputs)

    def regression(self, predicted: Tensor, problem: Problem, inputs: Inputs) -> Terms:
        """Squared error of predicted factors ``[n, K]``, summed over factors, and the share of variance explained."""
        targets = self.targets(problem, inputs)
        errors = (predicted - targets).square().mean(0)  # [K]
        variances = self.variances(problem, targets)
        varies = variances > 0
        explained = (1 - errors / variances.where(varies, 1.0)) * varies
        return Terms({"squared_error": errors.sum()}, {"r2": explained.sum() / varies.sum().clamp_min(1)})

    def variances(self, problem: Problem, targets: Tensor) -> Tensor:
        """Variance of each scaled factor: that of n evenly spaced values, (n + 1) / (12 (n - 1)), or of the batch."""
        if problem.factor_sizes is None:
            return targets.var(0, unbiased=False)
        return targets.new_tensor([(n + 1) / (12 * (n - 1)) if n > 1 else 0.0 for n in problem.factor_sizes])

    def describe(self, model: Predictor, images: Tensor, noise: torch.Generator) -> dict[str, Tensor]:
        """How far outside of [0, 1] the predicted factors lie, summed."""
        predicted = self.predict(model, images)
        return {"outside": (predicted - predicted.clamp(0, 1)).abs().sum(1)}


def scaled_targets(name: str, problem: Problem, inputs: Inputs) -> Tensor:
    """The factors ``[n, K]`` of a batch, each scaled to [0, 1]; ``name`` is the objective that an error tells of."""
    if inputs.factors is None or inputs.factors.shape[1] != len(problem.factor_names):
        raise UsageError(f"objective {name!r} needs a stream with the factors of every image")
    # In double precision: measured factors can be large numbers that differ by little.
    factors = inputs.factors.double()
    low, high = (factors.new_tensor(ends) for ends in zip(*problem.ranges, strict=True))
    return ((factors - low) / (high - low).where(high > low, 1.0)).to(inputs.images.dtype)
