"""Noise that is learned against a frozen model: one game for training, for restarts and for evaluation."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING

from unbraid.errors import UsageError

if TYPE_CHECKING:
    import numpy as np
    import torch
    from torch import Tensor

    from unbraid.nets import NoiseGenerator, NoiseRestart

__all__ = ["farthest", "matching_eps", "monitor", "reached", "train_generator", "train_noise"]

SLACK = 1e-3
"""Relative distance from a norm within which it counts as reached."""
BRIGHT = 0.5
"""Pixels above this are bright."""

Harm = Callable[["Tensor", "Tensor"], "Tensor"]
"""The loss of the model on changed images of some rows of a batch: ``harm(noisy, rows)``."""


def train_generator(
    generator: NoiseGenerator,
    classify: Callable[[Tensor], Tensor],
    batches: Iterable[tuple[Tensor, Tensor]],
    eps: float,
    rate: float = 5e-4,
    steps: int = 1000,
    seed: int = 0,
    min_room: float = 0.0,
) -> NoiseRestart:
    """Train a generator, in place, to raise the cross-entropy of a classifier that does not change.

    ``classify`` maps float images ``[n, c, h, w]`` in [0, 1] to scores ``[n, classes]`` and lets gradients through;
    ``Run.classifier()`` is one. ``batches`` are images with their classes, as many as ``steps`` or gone through again.
    Noise has the L2 norm ``eps`` after clipping; images on which less than ``min_room`` of it can be reached do not
    count. Adam with the given ``rate``; all noise follows from ``seed``. Returns what the noise was like at the end.
    """
    import torch
    from torch.nn.functional import cross_entropy

    def harm(labels: Tensor, noisy: Tensor, rows: Tensor) -> Tensor:
        return cross_entropy(classify(noisy), labels[rows])

    def games() -> Iterator[tuple[Tensor, Harm]]:
        found = True
        while found:  # from the beginning again, where that is possible
            found = False
            for images, labels in batches:
                found = True
                yield images, partial(harm, labels)

    from contextlib import nullcontext

    from unbraid.nets import fast_kernels, frozen, judged

    noise = torch.Generator(next(generator.parameters()).device).manual_seed(seed)
    network = classify if isinstance(classify, torch.nn.Module) else None
    # A network that is handed over in training mode would go on learning the batches' means.
    asked = (nullcontext(), nullcontext()) if network is None else (judged(network), frozen(network))
    with asked[0], asked[1], fast_kernels():
        return train_noise(generator, games(), eps, rate=rate, steps=steps, noise=noise, min_room=min_room)


def train_noise(
    generator: NoiseGenerator,
    games: Iterable[tuple[Tensor, Harm]],
    eps: float,
    *,
    rate: float,
    steps: int,
    noise: torch.Generator,
    min_room: float = 0.0,
    step: int = 0,
) -> NoiseRestart:
    """The same for any loss: every game is a batch of images and the loss of the model on changed ones."""
    import torch

    from unbraid.nets import NoiseRestart

    check_eps(eps)
    if steps < 1:
        raise UsageError(f"steps must be at least 1, got {steps}")
    optimizer = torch.optim.Adam(generator.parameters(), lr=rate, fused=True)
    weights = list(generator.parameters())
    loss: Tensor | None = None
    watched: dict[str, Tensor] = {}
    with torch.enable_grad():
        for images, harm in itertools.islice(games, steps):
            loss, watched = raised(generator, images, harm, eps, min_room, noise)
            if not loss.isfinite():
                raise UsageError(
                    f"the classifier's loss on noisy images is {loss.item()}: it gives NaN or infinity. Look at its "
                    "scores on clean images, and at its learning rate if it was trained here"
                )
            with torch.autocast(images.device.type, enabled=False):  # it is for forward passes
                gradients = torch.autograd.grad(-loss, weights)
            for weight, gradient in zip(weights, gradients, strict=True):
                weight.grad = gradient
            optimizer.step()
    for weight in weights:
        weight.grad = None
    if loss is None:
        raise UsageError("batches must hold at least one batch of images, got none")
    return NoiseRestart(step, loss.item(), *(watched[name].item() for name in ("unreached", "bright", "dark")))


def raised(
    generator: NoiseGenerator, images: Tensor, harm: Harm, eps: float, min_room: float, noise: torch.Generator
) -> tuple[Tensor, dict[str, Tensor]]:
    """What the generator raises, the model's loss on its noise, and what the noise is like."""
    from unbraid.nets import project_l2

    noisy = project_l2(images, generator.sample(images.shape, noise), eps)
    watched = monitor(images, noisy, eps)
    rows = reached(images, noisy, min_room * eps).nonzero()[:, 0]
    if len(rows) == len(images):
        return harm(noisy, rows), watched
    if not len(rows):
        return 0 * noisy.sum(), watched  # nobody to hurt, and nothing to learn
    return harm(noisy[rows], rows), watched


def monitor(images: Tensor, noisy: Tensor, eps: float) -> dict[str, Tensor]:
    """Whether noise erases: the share of images on which it misses its norm, mean changes of bright and dark pixels."""
    import torch

    with torch.no_grad():
        change, bright = noisy - images, (images > BRIGHT).to(images.dtype)
        return {
            "unreached": 1 - reached(images, noisy, eps).to(images.dtype).mean(),
            "bright": (change * bright).sum() / bright.sum().clamp_min(1),
            "dark": (change * (1 - bright)).sum() / (1 - bright).sum().clamp_min(1),
        }


def reached(images: Tensor, noisy: Tensor, eps: float) -> Tensor:
    """Which images were moved as far as asked for."""
    found: Tensor = (noisy - images).detach().flatten(1).norm(dim=1) >= (1 - SLACK) * eps
    return found


def farthest(images: Tensor) -> Tensor:
    """How far any noise can move each image within [0, 1]."""
    import torch

    return torch.maximum(images, 1 - images).flatten(1).norm(dim=1)


def check_eps(eps: float) -> None:
    """Refuse a norm that is none."""
    if not 0 < eps < math.inf:
        raise UsageError(f"eps must be a positive number, the L2 norm of noise after clipping, got {eps}")


def matching_eps(images: np.ndarray | Tensor, sigma: float = 0.5, seed: int = 0) -> float:
    """The mean L2 norm of clipped normal noise on these images: the budget that makes learned noise comparable to it.

    Images are uint8 ``[n, h, w, c]`` or floats ``[n, c, h, w]`` in [0, 1]; some hundred of them will do.
    Rusak et al. (2020) take sigma 0.5: 135 for ImageNet at 224x224.

    >>> import numpy as np
    >>> round(matching_eps(np.zeros((200, 28, 28, 1), np.uint8)), 1)
    9.5
    """
    import torch

    from unbraid.objectives.augment import make

    floats = images if isinstance(images, torch.Tensor) else torch.as_tensor(images).permute(0, 3, 1, 2) / 255
    if floats.ndim != 4 or not floats.is_floating_point() or floats.min() < 0 or floats.max() > 1:
        raise UsageError("images must be uint8 [n, h, w, c], or floats [n, c, h, w] in [0, 1]")
    noisy = make(f"gaussian-noise:sigma={sigma}")(floats, torch.Generator(floats.device).manual_seed(seed))
    return float((noisy - floats).flatten(1).norm(dim=1).mean())
