"""Natural Sprites: simple shapes that move as objects in natural video do (Klindt et al., 2021).

Every pair takes position and area from two neighbouring frames of a track, and one shape and orientation for both.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache, cached_property
from pathlib import Path

import numpy as np

from unbraid.data.dataset import Card, FactorDataset, Shape
from unbraid.data.files.measurement_table import read_measurements
from unbraid.data.motion.tracks import TrackDataset, Tracks
from unbraid.data.motion.window_tracks import window_tracks
from unbraid.data.registry import register
from unbraid.data.render.spriteworld import ANGLES, SHAPES, render_polygons
from unbraid.data.space import FactorSpace, check_index
from unbraid.errors import UsageError

__all__ = ["NaturalSprites", "NaturalSpritesDiscrete"]

SPACE = FactorSpace(
    ("x", "y", "scale", "angle", "shape"),
    (32, 32, 6, 40, 4),
    ("ordinal", "ordinal", "ordinal", "periodic", "categorical"),
)
LOOKS = len(ANGLES) * len(SHAPES)
WINDOW, TAIL = 64.0, 0.05

CARD = Card(
    title="Natural Sprites on invented tracks",
    source="Rendered here; tracks are generated, or read from a table with source=FILE",
    licence="MIT, as unbraid",
    citation="Klindt et al., Towards Nonlinear Disentanglement in Natural Data with Temporal Sparse Coding, ICLR 2021; "
    "Watters et al., Spriteworld, 2019 (the shapes)",
    traps=(
        "Square, star and spokes repeat after a quarter turn, the triangle after a third: angle cannot be told apart.",
        "Large sprites reach over the border; position and area are those of the measured object, not of what is seen.",
        "Shape and angle never change within a pair: a method that learns from change alone cannot find them.",
    ),
    stands_in_for="Natural Sprites on YouTube-VOS tracks (Zenodo 3948069): same shapes, filter and bins; fitted "
    "shapes, deviations and kurtoses of the transitions agree within 15 percent, their joint law is its own",
)


@cache
def _invented(permuted: bool) -> Tracks:
    return _chosen(window_tracks(), permuted)


def _chosen(tracks: Tracks, permuted: bool) -> Tracks:
    """Pairs without the smallest and largest areas, each factor's shuffled if ``permuted``."""
    kept = tracks.within("area", TAIL)
    return kept.permuted(np.random.default_rng(0)) if permuted else kept


class _Source:
    """What both versions share: where the tracks come from, and the card that says so."""

    tracks: Tracks
    card: Card
    shape: Shape

    def _open(self, name: str, source: str | Path | None, permuted: bool | int, size: int, channels: int) -> None:
        if not 8 <= size <= 256 or channels not in (1, 3):
            raise UsageError(f"size must lie in 8..256 and channels be 1 or 3, got {size} and {channels}")
        self.tracks = (
            _invented(bool(permuted)) if source is None else _chosen(read_measurements(source), bool(permuted))
        )
        self.name = f"{name}-permuted" if permuted else name
        self.card = CARD
        if source is not None:
            title = f"Natural Sprites on the tracks of {Path(source).name}"
            self.card = replace(CARD, title=title, source=f"Rendered here on {source}", stands_in_for="")
        self.shape = (size, size, channels)


@register("natural-sprites", card=CARD, size="64x64x3")
class NaturalSprites(_Source, TrackDataset):
    """Sprites with continuous x, y and scale, 40 angles and 4 shapes; images are drawn when asked for.

    Position ``i`` is frame ``i // 160`` with look ``i % 160`` (angle, shape). ``permuted`` takes each factor's
    transitions from other tracks, which keeps their law and removes their dependence. ``source`` is a measurement
    table (:func:`unbraid.data.files.measurement_table.read_measurements`) to use instead of the invented tracks.
    """

    factor_names, factor_kinds = SPACE.names, SPACE.kinds

    def __init__(
        self, source: str | Path | None = None, permuted: bool | int = False, size: int = 64, channels: int = 3
    ) -> None:
        self._open("natural-sprites", source, permuted, size, channels)

    def __len__(self) -> int:
        return len(self.tracks) * LOOKS

    def factors(self, index: np.ndarray | Sequence[int]) -> np.ndarray:
        """x, y and scale in units of the image side, angle in degrees, position of the shape: ``[n, 5]``."""
        frame, look = np.divmod(check_index(index, len(self)), LOOKS)
        x, y, area = self.tracks.values[frame].T
        angle, shape = np.divmod(look, len(SHAPES))
        return np.stack([x / WINDOW, y / WINDOW, np.sqrt(area) / WINDOW, ANGLES[angle], shape], axis=1)

    @cached_property
    def factor_ranges(self) -> tuple[tuple[float, float], ...]:
        """Smallest and largest value of each factor: every frame has every look, so that neither needs the other."""
        frames, looks = self.factors(np.arange(len(self.tracks)) * LOOKS), self.factors(np.arange(LOOKS))
        columns = [*frames[:, :3].T, *looks[:, 3:].T]
        return tuple((float(column.min()), float(column.max())) for column in columns)

    def images(self, index: np.ndarray | Sequence[int], rng: np.random.Generator | None = None) -> np.ndarray:
        return _render(self.factors(index), self.shape)

    def sample_index(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """First frames of random pairs, with random looks."""
        starts = self.tracks.starts
        return starts[rng.integers(len(starts), size=n)] * LOOKS + rng.integers(LOOKS, size=n)

    def draw_pairs(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        first, second = self.tracks.draw_pairs(n, rng)
        look = rng.integers(LOOKS, size=n)
        return first * LOOKS + look, second * LOOKS + look

    def draw_chains(self, n: int, length: int, rng: np.random.Generator) -> np.ndarray:
        return self.tracks.draw_chains(n, length, rng) * LOOKS + rng.integers(LOOKS, size=(n, 1))


@register("natural-sprites-discrete", card=CARD, size="64x64x3")
class NaturalSpritesDiscrete(_Source, FactorDataset):
    """The same with x, y and area put into 32, 32 and 6 equal bins: a factor grid with natural transitions.

    Pairs follow the tracks; independent draws, and so all scores, are uniform over the grid.
    """

    space = SPACE
    has_transitions = True

    def __init__(
        self, source: str | Path | None = None, permuted: bool | int = False, size: int = 64, channels: int = 3
    ) -> None:
        self._open("natural-sprites-discrete", source, permuted, size, channels)
        bins = np.array(SPACE.sizes[:3])
        low, high = self.tracks.values.min(axis=0), self.tracks.values.max(axis=0)
        if (low == high).any():
            raise UsageError("x, y and area must vary to be put into bins; the tracks hold a constant one")
        self._low, self._width = low, (high - low) / bins
        self._rows = ((self.tracks.values - low) / self._width).astype(np.int64).clip(max=bins - 1)

    def images(self, index: np.ndarray | Sequence[int], rng: np.random.Generator | None = None) -> np.ndarray:
        rows = self.space.factors(index)
        x, y, area = (self._low + (rows[:, :3] + 0.5) * self._width).T
        columns = (x / WINDOW, y / WINDOW, np.sqrt(area) / WINDOW, ANGLES[rows[:, 3]], rows[:, 4])
        return _render(np.stack(columns, axis=1), self.shape)

    @property
    def longest_chain(self) -> int:
        return int(self.tracks.lengths.max())

    def draw_pairs(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        first, second = self._positions(np.stack(self.tracks.draw_pairs(n, rng), axis=1), rng).T
        return first, second

    def draw_chains(self, n: int, length: int, rng: np.random.Generator) -> np.ndarray:
        return self._positions(self.tracks.draw_chains(n, length, rng), rng)

    def _positions(self, frames: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Grid positions of frames ``[n, length]``, with one look for each row."""
        looks = rng.integers(LOOKS, size=(len(frames), 1))
        x, y, scale = np.moveaxis(self._rows[frames], -1, 0)
        return ((x * SPACE.sizes[1] + y) * SPACE.sizes[2] + scale) * LOOKS + looks


def _render(factors: np.ndarray, shape: Shape) -> np.ndarray:
    x, y, scale, angle, kind = factors.T
    return render_polygons(x, y, scale, angle, kind, size=shape[0], channels=shape[2])
