"""Masks of walking people over time: an invented stand-in for KITTI Masks (Klindt et al., 2021)."""

from collections.abc import Sequence

import numpy as np

from unbraid.data.arrays import Held
from unbraid.data.dataset import Card
from unbraid.data.files.store import render_store, store_file
from unbraid.data.motion.measured import measure
from unbraid.data.motion.tracks import TrackDataset, Tracks
from unbraid.data.motion.walkers import walk_scenes
from unbraid.data.registry import register
from unbraid.data.render.jitter import jitter_pairs
from unbraid.data.render.silhouettes import render_silhouettes
from unbraid.data.space import check_index
from unbraid.errors import UsageError

__all__ = ["SMALLEST", "MaskTracks", "Pedestrians"]

SMALLEST = 30
"""Pixels; frames with fewer are dropped and end their track."""
WALKERS = 780
VERSION = 2

CARD = Card(
    title="Pedestrians: masks of invented walkers",
    source="Rendered here",
    licence="MIT, as unbraid",
    citation="Layout after: Klindt et al., Towards Nonlinear Disentanglement in Natural Data with Temporal Sparse "
    "Coding, ICLR 2021; masks of Voigtlaender et al., MOTS, CVPR 2019",
    traps=(
        "Factors are measured from the mask: a figure cut by the window has its centre and area of what is seen.",
        "Gait, facing and build change the mask too and are not among the measured factors.",
        "Windows overlap: the same walker appears in several tracks.",
    ),
    stands_in_for="KITTI Masks: same format, number and length of tracks, measured factors and law of their steps; "
    "silhouettes are drawn, so numbers are not comparable with published ones",
)


class MaskTracks(TrackDataset):
    """Binary masks along tracks, with the centre of mass x, y and the area measured from each mask.

    A pair is a frame and one 1..max_gap frames later. ``augment`` shifts and turns both images of a training pair
    alike, by up to 5 pixels and 2 degrees; single images are never changed.
    """

    factor_names = ("x", "y", "area")

    def __init__(self, held: Held, tracks: Tracks, frames: np.ndarray, max_gap: int, augment: bool | int) -> None:
        if max_gap < 1:
            raise UsageError(f"max_gap must be at least 1 frame, got {max_gap}")
        self.tracks, self.max_gap, self.augment = tracks, max_gap, bool(augment)
        self.shape = held.shape
        self._held, self._frames = held, frames

    def __len__(self) -> int:
        return len(self.tracks)

    def images(self, index: np.ndarray | Sequence[int], rng: np.random.Generator | None = None) -> np.ndarray:
        return self._held.images(self._frames[check_index(index, len(self))])

    def factors(self, index: np.ndarray | Sequence[int]) -> np.ndarray:
        """Centre of mass x and y and area, in pixels: ``[n, 3]``."""
        return self.tracks.values[check_index(index, len(self))]

    def pairs_at(
        self, first: np.ndarray, second: np.ndarray, rng: np.random.Generator | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        both = super().pairs_at(first, second, rng)
        return jitter_pairs(*both, rng) if self.augment and rng is not None else both


@register("pedestrians", size="64x64x1", files=(store_file("pedestrians", VERSION),), made=True)
class Pedestrians(MaskTracks):
    """About 2,100 tracks and 85,000 masks, 64 x 64, of one walking figure each; rendered at first use.

    ``frame_rate`` holds the frames per second of each image's camera, 14 to 30.
    """

    name, card = "pedestrians", CARD

    def __init__(self, max_gap: int = 5, augment: bool | int = True, walkers: int = WALKERS) -> None:
        if walkers < 1:
            raise UsageError(f"walkers must be at least 1, got {walkers}")
        self.name = "pedestrians" if walkers == WALKERS else f"pedestrians-{walkers}"
        scene = walk_scenes(walkers)
        store = render_store(
            self.name,
            count=len(scene.poses),
            shape=(64, 64, 1),
            render=lambda index: render_silhouettes(scene.poses[index]),
            binary=True,
            version=VERSION,
        )
        values = measure(store.packed_rows())
        seen = values[:, 2] >= SMALLEST
        tracks, frames = Tracks.linked(values, self.factor_names, scene.links & seen[:-1] & seen[1:])
        super().__init__(store, tracks, frames, max_gap, augment)
        self.frame_rate = scene.rate[frames]
