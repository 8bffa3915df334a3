"""The process that starts workers may be killed, and scripts may lack their guard."""

import os
import signal
import subprocess
import sys
import time
from multiprocessing import forkserver
from pathlib import Path

from unbraid.engines import ProcessEngine, Task

TASKS = str(Path(__file__).parent / "engine_tasks.py")

NO_GUARD = """
from unbraid.engines import ProcessEngine, Task
with ProcessEngine(1) as engine:
    print(*(outcome.error for outcome in engine.run([Task(0, "os:getpid")])))
"""


def kill_fork_server() -> None:
    os.kill(forkserver._forkserver._forkserver_pid, signal.SIGKILL)


def test_a_killed_fork_server_is_started_again_and_costs_no_task():
    with ProcessEngine(workers=2) as engine:
        engine.submit(Task("before", "os:getpid"))
        (first,) = engine.wait()
        engine.submit(Task("during", "engine_tasks:double", {"value": 21}, (TASKS,)))
        kill_fork_server()
        for number in range(3):
            engine.submit(Task(number, "os:getpid"))
        outcomes = {outcome.key: outcome for outcome in _rest(engine)}
    assert first.ok
    assert {key: outcome.error for key, outcome in outcomes.items()} == dict.fromkeys(("during", 0, 1, 2))
    assert outcomes["during"].value == 42


def test_a_worker_that_dies_with_its_fork_server_says_what_to_do(tmp_path):
    with ProcessEngine(workers=1) as engine:
        engine.submit(Task("lost", "engine_tasks:write_when_asked_to_stop", {"path": str(tmp_path / "f")}, (TASKS,)))
        while not (tmp_path / "f").exists():
            time.sleep(0.01)
        (worker,) = engine._running.values()
        kill_fork_server()
        os.kill(worker.process.pid, signal.SIGKILL)
        (outcome,) = engine.wait()
    assert outcome.error.endswith("run the same command again")


def test_a_script_without_a_guard_is_told_of_it(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(NO_GUARD, encoding="utf-8")
    ended = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=100)
    assert 'put what starts work below `if __name__ == "__main__":`' in ended.stdout
    assert "UsageError: this script starts work while it is being imported" in ended.stderr


def _rest(engine: ProcessEngine):
    while engine.waiting:
        yield from engine.wait()
