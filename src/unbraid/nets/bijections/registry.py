"""Bijective classifiers by name, initialised from an explicit generator."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch

from unbraid.errors import UsageError
from unbraid.nets.initialise import seeded
from unbraid.options import Named, check_options
from unbraid.registry import Registry

if TYPE_CHECKING:
    from unbraid.nets.bijections.firevnet import FiRevNet

__all__ = ["Builder", "build_bijection", "get", "names", "register", "unit_of"]

Builder = Callable[..., "FiRevNet"]

BIJECTIONS: Registry[Builder] = Registry("bijection")


_UNITS: dict[Builder, Callable[..., int]] = {}


def register(name: str, *, unit: Callable[..., int] | None = None) -> Callable[[Builder], Builder]:
    """Make a function ``(shape, classes, **options) -> FiRevNet`` known by name.

    ``shape`` is (height, width, channels) of images, or (length,) of vectors, as data sets have it. A network that
    takes only some sizes gives ``unit``, a function of its options to the number that divides both sides.
    """

    def add(builder: Builder) -> Builder:
        if unit is not None:
            _UNITS[builder] = unit
        return BIJECTIONS.register(name)(builder)

    return add


def unit_of(name: str) -> int:
    """The number that must divide height and width of images for a network with these options.

    >>> unit_of("conv"), unit_of("conv:stages=2"), unit_of("fc")
    (8, 4, 1)
    """
    named = Named.read(name)
    builder, written = get(named.name), dict(named.options)
    options = check_options(f"bijection {named.name!r}", builder, written, given=("shape", "classes"))
    return _UNITS[builder](**options) if builder in _UNITS else 1


def names() -> list[str]:
    """All registered bijections."""
    return BIJECTIONS.names()


def get(name: str) -> Builder:
    """The function registered under a name."""
    return BIJECTIONS[name]


def build_bijection(
    name: str, shape: tuple[int, ...], classes: int, *, generator: torch.Generator | None = None, **options: Any
) -> FiRevNet:
    """A bijective classifier for data of a shape, (height, width, channels) or (length,).

    Options can be written into the name, as on the command line: ``build_bijection("conv:blocks=2,width=8", ...)``.
    All weights follow from the ``generator`` alone (without one: from seed 0).

    >>> net = build_bijection("conv:blocks=1,width=4", (32, 32, 1), 10)
    >>> net.size, net.parts
    (1024, (256, 256, 512))
    """
    named = Named.read(name)
    builder = BIJECTIONS[named.name]
    given = {**named.options, **options}
    chosen = check_options(f"bijection {named.name!r}", builder, given, given=("shape", "classes"))
    if len(shape) not in (1, 3) or min(shape) < 1:
        raise UsageError(f"shape must be (height, width, channels) or (length,), got {shape}")
    with seeded(generator):
        return builder(tuple(shape), classes, **chosen)
