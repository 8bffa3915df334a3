"""Contrastive nonlinear ICA: tell the partner of a point from strangers by a distance that the data have too."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from unbraid.errors import UsageError
from unbraid.objectives.base import Inputs, Problem, Terms, register
from unbraid.objectives.checks import check_count, check_not_negative, check_positive
from unbraid.objectives.pairs import PairObjective, stacked

if TYPE_CHECKING:
    import torch
    from torch import Tensor

    from unbraid.nets import InSpace

__all__ = ["CLICA", "contrastive_loss", "dissimilarity"]


def dissimilarity(first: Tensor, second: Tensor, p: float) -> Tensor:
    """sum_k |h_k - h'_k|^p of every code of the first with every one of the second, ``[n, m]``; -h h' for p = 0."""
    import torch

    if p == 0:
        return -first @ second.T
    if p == 1:
        return torch.cdist(first, second, p=1)
    if p == 2:
        squares = first.square().sum(1)[:, None] + second.square().sum(1)
        return (squares - 2 * first @ second.T).clamp_min(0)
    return (first[:, None] - second[None]).abs().pow(p).sum(2)


def contrastive_loss(anchors: Tensor, partners: Tensor, *, p: float, tau: float) -> tuple[Tensor, Tensor]:
    """Mean of s(h, h~) + log(exp(-s(h, h~)) + sum_n exp(-s(h, h_n))) over other anchors h_n; how often h~ is nearest.

    An anchor is never among its own strangers.
    """
    import torch

    near = (-(anchors * partners).sum(1) if p == 0 else (anchors - partners).abs().pow(p).sum(1)) / tau  # [n]
    far = dissimilarity(anchors, anchors, p) / tau
    own = torch.eye(len(anchors), dtype=torch.bool, device=anchors.device)
    scores = torch.cat([-near[:, None], (-far).masked_fill(own, -torch.inf)], dim=1)
    return (near + scores.logsumexp(1)).mean(), (scores.argmax(1) == 0).float().mean()


@register("cl-ica")
@dataclass(frozen=True)
class CLICA(PairObjective):
    """Encoder trained to tell the partner of each image from all others by their distance (Zimmermann et al., 2021).

    If factors fill a convex body evenly and partners lie near by exp(-sum |z~ - z|^p), it finds them: up to an affine
    map for p = 2, up to order, sign and scale for other p from 1 on. There is no decoder.
    """

    title = "CL-ICA"
    formula = "E[s(h, h̃) + log(exp(−s(h, h̃)) + Σₙ exp(−s(h, hₙ)))], s = Σₖ|hₖ − h′ₖ|^{p} / {tau}"

    representations = ("mean",)

    latents: int = 10
    """Number of features."""
    net: str = "slow"
    """Encoder by name: slow, conv, fc, mlp, or an own registered pair, of which the decoder is left out."""
    p: float = 1.0
    """Power of the distance, that of the law by which partners lie near: 1 for Laplace, 2 for normal; 0 is the inner
    product, for a sphere."""
    tau: float = 1.0
    """Temperature: distances are divided by it."""
    space: Literal["box", "sphere", "free"] = "box"
    """Where codes live: in a box of learned sides, on a sphere of learned radius, or anywhere."""
    extent: float = 10.0
    """Sides of the box, or radius of the sphere, in the beginning; a box must be able to reach 1 / scale of the law."""
    learning_rate: float = 1e-4
    """Step size of Adam."""

    def __post_init__(self) -> None:
        check_count(self, "latents")
        check_positive(self, "tau", "extent", "learning_rate")
        check_not_negative(self, "p")
        if 0 < self.p < 1:
            raise UsageError(f"p must be at least 1, or 0 for the inner product, got {self.p}")
        if self.p == 0 and self.space != "sphere":
            raise UsageError(f"p = 0, the inner product, needs space sphere, got {self.space}: it would grow for ever")

    def build(self, problem: Problem, generator: torch.Generator) -> InSpace:
        from unbraid import nets

        space = nets.output_space(self.space, self.latents, self.extent)
        encoder, _ = nets.build(self.net, problem.shape, self.latents, heads=1, generator=generator)
        return nets.InSpace(encoder, space)

    def optimizers(self, model: InSpace) -> dict[str, torch.optim.Optimizer]:
        from torch.optim import Adam

        return {"model": Adam(model.parameters(), lr=self.learning_rate, fused=True)}

    def loss(self, model: InSpace, inputs: Inputs, step: int, noise: torch.Generator) -> Terms:
        import torch

        if len(inputs.images) < 2:
            raise UsageError("cl-ica needs at least two pairs in a batch to tell apart, got one")
        anchors, partners = model(stacked(inputs)).chunk(2)
        # Differences of near codes: half of their digits would not do.
        with torch.autocast(anchors.device.type, enabled=False):
            loss, right = contrastive_loss(anchors.float(), partners.float(), p=self.p, tau=self.tau)
        return Terms({"contrastive": loss}, {"accuracy": right, "movement": (anchors - partners).abs().mean()})

    def encode(self, model: InSpace, images: Tensor, noise: torch.Generator | None = None) -> Tensor:
        if noise is not None:
            raise UsageError("features of cl-ica are not random: there is no sampled representation; ask for the mean")
        return model(images)

    def describe(self, model: InSpace, images: Tensor, noise: torch.Generator) -> dict[str, Tensor]:
        return {"mean": self.encode(model, images)}
