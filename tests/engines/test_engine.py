"""The engines: what goes in comes out, failures stay where they are, and all ends when it should."""

import importlib.util
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from unbraid.engines import ProcessEngine, RayEngine, Task, make_engine
from unbraid.errors import UsageError

TASKS = Path(__file__).parent / "engine_tasks.py"
HAS_RAY = importlib.util.find_spec("ray") is not None


def task(key, name, **arguments):
    return Task(key, f"engine_tasks:{name}", arguments, (str(TASKS),))


@pytest.fixture(scope="module", params=["process", pytest.param("ray", marks=pytest.mark.skipif(
    not HAS_RAY, reason="Ray is not installed: pip install 'unbraid[ray]'"))])  # fmt: skip
def engine(request):
    with make_engine(request.param, workers=2) as made:
        yield made


def wait_for(path, text, seconds=120.0):
    end = time.monotonic() + seconds
    while not (path.exists() and path.read_text() == text):
        assert time.monotonic() < end, f"{path} did not become {text!r}"
        time.sleep(0.02)


def test_values_come_back_under_their_keys(engine):
    outcomes = list(engine.run(task(n, "double", value=n) for n in range(5)))
    assert {o.key: o.value for o in outcomes} == {n: 2 * n for n in range(5)}
    assert all(o.ok and o.seconds >= 0 for o in outcomes)
    assert engine.waiting == 0
    assert engine.free == 2


def test_an_error_is_told_in_one_line_and_the_others_go_on(engine):
    outcomes = {o.key: o for o in engine.run([task(0, "fail", message="two\nlines"), task(1, "double", value=1)])}
    assert outcomes[0].error == "ValueError: two lines"
    assert "in fail" in outcomes[0].traceback
    assert outcomes[1].value == 2


def test_a_killed_worker_fails_its_own_task_only(engine):
    outcomes = {o.key: o for o in engine.run([task(0, "vanish"), *(task(n, "double", value=n) for n in range(1, 4))])}
    assert not outcomes[0].ok
    assert "worker" in outcomes[0].error
    assert [outcomes[n].value for n in range(1, 4)] == [2, 4, 6]


def test_a_task_has_one_thread(engine):
    (outcome,) = engine.run([task(0, "threads")])
    assert outcome.value == (1, "1", "1")


def test_waiting_for_a_while_returns_empty_handed(engine, tmp_path):
    engine.submit(task(0, "write_when_asked_to_stop", path=str(tmp_path / "f")))
    assert engine.wait(timeout=0.05) == []
    assert (engine.waiting, engine.free) == (1, 1)
    if isinstance(engine, ProcessEngine):
        wait_for(tmp_path / "f", "running")
        engine.close()
    else:
        wait_for(tmp_path / "f", "running")
        engine._owned, owned = False, engine._owned  # keep the Ray for the other tests
        engine.close()
        engine._owned = owned
    assert (tmp_path / "f").read_text() == "stopped"
    assert engine.waiting == 0


def test_a_ray_of_its_own_is_reachable_from_this_machine_only(engine):
    if isinstance(engine, RayEngine):
        nodes = engine._ray.nodes()
        assert [node["NodeManagerAddress"] for node in nodes] == ["127.0.0.1"]


def test_every_task_gets_a_process_of_its_own():
    with ProcessEngine(workers=1) as engine:
        processes = {o.value for o in engine.run(task(n, "process") for n in range(3))}
    assert len(processes) == 3
    assert os.getpid() not in processes


def test_how_a_worker_died_is_told():
    with ProcessEngine(workers=2) as engine:
        outcomes = {o.key: o for o in engine.run([task(0, "vanish"), task(1, "leave", code=3), task(2, "unsendable")])}
    assert "SIGKILL (out of memory?" in outcomes[0].error
    assert "exit code 3" in outcomes[1].error
    assert "cannot be sent back" in outcomes[2].error


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_workers_end_with_the_process_that_started_them(number, tmp_path):
    script = textwrap.dedent(f"""
        import signal
        from unbraid.engines import ProcessEngine, Task
        if __name__ == "__main__":
            signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored if the tests run in the background
            arguments = {{"path": {str(tmp_path / "f")!r}}}
            with ProcessEngine(workers=1) as engine:
                task = Task(0, "engine_tasks:write_when_asked_to_stop", arguments, ({str(TASKS)!r},))
                print(list(engine.run([task])))
    """)
    (tmp_path / "script.py").write_text(script)
    process = subprocess.Popen([sys.executable, str(tmp_path / "script.py")], stderr=subprocess.DEVNULL)
    try:
        wait_for(tmp_path / "f", "running")
        process.send_signal(number)
        process.wait(timeout=60)
    finally:
        process.kill()
        process.wait()
    wait_for(tmp_path / "f", "stopped")


JOIN = """
import sys
from unbraid.errors import UsageError
from unbraid.engines import RayEngine, Task

try:
    with RayEngine(address=sys.argv[1]) as engine:
        task = Task(0, "engine_tasks:double", {"value": 21}, (sys.argv[2],))
        print([outcome.value for outcome in engine.run([task])])
except UsageError as error:
    print(error)
"""


def join(address: str) -> str:
    """What another process prints that joins the cluster at this address and lets it double 21."""
    words = [sys.executable, "-c", JOIN, address, str(TASKS)]
    return subprocess.run(words, capture_output=True, text=True, timeout=300, check=True).stdout.strip()


def test_another_process_joins_a_cluster_by_its_address(engine):
    if isinstance(engine, RayEngine):
        assert join(engine._ray.get_runtime_context().gcs_address) == "[42]"


@pytest.mark.skipif(not HAS_RAY, reason="Ray is not installed: pip install 'unbraid[ray]'")
@pytest.mark.parametrize("address", ["127.0.0.1:1", "nowhere"])
def test_an_address_where_no_cluster_answers_is_refused_at_once(address):
    assert join(address).startswith(f"cannot join the Ray cluster at '{address}'")


def test_wrong_use_is_answered():
    with pytest.raises(UsageError, match="did you mean 'process'"):
        make_engine("proces")
    with pytest.raises(UsageError, match="workers must be at least 1, got 0"):
        ProcessEngine(0)
    with pytest.raises(UsageError, match="is for the engine 'ray'"):
        make_engine("process", address="host:6379")


def test_without_ray_its_engine_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)  # importing it now fails as if it were not installed
    with pytest.raises(UsageError, match=r"pip install 'unbraid\[ray\]'"):
        make_engine("ray")


ALONE = """
import sys
sys.modules["ray"] = None
from unbraid.engines import Task, make_engine

with make_engine("process", workers=1) as engine:
    task = Task(0, "engine_tasks:double", {"value": 21}, (sys.argv[1],))
    print([outcome.value for outcome in engine.run([task])])
"""


def test_without_ray_the_local_engine_runs():
    words = [sys.executable, "-c", ALONE, str(TASKS)]
    assert subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip() == "[42]"
