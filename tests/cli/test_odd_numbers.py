"""Numbers that are none, sizes no machine has, disks without room: one line each, and nothing is begun."""

import errno
import subprocess
import sys
from pathlib import Path

import pytest

import unbraid
from unbraid.cli.app import main
from unbraid.cli.surroundings import in_one_line
from unbraid.errors import UsageError
from unbraid.files import replace_file

PLUGIN = str(Path(__file__).parents[1] / "dots.py")
TRAIN = ["--plugin", PLUGIN, "train", "vae", "--data", "dots", "--net", "mlp:width=8", "--steps", "1"]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--device", "cpu:x"], "device 'cpu:x': expected a number after the colon"),
        (["--checkpoint-seconds", "nan"], "--checkpoint-seconds must be a finite number, got nan"),
        (["--checkpoint-seconds=-1"], "checkpoint_seconds must be a number that is not negative, got -1.0"),
        (["--minutes", "inf"], "--minutes must be a finite number, got inf"),
        (["--learning-rate=-Infinity"], "--learning-rate must be a finite number, got -Infinity"),
        (["--batch-size", "1000000000"], "batch_size = 1000000000: the images of one batch take 954 GB"),
        (["--threads", "1000000000"], "threads must be at most 1024"),
        (["--net", "mlp:width=1000000000"], "not enough memory to allocate"),
    ],
)
def test_odd_numbers_are_refused_in_one_line(words, told, tmp_path, capsys):
    assert main([*TRAIN, "--out", str(tmp_path / "run"), *words]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"unbraid: {told}")
    assert error.count("\n") == 1
    assert not (tmp_path / "run" / "run.json").exists()


def test_python_refuses_times_that_are_no_numbers(dots, tmp_path):
    with pytest.raises(UsageError, match="checkpoint_seconds must be a number"):
        unbraid.train("vae", dots, steps=1, out=tmp_path / "run", checkpoint_seconds=float("nan"))


def test_a_mistake_of_ours_is_not_called_a_lack_of_memory():
    assert in_one_line(RuntimeError("shapes do not fit")) is None


FULL_DISK = """
import resource, signal, sys
from unbraid.cli.app import main
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]),) * 2)
sys.exit(main(sys.argv[2:]))
"""


def test_a_full_disk_is_told_with_file_and_room_and_no_checkpoint_is_claimed(tmp_path):
    # A limit on file size makes the system refuse writes for real, as a full disk does.
    run, sheet = tmp_path / "run", tmp_path / "sheet.png"
    sheet.write_bytes(b"the earlier picture")
    script = [sys.executable, "-c", FULL_DISK]
    ended = subprocess.run(
        [*script, "4000", *TRAIN, "--out", str(run), "--progress", "none"], capture_output=True, text=True
    )
    assert ended.returncode == 2
    assert ended.stderr.startswith(f"unbraid: cannot write {run}/checkpoint.safetensors (File too large, ")
    assert "MB are free there) at step 0. There is no checkpoint yet: make room and give the same" in ended.stderr
    ended = subprocess.run(
        [*script, "300", "--plugin", PLUGIN, "data", "show", "dots", "--out", str(sheet)],
        capture_output=True,
        text=True,
    )
    assert ended.returncode == 2
    assert f"{sheet}" in ended.stderr
    assert sheet.read_bytes() == b"the earlier picture"
    assert [path.name for path in tmp_path.iterdir() if path.name.endswith(".part")] == []


STUDY = """
data = ["dots"]
steps = 1
net = "mlp:width=8"
objectives = ["vae"]
[evaluation]
metrics = ["mig"]
train = 60
test = 30
"""


def test_tables_on_a_full_disk_are_told_with_their_file_and_keep_what_was_there(tmp_path):
    study, out = tmp_path / "study.toml", tmp_path / "out"
    study.write_text(STUDY)
    assert main(["--plugin", PLUGIN, "study", "run", str(study), "--out", str(out), "--workers", "1"]) == 0
    (out / "table.parquet").write_bytes(b"the earlier table")
    for words, file in (
        (["study", "report", str(out)], out / "table.parquet"),
        (["evaluate", str(out / "runs/00000"), "--again"], out / "runs/00000/scores"),
    ):
        ended = subprocess.run(
            [sys.executable, "-c", FULL_DISK, "20", "--plugin", PLUGIN, *words], capture_output=True, text=True
        )
        assert ended.returncode == 2, ended.stderr
        assert ended.stderr.splitlines()[-1].startswith(f"unbraid: cannot write {file}")
        assert "(File too large, " in ended.stderr
    assert (out / "table.parquet").read_bytes() == b"the earlier table"
    assert list(out.rglob("*.part")) == []


def test_pages_on_a_full_disk_are_told_with_their_file_and_keep_what_was_there(tmp_path):
    run, page = tmp_path / "run", tmp_path / "page"
    assert main([*TRAIN, "--out", str(run), "--progress", "none"]) == 0
    (run / "report.html").write_bytes(b"the earlier page")
    page.mkdir()
    (page / "index.html").write_bytes(b"the earlier explorer")
    for words, file in (
        (["report", str(run)], run / "report.html"),
        (["explore", str(run), "--out", str(page), "--images", "4", "--sample", "50"], page),
        (["traverse", str(run)], run / "traversal.png"),
    ):
        ended = subprocess.run(
            [sys.executable, "-c", FULL_DISK, "20", "--plugin", PLUGIN, *words], capture_output=True, text=True
        )
        assert ended.returncode == 2, ended.stderr
        assert ended.stderr.splitlines()[-1].startswith(f"unbraid: cannot write {file}"), ended.stderr
        assert "(File too large, " in ended.stderr
    assert (run / "report.html").read_bytes() == b"the earlier page"
    assert (page / "index.html").read_bytes() == b"the earlier explorer"
    assert not (run / "traversal.png").exists()
    assert list(tmp_path.rglob("*.part")) == []


def test_the_file_that_did_not_fit_is_named(tmp_path):
    with pytest.raises(OSError) as caught, replace_file(tmp_path / "table.csv"):
        raise OSError(errno.ENOSPC, "No space left on device")
    told = in_one_line(caught.value)
    assert told.startswith(f"cannot write {tmp_path}/table.csv (No space left on device, ")
    assert "make room, give the same command again" in told
