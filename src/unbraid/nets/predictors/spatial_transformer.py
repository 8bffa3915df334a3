"""A predictor that first turns, scales and moves the image as it likes."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from unbraid.nets.layers import LastConv
from unbraid.nets.predictors.coordinates import need_image
from unbraid.nets.predictors.registry import build_inner, register

__all__ = ["SpatialTransformer", "spatial_transformer"]

SIDE = 64
"""Images of other sizes are shown to the localisation network at this size."""


class SpatialTransformer(nn.Module):
    """Warp an image by an affine map that a small network reads off it, and give it to another network.

    At the start the map is the identity, so the whole is the other network (Jaderberg et al., 2015).
    """

    def __init__(self, channels: int, inner: nn.Module) -> None:
        super().__init__()
        self.localise = nn.Sequential(
            LastConv(channels, 8, 7),
            nn.MaxPool2d(2),
            nn.ReLU(),
            LastConv(8, 10, 5),
            nn.MaxPool2d(2),
            nn.ReLU(),
            LastConv(10, 10, 6),
            nn.MaxPool2d(2),
            nn.ReLU(),
            nn.Flatten(),
            nn.Linear(90, 32),
            nn.ReLU(),
        )
        self.affine = nn.Linear(32, 6)
        nn.init.zeros_(self.affine.weight)
        with torch.no_grad():
            self.affine.bias.copy_(torch.tensor([1.0, 0, 0, 0, 1, 0]))
        self.inner = inner

    def forward(self, images: Tensor) -> Tensor:
        seen = images
        if images.shape[-2:] != (SIDE, SIDE):
            seen = F.interpolate(images, (SIDE, SIDE), mode="bilinear", align_corners=False, antialias=True)
        maps = self.affine(self.localise(seen)).float().reshape(-1, 2, 3)
        places = F.affine_grid(maps, list(images.shape), align_corners=False)
        return self.inner(F.grid_sample(images, places.to(images.dtype), align_corners=False))


@register("spatial-transformer")
def spatial_transformer(shape: tuple[int, ...], outputs: int, *, net: str = "cnn") -> nn.Module:
    """The spatial transformer of Schott et al. (2022): an affine map read off the image, then ``cnn`` or another."""
    channels = need_image("spatial-transformer", shape)[2]
    return SpatialTransformer(channels, build_inner(net, shape, outputs))
