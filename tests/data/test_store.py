"""The image store: what goes in comes out, and nothing that is not whole is ever taken for whole."""

import json
import os
import pickle
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from unbraid.data.files.root import find_file
from unbraid.data.files.store import ImageStore, render_store, store_file
from unbraid.errors import UsageError

SHAPE = (5, 3, 2)  # 30 values: four bytes when packed, the last two bits unused
COUNT = 50


@pytest.fixture(autouse=True)
def root(tmp_path, monkeypatch):
    monkeypatch.setenv("UNBRAID_DATA", str(tmp_path))
    return tmp_path


def grey(index):
    """Image i is the i-th draw of a fixed table, so any chunking gives the same pixels."""
    return np.random.default_rng(0).integers(0, 256, (COUNT, *SHAPE), dtype=np.uint8)[index]


def black_and_white(index):
    return (grey(index) > 127).astype(np.uint8)


def make(render=grey, **options):
    return render_store("toy", count=COUNT, shape=SHAPE, render=render, **({"chunk": 7} | options))


def fail(index):
    raise AssertionError(f"rendered again from {index[0]}")


def test_grey_images_come_back_in_any_order_and_repeated():
    index = np.array([49, 0, 7, 7, 13])
    assert np.array_equal(make().images(index), grey(index))


def test_binary_images_come_back_as_0_and_255_from_one_bit_per_pixel():
    store = make(black_and_white, binary=True)
    index = np.random.default_rng(1).permutation(COUNT)
    assert np.array_equal(store.images(index), 255 * black_and_white(index))
    header = 128
    assert store.path.stat().st_size == header + COUNT * 4


def test_packed_rows_from_the_renderer_give_the_same_file_as_images():
    def packed(index):
        return np.packbits(black_and_white(index).reshape(len(index), -1), axis=1)

    whole = make(black_and_white, binary=True).path.read_bytes()
    rows = render_store("rows", count=COUNT, shape=SHAPE, render=packed, binary=True)
    assert rows.path.read_bytes() == whole


def test_the_file_does_not_depend_on_the_chunk():
    files = {make(version=chunk, chunk=chunk).path.read_bytes() for chunk in (1, 7, 50, 1000)}
    assert len(files) == 1


def test_a_second_call_opens_what_the_first_one_made():
    make()
    assert len(make(fail)) == COUNT


def test_a_store_in_any_root_is_used(root, tmp_path_factory, monkeypatch):
    make()
    first = tmp_path_factory.mktemp("first")
    monkeypatch.setenv("UNBRAID_DATA", f"{first}{os.pathsep}{root}")
    assert make(fail).path.is_relative_to(root)
    assert find_file(store_file("toy")) == root / "toy" / "images-v1.json"


def test_a_new_version_is_rendered_beside_the_old_one():
    old = make()
    new = make(lambda index: 255 - grey(index), version=2)
    assert np.array_equal(old.images([3]), 255 - new.images([3]))


def test_another_image_shape_under_the_same_name_is_rendered_anew(capsys):
    make()
    store = render_store("toy", count=COUNT, shape=(6, 5, 1), render=lambda index: grey(index).reshape(-1, 6, 5, 1))
    assert store.shape == (6, 5, 1)
    assert "not what 'toy' needs" in capsys.readouterr().err


@pytest.mark.parametrize(
    "damage", ["truncated", "too long", "gone", "no header", "broken json", "json of something else"]
)
def test_what_is_damaged_is_named_and_made_anew(capsys, damage):
    path = make().path
    data = path.read_bytes()
    sidecar = path.with_suffix(".json")
    if damage == "truncated":
        path.write_bytes(data[:-1])
    elif damage == "too long":
        path.write_bytes(data + b"\0")
    elif damage == "gone":
        path.unlink()
    elif damage == "no header":
        path.write_bytes(b"\0" * len(data))
    elif damage == "broken json":
        sidecar.write_text(sidecar.read_text()[:20])
    else:
        sidecar.write_text('{"shape": [1, 2]}')
    with pytest.raises(UsageError, match="images-v1"):
        ImageStore.open(path)
    again = make()
    assert "images-v1" in capsys.readouterr().err
    assert np.array_equal(again.images(range(COUNT)), grey(np.arange(COUNT)))
    again.verify()


def test_a_pickled_array_is_never_loaded():
    store = make()
    with store.path.open("wb") as file:
        np.save(file, np.array([{"code": 1}], dtype=object), allow_pickle=True)
    with pytest.raises(UsageError, match="holds Python objects"):
        ImageStore.open(store.path)


def test_verify_notices_a_single_changed_bit():
    store = make()
    store.verify()
    data = bytearray(store.path.read_bytes())
    data[-5] ^= 4
    store.path.write_bytes(data)
    with pytest.raises(UsageError, match="damaged"):
        ImageStore.open(store.path).verify()


def test_the_json_says_what_is_in_the_file():
    described = json.loads(make(black_and_white, binary=True).path.with_suffix(".json").read_text())
    sha256, library = described.pop("sha256"), described.pop("library")
    assert described == {"count": COUNT, "shape": list(SHAPE), "packed": True, "version": 1}
    assert len(sha256) == 64
    assert library.startswith("unbraid ")


def test_a_store_travels_to_another_process_as_its_path():
    store = make()
    sent = pickle.dumps(store)
    assert len(sent) < 1000
    assert np.array_equal(pickle.loads(sent).images([5]), store.images([5]))


@pytest.mark.parametrize("index", [[50], [-1], [[0, 1]]])
def test_positions_outside_are_refused(index):
    with pytest.raises(UsageError, match="index must"):
        make().images(index)


def test_a_renderer_with_the_wrong_shape_is_told_the_right_one():
    with pytest.raises(UsageError, match=r"must return uint8 \(7, 5, 3, 2\)"):
        make(lambda index: grey(index)[:, :4])


def test_an_error_while_rendering_leaves_nothing_but_the_lock(root):
    def breaks(index):
        if index[0] >= 14:
            raise RuntimeError("out of paint")
        return grey(index)

    with pytest.raises(RuntimeError, match="out of paint"):
        make(breaks)
    assert [path.name for path in (root / "toy").iterdir()] == [".images-v1.lock"]


def test_a_root_that_cannot_be_written_is_named(root, monkeypatch):
    (root / "file").write_text("not a folder")
    monkeypatch.setenv("UNBRAID_DATA", str(root / "file"))
    with pytest.raises(UsageError, match="set UNBRAID_DATA to a folder you can write to"):
        make()


def test_more_than_the_disk_holds_is_refused_before_rendering():
    with pytest.raises(UsageError, match="free some space or set UNBRAID_DATA"):
        render_store("huge", count=10**14, shape=(64, 64, 3), render=fail)


SCRIPT = """
import sys, time
import numpy as np
from unbraid.data.files.store import render_store

def render(index):
    print(index[0], flush=True)
    time.sleep({pause})
    return np.full((len(index), 8, 8, 1), index[0] % 251, np.uint8)

store = render_store("slow", count={count}, shape=(8, 8, 1), render=render, chunk=10)
print("sum", int(store.images(np.arange({count})).astype(int).sum()), flush=True)
"""


def spawn(root: Path, count: int = 100, pause: float = 0.02, before: str = "") -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, "-c", before + SCRIPT.format(count=count, pause=pause)],
        env=os.environ | {"UNBRAID_DATA": str(root)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


# Chunks of ten images of 64 pixels, all of the value of the chunk's first position: 64 * 10 * (0 + 10 + ... + 90).
TOTAL = 64 * 10 * 450


def test_a_killed_renderer_leaves_nothing_that_passes_for_whole(root):
    killed = spawn(root, pause=0.2)
    assert killed.stdout is not None
    while killed.stdout.readline().strip() != "20":
        assert killed.poll() is None
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    assert find_file(store_file("slow")) is None
    assert [path.name for path in (root / "slow").iterdir() if path.suffix == ".npy"] == []
    out, _ = spawn(root, pause=0).communicate()
    assert f"sum {TOTAL}" in out
    assert not list((root / "slow").glob("*.part"))


def test_of_two_processes_at_once_one_renders_and_the_other_waits(root):
    both = [spawn(root, pause=0.1) for _ in range(2)]
    results = [process.communicate() for process in both]
    assert all(f"sum {TOTAL}" in out for out, _ in results)
    # Ten chunks in all, however they started: nobody rendered a second time.
    assert sum(len(out.splitlines()) - 1 for out, _ in results) == 10


def test_a_limit_hit_while_writing_is_explained_and_cleaned_up(root):
    limit = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))\n"
    _, err = spawn(root, before=limit, pause=0).communicate()
    assert "'slow' needs 0 MB in" in err
    assert "free some space or set UNBRAID_DATA" in err
    assert [path.name for path in (root / "slow").iterdir()] == [".images-v1.lock"]
