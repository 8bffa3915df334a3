"""A split of a data set by its factors: which cells of the grid are seen in training, and which only in the test."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from unbraid.data.dataset import Dataset, Recipe
from unbraid.data.part import Indices
from unbraid.data.splits.cells import cells_of
from unbraid.data.splits.rules import Rule, read_rule
from unbraid.data.splits.shuffled import Permutation, Window
from unbraid.data.splits.side import Side, SplitPart
from unbraid.data.splits.value_sets import (
    KINDS,
    SYSTEMATIC,
    SplitKind,
    ValueSets,
    chosen_sets,
    default_sets,
    published_sets,
)
from unbraid.errors import UsageError, unknown_name

__all__ = ["Split", "split"]

Asked = SplitKind | Mapping[str, Mapping[str, Sequence[int]]]
"""A name, or values by factor: ``{"scale": {"test_only": [4, 5]}}``."""
BLOCK = 1 << 16


def split(data: Dataset, kind: Asked | str | Path = "random", seed: int = 0) -> Split:
    """Split a data set: ``random``, ``composition``, ``interpolation``, ``extrapolation``, or by values of your own.

    On the published grids (those of dSprites, 3D Shapes, MPI3D and CelebGlow, whatever shows them) the values are the
    published ones, elsewhere a fifth of each ordered factor's values (:func:`unbraid.data.splits.default_sets`). Own
    ones are a mapping, or a JSON file that holds one: ``{"scale": {"test_only": [4, 5]}}`` keeps all images with one
    of these values for the test; ``{"x": {"train_only": [0]}, "y": {"train_only": [0]}}`` trains on all images with at
    least one of them. ``seed`` decides a random split, whose training part is as large as that of an extrapolation.

    >>> from unbraid.data import MiniSprites
    >>> halves = split(MiniSprites(), "extrapolation")
    >>> halves
    <Split extrapolation of 'mini-sprites': 324 train, 444 test; test only: scale 3, x 6-7, y 6-7>
    >>> halves.train.factors([0, 323])
    array([[0, 0, 0, 0],
           [2, 2, 5, 5]])
    """
    return Split(data, kind, seed)


class Split:
    """The two sides of a data set that a rule on factors makes; nothing is listed, both are computed when asked."""

    def __init__(self, data: Dataset, kind: Asked | str | Path, seed: int = 0) -> None:
        if data.side is not None:
            raise UsageError(f"{data.name!r} is a side of a split already; split the whole data set instead")
        self.data, self.kind, self.seed = data, "own", None
        self.cells = cells_of(data)
        self.published = False
        """Whether the sets of values are the published ones."""
        self.rule: Rule | None = None
        """``None`` of a random split."""
        if isinstance(kind, Mapping | Path) or kind.endswith(".json"):
            self.rule = read_rule(kind, self.cells.names, self.cells.sizes)
        elif kind == "random":
            self.kind, self.seed = kind, _checked(seed)
        elif kind in SYSTEMATIC:
            self.kind = kind
            self.rule, self.published = self._named(kind)
        else:
            raise unknown_name("split", kind, (*KINDS, "FILE.json"))

    def __repr__(self) -> str:
        train, test = (0 if side is None else len(side) for side in self._sides)
        rule = f"seed {self.seed}" if self.rule is None else self.rule.words()
        return f"<Split {self.kind} of {self.data.name!r}: {train:,} train, {test:,} test; {rule}>"

    @cached_property
    def train(self) -> SplitPart:
        """The images to train on."""
        return self._part("train", self._sides[0])

    @cached_property
    def test(self) -> SplitPart:
        """The other images."""
        return self._part("test", self._sides[1])

    def one_ood(self, factor: str | None = None) -> SplitPart:
        """The test images in which exactly one factor has a value that no training image shows: any, or this one."""
        if self.rule is None or not self.unseen:
            raise UsageError(
                f"a split {self.kind!r} shows every value in training, so that none is out of distribution; "
                "interpolation and extrapolation hold some out"
            )
        if factor is not None and factor not in self.unseen:
            raise unknown_name("factor with values that are never trained on:", factor, self.unseen)
        indices = self.cells.one_ood(self.rule, [factor] if factor else list(self.unseen))
        return self._part("one-ood" if factor is None else f"one-ood-{factor}", indices)

    def side(self, name: str) -> SplitPart:
        """A side by name: ``train``, ``test``, ``one-ood`` or ``one-ood-FACTOR``."""
        if name in ("train", "test"):
            return self.train if name == "train" else self.test
        if name == "one-ood":
            return self.one_ood()
        if name.startswith("one-ood-"):
            return self.one_ood(name.removeprefix("one-ood-"))
        known = ["train", "test", *(["one-ood"] if self.unseen else []), *(f"one-ood-{name}" for name in self.unseen)]
        raise unknown_name("side of a split", name, known)

    @property
    def unseen(self) -> ValueSets:
        """By factor, the values that no training image shows; none in random ones and in compositions."""
        return {} if self.rule is None else self.rule.unseen()

    def ood_counts(self) -> list[int]:
        """How many test images have exactly 0, 1, 2, ... factors with values that no training image shows."""
        if self.rule is None or not self.unseen:
            return [len(self.test)]
        return self.cells.ood_counts(self.rule)

    def seen(self, first: str, second: str) -> np.ndarray:
        """The share of the images with these values of two factors that is trained on: ``[values, values]``.

        0 where no training image shows the two values together.
        """
        for name in (first, second):
            if name not in self.cells.names:
                raise unknown_name("factor", name, self.cells.names)
        if first == second:
            raise UsageError(f"first and second must be two factors, got {first!r} twice")
        return self._counted(first, second) if self.rule is None else self.cells.seen(self.rule, first, second)

    @cached_property
    def hash(self) -> str:
        """Of the rule and the grid: equal for splits that train on the same cells, whatever data set shows them."""
        about: dict[str, Any] = {"grid": self.cells.describe()}
        if self.rule is None:
            return _digest(about | {"random": self.seed})
        return _digest(about | {"reserved": self.rule.reserved, "values": self.rule.sets})

    def to_json(self) -> dict[str, Any]:
        """What there is to say of it, as JSON holds it."""
        return {
            "kind": self.kind,
            "hash": self.hash,
            "train": len(self.train),
            "test": len(self.test),
            "seed": self.seed,
            "reserved_for": None if self.rule is None else self.rule.reserved,
            "values": None if self.rule is None else {name: list(chosen) for name, chosen in self.rule.sets.items()},
            "published": self.published,
            "unseen_factors": self.ood_counts(),
        }

    def _named(self, kind: SplitKind) -> tuple[Rule, bool]:
        cells, space = self.cells, self.data.space
        sets = None if space is None else published_sets(space, kind)
        found = sets or (None if space is None else chosen_sets(space, kind))
        if found is None:
            found = default_sets(cells.names, cells.sizes, cells.kinds, kind)
        return Rule("train" if kind == "composition" else "test", found, cells.names, cells.sizes), sets is not None

    @cached_property
    def _sides(self) -> tuple[Indices | None, Indices | None]:
        if self.rule is not None:
            return self.cells.sides(self.rule)
        systematic = self.cells.sides(self._named("extrapolation")[0])[0]
        count, size = len(self.cells), 0 if systematic is None else len(systematic)
        assert self.seed is not None
        order = Permutation(count, self.seed)
        return Window(order, 0, size), Window(order, size, count)

    def _part(self, side: str, indices: Indices | None) -> SplitPart:
        if indices is None or not len(indices):
            raise UsageError(f"the {side} side of {self!r} holds no image; choose other values")
        record = Side(self.kind, side, self.hash, grid_hash(self.cells.describe()), self.seed)
        part = SplitPart(self.data, indices, record, self._recipe(side))
        part.split = self
        return part

    def _recipe(self, side: str) -> Recipe | None:
        whole = self.data.recipe
        if whole is None or not {"split", "side", "part"}.isdisjoint(whole.options):
            return None
        given: dict[str, Any] = {"split": self.kind}
        if self.rule is not None and self.kind == "own":
            given["split"] = {name: {f"{self.rule.reserved}_only": [*v]} for name, v in self.rule.sets.items()}
        given |= {"split_seed": self.seed} if self.seed else {}
        given |= {"side": side} if side != "train" else {}
        return Recipe(whole.name, {**whole.options, **given})

    def _counted(self, first: str, second: str) -> np.ndarray:
        columns = [self.cells.names.index(name) for name in (first, second)]
        shape = tuple(self.cells.sizes[k] for k in columns)
        counts = np.zeros((2, *shape))
        for side, count in zip(self._sides, counts, strict=True):
            assert side is not None
            for start in range(0, len(side), BLOCK):
                places = side[np.arange(start, min(start + BLOCK, len(side)))]
                np.add.at(count, tuple(self.cells.levels(places)[:, columns].T), 1)
        every = counts.sum(axis=0)
        return np.divide(counts[0], every, out=np.zeros(shape), where=every > 0)


def _checked(seed: int) -> int:
    if not isinstance(seed, int | np.integer) or seed < 0:
        raise UsageError(f"the seed of a split must be an integer from 0, got {seed!r}")
    return int(seed)


def grid_hash(cells: Mapping[str, Any]) -> str:
    """Of a grid by ``names`` and ``sizes`` of its factors, as :class:`Side` holds it."""
    return _digest(dict(cells))


def _digest(about: Any) -> str:
    return hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()[:16]
