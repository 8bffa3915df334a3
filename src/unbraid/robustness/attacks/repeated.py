"""Attacks that are tried several times: the best of each image stays."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import torch
from torch import Tensor

from unbraid.errors import UsageError
from unbraid.robustness.attacks.draws import Draws
from unbraid.robustness.attacks.goals import Goal
from unbraid.robustness.attacks.norms import Norm

__all__ = ["nearest", "repeated"]

HELD = 1 << 26
"""Repeats run at once as long as their images take no more bytes."""


def repeated(
    attempt: Callable[[Tensor, Goal, Draws], tuple[Tensor, Tensor]],
    images: Tensor,
    goal: Goal,
    norm: Norm,
    draws: Draws,
    times: int,
) -> Tensor:
    """The nearest of ``times`` independent tries, each giving moved images and whether they reached the goal.

    As many run at once as memory allows; how many does not change what is found.
    """
    if times < 1:
        raise UsageError(f"restarts must be at least 1, got {times}")
    streams, count = draws.branch(times), len(images)
    at_once = min(times, max(1, HELD // max(images.numel() * images.element_size(), 1)))

    def tries() -> Iterator[tuple[Tensor, Tensor]]:
        for first in range(0, times, at_once):
            turns = torch.arange(first, min(first + at_once, times), device=images.device)
            rows = torch.arange(count, device=images.device).repeat_interleave(len(turns))
            moved, reached = attempt(images[rows], goal[rows], streams[rows * times + turns.repeat(count)])
            for turn in range(len(turns)):
                yield moved[turn :: len(turns)], reached[turn :: len(turns)]

    return nearest(images, tries(), norm)


def nearest(images: Tensor, tries: Iterable[tuple[Tensor, Tensor]], norm: Norm) -> Tensor:
    """Of each image the nearest that reached the goal among several tries; the image itself where none did."""
    best, size = images.clone(), images.new_full((len(images),), torch.inf)
    for moved, reached in tries:
        found = torch.where(reached, norm.size(moved - images), torch.inf)
        nearer = found < size
        best[nearer], size = moved[nearer], torch.where(nearer, found, size)
    return best
