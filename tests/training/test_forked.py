"""Jobs in forked copies of the process: errors come back, deaths are noticed, requests to stop are passed on."""

import os
import signal
import threading
import time
from functools import partial

import pytest

from unbraid.errors import UsageError
from unbraid.training import Diverged, forked
from unbraid.training.forked import in_processes
from unbraid.training.loop import stop_requests


class Fire(Exception):
    """An error that pickle can write and not read."""

    def __init__(self, what, where):
        super().__init__(f"{what} is on fire in {where}")


def fail(error):
    raise error


def fail_deeply():
    try:
        fail(ZeroDivisionError("deep"))
    except ZeroDivisionError as error:
        raise ValueError("shallow") from error


def until_asked(file):
    with stop_requests() as stop:
        file.write_text("begun")
        while not stop():
            time.sleep(0.01)
    file.write_text("saved")


def begun(*files):
    deadline = time.monotonic() + 20
    while not all(file.exists() for file in files):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_jobs_run_in_copies_at_the_same_time(tmp_path):
    files = [tmp_path / "a", tmp_path / "b"]

    def meet(number):  # each waits for the other
        files[number].write_text(str(os.getpid()))
        begun(files[1 - number])

    in_processes([partial(meet, 0), partial(meet, 1)])
    assert len({os.getpid(), *(int(file.read_text()) for file in files)}) == 3


@pytest.mark.parametrize(
    ("error", "kind", "message"),
    [
        (Diverged("far off"), Diverged, "far off"),
        (Fire("disk", "Uppsala"), RuntimeError, "Fire: disk is on fire in Uppsala"),
        (KeyError("name"), KeyError, "name"),
    ],
    ids=["known", "unreadable", "builtin"],
)
def test_errors_keep_their_kind_and_message_and_stop_the_others(error, kind, message, tmp_path):
    with pytest.raises(kind, match=message):
        in_processes([partial(until_asked, tmp_path / "other"), partial(_after, tmp_path / "other", error)])
    assert (tmp_path / "other").read_text() == "saved"


def _after(file, error):
    begun(file)
    raise error


def test_the_traceback_of_a_copy_is_a_note_of_the_error():
    with pytest.raises(ValueError, match="shallow") as found:
        in_processes([fail_deeply, int])
    (note,) = found.value.__notes__
    assert "ZeroDivisionError: deep" in note
    assert "in fail_deeply" in note


def test_a_killed_copy_is_an_error_that_names_the_signal(tmp_path):
    other = tmp_path / "other"
    with pytest.raises(UsageError, match=r"SIGKILL \(out of memory\? try a smaller processes=\)"):
        in_processes(
            [partial(until_asked, tmp_path / "other"), partial(_kill_self, tmp_path / "other", signal.SIGKILL)]
        )
    assert (tmp_path / "other").read_text() == "saved"
    with pytest.raises(UsageError, match="SIGTERM"):  # nobody here asked for it
        in_processes([int, partial(_kill_self, other, signal.SIGTERM)])


def _kill_self(file, number):
    begun(file)
    os.kill(os.getpid(), number)
    time.sleep(20)


def test_a_death_is_noticed_even_if_a_stranger_holds_the_pipe(tmp_path, monkeypatch):
    # As when another thread forks at the wrong moment: the writing end is open somewhere else, so it never ends.
    held = []
    pipe = forked.multiprocessing.get_context("fork").Pipe
    context = forked.multiprocessing.get_context("fork")

    def keep(duplex):
        receiver, sender = pipe(duplex=duplex)
        held.append(os.dup(sender.fileno()))
        return receiver, sender

    monkeypatch.setattr(context, "Pipe", keep)
    monkeypatch.setattr(forked.multiprocessing, "get_context", lambda _: context)
    (tmp_path / "file").touch()
    began = time.monotonic()
    with pytest.raises(UsageError, match="SIGKILL"):
        in_processes([partial(_kill_self, tmp_path / "file", signal.SIGKILL)])
    assert time.monotonic() - began < 10
    for number in held:
        os.close(number)


def test_a_request_to_stop_reaches_copies_that_have_just_begun(tmp_path, monkeypatch):
    start = forked._start

    def start_and_ask(job):
        copy = start(job)
        os.kill(os.getpid(), signal.SIGTERM)
        return copy

    monkeypatch.setattr(forked, "_start", start_and_ask)
    for attempt in range(10):
        file, began = tmp_path / str(attempt), time.monotonic()
        in_processes([partial(until_asked, file)])
        assert time.monotonic() - began < 5  # of the twenty seconds it has before it is killed
        assert not file.exists() or file.read_text() == "saved"


def test_from_another_thread_jobs_run_and_fail_as_ever():
    found = []

    def work():
        try:
            in_processes([partial(fail, Diverged("far off")), int])
        except Diverged as error:
            found.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join(30)
    assert [str(error) for error in found] == ["far off"]
