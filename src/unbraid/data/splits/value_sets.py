"""Which values of which factors a split keeps apart: the published sets, and a rule for every other grid.

Interpolation and extrapolation name values that only the test part shows; composition names values one of which every
training image shows (Schott et al., 2022, Visual representation learning does not generalize strongly within the same
domain, ICLR, appendix).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Literal

import numpy as np

from unbraid.data.published_grids import MPI3D, SHAPES3D
from unbraid.data.space import FactorSpace, Kind, SubSpace
from unbraid.errors import UsageError

__all__ = ["KINDS", "SYSTEMATIC", "SplitKind", "ValueSets", "chosen_sets", "default_sets", "published_sets"]

SplitKind = Literal["random", "composition", "interpolation", "extrapolation"]
KINDS: tuple[SplitKind, ...] = ("random", "composition", "interpolation", "extrapolation")
SYSTEMATIC: tuple[SplitKind, ...] = ("composition", "interpolation", "extrapolation")
ValueSets = dict[str, tuple[int, ...]]
"""From factors to some of their values; factors without are not split."""

HELD_OUT, TRAINED_ON = 0.2, 0.3
"""Of a factor's values in the test part alone; of all images in the training part of a composition."""


@dataclass(frozen=True)
class _Published:
    names: tuple[str, ...]
    sizes: tuple[int, ...]
    interpolation: ValueSets
    extrapolation: ValueSets
    composition: ValueSets

    @property
    def factors(self) -> dict[str, int]:
        return dict(zip(self.names, self.sizes, strict=True))


_LEAST = {"interpolation": 1, "extrapolation": 1, "composition": 2}
"""How many factors must be split: were one alone anchored, the training part would not show its other values."""

_SPRITE_PLACES = (2, 7, 11, 15, 20, 24, 29)
_AXIS = (5, 15, 24, 34)

_PUBLISHED = (
    _Published(  # dSprites
        ("shape", "scale", "orientation", "x", "y"),
        (3, 6, 40, 32, 32),
        {"scale": (1, 4), "orientation": tuple(range(2, 40, 5)), "x": _SPRITE_PLACES, "y": _SPRITE_PLACES},
        {"scale": (4, 5), "orientation": (*range(32, 40),), "x": (*range(25, 32),), "y": (*range(25, 32),)},
        {"orientation": (0, 1, 2, 3), "x": (0, 1, 2), "y": (0, 1, 2)},
    ),
    _Published(  # dSprites-90: orientation below a quarter turn; its sets of orientations were not published
        ("shape", "scale", "orientation", "x", "y"),
        (3, 6, 10, 32, 32),
        {"scale": (1, 4), "orientation": (2, 7), "x": _SPRITE_PLACES, "y": _SPRITE_PLACES},
        {"scale": (4, 5), "orientation": (8, 9), "x": (*range(25, 32),), "y": (*range(25, 32),)},
        {"orientation": (0,), "x": (0, 1, 2), "y": (0, 1, 2)},
    ),
    _Published(  # Shapes3D
        SHAPES3D.names,
        SHAPES3D.sizes,
        {"floor_hue": (2, 7), "wall_hue": (2, 7), "object_hue": (2, 7), "scale": (2, 5), "orientation": (2, 7, 12)},
        {"floor_hue": (8, 9), "wall_hue": (8, 9), "object_hue": (8, 9), "scale": (6, 7), "orientation": (12, 13, 14)},
        {"floor_hue": (0,), "wall_hue": (0,), "object_hue": (0,), "orientation": (0,)},
    ),
    _Published(  # MPI3D
        MPI3D.names,
        MPI3D.sizes,
        {
            "object_color": (3,),
            "camera_height": (1,),
            "background_color": (1,),
            "horizontal_axis": _AXIS,
            "vertical_axis": _AXIS,
        },
        {
            "object_color": (5,),
            "camera_height": (2,),
            "background_color": (2,),
            "horizontal_axis": (*range(36, 40),),
            "vertical_axis": (*range(36, 40),),
        },
        {"horizontal_axis": (*range(6),), "vertical_axis": (*range(6),)},
    ),
    _Published(  # CelebGlow; its composition was not published
        ("person", "smile", "blond", "age"),
        (1000, 6, 6, 6),
        {"smile": (1, 4), "blond": (1, 4), "age": (1, 4)},
        {"smile": (4, 5), "blond": (4, 5), "age": (4, 5)},
        {"smile": (0,), "blond": (0,)},
    ),
)


_CHOSEN = (
    # Two sprites: anchors in both, the lowest quarter of their places, so that the product of what was seen of each is
    # the whole grid.
    (("a_x", "a_y", "a_scale", "b_x", "b_y", "b_scale"), (8, 8, 3) * 2, dict.fromkeys(("a_x", "a_y", "b_x", "b_y"), 2)),
    (("a_y", "b_y"), (24, 24), {"a_y": 6, "b_y": 6}),
)
"""Grids of this library and how many of the lowest values anchor their composition."""


def chosen_sets(space: FactorSpace, kind: SplitKind) -> ValueSets | None:
    """The sets that were chosen here for a grid that nobody published any for."""
    if kind == "composition":
        for names, sizes, lowest in _CHOSEN:
            if (space.names, space.sizes) == (names, sizes):
                return {name: tuple(range(count)) for name, count in lowest.items()}
    return None


def published_sets(space: FactorSpace, kind: SplitKind) -> ValueSets | None:
    """The sets of a published grid, known by names and sizes of its factors; some of them may have been fixed."""
    own, whole = _sizes(space), space
    if isinstance(space, SubSpace):
        if any(space.values[k] != tuple(range(len(space.values[k]))) for k in space.kept):
            return None  # values in the middle are left out: others stand in their places
        whole = space.parent
    thinned = any(_sizes(whole) == grid.factors for grid in _PUBLISHED)
    for grid in _PUBLISHED:
        if own == grid.factors or (thinned and own.items() <= grid.factors.items()):
            sets: ValueSets = {name: values for name, values in getattr(grid, kind).items() if name in own}
            return sets if len(sets) >= _LEAST[kind] else None
    return None


def _sizes(space: FactorSpace) -> dict[str, int]:
    return dict(zip(space.names, space.sizes, strict=True))


def default_sets(names: Sequence[str], sizes: Sequence[int], kinds: Sequence[Kind], kind: SplitKind) -> ValueSets:
    """The sets of any other grid: never a category, nor a factor of two values.

    Extrapolation holds out the top fifth of the values of every factor, interpolation as many evenly spaced in its
    inside; composition trains on the lowest values of as many of the finest factors as bring its share of all images
    nearest to 30 %.

    >>> default_sets(["shape", "x", "y"], [3, 10, 15], ["categorical", "ordinal", "ordinal"], "interpolation")
    {'x': (2, 7), 'y': (2, 7, 12)}
    """
    ordered = {
        name: size for name, size, is_ in zip(names, sizes, kinds, strict=True) if is_ != "categorical" and size > 2
    }
    needed = _LEAST[kind]
    if len(ordered) < needed:
        raise UsageError(
            f"split {kind!r} needs at least {needed} ordered factor{'s' * (needed > 1)} of three or more values; of "
            f"({', '.join(f'{name} {size}' for name, size in zip(names, sizes, strict=True))}) "
            f"{', '.join(ordered) or 'none'} would do. Name the values yourself: "
            "split(data, {'factor': {'test_only': [4, 5]}})"
        )
    if kind == "composition":
        return _lowest(ordered)
    held = {name: max(1, round(HELD_OUT * size)) for name, size in ordered.items()}
    if kind == "extrapolation":
        return {name: tuple(range(size - held[name], size)) for name, size in ordered.items()}
    return {
        name: tuple((2 * k + 1) * size // (2 * held[name]) for k in range(held[name])) for name, size in ordered.items()
    }


def _lowest(ordered: dict[str, int]) -> ValueSets:
    finest = sorted(ordered, key=lambda name: -ordered[name])  # a stable sort: earlier factors first among equals

    def chosen(count: int) -> dict[str, int]:
        share = 1 - (1 - TRAINED_ON) ** (1 / count)
        return {name: max(1, round(share * ordered[name])) for name in finest[:count]}

    def off(count: int) -> float:
        test = prod(1 - values / ordered[name] for name, values in chosen(count).items())
        return abs(1 - test - TRAINED_ON)

    best = chosen(int(min(range(2, len(finest) + 1), key=lambda count: np.round(off(count), 12))))
    return {name: tuple(range(best[name])) for name in ordered if name in best}
