"""Whatever is wrong with a file, reading it ends in the project's error or in success."""

import gzip
import io
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import h5py
import numpy as np
import pytest
from safetensors import safe_open
from safetensors.torch import save_file

from unbraid import objectives
from unbraid.cli.app import main
from unbraid.data import load
from unbraid.data.arrays import ArrayLabels, HeldArray
from unbraid.data.files.folder import from_folder
from unbraid.data.files.idx import read_idx
from unbraid.errors import UsageError
from unbraid.reading import open_hdf5, read_arrays, read_json, read_npy
from unbraid.study import read_study
from unbraid.training import open_run, train

FUZZ = Path(__file__).parent / "damaged_files.py"


def test_five_hundred_damaged_files_are_read_or_refused():
    environment = {**os.environ, "POLARS_MAX_THREADS": "1"}
    done = subprocess.run([sys.executable, FUZZ, "500", "0"], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout.splitlines()[-1])
    assert not found["wrong"], "\n".join(found["wrong"])
    assert found["read"] + found["refused"] == 500
    assert found["refused"] > 200  # else nothing was damaged
    assert found["memory"] < 2 << 30


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"seeds = 1000000000\ndata = ['dots']\nsteps = 1\nobjectives = ['vae']", "seeds must be at most 1,000,000"),
        (b"a = " + b"[" * 5000, "not readable as TOML"),
        (b"name = '\xff\xfe'", "not UTF-8"),
    ],
)
def test_absurd_study_files_are_refused(text, message, tmp_path):
    (tmp_path / "study.toml").write_bytes(text)
    with pytest.raises(UsageError, match=message):
        read_study(tmp_path / "study.toml")


def zipped(path: Path, header_shape: tuple[int, ...], held: int, kind: int = zipfile.ZIP_STORED) -> Path:
    """An npz whose array says one shape and holds so many zero bytes."""
    head = io.BytesIO()
    layout = {"descr": "|u1", "fortran_order": False, "shape": header_shape}
    np.lib.format.write_array_header_1_0(head, layout)
    with zipfile.ZipFile(path, "w", kind) as archive, archive.open("images.npy", "w", force_zip64=True) as file:
        file.write(head.getvalue())
        for _ in range(held >> 20):
            file.write(bytes(1 << 20))
        file.write(bytes(held & ((1 << 20) - 1)))
    return path


def test_a_header_that_promises_more_than_its_member_holds_is_refused(tmp_path):
    path = zipped(tmp_path / "a.npz", (10**9, 64, 64), 100)
    for read in (lambda: load(str(path)), lambda: read_arrays(path)):
        with pytest.raises(UsageError, match="promises"):
            read()


def test_a_zip_bomb_is_not_unpacked(tmp_path):
    path = zipped(tmp_path / "bomb.npz", (1200 << 20,), 1200 << 20, zipfile.ZIP_DEFLATED)
    assert path.stat().st_size < 2 << 20
    with pytest.raises(UsageError, match="at most 1,073,741,824 are held in memory"):
        read_arrays(path)


def test_a_gzip_bomb_is_read_as_far_as_its_header_promises(tmp_path):
    head = bytes((0, 0, 8, 1)) + np.array([10], ">i4").tobytes()
    (tmp_path / "labels.gz").write_bytes(gzip.compress(head + bytes(1 << 28)))
    with pytest.raises(UsageError, match="promises 10 bytes but holds more"):
        read_idx(tmp_path / "labels.gz", 1)


@pytest.mark.parametrize("sizes", [(-2, -3), (-1, 4), (2**31 - 1, 2**31 - 1)])
def test_idx_dimensions_that_cannot_be_are_refused(sizes, tmp_path):
    (tmp_path / "file").write_bytes(bytes((0, 0, 8, 2)) + np.array(sizes, ">i4").tobytes() + bytes(6))
    with pytest.raises(UsageError, match="which no such file has"):
        read_idx(tmp_path / "file", 2)


def test_labels_beyond_the_classes_are_refused():
    with pytest.raises(UsageError, match=r"labels 0\.\.7 where its 3 classes"):
        ArrayLabels(HeldArray(np.zeros((2, 4, 4), np.uint8)), np.array([0, 7]), ("a", "b", "c"))


def test_a_group_in_the_place_of_a_data_set_is_named(tmp_path):
    with h5py.File(tmp_path / "file.h5", "w") as file:
        file.create_group("images")
    with (
        pytest.raises(UsageError, match="a group in the place of the data set 'images'"),
        open_hdf5(tmp_path / "file.h5", ("images",)),
    ):
        pass


def test_a_pipe_among_images_is_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "a.png")
    with pytest.raises(UsageError, match=r"a\.png.*ordinary file"):
        from_folder(tmp_path)


def test_large_images_are_decoded_by_their_bytes():
    from unbraid.data.files.folder import _at_once

    assert _at_once((2048, 2048, 3)) * 2048 * 2048 * 3 <= 1 << 26
    assert _at_once((64, 64, 3)) == 256


def test_an_npy_header_that_lies_is_refused(tmp_path):
    np.save(tmp_path / "a.npy", np.arange(10))
    content = (tmp_path / "a.npy").read_bytes()
    (tmp_path / "a.npy").write_bytes(content.replace(b"(10,)", b"(99,)"))
    with pytest.raises(UsageError, match="promises 792 bytes of numbers and holds 80"):
        read_npy(tmp_path / "a.npy")


def test_an_entry_of_another_type_is_named(tmp_path):
    (tmp_path / "a.json").write_text('{"rows": [{"n": 1}, {"n": "1"}]}')
    with pytest.raises(UsageError, match=r"rows\[1\]\.n is str '1', expected int"):
        read_json(tmp_path / "a.json", {"rows": [{"n": int}]})


@pytest.fixture
def run(tmp_path):
    objective = objectives.make("vae", {"net": "mlp:width=8", "latents": 2})
    return train(objective, "dots", out=tmp_path / "run", steps=4, batch_size=8, progress="none", precision="fp32")


def edit(run, name=None, change=None, **loop) -> None:
    """Write a checkpoint anew with one tensor changed, or other entries of the loop's state."""
    path = run.path / "checkpoint.safetensors"
    with safe_open(path, framework="pt") as file:
        header = json.loads(file.metadata()["state"])
        tensors = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118 (not a mapping)
    if name is not None:
        tensors[name] = change(tensors[name])
    header["loop"] |= loop
    save_file(tensors, path, metadata={"state": json.dumps(header)})


def commands(run, dots_file: str) -> list[list[str]]:
    asked = ("traverse", "evaluate", "report", f"explore --out {run.path / 'site'}")
    return [[*words.split(), str(run.path), "--plugin", dots_file] for words in asked]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.fill_(float("nan")), "NaN or infinity"),
        (lambda t: t.index_fill_(0, t.new_zeros(1).long(), float("inf")), "NaN or infinity"),
        (lambda t: t.char(), "int8, expected float32"),
        (lambda t: t.double(), "float64, expected float32"),
    ],
    ids=["nan", "inf", "int8", "float64"],
)
def test_weights_that_cannot_be_are_named_by_every_command(change, message, run, capsys):
    with safe_open(run.path / "checkpoint.safetensors", framework="pt") as file:
        name = next(key for key in file.keys() if key.startswith("model/"))  # noqa: SIM118 (not a mapping)
    edit(run, name, change)
    plain = name.removeprefix("model/")
    with pytest.raises(UsageError, match=f"{plain} holds {message}"):
        _ = open_run(run.path).model
    with pytest.raises(UsageError, match=f"{plain} holds {message}"):
        train(run.objective, "dots", out=run.path, steps=6, batch_size=8, progress="none", precision="fp32")
    for words in commands(run, str(Path(__file__).parent / "dots.py")):
        assert main(words) == 2
        assert f"{plain} holds {message}" in capsys.readouterr().err


def test_a_step_beyond_what_was_asked_for_is_refused(run):
    edit(run, step=10**9)
    for use in (
        lambda: open_run(run.path).model,
        lambda: train(run.objective, "dots", out=run.path, steps=8, batch_size=8, progress="none", precision="fp32"),
    ):
        with pytest.raises(UsageError, match="of step 1,000,000,000, but its run was never asked to go beyond 4"):
            use()


def test_a_checkpoint_ahead_of_the_record_of_a_killed_run_is_taken(run):
    # kill -9 between checkpoint and record: the record says step 0 and running, the budget 4.
    record = json.loads((run.path / "run.json").read_text())
    (run.path / "run.json").write_text(json.dumps({**record, "status": "running", "step": 0}))
    done = train(run.objective, "dots", out=run.path, steps=6, batch_size=8, progress="none", precision="fp32")
    assert done.info["step"] == 6


def test_what_another_device_computed_in_is_written_down(run):
    # As after a beginning on a GPU, whose usual precision is another one.
    record = json.loads((run.path / "run.json").read_text())
    gpu = {"device": "cuda", "precision": "torch.bfloat16", "threads": 1}
    (run.path / "run.json").write_text(json.dumps({**record, "arithmetic": gpu}))
    done = train(run.objective, "dots", out=run.path, steps=6, batch_size=8, progress="none", precision="fp32")
    assert done.info["earlier_arithmetic"] == [{**gpu, "until_step": 4}]
    assert open_run(run.path).info["arithmetic"]["precision"] == "torch.float32"


def test_going_on_in_another_precision_is_refused(run):
    with pytest.raises(UsageError, match="holds a run in fp32, now asked for bf16"):
        train(run.objective, "dots", out=run.path, steps=8, batch_size=8, progress="none", precision="bf16")
