"""The one display of progress: what it says, when, and where."""

import os
import pty
import subprocess
import sys

import pytest

import unbraid.progress
from unbraid.errors import UsageError
from unbraid.progress import Progress


@pytest.fixture
def clock(monkeypatch):
    now = [1000.0]
    monkeypatch.setattr(unbraid.progress, "monotonic", lambda: now[0])
    return now


def lines(capsys):
    said = capsys.readouterr()
    assert said.out == ""
    return said.err.splitlines()


def test_a_line_tells_count_numbers_rate_and_time_left(clock, capsys):
    progress = Progress("vae on dots", 1000, unit="steps", kind="lines", start=200)
    clock[0] += 20
    # 100 steps in 20 s are 5 a second; the 700 that are left take 140 s.
    progress.update(300, numbers={"loss": 3.14159, "kl": 2})
    assert lines(capsys) == ["vae on dots: 300/1,000 steps (30%), loss 3.142  kl 2, 5.0 steps/s, 02:20 left"]


def test_lines_come_at_tenths_and_not_too_often(clock, capsys):
    progress = Progress("vae", 100, unit="steps", kind="lines", every=2, tenths=True)
    for step in range(1, 101):
        clock[0] += 1
        progress.update(step)
    told = [int(line.split("/")[0].split()[-1]) for line in lines(capsys)]
    assert told == [1, *range(10, 101, 10)]


def test_lines_come_every_so_many_seconds_and_at_the_end_once(clock, capsys):
    progress = Progress("study", 30, unit="runs", kind="lines", every=10)
    for _ in range(30):
        clock[0] += 3
        progress.advance()
    progress.update()
    told = [int(line.split("/")[0].split()[-1]) for line in lines(capsys)]
    assert told == [*range(1, 30, 4), 30]


def test_brief_work_is_silent_unless_it_takes_long(clock, capsys):
    for seconds, told in ((0.01, 0), (1.0, 2)):
        with Progress("making sprites", 20, unit="images", kind="lines", brief=True) as progress:
            for _ in range(20):
                clock[0] += seconds
                progress.advance()
        assert len(lines(capsys)) == told


def test_slow_things_are_counted_by_the_hour(clock):
    progress = Progress("study", 10, unit="runs", kind="none")
    clock[0] += 1800
    progress.update(2, part=0.5, note="3 running, 1 failed")
    assert progress.text() == "2/10 runs (50%), 3 running, 1 failed, 4.0 runs/h, 30:00 left"


def test_bytes_are_told_in_millions_and_the_total_may_come_late(clock):
    progress = Progress("mnist.gz", unit="bytes", kind="none", start=0)
    progress.update(2_000_000)
    assert progress.text() == "2.0 MB"
    progress.update(2_000_000, total=8_000_000)
    clock[0] += 2
    progress.update(5_000_000)
    # What lay on disk before does not count: 3 MB in 2 s.
    assert progress.text() == "5.0/8.0 MB (62%), 1.5 MB/s, 00:02 left"


def test_work_without_a_count_shows_what_is_being_done():
    progress = Progress("evaluating", kind="none")
    progress.update(note="dci")
    assert progress.text() == "dci"


def test_what_should_stay_is_said_on_stderr_and_none_says_nothing(capsys):
    Progress("study", kind="lines").tell("run 3 failed: [boom]")
    Progress("study", kind="none").tell("nobody hears it")
    assert lines(capsys) == ["run 3 failed: [boom]"]


def test_another_kind_is_refused():
    with pytest.raises(UsageError, match="unknown kind of progress 'ber'; did you mean 'bar'"):
        Progress("x", kind="ber")


SCRIPT = """
from unbraid.progress import Progress
with Progress("my [study]", 4, unit="runs") as progress:
    for done in range(5):
        progress.update(done, numbers={"loss": 0.5}, running=["beta 4, seed 1"])
        progress.tell(f"[{done}] told")
"""


def test_a_terminal_sees_a_bar_with_messages_above_it():
    leader, follower = pty.openpty()
    environment = os.environ | {"COLUMNS": "120", "LINES": "30", "TERM": "xterm"}
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT], stdout=subprocess.PIPE, stderr=follower, stdin=follower, env=environment
    )
    os.close(follower)
    seen = b""
    while True:
        try:
            block = os.read(leader, 4096)
        except OSError:  # how Linux says that the other side is closed
            break
        if not block:
            break
        seen += block
    os.close(leader)
    out, _ = process.communicate()
    shown = seen.decode()
    assert process.returncode == 0
    assert out == b""
    for words in ("my [study]", "━", "4/4 runs (100%), loss 0.5", "beta 4, seed 1", "[3] told"):
        assert words in shown


def test_a_line_that_would_say_nothing_is_not_printed(clock, capsys):
    with Progress("evaluating", kind="lines", brief=True) as progress:
        clock[0] += 11
        progress.update(note="")
    assert lines(capsys) == []


def test_lines_follow_what_is_being_done_where_nothing_is_counted(clock, capsys):
    with Progress("evaluating", kind="lines", brief=True) as progress:
        for note in ("mig", "dci", "sap"):
            progress.update(note=note)
            clock[0] += 11
            progress.update(note=note)
    assert lines(capsys) == ["evaluating: mig", "evaluating: dci", "evaluating: sap"]
