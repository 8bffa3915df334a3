"""The convolutional encoder and decoder of Burgess et al. (2018), as many public implementations have them."""

import math

from torch import nn

from unbraid.nets.initialise import kaiming
from unbraid.nets.layers import CodeLinear, Conv, Crop, Deconv, Pad, grid_of, halvings
from unbraid.nets.registry import Shape, register

__all__ = ["burgess"]

CHANNELS, HIDDEN = 32, 256


@register("burgess")
def burgess(shape: Shape, latents: int, *, heads: int = 2) -> tuple[nn.Module, nn.Module]:
    """The networks of Burgess et al. (2018): 4x4 convolutions of 32 channels throughout, two layers of 256 units.

    The decoder is the same backwards. Kaiming-normal weights and zero biases; transposed convolutions keep torch's
    default initialisation. 64x64 images have four convolutions, 32x32 ones three; other sizes are treated as in
    ``conv``.
    """
    layers, grid = halvings(shape), (CHANNELS, *grid_of(shape))
    cells = math.prod(grid)
    widths = [shape[2], *[CHANNELS] * layers]
    encoder = nn.Sequential(
        Pad(shape),
        *(Conv(a, CHANNELS, 4) for a in widths[:-1]),
        nn.Flatten(),
        nn.Linear(cells, HIDDEN),
        nn.ReLU(),
        nn.Linear(HIDDEN, HIDDEN),
        nn.ReLU(),
        CodeLinear(HIDDEN, heads * latents),
    )
    decoder = nn.Sequential(
        CodeLinear(latents, HIDDEN),
        nn.ReLU(),
        nn.Linear(HIDDEN, HIDDEN),
        nn.ReLU(),
        nn.Linear(HIDDEN, cells),
        nn.ReLU(),
        nn.Unflatten(1, grid),
        *(Deconv(CHANNELS, b, relu=i > 0) for i, b in reversed(list(enumerate(widths[:-1])))),
        Crop(shape),
    )
    return kaiming(encoder), kaiming(decoder)
