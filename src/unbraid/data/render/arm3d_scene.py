"""The scene of :mod:`unbraid.data.sets.arm3d`: a two-joint arm on a platform before a banded backdrop.

The first joint turns the whole arm about a vertical axis, the second raises the forearm at the elbow. Lengths are in
units of the shoulder's height; the camera looks along the negative z axis.
"""

from dataclasses import dataclass

import numpy as np

from unbraid.data.render.raycast import Camera, Capsule, Convex, Frustum, Solid, Sphere, dot, unit, vector
from unbraid.errors import unknown_name

__all__ = ["CAMERAS", "OBJECTS", "RADII", "Pose", "Stage", "View", "object_solid", "parts", "pose"]

OBJECTS = ("cone", "cube", "cylinder", "hexagonal", "pyramid", "sphere")
RADII = (0.34, 0.48)
"""Radius of the ball that holds the object, small and large."""

TARGET, DISTANCE, WIDTH = 1.25, 7.0, 0.80
CAMERAS = tuple(
    Camera((0, TARGET + DISTANCE * np.sin(angle), DISTANCE * np.cos(angle)), (0, TARGET, 0), WIDTH)
    for angle in np.radians([48, 24, 3])
)
"""Top, centre, bottom."""

REACH, RISE, FOREARM, GRIPPER = 0.55, 0.5, 0.95, 0.14
LAMP = unit(vector(-0.5, 1.0, 0.6))
BACKDROP, BAND = -3.0, 2.4
LINK, JOINT = 0.88, 0.32
"""How light the links and the joints of the arm are."""


@dataclass(frozen=True)
class Pose:
    """Where the parts of the arm are; points are ``[3, 1]``."""

    shoulder: np.ndarray
    elbow: np.ndarray
    wrist: np.ndarray
    axes: np.ndarray
    """The frame of the held object as columns ``[3, 3]``: sideways, upwards, along the forearm."""

    def centre(self, radius: float) -> np.ndarray:
        """Where the middle of a held object of this radius is."""
        return self.wrist + self.axes[:, 2:] * np.float32(GRIPPER + 0.55 * radius)


def pose(horizontal: float, vertical: float) -> Pose:
    """Forward kinematics: angles in degrees; at zero the arm points at the camera and the forearm is level."""
    turn, lift = np.radians(horizontal), np.radians(vertical)
    out, up = np.array([np.sin(turn), 0, np.cos(turn)]), np.array([0.0, 1.0, 0.0])
    along = np.cos(lift) * out + np.sin(lift) * up
    side = np.array([np.cos(turn), 0, -np.sin(turn)])
    elbow = up + REACH * out + RISE * up
    axes = np.stack([side, np.cross(along, side), along], axis=1).astype(np.float32)
    return Pose(vector(*up), vector(*elbow), vector(*(elbow + FOREARM * along)), axes)


def object_solid(name: str, radius: float, held: Pose) -> Solid:
    """The object in the hand, its own axis along the forearm."""
    centre, along = held.centre(radius), held.axes[:, 2:] * np.float32(radius)
    if name == "sphere":
        return Sphere(centre, 0.80 * radius)
    if name == "cylinder":
        return Frustum(centre - 0.6 * along, centre + 0.6 * along, 0.7 * radius, 0.7 * radius)
    if name == "cone":
        return Frustum(centre - 0.6 * along, centre + along, 0.8 * radius, 0.0)
    if name not in OBJECTS:
        raise unknown_name("object", name, OBJECTS)
    corners = 6 if name == "hexagonal" else 4
    angle = np.arange(corners) * 2 * np.pi / corners
    around = np.stack([np.cos(angle), np.sin(angle), np.zeros(corners)], axis=1)
    if name == "pyramid":
        # From the apex at height 1 the sides go down to a square base of half side 0.68 at height -0.6.
        faces = np.concatenate([unit((1.6 * around + [0, 0, 0.68]).T).T, [[0, 0, -1]]])
        offsets = np.append(faces[:4, 2], 0.6)
    else:
        faces = np.concatenate([around, [[0, 0, 1], [0, 0, -1]]])
        across, height = (0.72, 0.38) if name == "hexagonal" else (0.57, 0.57)
        offsets = np.array([across] * corners + [height] * 2)
    world = faces @ held.axes.T
    return Convex(world, offsets * radius + (world @ centre)[:, 0])


@dataclass(frozen=True)
class View:
    """A window of the picture, ray by ray ``[rows, columns, samples]``: distance, and shares of neutral and band."""

    depth: np.ndarray
    neutral: np.ndarray
    band: np.ndarray


class Stage:
    """One camera's rays and the part of the scene that does not move."""

    def __init__(self, camera: Camera, size: int, samples: int) -> None:
        self.camera, self.size = camera, size
        self.origin, rays = camera.rays(size, samples)
        grid = (size, size, samples**2)
        depth, neutral, band, flat = _room(self.origin, rays)
        points = self.origin + rays * depth
        self.rays = rays.reshape(3, *grid)
        self.room = View(depth.reshape(grid), neutral.reshape(grid), band.reshape(grid))
        self.flat = flat.reshape(grid)
        self.seen_by_lamp = np.stack([dot(axis, points) for axis in _LAMP_AXES]).reshape(2, *grid)

    def view(self, held: Pose, rows: slice = slice(None), columns: slice = slice(None)) -> View:
        """The arm in the room, without an object in its hand."""
        window = (rows, columns)
        depth, band = self.room.depth[window].copy(), self.room.band[window].copy()
        shadow = np.where(self.flat[window], _shadow(self.seen_by_lamp[:, rows, columns], held), np.float32(1))
        neutral = self.room.neutral[window] * shadow
        corner = np.array([columns.start or 0, rows.start or 0])
        for solid, light, start, end, radius in parts(held):
            first, last = self._bounds(start, end, radius)
            first, last = np.maximum(first - corner, 0), np.maximum(last - corner, 0)
            box = (slice(first[1], last[1]), slice(first[0], last[0]))
            rays = self.rays[:, rows, columns][:, *box]
            distance, lit = self._cast(solid, rays, light)
            nearer = distance < depth[box]
            depth[box] = np.where(nearer, distance, depth[box])
            neutral[box] = np.where(nearer, lit[0] + lit[1], neutral[box])
            band[box] = np.where(nearer, np.float32(0), band[box])
        return View(depth, neutral, band)

    def place(self, solid: Solid, behind: View, rows: slice, columns: slice) -> list[np.ndarray]:
        """Shares of band, neutral and object in a window that shows ``behind`` and a solid."""
        distance, (body, highlight) = self._cast(solid, self.rays[:, rows, columns], 1.0)
        nearer = distance < behind.depth
        return [
            np.where(nearer, np.float32(0), behind.band),
            np.where(nearer, highlight, behind.neutral),
            np.where(nearer, body, np.float32(0)),
        ]

    def _cast(self, solid: Solid, rays: np.ndarray, light: float) -> tuple[np.ndarray, np.ndarray]:
        shape = rays.shape[1:]
        rays = rays.reshape(3, -1)
        distance, normals = solid.hit(self.origin, rays)
        return distance.reshape(shape), _shade(normals, rays, light).reshape(2, *shape)

    def _bounds(self, start: np.ndarray, end: np.ndarray, radius: float) -> tuple[np.ndarray, np.ndarray]:
        """First and one past the last column and row that can show a capsule."""
        ends = np.hstack([start, end]).astype(np.float64)
        centres = self.camera.project(ends, self.size)
        near = (self.camera.axes()[2] @ (ends - self.origin)).min() - radius
        # A ball off the axis looks a little wider than at the centre: 1.15 covers the corners of this field of view.
        margin = 1.15 * radius / near / self.camera.width * self.size
        first, last = np.floor(centres.min(axis=1) - margin), np.ceil(centres.max(axis=1) + margin)
        return np.clip(first, 0, self.size).astype(int), np.clip(last, 0, self.size).astype(int)


def parts(held: Pose) -> list[tuple[Solid, float, np.ndarray, np.ndarray, float]]:
    """The moving solids: each with its lightness and a capsule (start, end, radius) that contains it."""
    hand = held.wrist + held.axes[:, 2:] * np.float32(GRIPPER)
    return [
        (Sphere(held.shoulder, 0.27), JOINT, held.shoulder, held.shoulder, 0.27),
        (Capsule(held.shoulder, held.elbow, 0.17), LINK, held.shoulder, held.elbow, 0.17),
        (Sphere(held.elbow, 0.23), JOINT, held.elbow, held.elbow, 0.23),
        (Capsule(held.elbow, held.wrist, 0.13), LINK, held.elbow, held.wrist, 0.13),
        (Frustum(held.wrist, hand, 0.12, 0.2), JOINT, held.wrist, hand, 0.2),
    ]


def _room(origin: np.ndarray, rays: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Distance, share of neutral, share of band, and whether a shadow can fall there."""
    with np.errstate(divide="ignore"):
        to_floor = np.where(rays[1] < 0, -origin[1] / rays[1], np.float32(np.inf))
        to_wall = np.where(rays[2] < 0, (np.float32(BACKDROP) - origin[2]) / rays[2], np.float32(np.inf))
    depth = np.minimum(to_floor, to_wall)
    x, y, z = origin + rays * depth
    is_floor = to_floor < to_wall
    is_band = ~is_floor & (y < BAND)
    floor = 0.42 * np.exp(-0.02 * (x * x + z * z)) * (1 - 0.3 * np.exp(-2 * (z - BACKDROP)))
    wall = np.exp(-0.015 * x * x) * (1 - 0.25 * np.exp(-3 * np.maximum(y, 0)))
    neutral = np.where(is_floor, floor, np.where(is_band, 0, 0.26 * wall))
    band = np.where(is_band, 0.92 * wall, 0)
    flat = is_floor
    for solid, light in (
        (Frustum(vector(0, 0, 0), vector(0, 0.12, 0), 1.15, 1.1), 0.68),
        (Frustum(vector(0, 0.12, 0), vector(0, 0.95, 0), 0.36, 0.2), JOINT),
    ):
        distance, normals = solid.hit(origin, rays)
        nearer = distance < depth
        depth = np.where(nearer, distance, depth)
        neutral = np.where(nearer, _shade(normals, rays, light).sum(axis=0), neutral)
        band = np.where(nearer, 0, band)
        flat = np.where(nearer, normals[1] > 0.9, flat)
    return depth, neutral.astype(np.float32), band.astype(np.float32), flat


def _shade(normals: np.ndarray, rays: np.ndarray, light: float) -> np.ndarray:
    """Shares ``[2, n]`` of a surface's own colour and of white highlight."""
    lamp = np.clip((dot(normals, LAMP) + 0.3) / 1.3, 0, 1)
    body = np.float32(light) * (0.26 + 0.54 * lamp + 0.2 * (0.5 + 0.5 * normals[1]))
    highlight = 0.3 * np.clip(dot(normals, unit(LAMP - rays)), 0, 1) ** 32
    return np.stack([body * (1 - highlight), highlight])


def _shadow(seen_by_lamp: np.ndarray, held: Pose, soft: float = 0.16, depth: float = 0.55) -> np.ndarray:
    """Light left where the arm is between a point and the lamp, from their distance as the lamp sees it.

    The object counts as a ball of middle size, whatever it is: shape and size change only the object's own pixels.
    """
    lit = np.ones(seen_by_lamp.shape[1:], dtype=np.float32)
    middle = held.centre(0.41)
    for start, end, radius in (
        (held.shoulder, held.elbow, 0.17),
        (held.elbow, held.wrist, 0.13),
        (middle, middle, 0.3),
    ):
        a, b = (np.array([dot(axis, point)[0] for axis in _LAMP_AXES]) for point in (start, end))
        reach = b - a
        x, y = seen_by_lamp[0] - a[0], seen_by_lamp[1] - a[1]
        share = np.clip((x * reach[0] + y * reach[1]) / max(reach @ reach, np.float32(1e-9)), 0, 1)
        distance = np.hypot(x - share * reach[0], y - share * reach[1])
        hidden = np.clip((np.float32(radius + soft) - distance) / np.float32(2 * soft), 0, 1)
        lit = np.minimum(lit, 1 - np.float32(depth) * hidden * hidden * (3 - 2 * hidden))
    return lit


_LAMP_RIGHT = unit(np.cross(vector(0, 1, 0), LAMP, axis=0))
_LAMP_AXES = (_LAMP_RIGHT, np.cross(LAMP, _LAMP_RIGHT, axis=0))
