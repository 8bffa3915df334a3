"""Wild relation network: which answer goes with what is shown (Barrett et al., 2018; van Steenkiste et al., 2019)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn

__all__ = ["WReN"]

CONTEXT, ANSWERS = 8, 6


class WReN(nn.Module):
    """Logits ``[n, 6]`` of answers from panels ``[n, 14, d]``, the eight that are shown first.

    Each answer completes the matrix in turn: all 81 ordered pairs of its nine panels, each panel with its position as a
    one-hot, go through an edge network; their sum goes through a graph network. Of the 81 pairs 64 are of panels shown
    and the same for all answers, so that 64 + 6 * 17 = 166 pairs are computed in the place of 486. The first layer of
    the edge network is linear in both panels and is applied to each once.
    """

    def __init__(
        self, codes: int, *, edge: Sequence[int] = (256, 256), graph: Sequence[int] = (128,), dropout: float = 0.0
    ) -> None:
        super().__init__()
        self.edge = _mlp([2 * (codes + CONTEXT + 1), *edge])
        self.graph = _mlp([edge[-1], *graph])
        self.dropout = nn.Dropout(dropout)
        self.head = nn.Linear(graph[-1], 1)
        for layer in self.modules():
            if isinstance(layer, nn.Linear):  # LeCun-normal
                nn.init.normal_(layer.weight, std=1 / math.sqrt(layer.in_features))
                nn.init.zeros_(layer.bias)
        places = torch.cat([torch.arange(CONTEXT), torch.full((ANSWERS,), CONTEXT)])
        self.register_buffer("positions", nn.functional.one_hot(places, CONTEXT + 1).float(), persistent=False)

    def embed(self, panels: Tensor) -> Tensor:
        """Panels with their positions ``[n, 14, d + 9]``."""
        positions = self.get_buffer("positions").to(panels.dtype)
        return torch.cat([panels, positions.expand(len(panels), -1, -1)], dim=2)

    def forward(self, panels: Tensor) -> Tensor:
        first: nn.Linear = self.edge[0]  # type: ignore[assignment]
        width = first.in_features // 2
        embedded = self.embed(panels)
        left = nn.functional.linear(embedded, first.weight[:, :width])  # [n, 14, h]
        right = nn.functional.linear(embedded, first.weight[:, width:], first.bias)
        shown, answer = slice(0, CONTEXT), slice(CONTEXT, None)
        pairs = (
            left[:, shown, None] + right[:, None, shown],  # [n, 8, 8, h]
            left[:, shown, None] + right[:, None, answer],  # [n, 8, 6, h]
            right[:, shown, None] + left[:, None, answer],
            (left[:, answer] + right[:, answer]).unsqueeze(1),  # [n, 1, 6, h]
        )
        found = self.edge[1:](torch.cat([part.flatten(1, 2) for part in pairs], dim=1))  # [n, 166, h]
        common, forth, back, own = found.split([part.shape[1] * part.shape[2] for part in pairs], dim=1)
        both = (forth + back).unflatten(1, (CONTEXT, ANSWERS)).sum(1)  # [n, 6, h]
        return self.head(self.dropout(self.graph(common.sum(1, keepdim=True) + both + own))).squeeze(2)


def _mlp(sizes: Sequence[int]) -> nn.Sequential:
    return nn.Sequential(*(part for a, b in pairwise(sizes) for part in (nn.Linear(a, b), nn.ReLU())))
