"""Reading the published pickle of KITTI Masks, and refusing ones that are none."""

import os
import pickle

import numpy as np
import pytest

from unbraid.data import load
from unbraid.data.files.plain_pickle import read_plain_pickle
from unbraid.errors import UsageError


def masks(lengths: list[int]) -> list[np.ndarray]:
    """A square of 8 x 8 that moves right by a pixel per frame."""
    found = []
    for n in lengths:
        sequence = np.zeros((n, 64, 64), bool)
        for frame in range(n):
            sequence[frame, 20:28, 10 + frame : 18 + frame] = True
        found.append(sequence)
    return found


@pytest.fixture
def published(tmp_path):
    sequences = masks([5, 3, 6])
    sequences[2][2] = False  # fewer than 30 pixels: the track splits here
    latents = [np.zeros((len(s), 3)) for s in sequences]
    path = tmp_path / "kitti_peds_v2.pickle"
    path.write_bytes(pickle.dumps({"pedestrians": sequences, "pedestrians_latents": latents}))
    return path


def test_masks_and_their_measured_factors_come_from_the_file(published):
    data = load("kitti-masks", source=str(published), augment=0)
    assert data.tracks.lengths.tolist() == [5, 3, 2, 3]
    assert data.factors([0, 4]).tolist() == [[13.5, 23.5, 64], [17.5, 23.5, 64]]
    assert np.unique(data.tracks.increments(), axis=0).tolist() == [[1, 0, 0]]
    assert data.images([0]).sum() == 64 * 255
    assert data.card.stands_in_for == ""


@pytest.mark.parametrize("protocol", [0, 2, 4, 5])
def test_arrays_survive_every_protocol(tmp_path, protocol):
    content = {"a": [np.arange(6.0).reshape(2, 3), np.array([True, False])], "b": (np.float64(2.5), 7, "text")}
    path = tmp_path / "plain.pickle"
    path.write_bytes(pickle.dumps(content, protocol=protocol))
    found = read_plain_pickle(path)
    assert (found["a"][0] == content["a"][0]).all()
    assert found["a"][1].dtype == bool
    assert found["b"] == (2.5, 7, "text")


class Malicious:
    """Asks the reader to make a file."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


class SneakyArray(np.ndarray):
    pass


@pytest.mark.parametrize("protocol", [0, 2, 4])
def test_a_malicious_pickle_runs_nothing(tmp_path, protocol):
    trap = tmp_path / "trap"
    path = tmp_path / "evil.pickle"
    path.write_bytes(pickle.dumps({"pedestrians": [Malicious(trap)]}, protocol=protocol))
    with pytest.raises(UsageError, match=r"asks to run posix\.mkdir"):
        load("kitti-masks", source=str(path))
    assert not trap.exists()
    pickle.loads(path.read_bytes())  # the ordinary reader walks into it
    assert trap.exists()


@pytest.mark.parametrize(
    "text",
    [
        b"cbuiltins\neval\n(S'1+1'\ntR.",
        b"cnumpy\nload\n(S'x'\ntR.",
        b"cnumpy.core.multiarray\nfromfile\n(S'x'\ntR.",
        b"c_codecs\ndecode\n(S'x'\ntR.",
        b"(S'x'\nios\nsystem\n.",
    ],
)
def test_names_beside_the_few_are_refused(tmp_path, text):
    path = tmp_path / "names.pickle"
    path.write_bytes(text)
    with pytest.raises(UsageError, match="asks to run"):
        read_plain_pickle(path)


def test_array_subclasses_codecs_and_objects_are_refused(tmp_path):
    path = tmp_path / "sub.pickle"
    path.write_bytes(pickle.dumps(np.zeros(3).view(SneakyArray)))
    with pytest.raises(UsageError, match="asks to run"):
        read_plain_pickle(path)
    path.write_bytes(b"c_codecs\nencode\n(S'x'\nS'rot13'\ntR.")
    with pytest.raises(UsageError, match="codec 'rot13'"):
        read_plain_pickle(path)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (pickle.dumps([1, 2]), "no list of sequences under 'pedestrians'"),
        (pickle.dumps({"pedestrians": [np.zeros((3, 32, 32))]}), "should be .frames, 64, 64."),
        (b"no pickle at all", "no whole pickle"),
        (pickle.dumps({"pedestrians": masks([3])})[:-500], "no whole pickle"),
    ],
)
def test_other_files_are_named(tmp_path, content, words):
    path = tmp_path / "other.pickle"
    path.write_bytes(content)
    with pytest.raises(UsageError, match=words):
        load("kitti-masks", source=str(path))


def test_without_the_file_the_error_says_where_to_get_it(tmp_path, monkeypatch):
    monkeypatch.setenv("UNBRAID_DATA", str(tmp_path))
    with pytest.raises(UsageError, match=r"zenodo.org/record/3931823(.|\n)*unbraid data get kitti-masks"):
        load("kitti-masks")
