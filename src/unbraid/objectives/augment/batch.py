"""Augmentations at work in a training step: whose images they change, and the networks that come with them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

from unbraid.errors import UsageError
from unbraid.objectives.augment.base import Augmentation, Scene

if TYPE_CHECKING:
    import torch
    from torch import Tensor, nn

    from unbraid.objectives.base import Inputs, Objective, Terms
    from unbraid.problem import Problem

__all__ = ["attach", "augmented", "optimizers", "prepare", "shares"]

PART = "augment"
"""The sub-module of a model that holds the networks of its augmentations, by their place in the list."""


def attach(
    augmentations: Sequence[Augmentation], model: nn.Module, problem: Problem, generator: torch.Generator
) -> None:
    """Put the networks that augmentations bring into the model they change the images for."""
    from torch import nn

    built = {str(place): entry.build(problem, generator) for place, entry in enumerate(augmentations)}
    own = {place: module for place, module in built.items() if module is not None}
    if own:
        if hasattr(model, PART):
            raise UsageError(
                f"the model has a part {PART!r} already, which is the place of its augmentations' networks"
            )
        model.add_module(PART, nn.ModuleDict(own))


def optimizers(
    objective: Objective, augmentations: Sequence[Augmentation], model: nn.Module
) -> dict[str, torch.optim.Optimizer]:
    """Those of the objective, which never sees the augmentations' networks, and those of the augmentations."""
    own = model._modules.pop(PART, None)
    try:
        found = objective.optimizers(model)
    finally:
        if own is not None:
            model.add_module(PART, own)
    for place, entry in enumerate(augmentations):
        module = _own(model, place)
        for player, optimizer in ({} if module is None else entry.optimizers(module)).items():
            if player in found:
                raise UsageError(f"augmentation {entry.name!r} brings a second player {player!r}; give it another name")
            found[player] = optimizer
    return found


def prepare(
    objective: Objective,
    augmentations: Sequence[Augmentation],
    model: nn.Module,
    optimizers: dict[str, torch.optim.Optimizer],
    step: int,
    noise: torch.Generator,
    batches: Callable[[int], Inputs],
) -> None:
    """What augmentations do before a step."""
    for entry, scene in zip(augmentations, _scenes(objective, augmentations, model, step), strict=True):
        entry.prepare(scene, optimizers, noise, batches)


def shares(augmentations: Sequence[Augmentation], order: Tensor) -> list[Tensor]:
    """Whose images each augmentation changes: consecutive stretches of a random order, going round where it ends.

    As long as the shares add up to at most 1, no image is changed twice and the rest stays clean.
    """
    n, end, bounds = len(order), 0.0, [0]
    for entry in augmentations:
        end += entry.share
        bounds.append(math.floor(n * end + 0.5 + 1e-9))
    return [order.roll(-begin)[: stop - begin] for begin, stop in pairwise(bounds)]


def augmented(
    objective: Objective,
    augmentations: Sequence[Augmentation],
    model: nn.Module,
    inputs: Inputs,
    step: int,
    noise: torch.Generator,
) -> Iterator[tuple[str, Terms]]:
    """The losses of one step: first those of the augmentations' players, then the objective's on the changed batch."""
    import torch

    scenes = _scenes(objective, augmentations, model, step)
    for entry, scene in zip(augmentations, scenes, strict=True):
        yield from entry.losses(scene, inputs, noise)
    order = torch.randperm(len(inputs.images), generator=noise, device=noise.device)
    changed = replace(inputs, clean=inputs.images, clean_partners=inputs.partners)
    for entry, scene, rows in zip(augmentations, scenes, shares(augmentations, order), strict=True):
        if not len(rows):
            continue
        changed = replace(changed, images=_changed(entry, scene, changed, rows, noise))
        if changed.partners is not None:
            # Both images of a pair are changed, each by chance of its own.
            second = _swapped(changed)
            changed = replace(changed, partners=_changed(entry, scene, second, rows, noise))
    yield from objective.losses(model, changed, step, noise)


def _scenes(objective: Objective, augmentations: Sequence[Augmentation], model: nn.Module, step: int) -> list[Scene]:
    return [Scene(objective, model, step, _own(model, place)) for place in range(len(augmentations))]


def _swapped(inputs: Inputs) -> Inputs:
    """The same pairs with the second images first; classes and positions are known of the first ones only."""
    assert inputs.partners is not None
    return replace(
        inputs,
        images=inputs.partners,
        partners=inputs.images,
        clean=inputs.clean_partners,
        clean_partners=inputs.clean,
        factors=inputs.partner_factors,
        partner_factors=inputs.factors,
        labels=None,
        index=None,
    )


def _changed(entry: Augmentation, scene: Scene, inputs: Inputs, rows: Tensor, noise: torch.Generator) -> Tensor:
    """All images, those of the given rows as the augmentation leaves them; a new tensor."""
    taken = inputs.take(rows)
    given = entry.apply(scene, taken, noise).detach()
    if given.shape != taken.images.shape:
        raise UsageError(
            f"augmentation {entry.name!r} must keep the shape of its images, {list(taken.images.shape)}, "
            f"got {list(given.shape)}"
        )
    return inputs.images.index_copy(0, rows, given.to(inputs.images.dtype))


def _own(model: nn.Module, place: int) -> nn.Module | None:
    part = model._modules.get(PART)
    return None if part is None else part._modules.get(str(place))
