"""Several fully connected networks of one make as a single network whose matrix products are batched."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from unbraid.nets.layers import CodeLinear

__all__ = ["Stacked", "can_stack"]

_ELEMENTWISE = (nn.ReLU, nn.Tanh, nn.LeakyReLU, nn.ELU, nn.GELU, nn.Softplus, nn.Sigmoid, nn.Identity)


def can_stack(net: nn.Module) -> bool:
    """Whether a network is a plain chain of linear layers and activations."""
    if type(net) is not nn.Sequential:
        return False
    return all(
        type(layer) in (nn.Linear, CodeLinear, *_ELEMENTWISE)
        or (type(layer) is nn.Flatten and (layer.start_dim, layer.end_dim) == (1, -1))
        or (type(layer) is nn.Unflatten and layer.dim == 1)
        for layer in net
    )


class Stacked(nn.Module):
    """``m`` networks side by side: inputs ``[n, ...]``, the same for all, or ``[m, n, ...]``; outputs ``[m, n, ...]``.

    Parameter ``k`` has those of all networks along its first axis, in the order of ``network.parameters()``.
    """

    def __init__(self, nets: Sequence[nn.Module]) -> None:
        super().__init__()
        self.layers = nn.ModuleList()
        for layers in zip(*nets, strict=True):
            first = layers[0]
            self.layers.append(_StackedLinear(layers) if isinstance(first, nn.Linear) else first)

    def make_copies(self, dtype: torch.dtype) -> list[tuple[nn.Parameter, Tensor]]:
        """From now on multiply with rounded copies of the weights, wherever autocast would round them.

        Returns every such weight with its copy, a leaf that collects the gradient; who updates the weight must update
        the copy.
        """
        layers = [layer for layer in self.layers if isinstance(layer, _StackedLinear) and not layer.full_precision]
        for layer in layers:
            layer.copies = tuple(part.detach().to(dtype).requires_grad_() for part in (layer.weight, layer.bias))
        return [pair for layer in layers for pair in zip((layer.weight, layer.bias), layer.copies, strict=True)]

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            if isinstance(layer, nn.Unflatten):
                x = x.unflatten(-1, layer.unflattened_size)
            else:
                x = layer(x)
        return x


class _StackedLinear(nn.Module):
    def __init__(self, layers: Sequence[nn.Linear]) -> None:
        super().__init__()
        self.full_precision = isinstance(layers[0], CodeLinear)
        with torch.no_grad():
            self.weight = nn.Parameter(torch.stack([layer.weight for layer in layers]))  # [m, out, in]
            self.bias = nn.Parameter(torch.stack([layer.bias for layer in layers]))  # [m, out]
        self.copies: tuple[Tensor, ...] = ()

    def forward(self, x: Tensor) -> Tensor:
        kind = x.device.type
        casts = torch.is_autocast_enabled(kind) and not self.full_precision
        dtype = torch.get_autocast_dtype(kind) if casts else self.weight.dtype
        with torch.autocast(kind, enabled=False):
            x, (weight, bias) = x.to(dtype), self.copies or (self.weight.to(dtype), self.bias.to(dtype))
            if x.ndim == 3:
                y: Tensor = _Product.apply(x, weight, bias)
                return y
            # The same input for all networks: one wide product instead of many narrow ones.
            wide = F.linear(x, weight.flatten(0, 1), bias.flatten())
            return wide.view(len(x), *bias.shape).transpose(0, 1)


class _Product(torch.autograd.Function):
    """Inputs ``[m, n, in]`` times weights ``[m, out, in]``, plus biases ``[m, out]``.

    Torch's own gradient of a transposed factor comes out transposed, and turning it takes longer than the product.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        ctx.save_for_backward(x, weight)
        return torch.baddbmm(bias[:, None], x, weight.transpose(1, 2))

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        x, weight = ctx.saved_tensors
        into = torch.bmm(grad, weight) if ctx.needs_input_grad[0] else None
        return into, torch.bmm(grad.transpose(1, 2), x), grad.sum(1)
