"""Adam (Kingma & Ba, 2015) for weights of which the network multiplies with rounded copies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from unbraid.compiled import compiled

__all__ = ["MixedAdam", "load_kernel"]

_BLOCK = 1024


class MixedAdam:
    """One pass over a float32 weight reads its bfloat16 gradient, updates it, and rounds it into its bfloat16 copy.

    The same update as torch's Adam, but no gradient or copy is ever converted from one number type to the other in
    memory. ``copies`` are the leaves that collect the gradients of weights of ``optimizer``; other weights have their
    own. Settings and state stay in the optimiser.
    """

    def __init__(self, optimizer: torch.optim.Optimizer, copies: Mapping[nn.Parameter, Tensor]) -> None:
        self.optimizer = optimizer
        (self._settings,) = optimizer.param_groups
        weights: list[nn.Parameter] = self._settings["params"]
        self._leaves = [copies.get(weight, weight) for weight in weights]
        self._arrays = [_arrays(weight, copies.get(weight), optimizer.state[weight]) for weight in weights]

    def zero_grad(self) -> None:
        """Forget all gradients."""
        for leaf in self._leaves:
            leaf.grad = None

    def step(self) -> None:
        """Update every weight that has a gradient."""
        rate, (first, second), eps = (self._settings[name] for name in ("lr", "betas", "eps"))
        for leaf, (steps, *arrays) in zip(self._leaves, self._arrays, strict=True):
            if leaf.grad is None:
                continue
            gradient = leaf.grad.contiguous()
            rounded, exact = (gradient, _NONE) if gradient.dtype is torch.bfloat16 else (_NONE.bfloat16(), gradient)
            steps += 1
            taken = float(steps)
            _update(
                *arrays,
                _bits(rounded),
                exact.view(-1).numpy(),
                np.float32(rate / (1 - first**taken)),
                np.float32(1 - first),
                np.float32(second),
                np.float32(1 - second),
                np.float32((1 - second**taken) ** -0.5),
                np.float32(eps),
            )


_NONE = torch.empty(0)


def load_kernel() -> None:
    """Compile, or load from the disk, what a step takes: for this process and all that are forked from it."""
    exact, bits, number = np.empty(0, np.float32), np.empty(0, np.uint16), np.float32(1)
    _update(exact, exact, exact, bits, bits, exact, *[number] * 6)


def _arrays(weight: nn.Parameter, copy: Tensor | None, state: dict[str, Any]) -> list[np.ndarray]:
    """Steps taken, weight, both averages and copy, as arrays that share the tensors' memory."""
    if not state:
        state["step"] = torch.zeros(())
        state["exp_avg"], state["exp_avg_sq"] = torch.zeros_like(weight), torch.zeros_like(weight)
    exact = [part.detach().view(-1).numpy() for part in (weight, state["exp_avg"], state["exp_avg_sq"])]
    return [state["step"].numpy(), *exact, _bits(_NONE.bfloat16() if copy is None else copy.detach())]


def _bits(values: Tensor) -> np.ndarray:
    """bfloat16 numbers, which numpy does not know: the upper halves of float32."""
    array: np.ndarray = values.view(torch.uint16).view(-1).numpy()
    return array


@compiled
def _update(weight, mean, square, copy, rounded, exact, rate, new, keep, add, correction, eps):  # type: ignore[no-untyped-def]
    """Either gradient, ``rounded`` or ``exact``, is empty; without the former there is no copy either.

    In blocks, which stay in the cache, and with local variables: the compiler cannot know that no arrays overlap.
    """
    bits = np.empty(_BLOCK, np.uint32)
    value = bits.view(np.float32)
    for start in range(0, weight.size, _BLOCK):
        end = start + _BLOCK
        w, m, v, c = weight[start:end], mean[start:end], square[start:end], copy[start:end]
        r, e = rounded[start:end], exact[start:end]
        for i in range(r.size):
            bits[i] = np.uint32(r[i]) << np.uint32(16)
        for i in range(e.size):
            value[i] = e[i]
        for i in range(w.size):
            g = value[i]
            average = m[i] + new * (g - m[i])
            power = keep * v[i] + add * g * g
            after = w[i] - rate * average / (np.sqrt(power) * correction + eps)
            m[i], v[i], w[i], value[i] = average, power, after, after
        for i in range(c.size):  # to the nearest, ties to even
            half = (bits[i] >> np.uint32(16)) & np.uint32(1)
            c[i] = (bits[i] + np.uint32(0x7FFF) + half) >> np.uint32(16)
