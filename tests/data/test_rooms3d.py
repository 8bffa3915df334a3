"""What the six factors do to the pictures."""

import numpy as np
import pytest

from unbraid.data import load
from unbraid.data.sets.rooms3d import HUES, ORIENTATIONS, ROOM, SCALES, SHAPES, SKY, Rooms3D, camera, render_room
from unbraid.errors import UsageError

FLOOR, WALL, OBJECT, SKY_LAYER, HIGHLIGHT = range(5)


@pytest.fixture(scope="module")
def rooms(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("UNBRAID_DATA", str(tmp_path_factory.mktemp("data")))
        yield load("rooms3d-32")


def sweep(data, factor, **fixed):
    """Images over all values of one factor."""
    space = data.space
    base = {"floor_hue": 0, "wall_hue": 3, "object_hue": 6, "scale": 5, "shape": 2, "orientation": 7, **fixed}
    rows = np.tile([base[name] for name in space.names], (space.sizes[space.names.index(factor)], 1))
    rows[:, space.names.index(factor)] = np.arange(len(rows))
    return data.images(space.index(rows)).astype(int)


def layers(data, scale=5, shape=2, orientation=7):
    return data._store.images(np.array([scale * 60 + shape * 15 + orientation]))[0].astype(int)


def test_the_grid_is_that_of_shapes3d(rooms):
    assert rooms.space.names == ("floor_hue", "wall_hue", "object_hue", "scale", "shape", "orientation")
    assert rooms.space.sizes == (10, 10, 10, 8, 4, 15)
    assert len(rooms) == 480_000
    assert rooms.shape == (32, 32, 3)
    assert SCALES[[0, -1]].tolist() == [0.75, 1.25]
    assert ORIENTATIONS[[0, 7, -1]].tolist() == [-30, 0, 30]


def test_the_same_index_gives_the_same_bytes_alone_or_in_a_batch(rooms):
    index = np.random.default_rng(0).integers(len(rooms), size=21)
    batch = rooms.images(index)
    assert batch.dtype == np.uint8
    assert np.array_equal(batch, np.concatenate([rooms.images([i]) for i in index]))


def test_rendering_again_gives_the_stored_bytes(rooms):
    again = render_room(SCALES[3], SHAPES[1], ORIENTATIONS[2], 32)
    assert np.array_equal(again, layers(rooms, 3, 1, 2))


def test_hues_are_ten_different_steps_of_the_circle():
    assert len({tuple(hue) for hue in HUES.tolist()}) == 10
    assert HUES[0].tolist() == [255, 20, 20]  # red at saturation 0.92: 255 * (1 - 0.92)


@pytest.mark.parametrize(("factor", "layer"), [("floor_hue", FLOOR), ("wall_hue", WALL), ("object_hue", OBJECT)])
def test_a_hue_changes_exactly_the_pixels_that_show_its_surface(rooms, factor, layer):
    images = sweep(rooms, factor)
    spread = np.ptp(images, axis=0).max(axis=-1)
    shown = layers(rooms)[layer]
    # Over the ten hues each channel runs from 20 to 255, so a share s of 255 changes a pixel by 235 s / 255.
    assert np.abs(spread - shown * 235 / 255).max() <= 1
    assert (shown > 0).sum() > 40


def test_every_pixel_shows_a_surface_and_no_more_than_one_in_all(rooms):
    every = rooms._store.images(np.arange(480)).astype(int)
    assert every.sum(axis=1).max() <= 255
    assert every.sum(axis=1).min() > 30


@pytest.mark.parametrize("shape", range(4))
def test_the_object_grows_with_scale(rooms, shape):
    area = [(layers(rooms, scale, shape)[[OBJECT, HIGHLIGHT]].sum(axis=0) > 60).sum() for scale in range(8)]
    assert (np.diff(area) > 0).all()
    # Area grows as the square of size, (1.25 / 0.75)^2 = 2.8, and a little more as it comes nearer.
    assert 2.2 < area[-1] / area[0] < 4


def test_shapes_differ_in_outline(rooms):
    outlines = [layers(rooms, 5, shape)[OBJECT] > 60 for shape in range(4)]
    for a in range(4):
        for b in range(a):
            assert (outlines[a] ^ outlines[b]).sum() >= 8


@pytest.mark.parametrize("shape", range(4))
def test_opposite_orientations_mirror_the_outlines(rooms, shape):
    # The cube turns with the room, and its outline at 45 + t degrees is the mirror image of that at 45 - t.
    for orientation in (0, 3):
        left, right = layers(rooms, 4, shape, orientation), layers(rooms, 4, shape, 14 - orientation)
        for layer in (FLOOR, WALL, SKY_LAYER):
            assert ((left[layer] > 0) ^ (right[layer][:, ::-1] > 0)).sum() <= 2


def test_the_corner_of_the_room_moves_right_as_the_camera_orbits(rooms):
    corner = np.array([[-ROOM], [2.0], [-ROOM]])
    found, predicted = [], []
    for orientation in range(15):
        column, row = camera(ORIENTATIONS[orientation]).project(corner, 32)[:, 0]
        wall = layers(rooms, 0, 2, orientation)[WALL][int(row)]
        found.append(np.diff(wall).argmax() + 1)  # from the dark wall on the left to the light one on the right
        predicted.append(column)
    assert np.abs(np.array(found) - predicted).max() <= 1.5
    assert found[-1] - found[0] > 10


def test_orientation_shows_for_round_shapes_too(rooms):
    images = sweep(rooms, "orientation", shape=2)
    assert (np.abs(np.diff(images, axis=0)).max(axis=(1, 2, 3)) > 20).all()


def test_sky_is_the_same_over_every_room(rooms):
    top = rooms.sample(200, np.random.default_rng(0))[1][:, 0].astype(int)
    assert np.ptp(top, axis=0).max() <= 1
    assert np.abs(top - SKY).max() < 15  # the sky darkens a little towards the horizon


def test_a_size_out_of_range_is_refused():
    with pytest.raises(UsageError, match=r"8\.\.256"):
        Rooms3D(size=4)


def test_the_card_says_what_it_stands_in_for(rooms):
    assert rooms.card.stands_in_for.startswith("Shapes3D")
