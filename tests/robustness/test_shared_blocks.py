"""Blocks of attacks that several processes compute: none twice, and none lost but the one in work."""

import os
import signal
import subprocess
import sys
import time

import polars
import pytest

import unbraid
from unbraid.data import load
from unbraid.robustness import Target, attack_blocks, budgets, smallest

DATA = load("blobs16")
IMAGES, BLOCK = 12, 2

WORKER = """
import sys, time
import unbraid
from unbraid.data import load
from unbraid.robustness import Target, attack_blocks, budgets, smallest

run, folder, log, pause = sys.argv[1:]
smallest.BLOCK = %d
budgets.BUDGETS["quick"] = {"l2": {"fgm": {"levels": 5}}}
compute = smallest._block

def slow(asked, rows, *rest):
    with open(log, "a") as file:
        file.write(f"{rows[0]}\\n")
    time.sleep(float(pause))
    return compute(asked, rows, *rest)

smallest._block = slow
attack_blocks(Target(unbraid.open_run(run), load("blobs16"), folder=folder, images=%d), ("l2",))
""" % (BLOCK, IMAGES)  # noqa: UP031


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "plain"
    options = {"net": "mlp:width=16", "factor": "x", "steps": 20, "progress": "none"}
    return unbraid.train("classifier", DATA, out=folder, **options)


def worker(run, folder, log, pause):
    return subprocess.Popen(
        [sys.executable, "-c", WORKER, str(run.path), str(folder), str(log), str(pause)], env=os.environ.copy()
    )


def expected(run, folder, monkeypatch):
    monkeypatch.setattr(smallest, "BLOCK", BLOCK)
    monkeypatch.setitem(budgets.BUDGETS, "quick", {"l2": {"fgm": {"levels": 5}}})
    return lambda say=lambda _: None: attack_blocks(Target(run, DATA, folder=folder, images=IMAGES), ("l2",), say=say)


def test_two_processes_share_the_blocks_and_none_is_done_twice(run, tmp_path, monkeypatch):
    both = [worker(run, tmp_path / "shared", tmp_path / "log", 0.3) for _ in range(2)]
    assert [one.wait(timeout=300) for one in both] == [0, 0]
    starts = sorted(int(line) for line in (tmp_path / "log").read_text().split())
    assert starts == list(range(0, IMAGES, BLOCK))
    asked = []
    found = expected(run, tmp_path / "shared", monkeypatch)(asked.append)
    assert asked == []  # all there
    alone = expected(run, tmp_path / "alone", monkeypatch)()
    assert found.drop("distance").equals(alone.drop("distance"))
    assert found["distance"].to_list() == pytest.approx(alone["distance"].to_list(), rel=1e-4)


def test_a_process_that_is_killed_loses_the_block_in_work_and_no_other(run, tmp_path, monkeypatch):
    log, folder = tmp_path / "log", tmp_path / "blocks"
    one = worker(run, folder, log, 1.0)
    limit = time.monotonic() + 300
    while time.monotonic() < limit and (not log.exists() or len(log.read_text().split()) < 3):
        time.sleep(0.05)
    one.send_signal(signal.SIGKILL)
    assert one.wait() == -signal.SIGKILL
    done = {int(path.stem) for path in folder.rglob("[0-9]*.parquet")}
    begun = [int(line) for line in log.read_text().split()]
    assert done == set(begun[:-1])  # the third was in work
    for path in folder.rglob("[0-9]*.parquet"):
        assert len(polars.read_parquet(path)) == BLOCK  # whole
    asked = []
    found = expected(run, folder, monkeypatch)(asked.append)
    assert len(asked) == IMAGES // BLOCK - len(done)
    assert len(found) == IMAGES
