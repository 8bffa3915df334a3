"""Jacobians of decoders at many codes at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from unbraid.errors import UsageError
from unbraid.nets import Autoencoder, GaussianPixels, likelihood
from unbraid.objectives import AutoencoderObjective
from unbraid.training import Run

__all__ = ["Decoder", "decoder_jacobian", "decoder_of"]

Decoder = Callable[[Any], Any]
"""Maps codes ``[n, d]`` to outputs ``[n, ...]``, each row by itself: torch tensors, or arrays with ``differences``."""

Mode = Literal["auto", "forward", "reverse", "differences"]


def decoder_jacobian(
    decode: Decoder, codes: ArrayLike | Tensor, *, mode: Mode = "auto", batch_size: int = 64, step: float = 1e-4
) -> np.ndarray:
    """Derivatives of all outputs by all latents at codes ``[n, d]``: float64 ``[n, outputs, d]``.

    ``auto`` goes ``forward`` (one pass per latent) unless there are fewer outputs than latents. A decoder on numpy
    arrays is differentiated by central ``differences`` of width ``step``. Tensors keep their type; arrays become
    float32, as networks want them (float64 with ``differences``).

    >>> decoder_jacobian(lambda z: torch.stack([z[:, 0] * z[:, 1], z[:, 0] ** 2], 1), [[2.0, 3.0]])
    array([[[3., 2.],
            [4., 0.]]])
    """
    if mode not in ("auto", "forward", "reverse", "differences"):
        raise UsageError(f"mode must be auto, forward, reverse or differences, got {mode!r}")
    if mode == "differences":
        return _differences(decode, np.asarray(codes, dtype=np.float64), step)
    rows = codes if isinstance(codes, Tensor) else torch.as_tensor(np.asarray(codes, dtype=np.float32))
    if rows.ndim != 2 or len(rows) == 0:
        raise UsageError(f"codes must be [n, d] with at least one row, got shape {tuple(rows.shape)}")

    def flat(z: Tensor) -> Tensor:
        return decode(z).flatten(1)

    if mode == "auto":
        with torch.no_grad():
            outputs = decode(rows[:1])
        if not isinstance(outputs, Tensor):
            raise UsageError(
                f"the decoder gives {type(outputs).__name__}, not a torch tensor; use mode='differences' for arrays"
            )
        mode = "reverse" if outputs[0].numel() < rows.shape[1] else "forward"
    compute = _forward if mode == "forward" else _reverse
    with torch.enable_grad():
        parts = [compute(flat, part).detach().double().cpu().numpy() for part in rows.split(batch_size)]
    return np.concatenate(parts)


def decoder_of(run: Run, output: Literal["image", "raw"] = "image") -> Decoder:
    """The decoder of a run as a function of tensors.

    ``image`` is the mean image; with a gaussian likelihood it is not clipped to [0, 1], which would hide derivatives.
    ``raw`` is what the network gives: logits for a bernoulli likelihood.
    """
    objective, model = run.objective, run.model
    if output not in ("image", "raw"):
        raise UsageError(f"output must be 'image' or 'raw', got {output!r}")
    if not isinstance(objective, AutoencoderObjective) or not isinstance(model, Autoencoder):
        if output == "raw":
            raise UsageError(f"objective {objective.name!r} has no raw decoder output; use output='image'")
        return lambda codes: objective.decode(model, codes)
    return model.decoder if output == "raw" else unclipped(objective, model)


def unclipped(objective: AutoencoderObjective, model: Autoencoder) -> Decoder:
    """The mean image of codes, not clipped to [0, 1]."""
    if isinstance(likelihood(objective.likelihood), GaussianPixels):
        return model.decoder
    return lambda codes: objective.decode(model, codes)


def _forward(flat: Callable[[Tensor], Tensor], codes: Tensor) -> Tensor:
    """Column by column. The pull-back ``u -> J^T u`` is linear in u: its own gradient along a latent is a column of J.

    As fast as dual numbers on convolutions, and open to every operation with a second derivative; rows of a batch do
    not mix.
    """
    codes = codes.detach().requires_grad_()
    outputs = flat(codes)
    pull = torch.zeros_like(outputs, requires_grad=True)
    (pulled,) = torch.autograd.grad(outputs, codes, pull, create_graph=True)
    columns = [torch.autograd.grad(latent.sum(), pull, retain_graph=True)[0] for latent in pulled.unbind(1)]
    return torch.stack(columns, dim=2)


def _reverse(flat: Callable[[Tensor], Tensor], codes: Tensor) -> Tensor:
    """Row by row: the gradient of one output after the other."""
    codes = codes.detach().requires_grad_()
    outputs = flat(codes)
    rows = [torch.autograd.grad(output.sum(), codes, retain_graph=True)[0] for output in outputs.unbind(1)]
    return torch.stack(rows, dim=1)


def _differences(decode: Decoder, codes: np.ndarray, step: float) -> np.ndarray:
    if codes.ndim != 2 or not step > 0:
        raise UsageError(f"codes must be [n, d] and step positive, got shape {codes.shape} and {step}")
    n, d = codes.shape
    moved = step * np.eye(d)
    both = np.concatenate([codes[:, None] + moved, codes[:, None] - moved], axis=1).reshape(-1, d)  # [n * 2d, d]
    outputs = np.asarray(decode(both), dtype=np.float64).reshape(n, 2, d, -1)
    return ((outputs[:, 0] - outputs[:, 1]) / (2 * step)).swapaxes(1, 2)
