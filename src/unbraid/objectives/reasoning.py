"""Abstract visual reasoning on the codes of an encoder (van Steenkiste et al., 2019)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

from unbraid.errors import UsageError, unknown_name
from unbraid.objectives.base import Inputs, Objective, Problem, Terms, register
from unbraid.objectives.checks import check_count, check_positive
from unbraid.options import Named

if TYPE_CHECKING:
    import torch
    from torch import Tensor

    from unbraid.nets import Reasoner

__all__ = ["Reasoning"]

Mode = Literal["easy", "hard", "fair"]


@register("reasoning")
@dataclass(frozen=True)
class Reasoning(Objective):
    """Relation network that chooses the panel a matrix lacks, from codes of panels (van Steenkiste et al., 2019).

    In every row of a 3x3 matrix the active factors are constant; of six answers one continues the last row. Begin from
    a run's encoder with --start RUN --parts encoder and leave it as it is with --frozen, or train both. Data that are
    vectors are taken as codes.
    """

    title = "Abstract reasoning"
    sees_labels = True
    formula = "−log softmax of the right answer's logit"
    representations = ("mean",)

    mode: Mode = "fair"
    """How wrong answers are drawn: easy, hard (both as published; the answers alone give much away) or fair."""
    active: int = 0
    """How many factors are constant in rows: 1, 2 or 3; 0 draws that for each matrix."""
    values: tuple[int, ...] = ()
    """How many values of each factor are used; without, the published numbers, or at most five."""
    latents: int = 10
    """Number of codes of an image."""
    net: str = "conv"
    """Encoder by name: conv, mlp, or an own registered pair, of which the decoder is left out."""
    heads: int = 2
    """Numbers that the encoder gives per code: 2 for that of a VAE (mean and log variance), 1 for a plain one."""
    frozen: bool = False
    """Leave the encoder as it is."""
    edge: tuple[int, ...] = (256, 256)
    """Widths of the network that sees two panels."""
    graph: tuple[int, ...] = (128,)
    """Widths of the network that sees their sum."""
    dropout: float = 0.0
    """Share of the last hidden layer that is dropped in training."""
    learning_rate: float = 1e-3
    """Step size of Adam."""

    def __post_init__(self) -> None:
        check_count(self, "latents", "heads")
        check_positive(self, "learning_rate")
        if self.mode not in get_args(Mode):
            raise unknown_name("mode", self.mode, get_args(Mode))
        if not self.edge or not self.graph or min(*self.edge, *self.graph) < 1:
            raise UsageError(f"edge and graph must be widths of at least one layer, got {self.edge} and {self.graph}")
        if not 0 <= self.dropout < 1:
            raise UsageError(f"dropout must lie in 0..1, below 1, got {self.dropout}")

    @property
    def needs(self) -> Named:  # type: ignore[override]
        values = {"values": self.values} if self.values else {}
        return Named("matrices", {"mode": self.mode, "active": self.active, **values})

    def build(self, problem: Problem, generator: torch.Generator) -> Reasoner:
        from unbraid import nets

        vectors = len(problem.shape) == 1
        codes = problem.shape[0] if vectors else self.latents
        encoder = (
            None if vectors else nets.build(self.net, problem.shape, codes, heads=self.heads, generator=generator)[0]
        )
        with nets.seeded(generator):
            relations = nets.WReN(codes, edge=self.edge, graph=self.graph, dropout=self.dropout)
        return nets.Reasoner(encoder, relations, codes, frozen=self.frozen)

    def optimizers(self, model: Reasoner) -> dict[str, torch.optim.Optimizer]:
        from torch.optim import Adam

        parameters = [weights for weights in model.parameters() if weights.requires_grad]
        return {"model": Adam(parameters, lr=self.learning_rate, fused=True)}

    def loss(self, model: Reasoner, inputs: Inputs, step: int, noise: torch.Generator) -> Terms:
        from torch.nn.functional import cross_entropy

        if inputs.labels is None:
            raise UsageError("reasoning needs a stream of matrices with the right answers (labels), got none")
        logits = model.choose(inputs.images).float()
        right = (logits.argmax(1) == inputs.labels).float().mean()
        return Terms({"cross_entropy": cross_entropy(logits, inputs.labels)}, {"accuracy": right})

    def encode(self, model: Reasoner, images: Tensor, noise: torch.Generator | None = None) -> Tensor:
        if noise is not None:
            raise UsageError("codes of reasoning are not random: there is no sampled representation; ask for the mean")
        return model.encode(images).float()

    def describe(self, model: Reasoner, images: Tensor, noise: torch.Generator) -> dict[str, Tensor]:
        return {"mean": self.encode(model, images)}
