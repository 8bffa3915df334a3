"""Weights of the disentangling VAEs that Dubois released: encoder and decoder of Burgess et al. (2018)."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor, nn

from unbraid.errors import UsageError
from unbraid.nets.burgess import burgess
from unbraid.nets.state_dicts import read_state_dict

__all__ = ["read_released_vae"]

_HEADS = "mu_logvar_gen"


@torch.no_grad()
def read_released_vae(file: str | Path) -> tuple[nn.Module, nn.Module]:
    """Encoder and decoder of a released state dict (``model.pt``), read without running code in it.

    Layers are known by their names: ``encoder.conv1`` to ``conv3`` and ``conv_64``, ``lin1``, ``lin2``,
    ``mu_logvar_gen``; ``decoder.lin1`` to ``lin3``, ``convT_64``, ``convT1`` to ``convT3``. There, mean and log
    variance of a latent lie side by side; here come all means, then all log variances. The decoder gives logits, of
    which the released one gives the sigmoid. Tensors of other parts, such as a discriminator, are left out.
    """
    state = read_state_dict(Path(file))
    size = 64 if "encoder.conv_64.weight" in state else 32
    first, last = (_tensor(state, name, file) for name in ("encoder.conv1.weight", f"encoder.{_HEADS}.bias"))
    if not last.ndim == 1 < len(last) or first.ndim != 4:
        told = f"{tuple(first.shape)} and {tuple(last.shape)}"
        raise UsageError(
            f"{file}: encoder.conv1.weight and encoder.{_HEADS}.bias have shapes {told}; is it another net?"
        )
    encoder, decoder = burgess((size, size, first.shape[1]), len(last) // 2)
    last_conv = ["conv_64"] if size == 64 else []
    into = [*("conv1", "conv2", "conv3"), *last_conv, "lin1", "lin2", _HEADS]
    out = ["lin1", "lin2", "lin3", *(f"convT_{name[5:]}" for name in last_conv), *("convT1", "convT2", "convT3")]
    for part, net, names in (("encoder", encoder, into), ("decoder", decoder, out)):
        layers = [layer for layer in net.modules() if isinstance(layer, nn.Linear | nn.Conv2d | nn.ConvTranspose2d)]
        for layer, name in zip(layers, names, strict=True):
            for kind, own in (("weight", layer.weight), ("bias", layer.bias)):
                assert own is not None
                found = _tensor(state, f"{part}.{name}.{kind}", file)
                if name == _HEADS and found.ndim:
                    found = torch.cat([found[0::2], found[1::2]])
                if found.shape != own.shape:
                    told = f"{tuple(found.shape)}, expected {tuple(own.shape)}"
                    raise UsageError(f"{file}: {part}.{name}.{kind} has shape {told}; is it another network?")
                own.copy_(found)
    return encoder.eval(), decoder.eval()


def _tensor(state: dict[str, Tensor], name: str, file: str | Path) -> Tensor:
    if name not in state:
        raise UsageError(f"{file} has no {name}; it has {', '.join(sorted(state)[:8])}, ...: is it another network?")
    found = state[name]
    if found.layout != torch.strided or not found.is_floating_point():
        kind = f"{str(found.layout).removeprefix('torch.')} tensor of {str(found.dtype).removeprefix('torch.')}"
        raise UsageError(f"{file}: {name} must be a dense tensor of floats, got a {kind}")
    if not found.isfinite().all():
        raise UsageError(f"{file}: {name} has entries that are NaN or infinite; did its training diverge?")
    return found
