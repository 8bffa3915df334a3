"""The convolutional encoder and decoder of the SlowVAE release."""

from itertools import pairwise

from torch import nn

from unbraid.nets.initialise import kaiming
from unbraid.nets.layers import CodeLinear, Conv, Crop, Deconv, Pad, channels_of, grid_of
from unbraid.nets.registry import Shape, register

__all__ = ["slow"]

HIDDEN = 256


@register("slow")
def slow(shape: Shape, latents: int, *, heads: int = 2) -> tuple[nn.Module, nn.Module]:
    """The networks of Klindt et al. (2021): 4x4 convolutions throughout, the last one as large as the grid.

    Kaiming-normal weights and zero biases; transposed convolutions keep torch's default initialisation.
    Image sizes other than 64x64 are treated as in ``conv``.
    """
    widths, (height, width) = channels_of(shape), grid_of(shape)
    pairs = list(pairwise(widths))
    encoder = nn.Sequential(
        Pad(shape),
        *(Conv(a, b, 4) for a, b in pairs),
        nn.Conv2d(widths[-1], HIDDEN, (height, width)),
        nn.ReLU(),
        nn.Flatten(),
        CodeLinear(HIDDEN, heads * latents),
    )
    decoder = nn.Sequential(
        CodeLinear(latents, HIDDEN),
        nn.ReLU(),
        nn.Unflatten(1, (HIDDEN, 1, 1)),
        nn.ConvTranspose2d(HIDDEN, widths[-1], (height, width)),
        nn.ReLU(),
        *(Deconv(b, a, relu=i > 0) for i, (a, b) in reversed(list(enumerate(pairs)))),
        Crop(shape),
    )
    return kaiming(encoder), kaiming(decoder)
