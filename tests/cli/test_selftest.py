"""The library tries itself on the user's machine, and says so when something is wrong."""

import json
import signal
import subprocess
import sys
import time

import pytest

from unbraid.cli import selftest
from unbraid.cli.app import main


def test_the_selftest_passes_here_and_leaves_nothing(tmp_path, capsys):
    assert main(["selftest", "--folder", str(tmp_path), "--kills", "1", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["ok"]
    assert len(told["checks"]) == 7
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=lambda number: number.name)
def test_an_end_asked_for_leaves_neither_folder_nor_training(tmp_path, number):
    words = [sys.executable, "-m", "unbraid", "selftest", "--folder", str(tmp_path)]
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        while not list(tmp_path.glob("unbraid-selftest-*/whole/.lock")):
            assert process.poll() is None
            time.sleep(0.02)
        process.send_signal(number)
        told = process.communicate()[1]
    assert (process.returncode, told) == (130, "unbraid: interrupted\n")
    assert list(tmp_path.iterdir()) == []


def test_a_failed_check_is_told_and_ends_with_another_exit_code(tmp_path, capsys, monkeypatch):
    def wrong() -> str:
        raise OSError("the disk is tired")

    monkeypatch.setattr(selftest, "_checks", lambda *_: iter([("it works", lambda: "yes"), ("it is kept", wrong)]))
    assert main(["selftest", "--folder", str(tmp_path)]) == 2
    told = capsys.readouterr()
    assert "FAILED  it is kept" in told.out
    assert "OSError: the disk is tired" in told.out
    assert "1 of 2 checks ok" in told.out
    assert "selftest failed: it is kept" in told.err
    assert list(tmp_path.iterdir()) == []


def test_other_bytes_after_a_kill_are_found(tmp_path, monkeypatch):
    for name, content in (("whole", b"1,2"), ("broken", b"1,3")):
        (tmp_path / name).mkdir()
        for file in selftest.RESULTS:
            (tmp_path / name / file).write_bytes(content)
    monkeypatch.setattr(selftest, "_kill_beyond", lambda *_: 1)
    monkeypatch.setattr(selftest, "_trained", lambda *_: "")
    with pytest.raises(AssertionError, match=r"checkpoint.safetensors differs after kill -9"):
        selftest._killed(tmp_path / "whole", tmp_path / "broken", 1)


def test_a_checkpoint_that_any_bytes_would_pass_for_is_found(tmp_path, monkeypatch):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / selftest.RESULTS[0]).write_bytes(b"weights")
    monkeypatch.setattr("unbraid.training.open_run", lambda *_, **__: type("Run", (), {"model": None}))
    with pytest.raises(AssertionError, match="cut to 0 bytes was taken for whole"):
        selftest._damaged(tmp_path / "run", tmp_path / "copy")


def test_a_folder_that_is_not_there_is_refused(tmp_path, capsys):
    assert main(["selftest", "--folder", str(tmp_path / "nowhere")]) == 2
    assert "give one that exists, on the disk to try" in capsys.readouterr().err
