"""Ray casting on plain arrays: a pinhole camera, four solids with closed-form intersections, and layered colour.

Vectors lie along the first axis: ``n`` rays are an origin ``[3, 1]`` or ``[3, n]`` and directions ``[3, n]`` of length
one, and the y axis points up. A solid answers ``hit(origin, directions)`` with the distance ``[n]`` to its nearest
point in front (infinity for a miss) and the outward normals there ``[3, n]`` (for a miss, any finite numbers). Origins
must lie outside of the solid.

Colour comes last. What is stored of a scene is not its colours but how much of each colour a pixel shows, shading
included (:func:`coverage`); :func:`compose` mixes the colours when an image is asked for. One rendering pass serves
every choice of colours, antialiased edges included.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

__all__ = ["Camera", "Capsule", "Convex", "Frustum", "Solid", "Sphere", "compose", "coverage", "dot", "unit", "vector"]

Hit = tuple[np.ndarray, np.ndarray]
"""Distances and normals."""


class Solid(Protocol):
    """A closed body that rays can meet."""

    def hit(self, origin: np.ndarray, directions: np.ndarray) -> Hit: ...


def vector(*components: float) -> np.ndarray:
    """A column ``[3, 1]`` that broadcasts against ``[3, n]``."""
    return np.array(components, dtype=np.float32)[:, None]


def dot(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Inner products along the first axis."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def unit(a: np.ndarray) -> np.ndarray:
    """The same directions with length one."""
    return a / np.sqrt(dot(a, a))


@dataclass(frozen=True)
class Camera:
    """A pinhole camera without roll; the picture is square and ``width`` times as wide as its distance."""

    position: tuple[float, float, float]
    target: tuple[float, float, float]
    width: float

    def axes(self) -> np.ndarray:
        """Right, up and forward as rows ``[3, 3]``."""
        forward = np.subtract(self.target, self.position)
        forward /= np.linalg.norm(forward)
        right = np.array([-forward[2], 0.0, forward[0]])
        right /= np.linalg.norm(right)
        return np.stack([right, np.cross(right, forward), forward])

    def rays(self, size: int, samples: int) -> tuple[np.ndarray, np.ndarray]:
        """Origin ``[3, 1]`` and directions ``[3, size * size * samples**2]``.

        Pixels come row by row from the top, each with its regular grid of samples.
        """
        fine = ((np.arange(size * samples) + 0.5) / (size * samples) - 0.5) * self.width
        per_pixel = fine.reshape(size, samples)
        u = np.broadcast_to(per_pixel[None, :, None, :], (size, size, samples, samples))
        v = np.broadcast_to(-per_pixel[:, None, :, None], (size, size, samples, samples))
        local = np.stack([u, v, np.ones_like(u)]).reshape(3, -1)
        return vector(*self.position), unit(self.axes().T @ local).astype(np.float32)

    def project(self, points: np.ndarray, size: int) -> np.ndarray:
        """Column and row ``[2, n]`` of points ``[3, n]``; the centre of the first pixel is (0.5, 0.5)."""
        right, up, forward = self.axes() @ (points - np.array(self.position)[:, None])
        return (np.stack([right, -up]) / forward / self.width + 0.5) * size


@dataclass(frozen=True)
class Sphere:
    """All points within ``radius`` of ``centre`` ``[3, 1]``."""

    centre: np.ndarray
    radius: float

    def hit(self, origin: np.ndarray, directions: np.ndarray) -> Hit:
        distance = _ball(origin - self.centre, directions, self.radius)
        return distance, (_at(origin, directions, distance) - self.centre) / np.float32(self.radius)


@dataclass(frozen=True)
class Capsule:
    """All points within ``radius`` of the segment from ``start`` to ``end`` (both ``[3, 1]``)."""

    start: np.ndarray
    end: np.ndarray
    radius: float

    def hit(self, origin: np.ndarray, directions: np.ndarray) -> Hit:
        length = np.sqrt(dot(self.end - self.start, self.end - self.start))
        axis = (self.end - self.start) / length
        offset = origin - self.start
        s0, s1 = dot(offset, axis), dot(directions, axis)
        a = 1 - s1 * s1
        b = dot(offset, directions) - s0 * s1
        c = dot(offset, offset) - s0 * s0 - np.float32(self.radius**2)
        with np.errstate(invalid="ignore", divide="ignore"):
            side = (-b - np.sqrt(b * b - a * c)) / a
            height = s0 + side * s1
            side = np.where((side > 0) & (height > 0) & (height < length), side, np.inf)
        distance = np.minimum(side, _ball(offset, directions, self.radius))
        distance = np.minimum(distance, _ball(origin - self.end, directions, self.radius))
        points = _at(origin, directions, distance)
        nearest = self.start + axis * np.clip(dot(points - self.start, axis), 0, length)
        return distance, (points - nearest) / np.float32(self.radius)


@dataclass(frozen=True)
class Frustum:
    """A round body with flat ends: radius ``first`` at ``start``, ``last`` at ``end``; a cylinder or a cone, say."""

    start: np.ndarray
    end: np.ndarray
    first: float
    last: float

    def hit(self, origin: np.ndarray, directions: np.ndarray) -> Hit:
        length = np.sqrt(dot(self.end - self.start, self.end - self.start))
        axis = (self.end - self.start) / length
        slope = (self.last - self.first) / length
        offset = origin - self.start
        s0, s1 = dot(offset, axis), dot(directions, axis)
        r0, r1 = self.first + slope * s0, slope * s1
        # Squared distance from the axis less squared radius, along the ray: a t^2 + 2 b t + c.
        a = 1 - s1 * s1 - r1 * r1
        b = dot(offset, directions) - s0 * s1 - r0 * r1
        c = dot(offset, offset) - s0 * s0 - r0 * r0
        distance = np.full(np.broadcast_shapes(c.shape, s1.shape), np.inf, dtype=np.float32)
        with np.errstate(invalid="ignore", divide="ignore"):
            root = np.sqrt(b * b - a * c)
            for candidate in ((-b - root) / a, (-b + root) / a):
                height = s0 + candidate * s1
                better = (candidate > 0) & (candidate < distance) & (height >= 0) & (height <= length)
                distance = np.where(better, candidate, distance)
            points = offset + directions * distance
            height = dot(points, axis)
            normals = (points - axis * height) / (self.first + slope * height) - axis * slope
            normals /= np.sqrt(1 + slope * slope)
            for level, radius, sign in ((np.float32(0), self.first, -1), (length, self.last, 1)):
                candidate = (level - s0) / s1
                points = offset + directions * candidate
                across = dot(points, points) - level * level
                better = (candidate > 0) & (candidate < distance) & (across <= radius**2)
                distance = np.where(better, candidate, distance)
                normals = np.where(better, np.float32(sign) * axis, normals)
        return distance, np.where(np.isfinite(distance), normals, np.float32(0))


@dataclass(frozen=True)
class Convex:
    """The points p with ``normals @ p <= offsets``: normals ``[k, 3]`` of length one, offsets ``[k]``."""

    normals: np.ndarray
    offsets: np.ndarray

    def hit(self, origin: np.ndarray, directions: np.ndarray) -> Hit:
        shape = np.broadcast_shapes(origin.shape, directions.shape)[1:]
        enter = np.full(shape, -np.inf, dtype=np.float32)
        leave = np.full(shape, np.inf, dtype=np.float32)
        face = np.zeros(shape, dtype=np.int64)
        faces = self.normals.astype(np.float32)
        with np.errstate(divide="ignore", invalid="ignore"):
            for k, (normal, offset) in enumerate(zip(faces, self.offsets, strict=True)):
                speed = dot(normal, directions)
                distance = (np.float32(offset) - dot(normal, origin)) / speed
                later = (speed < 0) & (distance > enter)
                enter = np.where(later, distance, enter)
                face = np.where(later, k, face)
                leave = np.where(speed > 0, np.minimum(leave, distance), leave)
                # A ray along the face and outside of it never comes in.
                leave = np.where((speed == 0) & (distance < 0), -np.inf, leave)
        distance = np.where((enter > 0) & (enter <= leave), enter, np.float32(np.inf))
        return distance, faces.T[:, face]


def coverage(shares: Sequence[np.ndarray]) -> np.ndarray:
    """Layers uint8 ``[k, h, w]`` from the share of each colour at every sample, ``k`` arrays ``[h, w, samples]``.

    The shares at a sample sum to at most one. Layers are rounded down, so that they sum to at most 255 and mixing them
    cannot overflow.
    """
    means = np.stack([share.mean(axis=-1) for share in shares])
    return np.floor(255 * np.clip(means, 0, 1)).astype(np.uint8)


def compose(layers: np.ndarray, palette: np.ndarray) -> np.ndarray:
    """Images uint8 ``[n, h, w, 3]``: the sum of layers ``[n, k, h, w]`` times colours ``[n, k, 3]``, both uint8."""
    n, k, height, width = layers.shape
    planes = layers.reshape(n, k, height * width)
    colours = palette.astype(np.float32) / 255
    images = np.empty((n, height * width, 3), dtype=np.uint8)
    # A few images at a time, so that the floats stay in the processor's cache: four times as fast as all at once.
    for start in range(0, n, 4):
        few = slice(start, start + 4)
        mixed = planes[few].astype(np.float32).transpose(0, 2, 1) @ colours[few]
        mixed += 0.5
        images[few] = mixed
    return images.reshape(n, height, width, 3)


def _at(origin: np.ndarray, directions: np.ndarray, distance: np.ndarray) -> np.ndarray:
    """Points along the rays; a miss stays at its origin instead of going to infinity."""
    return origin + directions * np.where(np.isfinite(distance), distance, np.float32(0))


def _ball(offset: np.ndarray, directions: np.ndarray, radius: float) -> np.ndarray:
    b = dot(offset, directions)
    with np.errstate(invalid="ignore"):
        distance = -b - np.sqrt(b * b - dot(offset, offset) + np.float32(radius**2))
        return np.where(distance > 0, distance, np.float32(np.inf))
