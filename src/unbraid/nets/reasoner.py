"""An encoder of panels and the network that relates them."""

from __future__ import annotations

from torch import Tensor, nn

from unbraid.nets.wren import ANSWERS, CONTEXT, WReN

__all__ = ["Reasoner"]


class Reasoner(nn.Module):
    """Encoder (none where panels are codes already) and relation network; a frozen encoder learns nothing."""

    def __init__(self, encoder: nn.Module | None, relations: WReN, codes: int, *, frozen: bool = False) -> None:
        super().__init__()
        self.encoder, self.relations, self.codes, self.frozen = encoder, relations, codes, frozen
        if frozen and encoder is not None:
            encoder.requires_grad_(False)

    def train(self, mode: bool = True) -> Reasoner:
        """A frozen encoder stays as it is in evaluation."""
        super().train(mode)
        if self.frozen and self.encoder is not None:
            self.encoder.eval()
        return self

    def encode(self, panels: Tensor) -> Tensor:
        """Codes ``[n, d]``, the means where the encoder gives log variances, too."""
        return panels if self.encoder is None else self.encoder(panels)[:, : self.codes]

    def choose(self, matrices: Tensor) -> Tensor:
        """Logits ``[n, 6]`` of matrices, 14 panels below each other: ``[n, c, 14 h, w]``, or vectors ``[n, 14 d]``."""
        count = CONTEXT + ANSWERS
        if matrices.ndim == 2:
            return self.relations(matrices.unflatten(1, (count, -1)))
        panels = matrices.unflatten(2, (count, -1)).transpose(1, 2).flatten(0, 1)  # [14 n, c, h, w]
        return self.relations(self.encode(panels).unflatten(0, (-1, count)))
