"""A robot arm with an object in its hand: a ray-cast stand-in for MPI3D (Gondal et al., 2019).

What is stored is how much background band, neutral scene and object every pixel shows; colours are mixed in when images
are asked for. The arm is stored once per camera and pair of axes, without an object; the objects are stored as small
windows, occlusion resolved, that are laid over it.
"""

from collections.abc import Sequence
from functools import partial
from math import prod

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from unbraid.data.dataset import Card, FactorDataset
from unbraid.data.files.store import render_store, store_file
from unbraid.data.registry import register
from unbraid.data.render.arm3d_scene import CAMERAS, OBJECTS, RADII, Pose, Stage, object_solid, pose
from unbraid.data.render.raycast import compose, coverage
from unbraid.data.sets.mpi3d import SPACE
from unbraid.data.space import FactorSpace
from unbraid.errors import UsageError

__all__ = ["BACKGROUNDS", "COLOURS", "HORIZONTAL", "VERTICAL", "Arm3D"]

COLOURS = {
    "white": (250, 250, 250),
    "green": (40, 190, 60),
    "red": (225, 35, 40),
    "blue": (45, 85, 235),
    "brown": (150, 84, 40),
    "olive": (160, 160, 30),
}
BACKGROUNDS = {"purple": (128, 62, 160), "sea green": (52, 160, 130), "salmon": (245, 136, 118)}
NEUTRAL = (238, 243, 250)
HORIZONTAL = (-90.0, 90.0)
"""Degrees; from the left past the camera to the right."""
VERTICAL = (-50.0, 70.0)
"""Degrees of the forearm above the horizon."""

CARD = Card(
    title="Arm3D: an object held by a two-joint robot arm",
    source="rendered by unbraid (ray casting)",
    licence="MIT, as unbraid",
    citation="Layout of factors after: Gondal et al., On the transfer of inductive bias from simulation to the real "
    "world, NeurIPS 2019",
    traps=(
        "The object covers one pixel in a hundred: reconstruction losses are nearly blind to its shape and size.",
        "Near both ends of the horizontal axis the hand moves along the line of sight: half a pixel a step or less.",
        "Objects that point at the camera hide their shape: a cone and a sphere are both a disc then.",
    ),
    stands_in_for="MPI3D: same factors, sizes, order and image format; arm, light and colours are its own, "
    "so numbers are not comparable with published ones",
)
HELD = len(OBJECTS) * len(RADII)
SAMPLES = 3


class Arm3D(FactorDataset):
    """1,036,800 images of an arm that swings a small object through the picture, RGB.

    With fewer ``steps`` of the two axes (40 as in MPI3D) the same range is covered more coarsely. The first use takes
    about a minute for 40 steps and a few seconds for 10.
    """

    card = CARD

    def __init__(self, size: int = 64, steps: int = 40) -> None:
        if not 16 <= size <= 256:
            raise UsageError(f"size must lie in 16..256 pixels, got {size}")
        if not 2 <= steps <= 1000:
            raise UsageError(f"steps must lie in 2..1000 positions per axis, got {steps}")
        self.name = "arm3d" + (f"-{size}" if size != 64 else "") + (f"-{steps}steps" if steps != 40 else "")
        self.shape = (size, size, 3)
        self.space = FactorSpace(SPACE.names, (*SPACE.sizes[:5], steps, steps), SPACE.kinds)
        painter = _Painter(size, steps)
        self._poses, self._corners, self._window = painter.poses, painter.corners, painter.window
        self._arms = render_store(
            self.name, count=prod(self._poses), shape=(2, size, size), render=painter.arms, chunk=40
        )
        self._objects = render_store(
            f"{self.name}/objects",
            count=prod(self._poses) * HELD,
            shape=(3, self._window, self._window),
            render=painter.objects,
            chunk=40 * HELD,
        )

    def images(self, index: np.ndarray | Sequence[int], rng: np.random.Generator | None = None) -> np.ndarray:
        color, shape, size, camera, background, horizontal, vertical = self.space.factors(index).T
        arm = np.ravel_multi_index((camera, horizontal, vertical), self._poses)
        layers = np.zeros((len(arm), 3, *self.shape[:2]), dtype=np.uint8)
        layers[:, :2] = self._arms.images(arm)
        column, row = self._corners[arm].T
        windows = sliding_window_view(layers, (self._window, self._window), axis=(2, 3), writeable=True)
        windows[np.arange(len(arm)), :, row, column] = self._objects.images(arm * HELD + shape * len(RADII) + size)
        palette = np.empty((len(arm), 3, 3), dtype=np.uint8)
        palette[:, 0] = np.array(list(BACKGROUNDS.values()))[background]
        palette[:, 1] = NEUTRAL
        palette[:, 2] = np.array(list(COLOURS.values()))[color]
        return compose(layers, palette)


class _Painter:
    """Renders the two stores, and knows where in the picture the windows with the objects belong."""

    def __init__(self, size: int, steps: int) -> None:
        self.size = size
        self.poses = (len(CAMERAS), steps, steps)
        self._held = [pose(h, v) for h in np.linspace(*HORIZONTAL, steps) for v in np.linspace(*VERTICAL, steps)]
        self._stages: dict[int, Stage] = {}
        largest = max(RADII)
        centres = np.hstack([held.centre(largest) for held in self._held]).astype(np.float64)
        pixels = np.stack([camera.project(centres, size) for camera in CAMERAS])
        nearest = min((camera.axes()[2] @ (centres - np.array(camera.position)[:, None])).min() for camera in CAMERAS)
        reach = 1.05 * largest / (nearest - largest) / CAMERAS[0].width * size
        self.window = int(np.ceil(2 * reach)) + 1
        corners = np.floor(pixels - self.window / 2 + 0.5).astype(np.int64)
        self.corners = np.clip(corners.transpose(0, 2, 1).reshape(-1, 2), 0, size - self.window)
        """First column and row of the window of every pose."""

    def arms(self, index: np.ndarray) -> np.ndarray:
        """Band and neutral, uint8 ``[n, 2, size, size]``."""
        views = (self._stage(position).view(self._pose(position)) for position in index)
        return np.stack([coverage([view.band, view.neutral]) for view in views])

    def objects(self, index: np.ndarray) -> np.ndarray:
        """Band, neutral and object in the window, uint8 ``[n, 3, window, window]``."""
        arm, shape, size = np.unravel_index(index, (prod(self.poses), len(OBJECTS), len(RADII)))
        layers = []
        for position in np.unique(arm):
            stage, held = self._stage(position), self._pose(position)
            column, row = self.corners[position]
            window = slice(row, row + self.window), slice(column, column + self.window)
            behind = stage.view(held, *window)
            for j, k in zip(shape[arm == position], size[arm == position], strict=True):
                layers.append(coverage(stage.place(object_solid(OBJECTS[j], RADII[k], held), behind, *window)))
        return np.stack(layers)

    def _pose(self, position: int) -> Pose:
        return self._held[position % len(self._held)]

    def _stage(self, position: int) -> Stage:
        camera = position // len(self._held)
        if camera not in self._stages:
            self._stages[camera] = Stage(CAMERAS[camera], self.size, SAMPLES)
        return self._stages[camera]


for _name, _load, _size in (("arm3d", Arm3D, 64), ("arm3d-32", partial(Arm3D, 32), 32)):
    _files = (store_file(f"{_name}/objects"),)
    register(_name, card=CARD, size=f"{_size}x{_size}x3", space=SPACE, files=_files, made=True)(_load)
