"""Reading the published pickle of KITTI Masks, and refusing ones that are none."""

import os
import pickle
import subprocess
import sys

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


@pytest.mark.parametrize("protocol", range(6))
def test_columns_byte_orders_and_arrays_of_arrays_survive(tmp_path, protocol):
    ragged = np.empty(2, object)
    ragged[:] = [np.asfortranarray(np.arange(6).reshape(2, 3)), np.arange(4, dtype=">f4")]
    path = tmp_path / "plain.pickle"
    path.write_bytes(pickle.dumps({"r": ragged, "s": [ragged[0], ragged[0]]}, protocol=protocol))
    found = read_plain_pickle(path)
    assert [array.tolist() for array in found["r"]] == [array.tolist() for array in ragged]
    assert found["r"][1].dtype == ">f4"
    assert found["s"][0].tolist() == ragged[0].tolist()


def test_a_type_state_cannot_turn_bytes_into_pointers(tmp_path):
    # With the ordinary reader the state makes f8 an object type, and the array's bytes become addresses.
    state = b"(I3\nS'|'\nNNNI-1\nI-1\nI63\ntb"
    dtype = b"cnumpy\ndtype\n(S'O8'\nI0\nI1\ntR" + state
    array = b"cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\n(I0\ntS'b'\ntR"
    path = tmp_path / "pointer.pickle"
    path.write_bytes(array + b"(I1\n(I1\nt" + dtype + b"I00\nS'AAAAAAAA'\ntb.")
    with pytest.raises(UsageError, match="an array of objects that is no list"):
        read_plain_pickle(path)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"cnumpy\nndarray\n(I1000000\ntR.", r"asks for numpy\.ndarray"),  # uninitialised memory
        (b"]q\x00h\x00a.", "a list inside itself"),
        (b"]" * 50 + b"a" * 49 + b".", "lists more than 20 deep"),
        (
            b"c_codecs\nencode\nq\x01X\xe8\x03\x00\x00" + 1000 * b"x" + b"q\x02\x85q\x03R" + 9 * b"0h\x01h\x03R" + b".",
            "more bytes",
        ),
        (b"cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\n(I0\ntS'b'\ntR.", "never filled"),
        (b"R.", "empty stack"),
        (b"}]I1\ns.", "key of type list"),
        (b"I1\n", "no whole pickle"),
    ],
)
def test_tricks_are_refused(tmp_path, text, words):
    path = tmp_path / "trick.pickle"
    path.write_bytes(text)
    with pytest.raises(UsageError, match=words):
        read_plain_pickle(path)


def test_the_same_masks_over_and_over_are_refused(tmp_path):
    path = tmp_path / "bomb.pickle"
    path.write_bytes(pickle.dumps({"pedestrians": masks([3]) * 10_000}))
    with pytest.raises(UsageError, match="over and over"):
        load("kitti-masks", source=str(path))


def test_ten_thousand_damaged_files_are_read_or_refused_in_little_memory(tmp_path):
    # In a process of its own: a crash would take this one down, and the limit on memory is its own.
    path = tmp_path / "damaged.pickle"
    script = f"""
import pathlib, pickle, resource
import numpy as np
from unbraid.data.files.plain_pickle import read_plain_pickle
from unbraid.errors import UsageError
resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
path, rng = pathlib.Path({str(path)!r}), np.random.default_rng(0)
whole = {{"pedestrians": [np.eye(3, dtype=bool), np.arange(4.0)], "n": (np.float32(1), "text")}}
sources = [np.frombuffer(pickle.dumps(whole, protocol), np.uint8) for protocol in range(6)]
read = 0
for number in range(10_000):
    data = sources[number % 6].copy()
    for _ in range(rng.integers(1, 4)):
        place = rng.integers(len(data))
        kind = rng.integers(3)
        if kind == 0:
            data[place] = rng.integers(256)
        elif kind == 1:
            data = np.delete(data, slice(place, place + rng.integers(1, 9)))
        else:
            data = np.insert(data, place, data[place : place + rng.integers(1, 9)])
    path.write_bytes(data.tobytes())
    try:
        read_plain_pickle(path)
        read += 1
    except UsageError:
        pass
print("read", read)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert 100 < int(done.stdout.split()[1]) < 9_900  # some damage is harmless, most is not


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
    with pytest.raises(UsageError, match=r"asks for posix\.mkdir"):
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
    with pytest.raises(UsageError, match="asks for"):
        read_plain_pickle(path)


def test_array_subclasses_codecs_and_objects_are_refused(tmp_path):
    path = tmp_path / "sub.pickle"
    path.write_bytes(pickle.dumps(np.zeros(3).view(SneakyArray)))
    with pytest.raises(UsageError, match="asks for"):
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
