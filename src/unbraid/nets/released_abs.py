"""The released weights of analysis by synthesis: ten files of a class each (Schott et al., 2019)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor, nn

from unbraid.errors import UsageError
from unbraid.nets.class_vaes import ClassVAEs
from unbraid.nets.state_dicts import read_state_dict

__all__ = ["load_released_abs"]


@torch.no_grad()
def load_released_abs(files: Sequence[str | Path], *, side: int = 28, channels: int = 1) -> ClassVAEs:
    """The generators of all classes from one state dict each, in the order of the classes.

    Layers are known by their order and their shapes, not by their names: the convolutions of the encoder with their
    batch norms, then those of the decoder (or the other way round). Files are read without running code in them.
    """
    if len(files) < 2:
        raise UsageError(f"files must be one per class, two or more, got {len(files)}")
    net: ClassVAEs | None = None
    for number, file in enumerate(files):
        parts = _layers(read_state_dict(Path(file)), file)
        halves = [parts[: len(parts) // 2], parts[len(parts) // 2 :]]
        if halves[0][0]["weight"].shape[:2] != (32, channels):
            halves.reverse()
        encoder, decoder = halves
        if net is None:
            net = ClassVAEs((side, side, channels), len(files), decoder[0]["weight"].shape[0]).eval()
        for mine, theirs in ((net.encoder, encoder), (net.decoder, decoder)):
            layers = [layer for layer in mine if isinstance(layer, nn.Conv2d | nn.ConvTranspose2d | nn.BatchNorm2d)]
            if len(layers) != len(theirs):
                raise UsageError(f"{file} has {len(theirs)} layers in one half, expected {len(layers)}: other weights?")
            for layer, found in zip(layers, theirs, strict=True):
                _fill(layer, found, number, len(files), file)
    assert net is not None
    return net


def _layers(state: dict[str, Tensor], file: str | Path) -> list[dict[str, Tensor]]:
    """The tensors of each layer, in the order of the file."""
    found: dict[str, dict[str, Tensor]] = {}
    for name, tensor in state.items():
        layer, _, kind = name.rpartition(".")
        if kind in ("weight", "bias", "running_mean", "running_var"):
            found.setdefault(layer, {})[kind] = tensor
    if len(found) < 2 or len(found) % 2 or any("weight" not in layer for layer in found.values()):
        raise UsageError(
            f"{file} should hold the layers of an encoder and of a decoder, as many each; got {len(found)}"
        )
    return list(found.values())


def _fill(layer: nn.Module, found: dict[str, Tensor], number: int, classes: int, file: str | Path) -> None:
    """Put the tensors of one class where its group is."""
    own = dict(layer.named_parameters()) | dict(layer.named_buffers())
    for kind in ("weight", "bias", "running_mean", "running_var"):
        if kind not in own:
            continue
        if kind not in found:
            raise UsageError(f"{file} has no {kind} for a layer that needs one; names found: {', '.join(found)}")
        place = own[kind].view(classes, -1, *own[kind].shape[1:])[number]
        if found[kind].shape != place.shape:
            told = f"{tuple(found[kind].shape)}, expected {tuple(place.shape)}"
            raise UsageError(f"{file} has a {kind} of shape {told}: for other images or latents?")
        place.copy_(found[kind])
