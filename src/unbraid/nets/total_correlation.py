"""Total correlation of a batch of codes by minibatch-weighted sampling (Chen et al., 2018), with its own gradient."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

__all__ = ["pairwise_total_correlation"]


def pairwise_total_correlation(mean: Tensor, logvar: Tensor, sample: Tensor) -> Tensor:
    """Mean over j of logsumexp_i sum_k l - sum_k logsumexp_i l, where l[j, i, k] = log q(z_jk | x_i); all ``[n, d]``.

    The gradient is written down rather than recorded: l has n * n * d entries, and on small networks passing over them
    again and again would be the largest part of a step. Cannot be differentiated twice.
    """
    return _TotalCorrelation.apply(mean, logvar, sample)[0]


class _TotalCorrelation(torch.autograd.Function):
    """For any number of leading axes, so that a stack of models is one call."""

    @staticmethod
    def forward(mean: Tensor, logvar: Tensor, sample: Tensor) -> tuple[Tensor, ...]:
        centre, spread, codes = (part.transpose(-1, -2).contiguous() for part in (mean, logvar, sample))  # [d, n]
        distance = codes[..., :, None] - centre[..., None, :]  # [d, j, i]: the sums over i run along memory
        pull = distance * torch.exp(-spread)[..., None, :]
        constant = (-0.5 * (spread + math.log(2 * math.pi)))[..., None, :]
        pairs = torch.addcmul(constant, distance, pull, value=-0.5)
        joint = pairs.sum(-3)
        share, shares = torch.softmax(joint, -1), torch.softmax(pairs, -1)
        value = (_logsumexp(joint, share) - _logsumexp(pairs, shares).sum(-2)).mean(-1)
        return value, share.unsqueeze(-3) - shares, pull, distance

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, ...], output: tuple[Tensor, ...]) -> None:
        del inputs
        ctx.set_materialize_grads(False)  # no zeros for what has no gradient
        ctx.mark_non_differentiable(*output[1:])
        ctx.save_for_backward(*output[1:])

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor | None) -> tuple[Tensor | None, ...]:
        if gradients[0] is None:
            return None, None, None
        weights, pull, distance = ctx.saved_tensors
        weights = weights * (gradients[0] / weights.shape[-1])[..., None, None, None]
        pulled = weights * pull
        to_mean, to_sample = pulled.sum(-2), -pulled.sum(-1)
        to_logvar = 0.5 * ((pulled * distance).sum(-2) - weights.sum(-2))
        return to_mean.transpose(-1, -2), to_logvar.transpose(-1, -2), to_sample.transpose(-1, -2)

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], *parts: Tensor) -> tuple[tuple[Tensor, ...], tuple[int, ...]]:
        stacked = [
            part.expand(info.batch_size, *part.shape) if dim is None else part.movedim(dim, 0)
            for part, dim in zip(parts, in_dims, strict=True)
        ]
        return _TotalCorrelation.apply(*stacked), (0, 0, 0, 0)


def _logsumexp(values: Tensor, shares: Tensor) -> Tensor:
    """Over the last axis, from values and their softmax: no second pass of exponentials."""
    return values.amax(-1) - shares.amax(-1).log()
