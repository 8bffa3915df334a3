"""Forward kinematics, occlusion, and what the seven factors do to the pictures."""

import numpy as np
import pytest

from unbraid.data import load
from unbraid.data.registry import entry
from unbraid.data.render.arm3d_scene import CAMERAS, OBJECTS, RADII, Stage, object_solid, parts, pose
from unbraid.data.render.raycast import Sphere, unit, vector
from unbraid.data.sets.arm3d import BACKGROUNDS, COLOURS, Arm3D
from unbraid.errors import UsageError

FULL = slice(0, 64)


@pytest.fixture(scope="module")
def arm(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("UNBRAID_DATA", str(tmp_path_factory.mktemp("data")))
        yield load("arm3d", size=48, steps=6)


@pytest.fixture(scope="module")
def stages():
    return [Stage(camera, 64, 2) for camera in CAMERAS]


def object_share(stage, held, name, radius):
    """The object's share of every pixel, occlusion by the arm included."""
    behind = stage.view(held)
    return stage.place(object_solid(name, radius, held), behind, FULL, FULL)[2].mean(axis=-1)


def rows_with(data, rng, n, **fixed):
    rows = data.space.sample(n, rng)
    for name, value in fixed.items():
        rows[:, data.space.names.index(name)] = value
    return rows


def test_the_grid_is_that_of_mpi3d():
    space = entry("arm3d").space
    assert space.sizes == (6, 6, 2, 3, 3, 40, 40)
    assert len(space) == 1_036_800
    assert list(COLOURS) == ["white", "green", "red", "blue", "brown", "olive"]
    assert OBJECTS == ("cone", "cube", "cylinder", "hexagonal", "pyramid", "sphere")
    assert list(BACKGROUNDS) == ["purple", "sea green", "salmon"]


def test_fewer_steps_give_a_smaller_grid(arm):
    assert arm.space.sizes == (6, 6, 2, 3, 3, 6, 6)
    assert arm.shape == (48, 48, 3)


def test_the_same_index_gives_the_same_bytes_alone_or_in_a_batch(arm):
    index = np.random.default_rng(0).integers(len(arm), size=13)
    assert np.array_equal(arm.images(index), np.concatenate([arm.images([i]) for i in index]))


def test_the_wrist_is_where_two_joints_put_it():
    # Level and towards the camera: z = 0.55 + 0.95, y = 1 + 0.5. A quarter turn moves the same reach onto x.
    assert pose(0, 0).wrist.ravel() == pytest.approx([0, 1.5, 1.5], abs=1e-6)
    assert pose(90, 0).wrist.ravel() == pytest.approx([1.5, 1.5, 0], abs=1e-6)
    # Raised by 30 degrees the forearm reaches 0.95 cos 30 outwards and 0.95 sin 30 upwards.
    assert pose(-90, 30).wrist.ravel() == pytest.approx([-0.55 - 0.95 * 3**0.5 / 2, 1.975, 0], abs=1e-6)


@pytest.mark.parametrize("held", [pose(h, v) for h, v in ((-90, -50), (-35, 10), (0, 0), (60, 70))])
def test_the_frame_of_the_hand_is_a_rotation_along_the_forearm(held):
    assert held.axes.T @ held.axes == pytest.approx(np.eye(3), abs=1e-6)
    assert np.linalg.det(held.axes) == pytest.approx(1, abs=1e-6)
    assert held.axes[:, 2] * 0.95 == pytest.approx((held.wrist - held.elbow).ravel(), abs=1e-6)


@pytest.mark.parametrize("camera", range(3))
def test_the_object_appears_where_the_kinematics_project_it(stages, camera):
    for horizontal, vertical in ((-90, 0), (-40, 60), (10, -50), (75, 20)):
        held = pose(horizontal, vertical)
        share = object_share(stages[camera], held, "sphere", RADII[1])
        rows, columns = np.indices(share.shape) + 0.5
        middle = np.array([(share * columns).sum(), (share * rows).sum()]) / share.sum()
        expected = CAMERAS[camera].project(held.centre(RADII[1]).astype(np.float64), 64)[:, 0]
        # Light falls from above and the hand hides a rim, so the weighted middle is off by a fraction of the radius.
        assert np.abs(middle - expected).max() < 1.5


def test_a_body_in_front_of_the_arm_hides_it_and_one_behind_is_hidden(stages):
    stage, held = stages[2], pose(0, 0)  # the arm points at the low camera
    behind = stage.view(held)
    column, row = (CAMERAS[2].project(held.shoulder.astype(np.float64), 64)[:, 0]).astype(int)
    to_camera = unit(vector(*CAMERAS[2].position) - held.shoulder)
    front = stage.place(Sphere(held.shoulder + 3 * to_camera, 0.2), behind, FULL, FULL)
    back = stage.place(Sphere(held.shoulder - to_camera, 0.2), behind, FULL, FULL)
    assert front[2][row, column].min() > 0
    assert front[1][row, column].max() < 0.31  # nothing neutral is left but the highlight
    assert back[2][row, column].max() == 0


def test_depth_of_the_view_is_the_least_over_all_parts(stages):
    # Culling by bounding boxes must not cut anything off: cast every part at every ray.
    for stage in stages:
        for held in (pose(-90, 70), pose(5, -50), pose(50, 10)):
            nearest = stage.room.depth
            for solid, *_ in parts(held):
                distance = solid.hit(stage.origin, stage.rays.reshape(3, -1))[0].reshape(nearest.shape)
                nearest = np.minimum(nearest, distance)
            assert np.array_equal(stage.view(held).depth, nearest)


def test_every_object_is_whole_in_its_window_and_seen(arm):
    shown = arm._objects.images(np.arange(len(arm._objects)))[:, 2].astype(int)
    assert (shown.sum(axis=(1, 2)) / 255).min() > 2  # in pixels of 48 x 48
    edges = np.concatenate([shown[:, [0, -1]].ravel(), shown[:, :, [0, -1]].ravel()])
    assert edges.max() == 0


def test_object_colour_changes_only_the_object_and_background_only_the_band(arm):
    rows = rows_with(arm, np.random.default_rng(1), 40, object_color=0, background_color=0)
    base = arm.images(arm.space.index(rows)).astype(int)
    for name, share_of_picture in (("object_color", (0.002, 0.06)), ("background_color", (0.1, 0.5))):
        other = rows.copy()
        other[:, arm.space.names.index(name)] = 2
        changed = (arm.images(arm.space.index(other)) != base).any(axis=-1)
        share = changed.mean(axis=(1, 2))
        assert share_of_picture[0] < share.min()
        assert share.max() < share_of_picture[1]


def test_shape_and_size_change_nothing_away_from_the_object(arm):
    rows = rows_with(arm, np.random.default_rng(2), 40, object_shape=1, object_size=1)
    base = arm.images(arm.space.index(rows)).astype(int)
    rows[:, 1:3] = 5, 0
    changed = (arm.images(arm.space.index(rows)) != base).any(axis=-1)
    for image in changed:
        y, x = np.nonzero(image)
        assert max(np.ptp(y), np.ptp(x)) < arm._window


def test_large_objects_are_larger(arm):
    shown = arm._objects.images(np.arange(len(arm._objects)))[:, 2].astype(int).sum(axis=(1, 2))
    small, large = shown.reshape(-1, 2).T
    # Area goes with the square of the radius, (0.48 / 0.34)^2 = 2.0, and a larger object reaches further out.
    assert (large > small).all()
    assert 1.7 < large.sum() / small.sum() < 2.4


def test_camera_height_moves_the_band(stages):
    # Looking down, the foot of the backdrop climbs towards the top of the picture.
    feet = [np.flatnonzero(stage.room.band[:, 0].mean(axis=-1) > 0.3).max() for stage in stages]
    assert feet[0] + 8 < feet[1]
    assert feet[1] + 8 < feet[2]


def test_no_two_poses_or_objects_look_the_same(arm):
    arms = arm._arms.images(np.arange(len(arm._arms)))
    assert len({image.tobytes() for image in arms}) == len(arms)
    held = arm._objects.images(np.arange(len(arm._objects))).reshape(-1, 12, 3 * arm._window**2)
    assert all(len({one.tobytes() for one in objects}) == 12 for objects in held)


def test_neighbouring_steps_of_the_full_grid_differ(stages):
    # The least visible step: at the end of the horizontal axis the arm moves along the line of sight.
    first, second = (stages[2].view(pose(h, 0)).neutral.mean(axis=-1) for h in np.linspace(-90, 90, 40)[:2])
    assert np.abs(first - second).max() > 5 / 255


def test_wrong_options_are_refused():
    with pytest.raises(UsageError, match="size"):
        Arm3D(size=8)
    with pytest.raises(UsageError, match="steps"):
        Arm3D(steps=1)
