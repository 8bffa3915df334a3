"""dSprites as it is rendered here, against published images, published totals and a slow renderer."""

import numpy as np
import pytest

from unbraid.data import IdentityFactors, MiniSprites, Sprites, load
from unbraid.data.files.root import find_file
from unbraid.data.render.sprite_render import ANGLES, CENTRES, SCALES, SPACE, outlines, render_sprites
from unbraid.errors import UsageError

REFERENCE = "dsprites/real_reference_images.npz"


@pytest.fixture(scope="session")
def dsprites(tmp_path_factory):
    """All images, rendered afresh: a store from an earlier version would hide a change."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("UNBRAID_DATA", str(tmp_path_factory.mktemp("dsprites")))
        data = Sprites()
    yield data
    data.store.path.unlink()


@pytest.fixture(scope="session")
def packed(dsprites):
    """The file as it is, bits ``[737280, 512]``, memory-mapped."""
    return np.load(dsprites.store.path, mmap_mode="r")


@pytest.fixture(scope="session")
def white(packed):
    """White pixels of every image, on the factor grid."""
    popcount = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).sum(axis=1, dtype=np.uint16)
    parts = [popcount[packed[start : start + 8192]].sum(axis=1) for start in range(0, len(packed), 8192)]
    return np.concatenate(parts).reshape(SPACE.sizes)


def pixels(factors, size=64):
    return np.unpackbits(render_sprites(np.asarray(factors), size), axis=1).reshape(-1, size, size)


def test_every_published_image_at_hand_is_rendered_to_the_pixel(dsprites):
    path = find_reference()
    with np.load(path, allow_pickle=False) as file:
        images = np.concatenate([file["gif_images"], file["labelled_images"]])
        latents = np.concatenate([file["gif_latents"], file["labelled_latents"]])
    assert len(images) == 332
    assert np.array_equal(pixels(latents), images)
    # The same through the data set, whose order is that of the published file: y fastest, then x, ...
    assert np.array_equal(dsprites.images(SPACE.index(latents))[..., 0], 255 * images)


def find_reference():
    path = find_file(REFERENCE)
    if path is None:
        pytest.skip(f"{REFERENCE} is under no folder of UNBRAID_DATA")
    return path


def test_the_latent_values_of_the_published_images_are_those_of_the_grid():
    with np.load(find_reference(), allow_pickle=False) as file:
        values, latents = file["labelled_values"], file["labelled_latents"]
    assert np.allclose(values[:, 2], SCALES[latents[:, 1]])
    assert np.allclose(values[:, 3], ANGLES[latents[:, 2]])
    assert np.allclose(values[:, 4:], (CENTRES[latents[:, 3:]] - 16) / 32)


def test_the_white_pixels_of_the_whole_set_add_up(white):
    # The published mean 0.042494423521889584 times 737,280 * 4,096 pixels is 128,328,862: two less.
    assert white.sum(dtype=np.int64) == 128_328_864
    assert (white.min(), white.max()) == (50, 400)


@pytest.mark.parametrize(("shape", "smallest", "largest"), [(0, 92, 369), (1, 72, 289), (2, 56, 225)])
def test_mean_white_pixels_per_shape_and_scale(white, shape, smallest, largest):
    # The areas: (2 * 9.6)^2 = 368.6, pi * 9.6^2 = 289.5, and a quarter of each at scale 0.5.
    assert white[shape, 0].mean() == pytest.approx(smallest, abs=0.6)
    assert white[shape, 5].mean() == pytest.approx(largest, abs=0.6)


def test_sprites_stay_between_rows_and_columns_2_and_61(packed):
    seen = np.unpackbits(np.bitwise_or.reduce(packed, axis=0)).reshape(64, 64)
    for axis in (0, 1):
        assert np.flatnonzero(seen.any(axis=axis))[[0, -1]].tolist() == [2, 61]


def test_the_first_and_the_last_orientation_are_18432_pairs_of_equal_images(packed):
    by_orientation = packed.reshape(18, 40, 1024, 512)
    assert np.array_equal(by_orientation[:, 0], by_orientation[:, 39])
    assert 18 * 1024 == 18_432


def test_715706_images_are_distinct(packed):
    # By a hash of 64 bits: two distinct ones among 737,280 collide with a chance of 1.5e-8.
    parts = (np.array(packed[start : start + 8192]) for start in range(0, len(packed), 8192))
    assert len({hash(image.tobytes()) for part in parts for image in part}) == 715_706


def slow_render(row, size):
    """One image by asking for every pixel centre how many edges lie to its right."""
    vertices, counts = outlines()
    u, v = vertices[row[0], : counts[row[0]]].T
    angle, scale = ANGLES[row[2]], SCALES[row[1]]
    x = CENTRES[row[3]] + scale * (u * np.cos(angle) + v * np.sin(angle))
    y = CENTRES[row[4]] + scale * (-u * np.sin(angle) + v * np.cos(angle))
    x, y = np.rint(256 * x * size / 64).astype(int), np.rint(256 * y * size / 64).astype(int)
    centre_y, centre_x = np.meshgrid(*2 * [256 * np.arange(size) + 128], indexing="ij")
    inside = np.zeros((size, size), dtype=bool)
    for x0, y0, x1, y1 in zip(x, y, np.roll(x, -1), np.roll(y, -1), strict=True):
        top, bottom = min(y0, y1), max(y0, y1)
        spans = (top < centre_y) & (centre_y <= bottom)
        side = (centre_x - x0) * (y1 - y0) - (centre_y - y0) * (x1 - x0)  # positive right of an edge going down
        inside ^= spans & (side * (1 if y1 > y0 else -1) < 0)
    return inside


@pytest.mark.parametrize("size", [64, 32, 16])
def test_bits_agree_with_a_slow_renderer(size):
    rows = SPACE.sample(60, np.random.default_rng(size))
    assert np.array_equal(pixels(rows, size), [slow_render(row, size) for row in rows])


@pytest.mark.parametrize(("size", "shape"), [(32, 0), (32, 1), (32, 2), (16, 0), (16, 1), (16, 2)])
def test_small_sprites_cover_the_same_part_of_the_image(size, shape):
    rows = SPACE.sample(5000, np.random.default_rng(0))
    rows[:, 0] = shape
    assert pixels(rows, size).mean() == pytest.approx(pixels(rows).mean(), rel=0.01)


def centroid(image):
    """Mean row and column of the white pixels."""
    return np.argwhere(image).mean(axis=0)


def test_x_moves_right_and_y_moves_down_by_a_pixel_and_a_bit():
    corner, right, down = pixels([[1, 5, 0, 0, 0], [1, 5, 0, 31, 0], [1, 5, 0, 0, 31]])
    # 31 steps of 32/31 pixel make 32 pixels.
    assert centroid(right) - centroid(corner) == pytest.approx([0, 32], abs=0.1)
    assert centroid(down) - centroid(corner) == pytest.approx([32, 0], abs=0.1)


def test_orientation_turns_counter_clockwise():
    upright, quarter = pixels([[2, 5, 0, 16, 16], [2, 5, 10, 16, 16]])
    # The lobes are heavier than the tip, so the centroid lies away from the tip: upright above the middle of the
    # bounding box, and after about a quarter turn counter-clockwise, when the tip points right, to its left.
    lean_upright, lean_quarter = (
        centroid(image) - (np.argwhere(image).min(axis=0) + np.argwhere(image).max(axis=0)) / 2
        for image in (upright, quarter)
    )
    assert lean_upright[0] < -1
    assert abs(lean_upright[1]) < 0.5
    assert lean_quarter[1] < -1
    assert abs(lean_quarter[0]) < 0.5


def test_a_loaded_grid_can_be_thinned(tmp_path, monkeypatch):
    monkeypatch.setenv("UNBRAID_DATA", str(tmp_path))
    data = load("sprites16:shape=2,orientation=::8,x=0+31")
    assert data.space.names == ("scale", "orientation", "x", "y")
    assert data.shape == (16, 16, 1)
    own = np.array([[3, 4, 1, 7]])
    assert np.array_equal(data.images(data.space.index(own))[..., 0], 255 * pixels([[2, 3, 32, 31, 7]], 16))


def test_a_size_that_is_not_offered_is_refused():
    with pytest.raises(UsageError, match="size must be one of 16, 32, 64, got 48"):
        Sprites(48)


def test_mini_sprites_are_768_distinct_black_and_white_images():
    data = MiniSprites()
    images = data.images(range(len(data)))
    assert images.shape == (768, 64, 64, 1)
    assert set(np.unique(images)) == {0, 255}
    assert len(np.unique(images.reshape(768, -1), axis=0)) == 768
    # Nothing is cut off at the border.
    assert not images[:, [0, -1]].any()
    assert not images[:, :, [0, -1]].any()


def test_mini_sprites_have_the_areas_of_their_shapes():
    data = MiniSprites()
    area = (data.images(range(768)) > 0).sum(axis=(1, 2, 3)).reshape(3, 4, 64).mean(axis=2)
    radius = np.array([5, 7, 9, 11])
    # A square of side 2r, an ellipse of half axes 1.33 r and r / 1.33, a triangle of base and height 2r.
    assert area[0] == pytest.approx(4.0 * radius**2, rel=0.03)
    assert area[1] == pytest.approx(np.pi * radius**2, rel=0.03)
    assert area[2] == pytest.approx(2.0 * radius**2, rel=0.03)


def test_identity_factors_show_the_factors_themselves():
    data = IdentityFactors((3, 5, 256))
    factors, images = data.sample(100, np.random.default_rng(0))
    assert images.shape == (100, 1, 1, 3)
    assert np.array_equal(images[:, 0, 0], factors)


@pytest.mark.parametrize("sizes", [(), (3, 257)])
def test_identity_factors_that_do_not_fit_a_byte_are_refused(sizes):
    with pytest.raises(UsageError, match="sizes must be"):
        IdentityFactors(sizes)
