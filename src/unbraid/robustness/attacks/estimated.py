"""Gradients that are estimated from scores, one pixel at a time, and the attacks that follow them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from unbraid.errors import UsageError
from unbraid.robustness.attacks.bim import bim
from unbraid.robustness.attacks.classifier import Classifier
from unbraid.robustness.attacks.deepfool import deepfool
from unbraid.robustness.attacks.fgm import fgm
from unbraid.robustness.attacks.goals import Goal
from unbraid.robustness.attacks.mim import mim
from unbraid.robustness.attacks.norms import Norm
from unbraid.robustness.attacks.registry import Attack, register
from unbraid.robustness.attacks.repeated import nearest

__all__ = ["EstimatedGradient", "with_estimated_gradient"]

ASKED = 1024
"""So many images are asked about at a time."""
STEPS = (0.01, 0.1, 0.3, 1.0)
"""How far pixels are moved; models that threshold pixels are moved by large steps alone."""


class EstimatedGradient(Classifier):
    """A model whose gradient is estimated by moving each pixel a little up and down: two questions for each.

    The change of the loss (of a score) between ``clip(x + h e_i)`` and ``clip(x - h e_i)``, divided by 2 h.
    """

    def __init__(self, predict: Any, h: float = 0.1, name: str = "", factor: str = "") -> None:
        if not 0 < h <= 1:
            raise UsageError(f"h must lie between 0 and 1, the range of pixels, got {h}")
        super().__init__(predict, name, factor)
        self.h = h

    @property
    def has_gradient(self) -> bool:
        return True

    def need_gradient(self, what: str) -> None:
        return

    def check_gradient(self, what: str, images: Tensor) -> None:
        return

    def gradient(self, images: Tensor, goal: Goal, margin: bool = False) -> tuple[Tensor, Tensor]:
        def value(outputs: Tensor, rows: Tensor) -> Tensor:
            aim = goal[rows]
            return aim.margin(outputs) if margin else aim.loss(outputs)

        return self._slopes(images, value).to(images), self.scores(images)

    def jacobian(self, images: Tensor, classes: Tensor) -> tuple[Tensor, Tensor]:
        slopes = self._slopes(images, lambda outputs, rows: outputs.gather(1, classes[rows]))
        return slopes.movedim(-1, 1).to(images), self.scores(images)

    def _slopes(self, images: Tensor, value: Callable[[Tensor, Tensor], Tensor]) -> Tensor:
        """``[n, c, h, w]``, with one more dimension at the end if the value has one."""
        pixels, found = images[0].numel(), []
        for asked in torch.arange(len(images) * pixels, device=images.device).split(ASKED):
            rows, place = asked // pixels, asked % pixels
            ends = []
            for way in (self.h, -self.h):
                moved = images[rows].flatten(1)
                moved[torch.arange(len(rows)), place] += way
                outputs = self.scores(moved.clamp(0, 1).reshape(-1, *images.shape[1:]))
                ends.append(value(outputs.double(), rows))
            found.append((ends[0] - ends[1]) / (2 * self.h))
        slopes = torch.cat(found).nan_to_num(0.0, 0.0, 0.0)
        return slopes.reshape(*images.shape, *slopes.shape[1:])


def with_estimated_gradient(predict: Any, h: float = 0.1) -> EstimatedGradient:
    """A model that any attack can follow the gradient of, though it gives scores alone: estimated pixel by pixel."""
    return EstimatedGradient(predict, h)


def _register(base: Attack) -> Attack:
    """The attack that does the same along estimated gradients, for several ``h``, of which the best stays."""

    def attack(
        classify: Classifier, images: Tensor, goal: Goal, *, norm: Norm, h: tuple[float, ...] = STEPS, **told: Any
    ) -> Tensor:
        found = (base.move(EstimatedGradient(classify, width), images, goal, norm=norm, **told) for width in h)
        return nearest(images, ((moved, classify.met(moved, goal)) for moved in found), norm)

    known = inspect.signature(base.function)
    width = inspect.Parameter("h", inspect.Parameter.KEYWORD_ONLY, default=STEPS, annotation="tuple[float, ...]")
    attack.__signature__ = known.replace(parameters=[*known.parameters.values(), width])  # type: ignore[attr-defined]
    attack.__qualname__ = f"{base.name}_estimated"
    attack.__doc__ = (
        f"{base.name} along gradients that are estimated from scores, two questions for every pixel "
        "(Schott et al., 2019).\n\nEvery width ``h`` is tried, and the nearest image stays. The options are those of "
        f"{base.name}."
    )
    return register(f"{base.name}-estimated", norm=base.norms, needs="scores", minimal=base.minimal)(attack)


fgm_estimated, bim_estimated, mim_estimated, deepfool_estimated = map(_register, (fgm, bim, mim, deepfool))
