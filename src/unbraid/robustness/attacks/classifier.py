"""A classifier as attacks see it: scores of float images, and the gradient of its loss."""

from __future__ import annotations

import math
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn

from unbraid.errors import UsageError
from unbraid.evaluation import task_of
from unbraid.nets import fast_kernels, judged
from unbraid.robustness._examples import check_labels
from unbraid.robustness._scores import Scorer, check_scores

if TYPE_CHECKING:
    from unbraid.robustness.attacks.goals import Goal
    from unbraid.robustness.attacks.norms import Norm

__all__ = ["Classifier", "float_images"]

GRAIN = 1e-4
"""Within so much of a byte, a pixel is that byte: more than floats lose, and less than a bound forgives."""
PROBES = 8
"""So many images are asked whether gradients flow."""


class Classifier:
    """A run, a torch module, or a function on uint8 arrays, asked about floats ``[n, c, h, w]`` in [0, 1].

    A module is in evaluation mode while it is asked, and its weights get no gradients. A function on arrays sees
    images rounded to bytes, and has no gradient.
    """

    def __init__(self, predict: Any, name: str = "", factor: str = "") -> None:
        if isinstance(predict, Classifier):
            self.__dict__.update(predict.__dict__)
            return
        scorer = Scorer(predict, name, factor)
        self.name, self.run = scorer.name, scorer.run
        self._module: nn.Module | None = None
        self._scorer: Scorer | None = None
        if isinstance(predict, nn.Module):
            self._module = predict
        elif hasattr(predict, "classifier"):
            self._module = predict.classifier(task_of(predict, factor))
        else:
            self._scorer = scorer

    @property
    def has_gradient(self) -> bool:
        return self._module is not None

    def offers(self, need: str) -> bool:
        """Whether an attack that needs this can ask it: a gradient, reconstructions, or anything less."""
        if need == "reconstructions":
            return hasattr(self._module, "infer")
        return self.has_gradient or need != "gradient"

    def need_gradient(self, what: str) -> None:
        """Raise an error that says that ``what`` cannot do without."""
        if self._module is None:
            raise UsageError(
                f"{what} follows gradients, and {self.name} is a function on arrays, which has none. Give a torch "
                "module from float images [n, c, h, w] in [0, 1] to scores, or a run (unbraid.open_run(path))"
            )

    def see(self, images: Tensor) -> Tensor:
        """The images as the model sees them: rounded to bytes where it takes bytes."""
        return images if self._module is not None else images.mul(255).round().div(255)

    def see_within(self, images: Tensor, moved: Tensor) -> Tensor:
        """Moved images as the model sees them, rounded towards the original ones: no change of a pixel grows."""
        if self._module is not None:
            return moved
        own, there = images.mul(255).round(), moved.mul(255)
        up = torch.maximum((there + GRAIN).floor(), own)
        return torch.where(there > own, up, torch.minimum((there - GRAIN).ceil(), own)).div(255)

    def within(self, bound: float, norm: Norm) -> float:
        """The largest bound up to this one that pixels can reach: whole bytes in linf where the model takes bytes."""
        if self._module is not None or norm.name != "linf" or bound * 255 + GRAIN < 1:
            return bound
        return math.floor(bound * 255 + GRAIN) / 255

    def scores(self, images: Tensor) -> Tensor:
        """Scores ``[n, classes]``, without gradients."""
        if self._module is None:
            assert self._scorer is not None
            pixels = images.mul(255).round().to(torch.uint8).permute(0, 2, 3, 1)
            return torch.from_numpy(self._scorer(np.ascontiguousarray(pixels.cpu().numpy()))).to(images.device)
        with torch.no_grad():
            found = self._forward(images)
        self._check_outputs(found, len(images))
        return found

    def wrong(self, images: Tensor, labels: Tensor) -> Tensor:
        """Whether another class than the true one has the highest score: bool ``[n]``."""
        scores = self.scores(images)
        self._check_width(labels, scores)
        return scores.argmax(1) != labels

    def met(self, images: Tensor, goal: Goal) -> Tensor:
        """Which images reach a goal: bool ``[n]``."""
        return goal.met(self.scores(images))

    def gradient(self, images: Tensor, goal: Goal, margin: bool = False) -> tuple[Tensor, Tensor]:
        """The gradient of each image's loss (or margin) of a goal, and the scores it came with.

        Where the loss is so flat that its gradient is rounded to nothing, the margin's takes its place.
        """
        slope, scores = self._gradient(images, goal, margin)
        flat = (slope.flatten(1) == 0).all(1)
        if not margin and flat.any():
            rows = flat.nonzero()[:, 0]
            slope[rows] = self._gradient(images[rows], goal[rows], margin=True)[0]
        return slope, scores

    def slopes(self, images: Tensor, goal: Goal) -> Tensor:
        """Lengths ``[n]`` of the gradient of the loss as it is: 0 where it is flat."""
        return self._gradient(images, goal, margin=False)[0].flatten(1).norm(dim=1)

    def _gradient(self, images: Tensor, goal: Goal, margin: bool) -> tuple[Tensor, Tensor]:
        self.need_gradient("this attack")
        with torch.enable_grad():
            variable = images.detach().requires_grad_()
            scores = self._forward(variable)
            slope = _slope((goal.margin(scores) if margin else goal.loss(scores)).sum(), variable)
        return slope, scores.detach()

    def jacobian(self, images: Tensor, classes: Tensor) -> tuple[Tensor, Tensor]:
        """The gradients ``[n, k, c, h, w]`` of the scores of some classes ``[n, k]`` of each image, and all scores."""
        self.need_gradient("this attack")
        with torch.enable_grad():
            variable = images.detach().requires_grad_()
            scores = self._forward(variable)
            columns = scores.gather(1, classes).sum(0)
            slopes = [_slope(column, variable, keep=True) for column in columns]
        return torch.stack(slopes, 1), scores.detach()

    def check_gradient(self, what: str, images: Tensor) -> None:
        """Refuse a module that no gradient flows through although what it says depends on the image."""
        some = images[:PROBES]
        with torch.enable_grad():
            variable = some.detach().requires_grad_()
            scores = self._forward(variable).nan_to_num(neginf=0.0)
            weights = torch.linspace(1, 2, scores.shape[1]).to(scores)
            slope = _slope((scores * weights).sum(), variable)
        if slope.any():
            return
        before = self.scores(some)
        for other in (1 - some, torch.zeros_like(some), torch.ones_like(some)):
            if not torch.equal(self.scores(other), before):
                raise UsageError(
                    f"{what} follows gradients, and {self.name} has none: no change of {len(some)} images changes its "
                    "scores a little, while others do. Wrap a model that thresholds pixels in "
                    "attacks.straight_through(model), estimate gradients (attacks.with_estimated_gradient(model)), or "
                    "take an attack that needs decisions alone (unbraid list attacks)"
                )

    def differentiable(self, images: Tensor) -> Tensor:
        """Scores that gradients flow through, to the images alone."""
        self.need_gradient("this")
        return self._forward(images)

    def reconstructions(self, images: Tensor) -> Tensor:
        """How each class would draw each image, ``[n, classes, c, h, w]``: of models that classify by drawing."""
        infer = getattr(self._module, "infer", None)
        if infer is None:
            raise UsageError(
                f"latent descent follows what classes would draw, and {self.name} cannot tell: it must be a torch "
                "module with infer(images).reconstruction [n, classes, channels, height, width]"
            )
        drawn: Tensor = infer(images).reconstruction.detach()
        if drawn.ndim != 5 or drawn.shape[2:] != images.shape[1:]:
            raise UsageError(f"{self.name}.infer must give reconstructions like the images, got {list(drawn.shape)}")
        return drawn

    def place(self, images: Tensor) -> Tensor:
        """Images on the device and in the number type of the model."""
        like = None if self._module is None else next(iter(self._module.parameters()), None)
        return images if like is None or not like.is_floating_point() else images.to(like.device, like.dtype)

    def _forward(self, images: Tensor) -> Tensor:
        assert self._module is not None
        with judged(self._module) if self._module.training else nullcontext(), fast_kernels():
            found = self._module(images)
        if not isinstance(found, Tensor) or found.ndim != 2:
            shown = list(found.shape) if isinstance(found, Tensor) else type(found).__name__
            raise UsageError(f"{self.name} must give scores [n, classes], one row per image, got {shown}")
        return found

    def _check_outputs(self, found: Tensor, images: int) -> None:
        check_scores(found.float(), images, self.name)

    def _check_width(self, labels: Tensor, scores: Tensor) -> None:
        if len(labels) and int(labels.max()) >= scores.shape[1]:
            raise UsageError(
                f"{self.name} gives scores of {scores.shape[1]} classes, and there is a class {int(labels.max())}: "
                "it was made for other classes"
            )


def _slope(value: Tensor, variable: Tensor, keep: bool = False) -> Tensor:
    """The gradient, none where the value does not depend on the variable or where there is no number for it."""
    if not value.requires_grad:  # a classifier that does not look at the image
        return torch.zeros_like(variable)
    (slope,) = torch.autograd.grad(value, variable, retain_graph=keep, allow_unused=True)
    return torch.zeros_like(variable) if slope is None else slope.nan_to_num(0.0, 0.0, 0.0)


def float_images(images: Any, labels: Any) -> tuple[Tensor, Tensor]:
    """Images as floats ``[n, c, h, w]`` in [0, 1] and classes ``[n]``, from bytes ``[n, h, w, c]`` or such floats."""
    given = images.detach() if isinstance(images, Tensor) else np.asarray(images)
    dtype = str(given.dtype).removeprefix("torch.")
    if given.ndim != 4 or not (dtype == "uint8" or "float" in dtype):
        raise UsageError(
            "images must be uint8 [n, height, width, channels] or floats [n, channels, height, width] in [0, 1], got "
            f"{dtype} {list(given.shape)}"
        )
    found = given if isinstance(given, Tensor) else torch.from_numpy(np.array(given))
    channels = 3 if found.dtype == torch.uint8 else 1
    if found.shape[channels] > 4:
        first = "channels come last in uint8 images" if channels == 3 else "channels come first in float images"
        raise UsageError(f"images of shape {list(found.shape)} have {found.shape[channels]} channels: {first}")
    if found.dtype == torch.uint8:
        found = found.permute(0, 3, 1, 2).to(torch.float32).div(255)
    elif len(found) and not (found.min() >= 0 and found.max() <= 1):
        raise UsageError(f"float images must lie in [0, 1], got {found.min():.4g} to {found.max():.4g}")
    numbers = check_labels(labels.cpu().numpy() if isinstance(labels, Tensor) else labels, len(found))
    return found.contiguous(), torch.from_numpy(numbers)
