"""Which images of a split models are asked about: the same for every model, evenly drawn, enough of every kind."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from unbraid.errors import UsageError
from unbraid.generalization.analyses import one_unseen
from unbraid.generalization.scores import space_of

if TYPE_CHECKING:
    from unbraid.data import Split

__all__ = ["draw", "draw_split"]

TRAINED = 10_000
"""Most images of the training side, unless told otherwise."""


def draw(count: int, images: int | None, seed: int) -> np.ndarray:
    """So many of ``count`` positions, each as likely as any other, in order; all of them for ``None``."""
    if images is not None and images < 1:
        raise UsageError(f"images must be at least 1, got {images}")
    if images is None or images >= count:
        return np.arange(count)
    return np.sort(np.random.default_rng(seed).choice(count, images, replace=False))


def draw_split(
    split: Split, images: int | None, train_images: int | None, one_ood: int, seed: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Positions on the test side, on the training side, and further ones on the test side; a function of the seed.

    The first are evenly drawn, so that a mean over them estimates that over the whole test side without bias. The last
    bring the number of images in which a certain factor alone has an unseen value up to ``one_ood`` (or to as many as
    there are) for every such factor; together with those among the first they are evenly drawn from its kind.
    """
    if one_ood < 0:
        raise UsageError(f"one_ood must be at least 0, got {one_ood}")
    test = draw(len(split.test), images, seed)
    trained = min(len(test), TRAINED) if train_images is None else train_images
    return test, draw(len(split.train), trained, seed), _more(split, test, one_ood, seed)


def _more(split: Split, test: np.ndarray, one_ood: int, seed: int) -> np.ndarray:
    if not split.unseen or len(test) == len(split.test) or not one_ood:
        return np.empty(0, dtype=np.int64)
    space = space_of(split.data)
    alone = one_unseen(split.test.factors(test), space, split.unseen)
    found = []
    for k, name in enumerate(space.names):
        lacking = one_ood - int((alone == k).sum())
        if name not in split.unseen or lacking <= 0:
            continue
        try:
            kind = split.one_ood(name)
        except UsageError:  # every image with such a value has another unseen one too
            continue
        order = np.random.default_rng((seed, k)).permutation(draw(len(kind), one_ood, seed + k + 1))
        places = split.test.indices.find(kind.indices[order])
        found.append(places[~np.isin(places, test)][:lacking])
    return np.sort(np.concatenate(found)) if found else np.empty(0, dtype=np.int64)
