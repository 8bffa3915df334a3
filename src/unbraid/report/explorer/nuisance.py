"""What the page needs to move what a bijective classifier ignores: the network there and back, and images."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from unbraid.data import ImageDataset, counter_rng
from unbraid.evaluation import class_names, has_classes, true_classes
from unbraid.nets.bijections import Bijection, BijectiveModel, InvertibleConv
from unbraid.report.explorer.networks import export

if TYPE_CHECKING:
    from unbraid.report.explorer.contents import Contents
    from unbraid.training import Run

__all__ = ["inverts", "see_nuisance"]


def inverts(run: Run) -> bool:
    """Whether a run is a bijective classifier of images."""
    return isinstance(run.model, BijectiveModel) and run.model.grid.images


class _Fixed(Bijection):
    """A 1x1 convolution and its inverse as numbers: ONNX does not invert matrices."""

    def __init__(self, layer: InvertibleConv) -> None:
        super().__init__()
        matrix = layer.matrix().detach()
        self.register_buffer("there", matrix.clone())
        self.register_buffer("back", torch.linalg.inv(matrix.double()).to(matrix))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return self._times(x, "there"), x.new_zeros(())

    def undo(self, z: Tensor) -> Tensor:
        return self._times(z, "back")

    def _times(self, x: Tensor, which: str) -> Tensor:
        matrix = self.get_buffer(which)
        return F.linear(x, matrix) if x.ndim == 2 else F.conv2d(x, matrix[:, :, None, None])


def _fixed(module: nn.Module) -> nn.Module:
    """A copy of a network in which invertible convolutions are numbers."""
    found = copy.deepcopy(module)
    for name, layer in list(found.named_modules()):
        if isinstance(layer, InvertibleConv):
            parent, _, last = name.rpartition(".")
            setattr(found.get_submodule(parent), last, _Fixed(layer))
    return found


class _Outputs(nn.Module):
    """Images with their margins, ``[n, c, h, w]`` in [0, 1], to all outputs ``[n, d]``."""

    def __init__(self, model: BijectiveModel) -> None:
        super().__init__()
        self.body = _fixed(model.net.body)

    def forward(self, images: Tensor) -> Tensor:
        z: Tensor = self.body((255 * images + 0.5) / 128 - 1)[0]
        return z.flatten(1)


class _Inverse(_Outputs):
    """The way back."""

    def forward(self, z: Tensor) -> Tensor:
        x: Tensor = self.body.undo(z)  # type: ignore[operator]
        return (128 * (x + 1) - 0.5) / 255


def see_nuisance(contents: Contents, run: Run, data: ImageDataset, images: int, seed: int) -> None:
    """Fill in what the page shows of a bijective classifier.

    Margins stay on: the network sees them, and without them logits would not be those of the picture.
    """
    model = run.model
    assert isinstance(model, BijectiveModel)
    rng = counter_rng(seed, 0)
    index = data.sample_index(images, rng)
    pixels = data.images(index, rng)
    left, right, top, bottom = model.grid.margins
    padded = np.pad(pixels, ((0, 0), (top, bottom), (left, right), (0, 0)))
    height, width, channels = padded.shape[1:]
    contents.images = np.ascontiguousarray(padded).tobytes()
    contents.gallery = {"index": index.tolist(), "codes": [], "factors": None}
    truth = true_classes(run, data, index) if has_classes(run, data) else None
    contents.nuisance = {
        "classes": list(class_names(run, data, model.net.classes)),
        "size": model.net.size,
        "shape": [height, width, channels],
        "margins": bool(any(model.grid.margins)),
        "truth": None if truth is None else [int(one) for one in truth],
    }
    there, back = _Outputs(model), _Inverse(model)
    with torch.no_grad():
        some = torch.from_numpy(padded[:2]).permute(0, 3, 1, 2).float() / 255
        z = there(some)
    contents.encoder = export(there, some, "images", "codes")
    contents.decoder = export(back, z, "codes", "images")
