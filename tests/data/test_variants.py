"""Sprites in colour, in noise and in front of a painting."""

import hashlib

import numpy as np
import pytest
from PIL import Image

from unbraid.data import (
    IdentityFactors,
    IndependentStream,
    MiniSprites,
    PairStream,
    Wrapper,
    colored,
    entry,
    from_arrays,
    load,
    noisy,
    scream,
)
from unbraid.data.render.painting import background_picture, invented_painting
from unbraid.errors import UsageError

INDEX = np.arange(0, 768, 5)


@pytest.fixture(scope="module")
def sprites():
    return MiniSprites()


@pytest.fixture(scope="module")
def mask(sprites):
    """Where the sprite is, bool ``[n, h, w]``."""
    return sprites.images(INDEX)[..., 0] == 255


class Black(Wrapper):
    """The same grid with nothing on it, to see a background alone."""

    def images(self, index, rng=None):
        return np.zeros_like(self.base.images(index, rng))


def draw(data, seed=0):
    return data.images(INDEX, np.random.default_rng(seed))


@pytest.mark.parametrize("variant", [colored, noisy, scream])
def test_two_accesses_differ_and_the_same_seed_repeats(sprites, variant):
    data = variant(sprites)
    assert data.shape == (64, 64, 3)
    assert data.stochastic
    rng = np.random.default_rng(0)
    first, second = data.images(INDEX, rng), data.images(INDEX, rng)
    assert first.dtype == np.uint8
    assert first.shape == (len(INDEX), 64, 64, 3)
    assert (first != second).any(axis=(1, 2, 3)).all()
    assert np.array_equal(first, draw(data))


@pytest.mark.parametrize("variant", [colored, noisy, scream])
def test_a_stream_gives_the_same_bytes_for_the_same_step(sprites, variant):
    one, other = (IndependentStream(variant(sprites), batch_size=8, seed=3) for _ in range(2))
    assert np.array_equal(one(5).images, other(5).images)
    assert not np.array_equal(one(5).images, one(6).images)


@pytest.mark.parametrize("variant", [colored, noisy, scream])
def test_a_missing_generator_is_asked_for(sprites, variant):
    with pytest.raises(UsageError, match="pass rng"):
        variant(sprites).images([0])


@pytest.mark.parametrize("variant", [colored, noisy, scream])
def test_greys_and_colours_are_refused(sprites, variant):
    class Grey(Wrapper):
        def images(self, index, rng=None):
            return self.base.images(index, rng) // 2

    with pytest.raises(UsageError, match="black and white"):
        draw(variant(Grey(sprites)))
    with pytest.raises(UsageError, match="one channel; 'identity' has 1x1x2"):
        variant(IdentityFactors((2, 2)))


def test_colours_are_one_per_image_and_at_least_half_bright(sprites, mask):
    images = draw(colored(sprites))
    assert not images[~mask].any()
    for image, inside in zip(images, mask, strict=True):
        assert len(np.unique(image[inside], axis=0)) == 1
    # 0.5 of 255 is 127.5; 154 images with three channels each spread over 128..255.
    values = images[mask]
    assert values.min() >= 128
    assert values.max() > 250
    assert values.min() < 133
    assert values.mean() == pytest.approx(191.5, abs=4)


def test_noise_leaves_sprites_white_and_is_uniform_elsewhere(sprites, mask):
    images = draw(noisy(sprites))
    assert (images[mask] == 255).all()
    values = images[~mask]
    # About 1.8 million bytes: each of 256 values is expected n / 256 times, chi-squared with 255 degrees of freedom.
    counts = np.bincount(values.ravel(), minlength=256)
    chi_squared = ((counts - counts.mean()) ** 2 / counts.mean()).sum()
    assert chi_squared < 255 + 5 * np.sqrt(2 * 255)
    # Channels and neighbours are independent: correlations of the size 1 / sqrt(n) = 0.0013.
    channels = np.corrcoef(values.T)
    assert abs(channels[np.triu_indices(3, 1)]).max() < 0.007
    row = images[:, 0, :, 0].astype(float)  # no sprite reaches the first row
    assert abs(np.corrcoef(row[:, :-1].ravel(), row[:, 1:].ravel())[0, 1]) < 0.05


def test_scream_sprites_are_the_negative_of_what_is_behind_them(sprites, mask):
    images, behind = draw(scream(sprites)), draw(scream(Black(sprites)))
    assert np.array_equal(images[~mask], behind[~mask])
    assert np.array_equal(images[mask], 255 - behind[mask])


def test_scream_backgrounds_are_crops_averaged_with_a_tint(sprites):
    # The picture tells the place of its pixels: red is the row, green the column, blue nothing.
    rows, columns = np.indices((65 + 40, 65 + 90), dtype=np.uint8)
    behind = draw(scream(Black(sprites), np.stack([rows, columns, 0 * rows], axis=2))).astype(int)
    # Half of a step of one: over 63 rows 31 or 32, and flat across.
    assert np.isin(behind[:, -1, :, 0] - behind[:, 0, :, 0], (31, 32)).all()
    assert np.isin(behind[:, :, -1, 1] - behind[:, :, 0, 1], (31, 32)).all()
    assert (np.ptp(behind[..., 0], axis=2) == 0).all()
    assert (np.ptp(behind[..., 1], axis=1) == 0).all()
    # Blue is half the tint alone, 0..127 and one value per image.
    assert (np.ptp(behind[..., 2], axis=(1, 2)) == 0).all()
    assert behind[..., 2].max() <= 127
    assert behind[:, 0, 0, 2].mean() == pytest.approx(63.5, abs=12)


def test_a_picture_of_65_pixels_has_one_crop_only(sprites):
    picture = np.random.default_rng(1).integers(0, 256, (65, 65, 3), dtype=np.uint8)
    behind = draw(scream(Black(sprites), picture)).astype(int)
    # Whatever the tint t, (p + t) // 2 differs from p / 2 by t / 2 up to rounding.
    offset = behind - picture[:64, :64] / 2
    assert np.ptp(offset, axis=(1, 2)).max() <= 0.5


def test_every_offset_is_drawn_and_none_beyond(sprites):
    # Three places down, two across: 3 * 2 different corners when the tint is taken out by a difference.
    picture = np.zeros((67, 66, 3), dtype=np.uint8)
    picture[:3, :2, 0] = 40 * np.arange(6).reshape(3, 2)
    behind = draw(scream(Black(sprites), picture)).astype(int)
    corner = behind[:, 0, 0, 0] - behind[:, -1, -1, 0]
    assert set(np.unique(corner)) == {0, 20, 40, 60, 80, 100}


def save(path, width, height, mode="RGB"):
    noise = np.random.default_rng(0).integers(0, 256, (height, width, 3), dtype=np.uint8)
    Image.fromarray(noise).convert(mode).save(path)
    return path


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        ((700, 548), (350, 274)),  # halved
        ((350, 548), (175, 274)),  # the height decides
        ((100, 80), (100, 80)),  # never enlarged
        ((65, 65), (65, 65)),
        ((1000, 80), (812, 65)),  # would be 28 high: shrunk only as far as a crop allows
    ],
)
def test_pictures_are_shrunk_to_fit_and_never_too_far(tmp_path, size, expected):
    picture = background_picture(save(tmp_path / "picture.png", *size))
    assert (picture.shape[1], picture.shape[0]) == expected


@pytest.mark.parametrize("mode", ["L", "RGBA", "P"])
def test_pictures_of_other_kinds_become_rgb(tmp_path, mode):
    assert background_picture(save(tmp_path / "picture.png", 70, 80, mode)).shape == (80, 70, 3)


def test_a_picture_that_is_too_small_is_refused(tmp_path):
    with pytest.raises(UsageError, match=r"64 x 90 pixels; .* at least 65 x 65"):
        background_picture(save(tmp_path / "picture.png", 64, 90))
    with pytest.raises(UsageError, match="array is 64 x 64"):
        background_picture(np.zeros((64, 64, 3), dtype=np.uint8))


def test_what_is_no_picture_is_refused(tmp_path):
    (tmp_path / "letter.txt").write_text("Dear reader")
    with pytest.raises(UsageError, match=r"letter\.txt cannot be read"):
        background_picture(tmp_path / "letter.txt")
    with pytest.raises(UsageError, match=r"no file .*gone\.jpg"):
        background_picture(tmp_path / "gone.jpg")
    with pytest.raises(UsageError, match="background must be uint8"):
        background_picture(np.zeros((80, 80)))


def test_the_invented_painting_is_the_same_everywhere():
    painting = invented_painting()
    assert painting.shape == (274, 350, 3)
    assert (
        hashlib.sha256(painting.tobytes()).hexdigest()
        == "8455bbc958dbb245ba6010676de53bd025d8cde99cf5e08c6a64c3d875f3d0e4"
    )


def test_variants_are_loaded_by_name_with_their_options(tmp_path):
    data = load("scream-mini-sprites", background=str(save(tmp_path / "picture.png", 90, 70)), shape=1)
    assert data.space.names == ("scale", "x", "y")
    assert data.images([0], np.random.default_rng(0)).shape == (1, 64, 64, 3)
    assert data.recipe.options["shape"] == 1
    with pytest.raises(UsageError, match="'background'"):
        load("color-mini-sprites", background="picture.png")


@pytest.mark.parametrize("base", ["dsprites", "sprites32", "mini-sprites"])
@pytest.mark.parametrize("prefix", ["color", "noisy", "scream"])
def test_the_catalogue_knows_every_variant(prefix, base):
    known, plain = entry(f"{prefix}-{base}"), entry(base)
    assert known.space == plain.space
    assert known.size == plain.size[:-1] + "3"
    assert known.files == plain.files
    assert set(plain.card.traps) < set(known.card.traps)
    assert "Locatello" in known.card.citation


@pytest.mark.parametrize("variant", [colored, noisy, scream])
def test_variants_of_labelled_images_and_of_parts_keep_what_they_have(variant):
    # Digits made black and white: classes but no factors; and a part of sprites: factors but no grid.
    digits = load("digits8")
    bits = from_arrays(digits.images(np.arange(100)) > 100, labels=digits.labels(np.arange(100)))
    shown = variant(bits)
    rng = np.random.default_rng(0)
    assert shown.images([0, 1, 2], rng).shape == (3, 8, 8, 3)
    assert (shown.labels() == digits.labels(np.arange(100))).all()
    assert not shown.has_factors
    part = load("mini-sprites").part(slice(0, 400))
    moving = variant(part)
    batch = PairStream(moving, 6, 0)(0)
    assert batch.partners.shape == (6, 64, 64, 3)
    assert (batch.factors == part.factors(batch.index)).all()
    inner = moving.part([5, 3])
    assert (inner.factors([1]) == part.factors([3])).all()
    assert inner.stochastic
