"""KITTI Masks: 2,120 tracks of pedestrian masks from real street videos (Klindt et al., 2021)."""

from pathlib import Path
from typing import Any

import numpy as np

from unbraid.data.files.catalogue import card, missing_file
from unbraid.data.files.plain_pickle import read_plain_pickle
from unbraid.data.files.root import find_file
from unbraid.data.motion.measured import PackedMasks, measure
from unbraid.data.motion.tracks import Tracks
from unbraid.data.registry import register
from unbraid.data.sets.pedestrians import SMALLEST, MaskTracks
from unbraid.errors import UsageError
from unbraid.paths import user_path

__all__ = ["KittiMasks"]

FILE = "kitti_masks/kitti_peds_v2.pickle"
TRAPS = (
    "Factors are measured from the mask: of a person cut or hidden, that of what is seen.",
    "Six windows overlap: the same person appears in several tracks.",
    "The published file is a pickle; it is read without running anything it names.",
)


@register("kitti-masks", card=card("kitti-masks", TRAPS), images=84_626, size="64x64x1", files=(FILE,))
class KittiMasks(MaskTracks):
    """84,626 binary masks, 64 x 64, on 2,120 tracks.

    ``source`` is the published file, otherwise looked for under the data root. Centre and area are
    measured anew from the masks; the labels in the file are not used.
    """

    name = "kitti-masks"

    def __init__(self, source: str | Path | None = None, max_gap: int = 5, augment: bool | int = True) -> None:
        path = find_file(FILE) if source is None else user_path(source, "source")
        if path is None:
            raise missing_file(self.name, FILE)
        self.card = card(self.name, TRAPS)
        sequences = _sequences(read_plain_pickle(path), path)
        rows = np.concatenate([np.packbits(masks.reshape(len(masks), -1), axis=1) for masks in sequences])
        values = measure(rows)
        ends = np.cumsum([len(masks) for masks in sequences])[:-1] - 1
        links = np.ones(len(rows) - 1, dtype=bool)
        links[ends] = False
        seen = values[:, 2] >= SMALLEST
        tracks, frames = Tracks.linked(values, self.factor_names, links & seen[:-1] & seen[1:])
        super().__init__(PackedMasks(rows), tracks, frames, max_gap, augment)


def _sequences(found: Any, path: Path) -> list[np.ndarray]:
    """The masks of each track, bool ``[frames, 64, 64]``."""
    masks = found.get("pedestrians") if isinstance(found, dict) else None
    if not isinstance(masks, list | tuple) or not masks:
        raise UsageError(f"{path} holds no list of sequences under 'pedestrians'; is it kitti_peds_v2.pickle?")
    for number, array in enumerate(masks):
        if not isinstance(array, np.ndarray):
            raise UsageError(
                f"{path}: sequence {number} should be an array [frames, 64, 64], is {type(array).__name__}"
            )
        if array.ndim != 3 or array.shape[1:] != (64, 64):
            raise UsageError(f"{path}: sequence {number} should be [frames, 64, 64], is {array.dtype} {array.shape}")
    if sum(array.nbytes for array in masks) > path.stat().st_size:
        raise UsageError(f"{path} names the same masks over and over, more than it holds; get the file anew")
    return [array > 0 for array in masks if len(array)]
