"""Abstract sprites, and loaders of sets whose files are the user's."""

import numpy as np
import pytest
from PIL import Image

from unbraid.data import FactorSpace, load
from unbraid.data.arrays import HeldArray
from unbraid.data.dataset import Card
from unbraid.data.sets.abstract_sprites import BACKGROUNDS, OBJECTS, AbstractSprites
from unbraid.data.sets.chairs import chair_files, load_chairs
from unbraid.data.sets.numbered_renders import FALCOR3D, ISAAC3D, open_numbered
from unbraid.data.sets.photo_sprites import PhotoSprites, load_photo_sprites
from unbraid.errors import UsageError


def test_all_thirty_pairs_of_colours_are_exact():
    sprites = load("sprites16")
    data = AbstractSprites(sprites)
    assert data.space.sizes == (5, 6, 3, 6, 32, 32)
    pairs = np.array([[b, c, 0, 5, 16, 16] for b in range(5) for c in range(6)])
    images = data.images(data.space.index(pairs), np.random.default_rng(0))
    for (background, colour), image in zip(pairs[:, :2], images, strict=True):
        assert (image[0, 0] == BACKGROUNDS[background]).all()
        assert tuple(image[8, 8]) == OBJECTS[colour]


def test_the_mask_is_that_of_the_sprite_at_the_orientation_drawn():
    sprites = load("sprites16")
    data = AbstractSprites(sprites)
    index = data.space.index(np.array([[0, 2, 1, 4, 3, 20], [4, 1, 2, 0, 31, 0]]))
    found = data.images(index, np.random.default_rng(7))
    turn = np.random.default_rng(7).integers(40, size=2)
    for image, place, which in zip(found, data.space.factors(index), turn, strict=True):
        inside = dict(zip(data.space.names, place, strict=True)) | {"orientation": which}
        at = sprites.space.index(np.array([[inside[name] for name in sprites.space.names]]))
        mask = sprites.images(at)[0].astype(float) / 255
        expected = mask * np.array(OBJECTS[place[1]]) + (1 - mask) * BACKGROUNDS[place[0]]
        np.testing.assert_allclose(image, expected, atol=0.51)


def test_orientations_need_a_generator_and_sprites_the_right_factors():
    with pytest.raises(UsageError, match="pass rng"):
        AbstractSprites(load("sprites16")).images([0])
    with pytest.raises(UsageError, match="factors of dSprites"):
        AbstractSprites(load("mini-sprites"))


def test_numbers_of_files_are_points_of_the_grids():
    assert FALCOR3D.index(np.array([[4, 5, 5, 5, 5, 5, 5]]))[0] == 233_279
    assert ISAAC3D.index(np.array([[2, 7, 4, 3, 3, 3, 5, 3, 3]]))[0] == 737_279
    for space in (FALCOR3D, ISAAC3D):
        some = np.random.default_rng(0).integers(len(space), size=1000)
        np.testing.assert_array_equal(space.index(space.factors(some)), some)


def write(path, value, size=8):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(np.full((size, size, 3), value, np.uint8)).save(path)


def test_numbered_files_are_read_in_their_order_and_a_missing_one_is_named(tmp_path):
    space = FactorSpace(("a", "b"), (2, 3), ("ordinal", "ordinal"))
    for number in range(6):
        write(tmp_path / f"{number:06d}.png", 10 * number)
    data = open_numbered("renders", space, tmp_path, 4, Card("renders"))
    assert data.shape == (4, 4, 3)
    assert data.images(space.index(np.array([[1, 2], [0, 1]])))[:, 0, 0, 0].tolist() == [50, 10]
    (tmp_path / "000004.png").unlink()
    with pytest.raises(UsageError, match=r"lacks 000004\.png of the 6"):
        open_numbered("renders", space, tmp_path, 4, Card("renders"))


def test_missing_sets_say_where_to_get_them(monkeypatch, tmp_path):
    monkeypatch.setenv("UNBRAID_DATA", str(tmp_path))
    for name in ("falcor3d", "isaac3d", "chairs"):
        with pytest.raises(UsageError, match="get it from"):
            load(name)


def test_chairs_are_a_grid_of_models_and_views(tmp_path):
    value = 0
    for chair in ("b2", "a1", "c3"):
        for number, (height, side) in enumerate((p, t) for p in (20, 30) for t in (11, 99, 200, 300)):
            name = f"image_{number:03d}_p{height:03d}_t{side:03d}_r096.png"
            write(tmp_path / chair / "renders" / name, value := value + 5, size=12)
    data = load_chairs(tmp_path, size=6, crop=8)
    assert data.space.sizes == (3, 2, 4)
    assert data.shape == (6, 6, 1)
    # The second chair by name, b2, was written first: its view (30, 99) is number 5 of it, 6 * 5.
    assert data.images(data.space.index(np.array([[1, 1, 1]])))[0, 0, 0, 0] == 30
    next(tmp_path.glob("c3/renders/*p030_t099*")).unlink()
    with pytest.raises(UsageError, match="lacks the view p030_t099 of chair c3"):
        chair_files(tmp_path)
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match="holds no image_"):
        chair_files(tmp_path / "empty")


def photos(count=3):
    rng = np.random.default_rng(0)
    return HeldArray(rng.integers(0, 256, size=(count, 16, 16, 3), dtype=np.uint8))


def test_sprites_stand_before_photographs_or_show_them():
    sprites, held = load("sprites16"), photos(1)
    index = np.array([5, 70_000, 400_000])
    mask = sprites.images(index).astype(float) / 255
    photo = held.images([0, 0, 0]).astype(float)
    behind = PhotoSprites(sprites, held, visibility=0.5).images(index, np.random.default_rng(0))
    np.testing.assert_allclose(behind, mask * 255 + (1 - mask) * 0.5 * photo, atol=0.51)
    inside = PhotoSprites(sprites, held, visibility=0.5, mode="foreground").images(index, np.random.default_rng(0))
    np.testing.assert_allclose(inside, mask * (0.5 * photo + 127.5), atol=0.51)


def test_invisible_photographs_leave_the_sprites_in_three_channels():
    sprites = load("sprites16")
    index = np.arange(0, 700_000, 50_000)
    for mode in ("background", "foreground"):
        shown = PhotoSprites(sprites, photos(), visibility=0.0, mode=mode).images(index, np.random.default_rng(0))
        assert (shown == np.repeat(sprites.images(index), 3, axis=3)).all()


def test_fixed_photographs_belong_to_positions_and_others_are_drawn():
    fixed = PhotoSprites(load("sprites16"), photos(), fixed=True)
    assert not fixed.stochastic
    assert (fixed.images([7, 8]) == fixed.images([8, 7])[::-1]).all()
    drawn = PhotoSprites(load("sprites16"), photos())
    assert drawn.stochastic
    with pytest.raises(UsageError, match="pass rng"):
        drawn.images([7])
    for wrong in ({"visibility": 2}, {"mode": "beside"}):
        with pytest.raises(UsageError):
            PhotoSprites(load("sprites16"), photos(), **wrong)


def test_a_folder_of_photographs_is_needed(tmp_path):
    with pytest.raises(UsageError, match="holds none"):
        load_photo_sprites(tmp_path)
