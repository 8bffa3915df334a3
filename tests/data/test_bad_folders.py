"""Folders with bad images, and data from memory that are wanted again later."""

import numpy as np
import pytest
from PIL import Image
from PIL.PngImagePlugin import PngImageFile

from unbraid import data
from unbraid.data.files.folder import read_image
from unbraid.data.files.survey import Decoded
from unbraid.errors import UsageError
from unbraid.training import describe_data


@pytest.fixture
def pictures(tmp_path):
    """Two classes of three images; of a third class only files that are none."""
    folder = tmp_path / "pictures"
    for name, grey in (("dark", 10), ("light", 200)):
        (folder / name).mkdir(parents=True)
        for k in range(3):
            Image.new("L", (8, 8), grey + k).save(folder / name / f"{k}.png")
    (folder / "none").mkdir()
    (folder / "none" / "text.png").write_text("no image")
    whole = (folder / "dark" / "0.png").read_bytes()
    (folder / "none" / "cut.png").write_bytes(whole[:45])
    Image.new("L", (5, 6), 3).save(folder / "light" / "odd.png")
    return folder


def test_all_bad_files_are_counted_and_named_at_once(pictures):
    with pytest.raises(UsageError) as found:
        data.load(str(pictures))
    message = str(found.value)
    assert "2 of 9 files cannot be read: cut.png (" in message
    assert "text.png (" in message
    assert "6 of 8x8, 1 of 5x6): 1 have not the commonest, odd.png" in message
    assert "--data FOLDER:size=64,skip_bad=true" in message


@pytest.mark.parametrize("size", [None, 4])
def test_a_file_is_decoded_once_and_gives_what_reading_it_anew_gives(tmp_path, monkeypatch, size):
    rng = np.random.default_rng(0)
    pixels = rng.integers(0, 256, (8, 8, 4), dtype=np.uint8)
    kinds = ("1", "L", "LA", "P", "RGB", "RGBA")
    pictures = {kind: Image.fromarray(pixels).convert(kind) for kind in kinds}
    pictures["I;16"] = Image.fromarray(rng.integers(0, 65536, (8, 8), dtype=np.uint16))
    for kind, picture in pictures.items():
        picture.save(tmp_path / f"{kind.replace(';', '')}.png", **({"transparency": 7} if kind == "P" else {}))
    ends = []
    monkeypatch.setattr(PngImageFile, "load_end", lambda self, end=PngImageFile.load_end: (ends.append(1), end(self)))
    once = data.from_folder(tmp_path, size=size)
    assert len(ends) == len(once) == len(pictures)
    shape = (size or 8, size or 8, 3)
    anew = np.stack([read_image(file, shape) for file in sorted(tmp_path.iterdir())])
    np.testing.assert_array_equal(once.images(np.arange(len(once))), anew)


def test_pictures_that_find_no_room_are_read_anew(tmp_path):
    decoded = Decoded(room=3_000)
    picture = Image.new("L", (8, 8), 9)
    for name in ("first", "second"):
        decoded.keep(tmp_path / name, picture)
    assert decoded.take(tmp_path / "first") == picture
    assert decoded.take(tmp_path / "first") is None
    assert decoded.take(tmp_path / "second") is None


def test_bad_files_can_be_left_out_by_the_name_of_the_data(pictures):
    kept = data.load(f"{pictures}/:skip_bad=true")
    assert (len(kept), kept.shape, kept.classes) == (6, (8, 8, 1), ("dark", "light"))
    assert kept.images([0, 5])[:, 0, 0, 0].tolist() == [10, 202]
    assert kept.labels().tolist() == [0, 0, 0, 1, 1, 1]
    assert "left out: 2 of 9 files cannot be read" in kept.card.traps[0]
    sized = data.load(f"{pictures}/:size=4,skip_bad=true")
    assert (len(sized), sized.shape) == (7, (4, 4, 1))
    with pytest.raises(UsageError, match="2 of 9 files cannot be read"):
        data.load(f"{pictures}/:size=4")


@pytest.mark.parametrize("kind", ["images", "grid", "table", "labels", "both"])
def test_saved_data_are_the_same_when_they_are_loaded(tmp_path, kind):
    rng = np.random.default_rng(0)
    images = rng.integers(256, size=(12, 4, 4, 3), dtype=np.uint8)
    grid = np.indices((3, 4)).reshape(2, -1).T[rng.permutation(12)]
    labels = np.array(["x", "y", "z"])[rng.integers(3, size=12)]
    given = {
        "images": {},
        "grid": {"factors": grid, "names": ["a", "b"], "kinds": ["categorical", "periodic"]},
        "table": {"factors": np.column_stack([grid[:, 0] % 2, rng.random(12)]), "names": ["a", "b"]},
        "labels": {"labels": labels},
        "both": {"factors": grid, "labels": labels},
    }[kind]
    own = data.from_arrays(images, **given)
    assert own.recipe is None
    path = data.save(own, tmp_path / "mine.npz")
    again = data.load(str(path))
    leave = ("name", "recipe")
    assert {k: v for k, v in describe_data(again).items() if k not in leave} == {
        k: v for k, v in describe_data(own).items() if k not in leave
    }
    assert (again.classes, again.factor_kinds) == (own.classes, own.factor_kinds)
    assert own.recipe == again.recipe
    with pytest.raises(UsageError, match=r"must end in \.npz"):
        data.save(own, tmp_path / "mine.npy")


def test_file_names_that_are_no_text_are_read_and_named_classes_are_refused(tmp_path, monkeypatch):
    (tmp_path / "flat").mkdir()
    for number in range(3):
        Image.fromarray(np.full((8, 8), number, np.uint8)).save(tmp_path / "flat" / f"b\udcff{number}.png")
    (tmp_path / "flat" / "z\udcfe.png").write_bytes(b"no picture")
    with pytest.raises(UsageError, match=r"1 of 4 files cannot be read: z\\udcfe.png"):
        data.from_folder(tmp_path / "flat")
    monkeypatch.setattr("unbraid.data.files.folder._IN_MEMORY", 0)  # kept on disk under a digest of the names
    monkeypatch.setenv("UNBRAID_DATA", str(tmp_path / "root"))
    kept = data.from_folder(tmp_path / "flat", skip_bad=True)
    assert kept.images(range(3))[:, 0, 0, 0].tolist() == [0, 1, 2]
    assert "".join(kept.card.traps).encode()  # what stands on the card can be written down
    (tmp_path / "classes").mkdir()
    (tmp_path / "flat").rename(tmp_path / "classes" / "k\udcff")
    with pytest.raises(UsageError, match="its bytes are no UTF-8"):
        data.from_folder(tmp_path / "classes")


def test_a_large_folder_is_looked_at_once_as_long_as_no_file_changes(pictures, tmp_path, monkeypatch):
    monkeypatch.setenv("UNBRAID_DATA", str(tmp_path / "root"))
    monkeypatch.setattr("unbraid.data.files.survey.ROOM", 3_000)
    monkeypatch.setattr("unbraid.data.files.folder._IN_MEMORY", 100)
    decoded = []
    monkeypatch.setattr(PngImageFile, "load_prepare", _counting(decoded, PngImageFile.load_prepare))
    kept = data.from_folder(pictures, skip_bad=True)
    assert len(decoded) >= 2 * len(kept) - 1  # all but the first found no room
    del decoded[:]
    again = data.from_folder(pictures, skip_bad=True)
    assert decoded == []
    np.testing.assert_array_equal(again.images(range(6)), kept.images(range(6)))
    assert again.card.traps == kept.card.traps  # what was bad is told again
    with pytest.raises(UsageError, match="2 of 9 files cannot be read"):
        data.from_folder(pictures)
    Image.new("L", (8, 8), 77).save(pictures / "dark" / "0.png")
    assert data.from_folder(pictures, skip_bad=True).images([0])[0, 0, 0, 0] == 77
    assert decoded


@pytest.mark.parametrize("content", ["{", '{"files": 3}', '{"files": []}', '{"files": [{"width": "8"}]}', "{}"])
def test_a_damaged_record_of_a_folder_is_made_anew(content, pictures, tmp_path, monkeypatch):
    monkeypatch.setenv("UNBRAID_DATA", str(tmp_path / "root"))
    monkeypatch.setattr("unbraid.data.files.survey.ROOM", 3_000)
    whole = data.from_folder(pictures, skip_bad=True)
    (record,) = (tmp_path / "root" / "own").glob("*.survey.json")
    held = record.read_text()
    record.write_text(content)
    assert len(data.from_folder(pictures, skip_bad=True)) == len(whole)
    assert record.read_text() == held


def _counting(calls, function):
    def counted(self):
        calls.append(self.filename)
        return function(self)

    return counted
