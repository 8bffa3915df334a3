"""Networks that see black and white: pixels are compared with a threshold first, and gradients go straight through."""

from typing import Any

from torch import Tensor, nn

from unbraid.errors import UsageError
from unbraid.nets.predictors.registry import build_inner, register

__all__ = ["StraightThrough", "binarised", "check_threshold"]


class StraightThrough(nn.Module):
    """A model of images that are 1 where they are at least the threshold, and 0 elsewhere.

    Its gradient is that of the model at the binary image, as if the threshold were not there (Bengio et al., 2013).
    """

    def __init__(self, model: nn.Module, threshold: float = 0.5) -> None:
        super().__init__()
        check_threshold(threshold)
        self.model, self.threshold = model, threshold

    def forward(self, images: Tensor) -> Any:
        binary = (images >= self.threshold).to(images.dtype)
        return self.model(binary + (images - images.detach()))


@register("binarised")
def binarised(shape: tuple[int, ...], outputs: int, *, net: str = "small-cnn", threshold: float = 0.5) -> nn.Module:
    """Another predictor behind a threshold, in training and after it: the "binary" networks of Schott et al. (2019)."""
    return StraightThrough(build_inner(net, shape, outputs), threshold)


def check_threshold(threshold: float) -> None:
    """Refuse one that no pixel, or every pixel, passes."""
    if not 0 < threshold < 1:
        raise UsageError(f"threshold must lie between 0 and 1, the range of pixels, got {threshold}")
