"""The published archive: read without unpickling, checked, converted once, compared."""

import numpy as np
import pytest

from unbraid.data import FactorSpace, compare_dsprites, load
from unbraid.data.files.dsprites_file import DSpritesFile
from unbraid.data.files.root import find_file
from unbraid.data.render.sprite_render import SPACE, render_sprites
from unbraid.errors import UsageError

SMALL = FactorSpace(("shape", "scale", "x"), (3, 2, 4), ("categorical", "ordinal", "ordinal"))
SIZE = 8


@pytest.fixture(autouse=True)
def root(tmp_path, monkeypatch):
    monkeypatch.setenv("UNBRAID_DATA", str(tmp_path / "root"))
    return tmp_path / "root"


class Trap:
    """Unpickling this writes a file."""

    def __init__(self, path):
        self.path = str(path)

    def __reduce__(self):
        return open, (self.path, "w")


def images():
    return np.random.default_rng(0).integers(0, 2, (len(SMALL), SIZE, SIZE), dtype=np.uint8)


def latents():
    return np.hstack([np.zeros((len(SMALL), 1), dtype=np.int64), SMALL.factors(np.arange(len(SMALL)))])


def write(path, **changes):
    """The members of the published archive, compressed, with its pickled metadata."""
    members = {
        "imgs": images(),
        "latents_classes": latents(),
        "latents_values": latents().astype(float),
        "metadata": np.array([Trap(path.with_name("sprung"))], dtype=object),
    }
    np.savez_compressed(path, allow_pickle=True, **(members | changes))
    return path


def read(path):
    return DSpritesFile(path, SMALL, SIZE)


def test_the_archive_gives_its_own_pixels(tmp_path):
    store = read(write(tmp_path / "file.npz")).store()
    assert np.array_equal(store.images(range(len(SMALL)))[..., 0], 255 * images())


def test_nothing_in_the_archive_is_unpickled(tmp_path):
    path = write(tmp_path / "file.npz")
    read(path).store()
    assert not (tmp_path / "sprung").exists()
    with np.load(path, allow_pickle=True) as file:
        file["metadata"][0].close()
    assert (tmp_path / "sprung").exists()  # the trap works


def test_the_archive_is_converted_once_and_another_one_again(tmp_path, root):
    first = read(write(tmp_path / "file.npz")).store()
    assert read(tmp_path / "file.npz").store().path == first.path
    other = read(write(tmp_path / "file.npz", imgs=1 - images())).store()
    assert np.array_equal(other.images([3]), 255 - first.images([3]))
    assert first.path.parent.parent == root / "dsprites"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"imgs": images()[:-1]}, r"'imgs' is uint8 \(23, 8, 8\), expected uint8 \(24, 8, 8\)"),
        ({"imgs": images().astype(float)}, r"'imgs' is float64"),
        ({"imgs": images() * 2}, r"holds the value 2, expected only 0 and 1"),
        ({"latents_classes": latents()[:, 1:]}, r"'latents_classes' is int64 \(24, 3\), expected int \(24, 4\)"),
        ({"latents_classes": latents()[::-1]}, r"image 0 has latents_classes \[0, 2, 1, 3\], expected \[0, 0, 0, 0\]"),
        ({"latents_classes": latents() + np.array([1, 0, 0, 0])}, r"image 0 has latents_classes \[1, 0, 0, 0\]"),
        ({"imgs": np.array([[[{}]]], dtype=object)}, r"Python objects"),
    ],
)
def test_an_archive_that_is_something_else_is_refused(tmp_path, root, changes, message):
    path = write(tmp_path / "file.npz", **changes)
    with pytest.raises(UsageError, match=message):
        read(path).store()
    assert not list(root.rglob("*.npy"))
    assert not list(root.rglob("*.part"))


def test_a_missing_member_is_named(tmp_path):
    np.savez_compressed(tmp_path / "file.npz", imgs=images())
    with pytest.raises(UsageError, match="no array 'latents_classes', only: imgs"):
        read(tmp_path / "file.npz")


def test_a_cut_or_flipped_archive_is_refused(tmp_path, root):
    path = write(tmp_path / "file.npz")
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(UsageError, match=r"file\.npz (cannot be read|is cut short)"):
        read(path)
    np.savez(path, imgs=images(), latents_classes=latents())
    data = bytearray(path.read_bytes())
    data[300] ^= 1  # a pixel of the first image; the archive's checksum tells
    path.write_bytes(data)
    with pytest.raises(UsageError, match=r"file\.npz (cannot be read|is cut short)"):
        read(path).store()
    assert not list(root.rglob("*.json"))


def test_a_compressed_stream_that_makes_no_sense_is_refused(tmp_path):
    path = write(tmp_path / "file.npz")
    data = bytearray(path.read_bytes())
    data[60:260] = bytes(200)
    path.write_bytes(data)
    with pytest.raises(UsageError, match=r"file\.npz (cannot be read|is cut short)"):
        read(path).store()


def test_a_source_that_is_missing_is_named(tmp_path):
    with pytest.raises(UsageError, match=r"no file .*nowhere\.npz"):
        load("dsprites", source=str(tmp_path / "nowhere.npz"))


def test_a_source_of_another_size_is_refused(tmp_path):
    with pytest.raises(UsageError, match=r"'imgs' is uint8 \(24, 8, 8\), expected uint8 \(737280, 64, 64\)"):
        load("dsprites", source=write(tmp_path / "file.npz"))


def write_pairs(path, flipped=()):
    """Twenty images of the grid with their latents, the given ones with a pixel turned over."""
    rows = SPACE.sample(20, np.random.default_rng(0))
    pixels = np.unpackbits(render_sprites(rows), axis=1).reshape(-1, 64, 64)
    for image in flipped:
        pixels[image, 5, 7] ^= 1
    np.savez(path, some_images=pixels[:12], some_latents=rows[:12], more_images=pixels[12:], more_latents=rows[12:])
    return SPACE.index(rows)


def test_comparing_counts_what_differs(tmp_path):
    path = tmp_path / "pairs.npz"
    index = write_pairs(path, flipped=(3, 15))
    assert compare_dsprites(path) == {
        "images": 20,
        "differing_images": 2,
        "differing_pixels": 2,
        "first": [index[3], index[15]],
    }


def test_comparing_with_itself_finds_nothing(tmp_path):
    write_pairs(tmp_path / "pairs.npz")
    assert compare_dsprites(tmp_path / "pairs.npz")["differing_images"] == 0


def test_comparing_with_the_published_images_at_hand_finds_nothing(monkeypatch):
    monkeypatch.undo()
    path = find_file("dsprites/real_reference_images.npz")
    if path is None:
        pytest.skip("dsprites/real_reference_images.npz is under no folder of UNBRAID_DATA")
    assert compare_dsprites(path) == {"images": 332, "differing_images": 0, "differing_pixels": 0, "first": []}


def test_comparing_with_something_else_says_what_is_expected(tmp_path):
    np.savez(tmp_path / "other.npz", faces=np.zeros(3))
    with pytest.raises(UsageError, match="holds faces; expected 'imgs' and 'latents_classes'"):
        compare_dsprites(tmp_path / "other.npz")
