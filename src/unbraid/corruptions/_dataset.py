"""A data set whose images are spoiled when they are asked for."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from unbraid.corruptions._corrupt import check_shape, corrupt_again
from unbraid.corruptions._steps import Asked, Step, numbered, read_steps
from unbraid.data import Dataset, Recipe, SubSpace, Wrapper

__all__ = ["Corrupted", "corrupted"]


class Corrupted(Wrapper):
    """A data set under one or several corruptions; factors, classes, pairs and sides of splits stay as they are.

    What is drawn for an image depends on its position in the whole data set: it looks the same in every batch, part
    and split. An image of a subset of the grid counts by its position there; corrupt the whole, then take the subset,
    where both should agree. Corruptions of a corrupted data set draw anew, also by the same seed: one after the other
    in two wrappers is the same as ``a then b`` in one.

    >>> from unbraid import data
    >>> foggy = Corrupted(data.load("sprites16"), "fog:severity=3 then jpeg_compression:severity=2")
    >>> foggy.name, foggy.shape == data.load("sprites16").shape
    ('sprites16-fog-3-then-jpeg_compression-2', True)
    """

    def __init__(self, base: Dataset, corruption: Asked, *, severity: int = 1, seed: int = 0) -> None:
        super().__init__(base)
        base.need_pictures("a corruption")
        check_shape(base.shape, base.name)
        self.steps, self.seed = read_steps(corruption, severity), seed
        before = _done_before(base, seed)
        self._numbered = numbered([*before, *self.steps])[len(before) :]
        words = " then ".join(map(str, self.steps))
        self.name = f"{base.name}-{_in_a_name(words)}"
        self.card = replace(
            base.card,
            title=f"{base.card.title}, under {words}",
            traps=("Its images were corrupted; factors and classes are those of the clean ones.", *base.card.traps),
        )
        self.recipe = None if base.recipe is None or not _commutes(base) else _recipe(base.recipe, words, seed)

    def show(self, images: np.ndarray, index: np.ndarray, rng: np.random.Generator | None) -> np.ndarray:
        return corrupt_again(images, self._numbered, self.seed, self.origin(index))


def _done_before(base: Dataset, seed: int) -> list[Step]:
    """The steps that were done to these images by the same seed, in their order."""
    found: list[Step] = []
    layer: Dataset | None = base
    while layer is not None:
        if isinstance(layer, Corrupted) and layer.seed == seed:
            found = [*layer.steps, *found]
        layer = getattr(layer, "base", None)
    return found


def corrupted(data: Dataset, corruption: str, corruption_seed: int = 0) -> Corrupted:
    """The data set under ``fog:severity=3``, or several corruptions joined by ``then``.

    Its parameters are the options that every data set has by this: ``sprites32:corruption=fog:severity=3``.
    """
    return Corrupted(data, str(corruption), seed=corruption_seed)


def _in_a_name(words: str) -> str:
    """As file names have it: ``fog-3-then-jpeg_compression-2``."""
    return words.replace(":severity=", "-").replace("/", "-").replace(" ", "-")


def _commutes(base: Dataset) -> bool:
    """Whether loading by name, which corrupts the whole before it takes a part of it, gives the same images."""
    return not isinstance(base.space, SubSpace) and "corruption" not in (base.recipe.options if base.recipe else ())


def _recipe(base: Recipe, words: str, seed: int) -> Recipe:
    return Recipe(base.name, {**base.options, "corruption": words, **({"corruption_seed": seed} if seed else {})})
