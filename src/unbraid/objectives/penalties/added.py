"""Penalties at work in a training step: what they add to the loss, and what they remember from step to step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING, Any

from unbraid.errors import UsageError
from unbraid.objectives.penalties.base import Penalty, View

if TYPE_CHECKING:
    import torch
    from torch import nn

    from unbraid.objectives.autoencoder import AutoencoderObjective
    from unbraid.objectives.base import Terms
    from unbraid.problem import Problem

__all__ = ["attach", "penalised"]

PART = "penalties"
"""The sub-module of a model that holds what its penalties remember, by their place in the list."""


def attach(objective: AutoencoderObjective, penalties: Sequence[Penalty], model: nn.Module, problem: Problem) -> None:
    """Put what penalties remember into the model."""
    from torch import nn

    built = {str(place): entry.build(objective, problem) for place, entry in enumerate(penalties)}
    own = {place: module for place, module in built.items() if module is not None}
    if own:
        if hasattr(model, PART):
            raise UsageError(f"the model has a part {PART!r} already, which is the place of what penalties remember")
        model.add_module(PART, nn.ModuleDict(own))


def penalised(
    objective: AutoencoderObjective,
    penalties: Sequence[Penalty],
    model: Any,
    losses: Iterator[tuple[str, Terms]],
    step: int,
    noise: torch.Generator,
) -> Iterator[tuple[str, Terms]]:
    """The losses of one step; the player that tells its codes pays the penalties, too."""
    told = False
    for player, terms in losses:
        if terms.codes is None:
            yield player, terms
            continue
        told = True
        yield player, _with(objective, penalties, model, terms, step, noise)
    if not told:
        raise UsageError(
            f"objective {objective.name!r} does not tell its codes, which penalties look at: give them with its loss, "
            "Terms(..., codes=Codes(mean, sample))"
        )


def _with(
    objective: AutoencoderObjective,
    penalties: Sequence[Penalty],
    model: Any,
    terms: Terms,
    step: int,
    noise: torch.Generator,
) -> Terms:
    import torch

    assert terms.codes is not None
    found = dict(terms.terms)
    # Differences of nearly equal images are nothing but rounding in the three digits of bfloat16.
    with torch.autocast(noise.device.type, enabled=False):
        codes = replace(terms.codes, mean=terms.codes.mean.float(), sample=terms.codes.sample.float())
        for place, entry in enumerate(penalties):
            name = entry.name
            while name in found or name in terms.watched:
                name += "'"  # a second one of its kind
            value = entry(View(objective, model, codes, step, _own(model, place)), noise)
            found[name] = entry.weight * (prod(model.problem.shape) if entry.scale == "mean" else 1) * value
    return replace(terms, terms=found)


def _own(model: nn.Module, place: int) -> nn.Module | None:
    part = model._modules.get(PART)
    return None if part is None else part._modules.get(str(place))
