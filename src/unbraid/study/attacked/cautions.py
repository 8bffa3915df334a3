"""What to know of distances before believing them: attacks that a model did not meet, and signs of masked gradients."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from unbraid.robustness import attacks
from unbraid.sharing import markdown

if TYPE_CHECKING:
    from unbraid.study.attacked.page import Attack

__all__ = ["spared", "told_doubts"]

OF_SOME = ("substitute", "reconstructions")
"""What attacks need that not every model can have."""


def spared(models: Sequence[Attack]) -> Iterator[str]:
    """What a model did not meet of the attacks on the others, apart from those that only some models can meet."""
    met = {one.name: {(row[0], row[1]) for row in one.blocks.select("norm", "attack").iter_rows()} for one in models}
    every = set().union(*met.values())
    for name, own in met.items():
        left = sorted((norm, attack) for norm, attack in every - own if attacks.get(attack).needs not in OF_SOME)
        if left:
            words = ", ".join(f"{attack} in {norm}" for norm, attack in left)
            yield f"- {markdown(name)} was not attacked by {words}"


def told_doubts(models: Sequence[Attack]) -> Iterator[str]:
    """Reasons not to believe distances."""
    for one in models:
        for norm, found in one.doubts.items():
            yield from (f"- Doubt about {markdown(one.name)} in {norm}: {markdown(str(doubt))}" for doubt in found)
