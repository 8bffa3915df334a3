"""The VAE whose latents should know nothing of other latents' labels, as networks estimate it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from unbraid.errors import UsageError
from unbraid.labelling import Labels
from unbraid.objectives.base import Inputs, Problem, Terms, register
from unbraid.objectives.checks import check_count, check_positive
from unbraid.objectives.few_labels import FewLabels
from unbraid.objectives.titles import KL, NLL
from unbraid.objectives.vae import BetaVAE

if TYPE_CHECKING:
    import torch
    from torch import Tensor, nn

    from unbraid.nets import Autoencoder

__all__ = ["S2MineVAE", "label_information"]


def label_information(statistics: nn.Module, codes: Tensor, labels: Tensor) -> Tensor:
    """Estimates ``[K, K]`` of what latent r ``[n, K]`` knows of label l ``[n, K]``, in nats.

    Pairs that do not belong together are made with the labels of the next image of the batch, whose images are drawn
    independently.
    """
    from unbraid.nets import information_bound

    return information_bound(statistics(codes, labels), statistics(codes, labels.roll(1, 0)))


@register("s2-mine-vae")
@dataclass(frozen=True)
class S2MineVAE(FewLabels, BetaVAE):
    """beta-VAE that pays for what a tied latent knows of other latents' labels (Locatello et al., 2020).

    A small network per latent and label estimates their mutual information (MINE; Belghazi et al., 2018), and learns
    beside the encoder, one update each per step. Nothing asks a latent to follow its own label.
    """

    title = "S2-MINE-VAE"
    formula = f"{NLL} + {{beta}} · {KL} + {{gamma_sup}} · Σ I(μᵣ; yₗ)² over l ≠ r, of {{labels}} labelled images"

    label_loss: str = "mine"
    """mine alone: the squared information of each tied latent about every label but its own."""
    statistics_width: int = 20
    """Hidden units of each of the networks that estimate information."""
    statistics_learning_rate: float = 0.01
    """Step size of their Adam."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_count(self, "statistics_width")
        check_positive(self, "statistics_learning_rate")

    def reader(self, sizes: Sequence[int]) -> nn.Module | None:
        if self.label_loss != "mine":
            raise UsageError(
                f"label_loss of 's2-mine-vae' must be mine, got {self.label_loss!r}; s2-beta-vae has the other losses"
            )
        return None

    def label_sizes(self, problem: Problem) -> tuple[int, ...]:
        """How many values each label has."""
        return Labels(self.labeller, problem.factor_sizes or (), self.label_seed).sizes

    def build(self, problem: Problem, generator: torch.Generator) -> Autoencoder:
        from unbraid import nets

        model, tied = super().build(problem, generator), len(self.label_sizes(problem))
        statistics = nets.PairStatistics(tied, tied, width=self.statistics_width, generator=generator)
        model.add_module("statistics", statistics)
        return model

    def optimizers(self, model: Autoencoder) -> dict[str, torch.optim.Optimizer]:
        from torch.optim import Adam

        parameters = model.get_submodule("statistics").parameters()
        return {**super().optimizers(model), "statistics": Adam(parameters, lr=self.statistics_learning_rate)}

    def information(self, model: Autoencoder, mean: Tensor, factors: Tensor) -> Tensor:
        """What each tied latent knows of the labels of others: ``[K, K]`` with zeros on the diagonal."""
        sizes = mean.new_tensor(self.label_sizes(model.problem))
        labels = 2 * factors / (sizes - 1).clamp(min=1) - 1  # in [-1, 1], whatever their number
        found = label_information(model.get_submodule("statistics"), mean[:, : len(sizes)], labels)
        return found - found.diagonal().diag()

    def labelled_loss(self, model: Autoencoder, mean: Tensor, factors: Tensor) -> Tensor:
        return self.information(model, mean, factors).square().sum()

    def losses(
        self, model: Autoencoder, inputs: Inputs, step: int, noise: torch.Generator
    ) -> Iterator[tuple[str, Terms]]:
        import torch

        with torch.no_grad():  # before the first player moves: both see the same encoder
            known = None if inputs.partners is None else self.posterior(model, inputs.partners).mean
        yield from super().losses(model, inputs, step, noise)
        assert known is not None  # or the first player had refused the batch
        assert inputs.partner_factors is not None
        found = self.information(model, known, inputs.partner_factors)
        yield "statistics", Terms({"information": -found.sum()})
