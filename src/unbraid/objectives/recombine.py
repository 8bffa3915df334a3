"""An encoder that learns from recombined images, after Wiedemer, Brady et al. (2024).

An additive decoder is right on every combination of what each block was seen with; its encoder is not, until it was
shown such combinations. It is shown those that the decoder draws.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from unbraid.errors import UsageError
from unbraid.objectives.base import Terms

if TYPE_CHECKING:
    import torch
    from torch import Tensor, nn

    from unbraid.nets import Autoencoder

__all__ = ["check_recombines", "recombination_terms"]


def check_recombines(decoder: nn.Module) -> None:
    """Refuse a decoder that has no blocks to recombine."""
    from unbraid.nets import Additive

    if not (isinstance(decoder, Additive) and len(decoder.sizes) > 1):
        raise UsageError("recombine needs a decoder of two or more blocks (--net additive:net=conv,blocks=2)")


def recombination_terms(
    model: Autoencoder, images: Tensor, decode: Callable[[Tensor], Tensor], noise: torch.Generator
) -> Terms:
    """Squared distance of recombined codes from the codes of the images drawn of them.

    Targets are fixed and the decoder gets no gradient, so that nothing is gained by making codes small.
    """
    import torch

    from unbraid.nets import judged, shuffled_blocks

    with torch.no_grad(), judged(model):
        codes = shuffled_blocks(model.encoder(images), model.decoder.sizes, noise)  # type: ignore[arg-type]
        drawn = decode(codes)
    errors = (model.encoder(drawn) - codes).square().sum(1)
    return Terms({"recombination": errors.mean()})
