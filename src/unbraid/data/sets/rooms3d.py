"""Rooms with one object each: a ray-cast stand-in for Shapes3D (Burgess and Kim, 2018).

The camera orbits an object that stands in the corner of a roofless room, lit softly from above. What is stored is how
much floor, wall, object, sky and highlight every pixel shows for the 480 combinations of scale, shape and orientation;
hues are mixed in when images are asked for.
"""

import colorsys
from collections.abc import Sequence
from functools import partial

import numpy as np

from unbraid.data.dataset import Card, FactorDataset
from unbraid.data.files.store import render_store, store_file
from unbraid.data.registry import register
from unbraid.data.render.raycast import (
    Camera,
    Capsule,
    Convex,
    Frustum,
    Solid,
    Sphere,
    compose,
    coverage,
    dot,
    unit,
    vector,
)
from unbraid.data.sets.shapes3d import SPACE
from unbraid.errors import UsageError, unknown_name

__all__ = ["HUES", "ORIENTATIONS", "SCALES", "SHAPES", "Rooms3D", "render_room", "solid"]

SHAPES = ("cube", "cylinder", "sphere", "capsule")
SCALES = np.linspace(0.75, 1.25, 8)
ORIENTATIONS = np.linspace(-30, 30, 15)
"""Degrees by which the camera leaves the diagonal of the room."""
HUES = np.rint([[255 * c for c in colorsys.hsv_to_rgb(k / 10, 0.92, 1.0)] for k in range(10)]).astype(np.uint8)
"""RGB, ten steps around the circle of hues; the last is one step short of the first."""
SKY, HIGHLIGHT = (206, 224, 240), (255, 255, 255)

CARD = Card(
    title="Rooms3D: one object in a coloured room",
    source="rendered by unbraid (ray casting)",
    licence="MIT, as unbraid",
    citation="Layout of factors after: Burgess and Kim, 3D Shapes dataset, 2018",
    traps=(
        "Orientation is seen from walls and light alone for cylinder, sphere and capsule, which are round.",
        "Hue is a circle cut into ten: values 0 and 9 are neighbours, and a code needs two dimensions for it.",
    ),
    stands_in_for="Shapes3D: same factors, sizes, order and image format; geometry, light and colours are its own, "
    "so numbers are not comparable with published ones",
)

ROOM, WALL_HEIGHT = 2.9, 2.85
DISTANCE, EYE, AIM, WIDTH = 6.0, 2.5, 1.12, 0.64
LAMP = unit(vector(0.1, 1.0, 0.75))
LAYERS = 5
SAMPLES = 3


class Rooms3D(FactorDataset):
    """480,000 images of a cube, cylinder, sphere or capsule in the corner of a room, RGB."""

    space = SPACE
    card = CARD

    def __init__(self, size: int = 64) -> None:
        if not 8 <= size <= 256:
            raise UsageError(f"size must lie in 8..256 pixels, got {size}")
        self.name = "rooms3d" if size == 64 else f"rooms3d-{size}"
        self.shape = (size, size, 3)
        geometry = SPACE.select(floor_hue=0, wall_hue=0, object_hue=0)

        def render(index: np.ndarray) -> np.ndarray:
            return np.stack(
                [render_room(SCALES[i], SHAPES[j], ORIENTATIONS[k], size) for i, j, k in geometry.factors(index)]
            )

        self._store = render_store(
            self.name, count=len(geometry), shape=(LAYERS, size, size), render=render, version=1, chunk=16
        )

    def images(self, index: np.ndarray | Sequence[int], rng: np.random.Generator | None = None) -> np.ndarray:
        factors = self.space.factors(index)
        layers = self._store.images(factors[:, 3:] @ np.array([60, 15, 1]))
        palette = np.empty((len(factors), LAYERS, 3), dtype=np.uint8)
        palette[:, :3] = HUES[factors[:, :3]]
        palette[:, 3:] = SKY, HIGHLIGHT
        return compose(layers, palette)


def solid(shape: str, scale: float) -> Solid:
    """The object, standing on the floor at the origin."""
    if shape == "cube":
        half = 0.62 * scale
        faces = np.concatenate([np.eye(3), -np.eye(3)])
        return Convex(faces, half + faces @ (0, half, 0))
    if shape == "cylinder":
        return Frustum(vector(0, 0, 0), vector(0, 1.35 * scale, 0), 0.66 * scale, 0.66 * scale)
    if shape == "sphere":
        return Sphere(vector(0, 0.76 * scale, 0), 0.76 * scale)
    if shape == "capsule":
        return Capsule(vector(0, 0.5 * scale, 0), vector(0, 1.3 * scale, 0), 0.5 * scale)
    raise unknown_name("shape", shape, SHAPES)


def camera(orientation: float) -> Camera:
    """The camera on its circle around the object; 0 degrees looks straight into the corner at (-, -)."""
    azimuth = np.radians(45 + orientation)
    return Camera((DISTANCE * np.sin(azimuth), EYE, DISTANCE * np.cos(azimuth)), (0, AIM, 0), WIDTH)


def render_room(scale: float, shape: str, orientation: float, size: int) -> np.ndarray:
    """Layers uint8 ``[5, size, size]``: shaded floor, wall and object, then sky and highlight."""
    origin, directions = camera(orientation).rays(size, SAMPLES)
    body = solid(shape, scale)
    near, normals = body.hit(origin, directions)

    with np.errstate(divide="ignore"):
        to_floor = np.where(directions[1] < 0, -origin[1] / directions[1], np.inf)
        to_walls = [np.where(directions[k] < 0, (-ROOM - origin[k]) / directions[k], np.inf) for k in (0, 2)]
    to_wall = np.minimum(*to_walls)
    is_object = np.isfinite(near)
    is_floor = ~is_object & (to_floor < to_wall)
    behind = origin + directions * np.minimum(to_floor, to_wall)
    is_wall = ~is_object & ~is_floor & (behind[1] < WALL_HEIGHT)
    is_sky = ~(is_object | is_floor | is_wall)

    floor_light = np.zeros_like(near)
    floor_light[is_floor] = _floor_light(behind[:, is_floor], body, scale)
    wall_light = np.where(to_walls[0] < to_walls[1], 0.70, 0.86) * _wall_light(behind)
    points = origin + directions * np.where(is_object, near, 0)
    object_light, highlight = _object_light(points, normals, directions)
    sky_light = np.clip(0.93 + 0.5 * directions[1], 0, 1)
    shares = [
        is_floor * floor_light,
        is_wall * wall_light,
        is_object * object_light * (1 - highlight),
        is_sky * sky_light,
        is_object * highlight,
    ]
    return coverage([share.reshape(size, size, -1) for share in shares])


def _crease(distance: np.ndarray, reach: float = 0.9, depth: float = 0.22) -> np.ndarray:
    """Light lost near the line where two surfaces meet."""
    return 1 - depth * np.exp(-np.maximum(distance, 0) / reach * 2)


def _wall_light(points: np.ndarray) -> np.ndarray:
    corner = np.maximum(points[0], points[2]) + ROOM
    return _crease(points[1]) * _crease(corner) * (0.92 + 0.08 * np.clip(points[1] / WALL_HEIGHT, 0, 1))


def _floor_light(points: np.ndarray, body: Solid, scale: float) -> np.ndarray:
    light = 0.93 * _crease(points[0] + ROOM) * _crease(points[2] + ROOM)
    close = np.flatnonzero(np.hypot(points[0], points[2]) < 2.9 * scale)
    start = points[:, close] + vector(0, 1e-3, 0)
    shade = np.zeros(len(close), dtype=np.float32)
    for sample in _LAMP_SAMPLES:
        shade += np.isfinite(body.hit(start, np.broadcast_to(sample, start.shape))[0])
    light[close] *= 1 - 0.5 * shade / len(_LAMP_SAMPLES)
    contact = np.hypot(points[0], points[2]) / (0.75 * scale)
    return light * (1 - 0.3 * np.exp(-(contact**4)))


def _object_light(points: np.ndarray, normals: np.ndarray, directions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    facing = dot(normals, LAMP)
    wrapped = np.clip((facing + 0.35) / 1.35, 0, 1)
    overhead = 0.5 + 0.5 * normals[1]
    light = 0.23 + 0.53 * wrapped + 0.24 * overhead
    light *= 1 - 0.25 * np.exp(-3 * np.clip(points[1], 0, None)) * (1 - overhead)
    halfway = unit(LAMP - directions)
    highlight = 0.35 * np.clip(dot(normals, halfway), 0, 1) ** 40
    return light, highlight


def _lamp_samples(count: int = 16, spread: float = 0.42) -> list[np.ndarray]:
    """Directions to points spread evenly over a round lamp, for soft shadows."""
    across = unit(np.cross(LAMP, vector(0, 1, 0), axis=0))
    along = np.cross(LAMP, across, axis=0)
    radius = spread * np.sqrt((np.arange(count) + 0.5) / count)
    angle = np.arange(count) * np.pi * (3 - np.sqrt(5))
    return [
        unit(LAMP + across * np.float32(r * np.cos(a)) + along * np.float32(r * np.sin(a)))
        for r, a in zip(radius, angle, strict=True)
    ]


_LAMP_SAMPLES = _lamp_samples()


for _name, _load, _size in (("rooms3d", Rooms3D, 64), ("rooms3d-32", partial(Rooms3D, 32), 32)):
    register(_name, card=CARD, size=f"{_size}x{_size}x3", space=SPACE, files=(store_file(_name),), made=True)(_load)
