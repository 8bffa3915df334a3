"""Adversarial training by projected gradients (Madry et al., 2018)."""

from __future__ import annotations

import math
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from unbraid.errors import UsageError
from unbraid.objectives.augment.base import Augmentation, Scene, register

if TYPE_CHECKING:
    import torch
    from torch import Tensor

    from unbraid.objectives.base import Inputs

__all__ = ["Adversarial"]


@register("adversarial")
@dataclass(frozen=True)
class Adversarial(Augmentation):
    """Images moved within a ball around them to where the model's loss is high (Madry et al., 2018).

    Steps of one size along the gradient's sign (linf) or direction (l2), each followed by a projection on the ball and
    on [0, 1]. Madry et al. train on nothing else: ``share=1``. Every step costs a forward and a backward pass of its
    share. Vectors, which have no range of their own, are kept within the ball alone.
    """

    norm: Literal["linf", "l2"] = "linf"
    """Which distance the ball has: the largest change of a number, or the Euclidean one."""
    radius: float = 0.3
    """Radius of the ball, in units of the images' range; 0.3 is that of Madry et al. for digits."""
    steps: int = 10
    """How many steps along the gradient."""
    step_size: float = 0.0
    """Length of a step; 0 means 2.5 radii divided by the number of steps."""
    warmup: int = 0
    """Steps of training over which radius and step grow from 0: small networks stay at chance if they begin in full."""
    random_start: bool = True
    """Begin at a random place of the ball instead of at the image itself, where a gradient may vanish."""
    mode: Literal["eval", "train"] = "eval"
    """How batch norm behaves while an image is moved: by what it has learnt, or by the batch, which it then learns."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for option in ("radius", "step_size"):
            if not 0 <= getattr(self, option) < math.inf:
                raise UsageError(f"{option} must be a number that is not negative, got {getattr(self, option)}")
        if self.steps < 0:
            raise UsageError(f"steps must not be negative, got {self.steps}; 0 leaves the random start")
        if self.warmup < 0:
            raise UsageError(f"warmup must not be negative, got {self.warmup}; 0 begins with the whole radius")

    def apply(self, scene: Scene, inputs: Inputs, noise: torch.Generator) -> Tensor:
        return self.at(scene.step)._moved(scene, inputs, noise)

    def at(self, step: int) -> Adversarial:
        """What it does at a step of training."""
        if step >= self.warmup:
            return self
        grown = (step + 1) / (self.warmup + 1)
        return replace(self, radius=grown * self.radius, step_size=grown * self.step_size)

    def _moved(self, scene: Scene, inputs: Inputs, noise: torch.Generator) -> Tensor:
        import torch

        from unbraid.nets import frozen, judged

        images = inputs.images
        length = self.step_size or 2.5 * self.radius / max(self.steps, 1)
        moved = self._clip(images, self._start(images, noise)) if self.random_start else images
        mode = judged(scene.model) if self.mode == "eval" else nullcontext()
        with mode, frozen(scene.model), torch.enable_grad():
            for _ in range(self.steps):
                moved = moved.detach().requires_grad_()
                loss = scene.loss(replace(inputs, images=moved, clean=inputs.targets), noise)
                with torch.autocast(images.device.type, enabled=False):  # it is for forward passes
                    (slope,) = torch.autograd.grad(loss, moved)
                moved = self._clip(images, moved.detach() + length * self._direction(slope) - images)
        return moved.detach()

    def _start(self, images: Tensor, noise: torch.Generator) -> Tensor:
        """A place in the ball, uniformly."""
        import torch

        if self.norm == "linf":
            drawn = torch.rand(images.shape, generator=noise, device=images.device, dtype=images.dtype)
            return self.radius * (2 * drawn - 1)
        drawn = torch.randn(images.shape, generator=noise, device=images.device, dtype=images.dtype)
        depth = torch.rand(len(images), generator=noise, device=images.device, dtype=images.dtype)
        size = self.radius * depth ** (1 / images[0].numel())
        return self._direction(drawn) * size.reshape(-1, *[1] * (images.ndim - 1))

    def _direction(self, slope: Tensor) -> Tensor:
        if self.norm == "linf":
            return slope.sign()
        length = slope.flatten(1).norm(dim=1).clamp_min(1e-30)
        return slope / length.reshape(-1, *[1] * (slope.ndim - 1))

    def _clip(self, images: Tensor, delta: Tensor) -> Tensor:
        from unbraid.nets import clip_l2_ball, clip_linf

        low, high = (0.0, 1.0) if images.ndim == 4 else (-math.inf, math.inf)
        return (clip_linf if self.norm == "linf" else clip_l2_ball)(images, delta, self.radius, low, high)
