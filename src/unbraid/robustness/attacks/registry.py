"""Attacks by name, and what all of them share: checks before, the search for the smallest radius, the count after."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from unbraid.errors import UsageError, unknown_name
from unbraid.nets import fast_kernels
from unbraid.nets.predictors import check_threshold
from unbraid.registry import Registry, summary
from unbraid.robustness.attacks.asked import asked, check_same
from unbraid.robustness.attacks.classifier import Classifier
from unbraid.robustness.attacks.draws import Draws
from unbraid.robustness.attacks.found import Found, count, without_unseen
from unbraid.robustness.attacks.goals import Goal, Surer
from unbraid.robustness.attacks.line import beyond
from unbraid.robustness.attacks.norms import NORMS, Norm, norm_of
from unbraid.robustness.attacks.search import smallest_radius
from unbraid.robustness.attacks.vectors import as_rows

__all__ = ["NEEDS", "Attack", "get", "names", "register"]

NEEDS = ("gradient", "scores", "decision", "substitute", "reconstructions")
SHARED = ("norm", "radius", "draws")
"""What the shared part tells an attack, if it asks; its other arguments are its options."""
BATCH = 128
BEYOND = 8.0
"""What was found for a model and does not stand before the one that verifies is looked for up to so many times as far
on the same line."""
SURER = 3
"""So many times it is then looked for where the model is surer."""


@dataclass(frozen=True)
class Attack:
    """An attack, to be called: ``attack(predict, images, labels, norm="l2", bound=None)``.

    Without a bound it looks for the smallest distance of each image; with one, for anything within.
    """

    name: str
    norms: tuple[str, ...]
    """In which it measures how far it goes; the first is the one it is called with if none is given."""
    needs: str
    """What it looks at: the gradient of the loss, scores, decisions alone, a substitute, or reconstructions."""
    minimal: bool
    """Whether it looks for the nearest image by itself; the others are told how far they may go (``radius``)."""
    function: Callable[..., Tensor]
    """``(classify, images, goal, *, norm, draws, ...)`` to images; with ``radius`` ``[n]`` if it is not minimal. It may
    leave out what it does not need of these."""

    @property
    def about(self) -> str:
        return summary(self.function)

    @cached_property
    def options(self) -> dict[str, Any]:
        """What can be set, with its usual value."""
        known = inspect.signature(self.function).parameters.values()
        return {one.name: one.default for one in known if one.kind is one.KEYWORD_ONLY and one.name not in SHARED}

    def move(self, classify: Classifier, images: Tensor, goal: Goal, **told: Any) -> Tensor:
        """Images moved, uncounted: the function itself, for attacks that are made of others."""
        known = inspect.signature(self.function).parameters
        told = {name: value for name, value in told.items() if name in known or name not in SHARED}
        return self.function(classify, images, goal, **told)

    def __call__(
        self,
        predict: Any,
        images: Any,
        labels: Any = None,
        *,
        norm: str | None = None,
        bound: float | None = None,
        target: Any = None,
        goal: Goal | None = None,
        threshold: float | None = None,
        verify: Any = None,
        seed: int = 0,
        name: str = "",
        factor: str = "",
        batch: int = BATCH,
        **options: Any,
    ) -> Found:
        """The nearest images that a model takes for something else, each verified and measured after the attack.

        ``predict`` is a torch module from floats ``[n, c, h, w]`` in [0, 1] to scores, a run that names classes, or a
        function from uint8 images to scores. ``labels`` are the true classes. ``target`` are classes to be named
        instead; ``goal`` is another condition. ``threshold`` says that the model compares pixels with it first: what
        does not matter to it is taken back, where the goal stays reached. Images that reach the goal as they are have
        distance 0; where the attack found nothing (within ``bound``), the distance is infinite, which proves nothing.
        What is drawn depends on the seed and the image alone.

        ``verify`` is the model that decides, if ``predict`` is a cheaper stand-in for it (a search of few steps, or one
        that goes on where it was): whatever is found counts only if ``verify`` agrees. What it refutes is looked for
        farther out on the same line, then (by attacks that ask for decisions, and in l0) where ``predict`` is surer,
        then by the attack on ``verify`` itself.
        """
        how = norm_of(self._norm(norm))
        self._check(bound, batch, threshold, options)
        classify = predict if isinstance(predict, Classifier) else Classifier(predict, name, factor)
        judge = classify
        if verify is not None:
            judge = verify if isinstance(verify, Classifier) else Classifier(verify, factor=factor)
        if self.needs == "gradient":
            classify.need_gradient(f"the attack {self.name!r}")
        x, aim = asked(classify, images, labels, target, goal)
        with fast_kernels():
            outputs = torch.cat([judge.scores(x[k : k + batch]) for k in range(0, len(x), batch)])
            aim.check(outputs, judge.name)
            if judge is not classify:
                check_same(outputs, classify.scores(x[:1]), judge, classify)
            if self.needs == "gradient":
                classify.check_gradient(f"the attack {self.name!r}", x)
            done = aim.met(outputs)
            moved, distances = x.clone(), torch.zeros(len(x), dtype=torch.float64, device=x.device)
            refuted = torch.zeros(len(x), dtype=torch.bool, device=x.device)
            rows = (~done).nonzero()[:, 0]
            for part in rows.split(batch) if len(rows) else ():
                moved[part], distances[part], refuted[part] = self._moved(
                    classify, judge, x[part], aim[part], how, bound, threshold, Draws.of(x[part], seed), options
                )
        return Found(self.name, how.name, moved, distances, distances.isfinite(), refuted)

    def _moved(
        self,
        classify: Classifier,
        judge: Classifier,
        images: Tensor,
        goal: Goal,
        norm: Norm,
        bound: float | None,
        threshold: float | None,
        draws: Draws,
        options: Mapping[str, Any],
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Images that were moved, how far, after the count (infinitely and unmoved where it failed), and whose first
        claim was refuted."""

        def attempt(part: Tensor, aim: Goal, radius: Tensor, noise: Draws) -> Tensor:
            return self.move(classify, part, aim, norm=norm, radius=radius, draws=noise, **options)

        if self.minimal:
            moved = self.move(classify, images, goal, norm=norm, draws=draws, **options)
        elif bound is not None:
            moved = attempt(images, goal, images.new_full((len(images),), classify.within(bound, norm)), draws)
        else:
            moved = smallest_radius(attempt, classify, images, goal, norm, draws)
        claimed = without_unseen(judge, images, moved, goal, threshold)
        success, sizes, seen = count(judge, images, claimed, goal, norm, bound, f"the attack {self.name!r}")
        moved, sizes = torch.where(as_rows(success, images), seen, images), torch.where(success, sizes, torch.inf)
        refuted = torch.zeros_like(success)
        rows = (~success).nonzero()[:, 0]
        if judge is classify or not len(rows):
            return moved, sizes, refuted
        refuted[rows] = classify.met(claimed[rows], goal[rows])

        def keep(rows: Tensor, tried: Tensor) -> Tensor:
            """Count images that were tried in place of refuted ones: which rows are refuted still."""
            success, found, seen = count(judge, images[rows], tried, goal[rows], norm, bound)
            moved[rows[success]], sizes[rows[success]] = seen[success], found[success]
            return rows[~success]

        rows = refuted.nonzero()[:, 0]
        if norm.name != "l0":  # pixels that are black or white go nowhere
            rows = keep(rows, beyond(judge, images[rows], goal[rows], claimed[rows], BEYOND)[0])
        again = self.minimal and (self.needs == "decision" or norm.name == "l0")
        for _ in range(SURER if again else 0):
            # Again with a stand-in that must be surer, by twice what it was wrong by: far cheaper than the judge.
            rows = rows[(claimed[rows] != images[rows]).flatten(1).any(1)]
            if not len(rows):
                break
            part, aim = images[rows], goal[rows]
            lacks = -aim.margin(judge.scores(claimed[rows])).clamp_max(0)
            surer = Surer(aim, aim.margin(classify.scores(claimed[rows])).clamp_min(0) + 2 * lacks)
            tried = self.move(classify, part, surer, norm=norm, draws=draws[rows], **options)
            claimed[rows] = without_unseen(judge, part, tried, aim, threshold)
            rows = keep(rows, claimed[rows])
        rows = (refuted & sizes.isinf()).nonzero()[:, 0]
        if len(rows) and judge.offers(self.needs):
            moved[rows], sizes[rows], _ = self._moved(
                judge, judge, images[rows], goal[rows], norm, bound, threshold, draws[rows], options
            )
        return moved, sizes, refuted

    def _norm(self, norm: str | None) -> str:
        if norm is not None and norm not in self.norms:
            raise unknown_name(f"norm of the attack {self.name!r}:", norm, self.norms)
        return norm or self.norms[0]

    def _check(self, bound: float | None, batch: int, threshold: float | None, options: Mapping[str, Any]) -> None:
        for option in options:
            if option not in self.options:
                raise unknown_name(f"option of the attack {self.name!r}:", option, self.options)
        for option, value in self.options.items():
            if value is inspect.Parameter.empty and option not in options:
                raise UsageError(f"the attack {self.name!r} needs {option}=...: see attacks.get({self.name!r}).__doc__")
        if bound is not None and not 0 < bound < math.inf:
            raise UsageError(f"bound must be a number above 0, or None for the smallest distance, got {bound}")
        if batch < 1:
            raise UsageError(f"batch must be at least 1, got {batch}")
        if threshold is not None:
            check_threshold(threshold)


_ATTACKS: Registry[Attack] = Registry("attack")


def register(
    name: str, *, norm: str | tuple[str, ...], needs: str, minimal: bool = False
) -> Callable[[Callable[..., Tensor]], Attack]:
    """Decorator: make ``function(classify, images, goal, *, norm, radius, draws, ...)`` an attack with a name.

    The function moves images; it is asked for those alone that do not reach the goal yet.
    """
    norms = (norm,) if isinstance(norm, str) else tuple(norm)
    for one in norms:
        if one not in NORMS:
            raise unknown_name("norm", one, NORMS)
    if needs not in NEEDS:
        raise unknown_name("need of an attack", needs, NEEDS)

    def keep(function: Callable[..., Tensor]) -> Attack:
        attack = Attack(name, norms, needs, minimal, function)
        object.__setattr__(attack, "__doc__", function.__doc__)
        _ATTACKS.add(name, attack, home=function)
        return attack

    return keep


def names() -> list[str]:
    """All registered attacks."""
    return _ATTACKS.names()


def get(name: str) -> Attack:
    """A registered attack."""
    return _ATTACKS[name]
