"""Data sets with classes and a complete grid of factors, so that every way of leaving the training domain applies."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from unbraid.data import Dataset, load, parse
from unbraid.errors import UsageError, unknown_name

__all__ = ["DOMAINS", "RANDOM", "SPLITS", "Domain", "domain_name", "domain_of"]

RANDOM = "random"
"""The training side that leaves nothing out but by chance."""
SPLITS = ("composition", "interpolation", "extrapolation")
SIDES = ("split", "side", "split_seed")
"""Options that choose a side of a split."""
DIGITS = {"l0": 12.0, "l2": 1.5, "linf": 0.3}
"""Bounds at which Schott et al. (2019) tell the accuracy on digits."""


@dataclass(frozen=True)
class Domain:
    """What models of a matrix are trained and asked on."""

    name: str
    """A data set, as :func:`unbraid.data.load` takes it."""
    factor: str = ""
    """Factor whose values are the classes; empty for the data set's own."""
    suite: str = "imagenet-c"
    """The corruptions that fit; categories that it lacks are taken from the other suite."""
    net: str = "small-cnn"
    """The vanilla network."""
    bounds: Mapping[str, float] = field(default_factory=dict, hash=False)
    """Distances at which accuracies under attack are told."""
    fresh: str = ""
    """A data set of the same kind with identities that training never shows."""
    tests: str = ""
    """Where the data set has no grid to split: its own test images."""
    cost: float = 1.0
    """Time that training and asking take, in units of that on digits of 28x28."""
    reference_size: int = 64
    """Where a budget weighs reconstructions, they do as on images of this size, so that codes hold classes."""
    usual: str = ""
    """The source of its images (``source`` of the data set) where all files are at hand, if there is a choice."""
    held: Dataset | None = field(default=None, compare=False, hash=False)
    """Own data that live in memory."""

    @property
    def splits(self) -> tuple[str, ...]:
        """Splits by factors that apply."""
        return () if self.tests or self.load().space is None else SPLITS

    def load(self) -> Dataset:
        return load(self.name) if self.held is None else self.held

    @property
    def source(self) -> str:
        """What its images are made from, if not from what is usual: numbers on them are others. Empty if they are."""
        found = _source(self.name, os.environ.get("UNBRAID_DATA", "")) if self.usual else ""
        return "" if found == self.usual else found

    def data(self, training: str = RANDOM, side: str = "train") -> str:
        """The name of the data that models are trained on, or asked on (``side="test"``)."""
        if self.tests:
            if training != RANDOM:
                raise UsageError(f"{self.name} has no grid of factors to split: {training} does not apply")
            return self.name if side == "train" else self.tests
        if training not in (RANDOM, *SPLITS):
            raise unknown_name("split", training, (RANDOM, *SPLITS))
        more = f"split={training}" + (f",side={side}" if side != "train" else "")
        return f"{self.name}{',' if ':' in self.name else ':'}{more}"


DOMAINS = {
    "affine-digits": Domain(
        "affine-digits",
        suite="mnist-c",
        bounds=DIGITS,
        fresh="affine-digits:glyphs=test",
        reference_size=128,
        usual="mnist",
    ),
    "rooms3d-32": Domain("rooms3d-32", factor="shape", cost=1.4),
    "sprites32": Domain("sprites32", factor="shape", cost=1.3),
    "mnist": Domain("mnist", suite="mnist-c", bounds=DIGITS, tests="mnist:split=test"),
    "fashion-mnist": Domain("fashion-mnist", suite="mnist-c", tests="fashion-mnist:split=test"),
}
"""Ready to use; an own data set becomes one with what it has."""


def domain_name(recipe: Mapping[str, Any] | None) -> str:
    """The name of the data in a run's record, without the side that it was trained on; empty of data in memory."""
    if not recipe:
        return ""
    own = [f"{key}={value}" for key, value in recipe["options"].items() if key not in SIDES]
    return str(recipe["name"]) + (":" + ",".join(own) if own else "")


def _known(name: str, options: Sequence[str]) -> Domain:
    """A domain of the library, with all options but those of sides, which are chosen later."""
    own = [text for text in options if text.partition("=")[0].strip() not in SIDES]
    found = DOMAINS[name]
    if not own:
        return found
    tests = ",".join([found.tests, *own]) if found.tests else ""
    return replace(found, name=f"{name}:{','.join(own)}", tests=tests)


@lru_cache(maxsize=8)  # a plan asks for every cell; the place of files is a part of the question
def _source(name: str, _: str) -> str:
    return str(getattr(load(name), "source", ""))


def domain_of(data: str | Dataset) -> Domain:
    """The domain that a data set, a side of it or a name belongs to; of own data what they offer.

    >>> domain_of("affine-digits:split=random,side=test").name, domain_of("affine-digits:glyphs=test").name
    ('affine-digits', 'affine-digits:glyphs=test')
    """
    if isinstance(data, str):
        name, rest = parse(data)[0], data.partition(":")[2]
        return _known(name, rest.split(",") if rest else []) if name in DOMAINS else domain_of(load(data))
    if data.recipe is not None and data.recipe.name in DOMAINS:
        return _known(data.recipe.name, [f"{key}={value}" for key, value in data.recipe.options.items()])
    factor = ""
    if not data.has_labels:
        kinds = dict(zip(data.factor_names, data.factor_kinds, strict=True))
        factor = next((name for name, kind in kinds.items() if kind == "categorical"), "")
        if not factor:
            raise UsageError(
                f"data set {data.name!r} has neither classes nor a factor without an order that could be one; give a "
                "data set with classes, such as 'affine-digits'"
            )
    data.need_pictures("a card")
    suite = "mnist-c" if data.shape[2] == 1 and max(data.shape[:2]) <= 32 else "imagenet-c"
    named = data.name if data.recipe is None else data.recipe.name
    return Domain(named, factor=factor, suite=suite, held=data)
