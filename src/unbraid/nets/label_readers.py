"""How latents are read as labels, where the reading is learned: a place for every value, or a common scale."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

__all__ = ["LabelPlaces", "LabelScale"]


class LabelPlaces(nn.Module):
    """A place e_ki for value i of label k: latents ``[n, K]`` to logits -((mu_k - e_ki) sigma)^2, ``[n, s_k]`` each.

    At first the places lie evenly in [-1, 1]. ``even`` keeps them so, and learns where they begin and how far apart
    they are; otherwise each is learned by itself. ``learned`` learns ``sigma`` too.
    """

    def __init__(self, sizes: Sequence[int], *, even: bool = False, sigma: float = 1.0, learned: bool = False) -> None:
        super().__init__()
        self.sizes = tuple(sizes)
        steps = torch.tensor([2 / max(size - 1, 1) for size in self.sizes])
        if even:
            self.slope = nn.Parameter(steps)
            self.bias = nn.Parameter(torch.tensor([-1.0 if size > 1 else 0.0 for size in self.sizes]))
        else:
            starts = [torch.linspace(-1, 1, size) if size > 1 else torch.zeros(1) for size in self.sizes]
            self.free = nn.Parameter(torch.cat(starts))
        self.even = even
        if learned:
            self.sigma: Tensor = nn.Parameter(torch.tensor(float(sigma)))
        else:
            self.register_buffer("sigma", torch.tensor(float(sigma)), persistent=False)

    def places(self) -> tuple[Tensor, ...]:
        """The places of every label's values, ``[s_k]`` each."""
        if not self.even:
            return self.free.split(self.sizes)
        numbers = (torch.arange(size, device=self.slope.device) for size in self.sizes)
        return tuple(slope * number + bias for slope, number, bias in zip(self.slope, numbers, self.bias, strict=True))

    def forward(self, codes: Tensor) -> list[Tensor]:
        columns = codes.unbind(1)
        return [
            -((column[:, None] - places) * self.sigma).square()
            for column, places in zip(columns, self.places(), strict=True)
        ]


class LabelScale(nn.Module):
    """One learned factor that turns latents into label values; 1 at first."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.tensor(1.0))

    def forward(self, codes: Tensor) -> Tensor:
        return self.scale * codes
