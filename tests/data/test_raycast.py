"""Intersections against marching along the ray, and the mixing of colours."""

import numpy as np
import pytest

from unbraid.data.render.arm3d_scene import OBJECTS, object_solid, pose
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

CUBE = Convex(np.concatenate([np.eye(3), -np.eye(3)]), np.full(6, 0.5))
A, B = np.array([-0.4, -0.3, 0.2]), np.array([0.5, 0.4, 0.1])


def _along(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Height above A along AB and distance from that line."""
    axis = (B - A) / np.linalg.norm(B - A)
    height = axis @ (points - A[:, None])
    return height, np.linalg.norm(points - A[:, None] - np.outer(axis, height), axis=0)


def _in_capsule(points: np.ndarray) -> np.ndarray:
    length = np.linalg.norm(B - A)
    height, across = _along(points)
    beyond = height - np.clip(height, 0, length)
    return np.hypot(across, beyond) <= 0.3


def _in_frustum(points: np.ndarray) -> np.ndarray:
    length = np.linalg.norm(B - A)
    height, across = _along(points)
    return (height >= 0) & (height <= length) & (across <= 0.5 - 0.4 * height / length)


CASES = {
    "sphere": (Sphere(vector(*A), 0.6), lambda p: np.linalg.norm(p - A[:, None], axis=0) <= 0.6),
    "cube": (CUBE, lambda p: np.abs(p).max(axis=0) <= 0.5),
    "capsule": (Capsule(vector(*A), vector(*B), 0.3), _in_capsule),
    "frustum": (Frustum(vector(*A), vector(*B), 0.5, 0.1), _in_frustum),
}


def random_rays(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Origins on a sphere of radius 3, aimed near the middle."""
    rng = np.random.default_rng(0)
    origins = 3 * unit(rng.normal(size=(3, n)))
    return origins.astype(np.float32), unit(rng.uniform(-1, 1, size=(3, n)) - origins).astype(np.float32)


@pytest.mark.parametrize("name", CASES)
def test_the_nearest_hit_is_where_a_march_along_the_ray_enters(name):
    solid, inside = CASES[name]
    origins, directions = random_rays(400)
    distance, normals = solid.hit(origins, directions)
    steps = np.arange(0, 5, 0.002)
    points = origins[:, :, None] + directions[:, :, None] * steps
    within = inside(points.reshape(3, -1).astype(np.float64)).reshape(400, -1)
    marched = np.where(within.any(axis=1), steps[within.argmax(axis=1)], np.inf)
    grazing = within.sum(axis=1) < 5  # a march may step over a corner that the formula sees
    assert np.array_equal(np.isfinite(distance) | grazing, np.isfinite(marched) | grazing)
    both = np.isfinite(distance) & np.isfinite(marched)
    assert both.sum() > 50
    assert np.abs(distance[both] - marched[both]).max() < 0.0021
    # Normals point out of the body against the ray, have length one, and a step along them leaves the body.
    hits = (origins + directions * np.where(both, distance, 0))[:, both].astype(np.float64)
    assert np.abs(dot(normals, normals)[both] - 1).max() < 1e-4
    assert dot(normals, directions)[both].max() < 1e-3
    assert not inside(hits + 1e-3 * normals[:, both]).any()
    assert np.mean(inside(hits - 1e-3 * normals[:, both])) > 0.99


def test_a_ray_through_the_centres_meets_the_known_faces():
    origin, down = vector(0, 5, 0), vector(0, -1, 0)
    solids: list[tuple[Solid, float]] = [
        (Sphere(vector(0, 1, 0), 0.5), 3.5),
        (CUBE, 4.5),
        (Frustum(vector(0, 0, 0), vector(0, 2, 0), 1.0, 0.0), 3.0),  # the tip of a cone
        (Capsule(vector(0, 0, 0), vector(0, 2, 0), 0.25), 2.75),
    ]
    for solid, expected in solids:
        assert solid.hit(origin, down)[0] == pytest.approx(expected, abs=1e-3)


@pytest.mark.parametrize("name", OBJECTS)
def test_objects_stay_in_their_ball_and_rays_away_from_it_miss(name):
    held = pose(30, 20)
    centre = held.centre(0.5)
    solid = object_solid(name, 0.5, held)
    origins, directions = random_rays(2000)
    origins = origins + centre
    distance, _ = solid.hit(origins, directions)
    hit = np.isfinite(distance)
    points = (origins + directions * np.where(hit, distance, 0))[:, hit] - centre
    assert np.linalg.norm(points, axis=0).min() > 0.5 * 0.3
    assert np.linalg.norm(points, axis=0).max() <= 0.5 * 1.15
    assert not np.isfinite(solid.hit(origins, -directions)[0]).any()


def test_projecting_a_point_on_a_ray_gives_the_pixel_of_the_ray():
    camera = Camera((1.0, 3.0, 5.0), (0.0, 1.0, 0.0), 0.7)
    origin, directions = camera.rays(8, 1)
    columns, rows = camera.project((origin + 4 * directions).astype(np.float64), 8)
    expected = np.arange(8) + 0.5
    assert np.allclose(columns.reshape(8, 8), expected[None, :], atol=1e-4)
    assert np.allclose(rows.reshape(8, 8), expected[:, None], atol=1e-4)


def test_composing_mixes_colours_by_their_coverage():
    # Half a pixel of red (200, 0, 0) in full light and half of white in half light:
    # 127/255 * 200 + 63/255 * 255 = 162.6 and 63.
    samples = np.array([1.0, 0.0]).reshape(1, 1, 2)
    layers = coverage([samples, 0.5 * (1 - samples)])
    assert layers.ravel().tolist() == [127, 63]
    palette = np.array([[[200, 0, 0], [255, 255, 255]]], dtype=np.uint8)
    assert compose(layers[None], palette).ravel().tolist() == [163, 63, 63]


def test_full_layers_never_overflow():
    rng = np.random.default_rng(0)
    shares = rng.dirichlet(np.ones(5), size=(16, 16, 4))
    layers = coverage(list(np.moveaxis(shares, -1, 0)))
    white = np.full((1, 5, 3), 255, dtype=np.uint8)
    images = compose(layers[None], white)
    assert images.min() >= 250  # five layers rounded down lose less than one step each
