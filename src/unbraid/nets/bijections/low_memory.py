"""Backward passes that compute activations again from outputs (Gomez et al., 2017)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

if TYPE_CHECKING:
    from unbraid.nets.bijections.bijection import Chain

__all__ = ["run_again"]


def run_again(chain: Chain, x: Tensor) -> tuple[Tensor, Tensor]:
    """What the chain makes of x; on the way back, inputs of its layers are computed again by inverting them."""
    parameters = tuple(weights for weights in chain.parameters() if weights.requires_grad)
    z, log_det = _Again.apply(chain, x, *parameters)
    return z, log_det


class _Again(torch.autograd.Function):
    """Parameters are arguments, so that gradients go where the caller of ``backward`` wants them and nowhere else."""

    @staticmethod
    def forward(ctx: Any, chain: Chain, x: Tensor, *parameters: Tensor) -> tuple[Tensor, Tensor]:
        ctx.chain, ctx.wanted = chain, parameters
        kind = x.device.type
        ctx.cast = (kind, torch.get_autocast_dtype(kind), torch.is_autocast_enabled(kind))
        ctx.states = []
        total = x.new_zeros(len(x))
        z = x
        for layer in chain:
            ctx.states.append(torch.get_rng_state() if _draws(layer) else None)
            z, log_det = layer(z)
            total = total + log_det
        ctx.save_for_backward(z)
        return z.clone() if z is x else z, total

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        grad_z, grad_log_det = gradients
        (z,) = ctx.saved_tensors
        kind, dtype, enabled = ctx.cast
        found: dict[Tensor, Tensor] = {}
        for layer, state in zip(reversed(list(ctx.chain)), reversed(ctx.states), strict=True):
            weights = [w for w in layer.parameters() if w.requires_grad]
            with _as_before(layer), torch.autocast(kind, dtype, enabled=enabled):
                with torch.no_grad(), _drawing(state):
                    x = layer.undo(z)
                with torch.enable_grad(), _drawing(state):
                    x.requires_grad_()
                    again, log_det = layer(x)
            pairs = [(again, grad_z), (log_det, grad_log_det)]
            pairs = [(output, gradient) for output, gradient in pairs if output.requires_grad]
            grad_z, *grads = torch.autograd.grad(
                [output for output, _ in pairs], [x, *weights], [gradient for _, gradient in pairs], allow_unused=True
            )
            for weight, gradient in zip(weights, grads, strict=True):
                if gradient is not None:
                    found[weight] = found[weight] + gradient if weight in found else gradient
            z = x.detach()
        return None, grad_z, *(found.get(weight) for weight in ctx.wanted)


def _draws(layer: nn.Module) -> bool:
    return any(isinstance(part, nn.modules.dropout._DropoutNd) and part.training for part in layer.modules())


@contextmanager
def _drawing(state: Tensor | None) -> Iterator[None]:
    """The chances of the first pass once more."""
    with ExitStack() as stack:
        if state is not None:
            stack.enter_context(torch.random.fork_rng(devices=[]))
            torch.set_rng_state(state)
        yield


@contextmanager
def _as_before(layer: nn.Module) -> Iterator[None]:
    """Batch normalisation looks at the batch again, and does not count it twice in its running averages."""
    norms = [part for part in layer.modules() if isinstance(part, nn.modules.batchnorm._BatchNorm) and part.training]
    kept = [norm.track_running_stats for norm in norms]
    for norm in norms:
        norm.track_running_stats = False
    try:
        yield
    finally:
        for norm, before in zip(norms, kept, strict=True):
            norm.track_running_stats = before
