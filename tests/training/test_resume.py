"""A run that was killed ends with the same bytes as one that was not."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from unbraid.training import open_run

PLUGIN = Path(__file__).parents[1] / "dots.py"
STEPS = 1500


def command(out: Path, *more: str) -> list[str]:
    words = ["-c", "import sys; from unbraid.cli.app import main; sys.exit(main())"]
    words += ["train", "beta-vae", "--plugin", str(PLUGIN), "--data", "dots", "--net", "mlp:width=32", "--latents", "3"]
    return [sys.executable, *words, "--steps", str(STEPS), "--log-every", "70", "--out", str(out), *more]


def kill_once_beyond(out: Path, step: int) -> None:
    """Start the run, wait until its history passes a step, kill -9."""
    process = subprocess.Popen(
        command(out, "--checkpoint-seconds", "0.05"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        deadline = time.monotonic() + 60
        while process.poll() is None and time.monotonic() < deadline:
            history = out / "history.csv"
            rows = history.read_text().splitlines() if history.exists() else []
            if len(rows) > 1 and int(rows[-1].split(",")[0]) >= step:
                break
            time.sleep(0.002)
        assert process.poll() is None, "the run ended before it could be killed"
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()


def test_a_run_killed_three_times_ends_with_the_same_bytes(tmp_path):
    subprocess.run(command(tmp_path / "whole", "--progress", "none"), check=True)
    broken = tmp_path / "broken"
    chance = random.Random(os.getpid())
    for part in range(3):
        kill_once_beyond(broken, chance.randrange(part * 400, part * 400 + 200))
        assert open_run(broken).info["status"] == "running"
    subprocess.run(command(broken, "--progress", "bar"), check=True)
    for name in ("checkpoint.safetensors", "history.csv"):
        assert (broken / name).read_bytes() == (tmp_path / "whole" / name).read_bytes(), name
    assert open_run(broken).finished
    assert not list(broken.glob(".*.part"))


def test_ctrl_c_saves_where_it_was_and_the_same_command_goes_on(tmp_path):
    process = subprocess.Popen(command(tmp_path / "run"), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    history = tmp_path / "run" / "history.csv"
    deadline = time.monotonic() + 60
    while not (history.exists() and history.stat().st_size) and time.monotonic() < deadline:
        time.sleep(0.005)
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 130  # so that `unbraid train ... && unbraid evaluate ...` ends here
    assert "stopped at step" in output
    assert "the same command again" in output
    stopped = open_run(tmp_path / "run")
    assert stopped.info["status"] == "stopped"
    assert 0 < stopped.info["step"] < STEPS
    subprocess.run(command(tmp_path / "run"), check=True, stderr=subprocess.DEVNULL)
    assert open_run(tmp_path / "run").info["step"] == STEPS


def test_a_folder_in_use_is_refused(tmp_path):
    process = subprocess.Popen(command(tmp_path / "run"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 60
        while not (tmp_path / "run" / "run.json").exists() and time.monotonic() < deadline:
            time.sleep(0.005)
        second = subprocess.run(command(tmp_path / "run"), capture_output=True, text=True, check=False)
    finally:
        process.kill()
        process.wait()
    assert second.returncode == 2
    assert "in use by another process" in second.stderr


DYING = """
import os, signal, sys
sys.path.insert(0, {tests!r})
from dots import Dots
import unbraid
from unbraid.objectives import BetaVAE

replace, calls = os.replace, 0

def replace_or_die(*names):
    global calls
    calls += 1
    if calls == {call}:
        os.kill(os.getpid(), signal.SIGKILL)
    replace(*names)

os.replace = replace_or_die
unbraid.train(BetaVAE(net="mlp:width=32"), Dots(), steps=5, out={out!r}, progress="none")
"""


@pytest.mark.parametrize("call", [1, 2, 3])  # run.json, the first checkpoint, run.json once more
def test_a_run_killed_in_its_first_moments_is_taken_up(tmp_path, call):
    out = tmp_path / "run"
    for again in (call, 1000):
        script = DYING.format(tests=str(PLUGIN.parent), out=str(out), call=again)
        result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
        assert result.returncode == (-signal.SIGKILL if again == call else 0), result.stderr
    assert open_run(out).finished
    assert not list(out.glob(".*.part"))


LIMITED = """
import resource, signal, sys
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
sys.path.insert(0, {tests!r})
from dots import Dots
import unbraid
from unbraid.objectives import BetaVAE
from unbraid.training import Hook

def fill(moment):
    if moment.step == 200:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
    return {{}}

unbraid.train(BetaVAE(net="mlp:width=32"), Dots(), steps=400, out={out!r}, progress="none", checkpoint_seconds={often},
              hooks=[Hook(fill, every=100)])
"""


@pytest.mark.parametrize("often", [0.01, 1000.0])
def test_a_disk_that_fills_up_keeps_the_last_checkpoint(tmp_path, often):
    # A limit on file size makes the system refuse writes for real, as a full disk does.
    out = tmp_path / "run"
    script = LIMITED.format(tests=str(PLUGIN.parent), out=str(out), often=often)
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert result.returncode == 1
    assert "is whole: make room and give the same command again" in result.stderr
    run = open_run(out)
    assert run.model is not None
    assert run.info["step"] <= 200
    assert not list(out.glob(".*.part"))
