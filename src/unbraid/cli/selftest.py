"""unbraid selftest"""

from __future__ import annotations

import contextlib
import json as json_module
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from unbraid.errors import UsageError
from unbraid.files import exclusive, replace_file, write_json
from unbraid.paths import user_path
from unbraid.reading import read_json

__all__ = ["selftest_command"]

RESULTS = ("checkpoint.safetensors", "history.csv")
STEPS = 800
PATIENCE = 300.0
"""Seconds that a training of a few seconds may take on a busy machine."""

LOCK = """
import sys
from pathlib import Path
from unbraid.errors import UsageError
from unbraid.files import exclusive
try:
    with exclusive(Path(sys.argv[1])):
        pass
except UsageError:
    sys.exit(7)
"""


def selftest_command(*, folder: Path = Path(), kills: int = 6, keep: bool = False, json: bool = False) -> None:
    """Try on this machine and this disk what the library promises: a minute of writing, training, killing, comparing.

    A small model is trained to its end. The same training is then killed with SIGKILL, which no program can answer, and
    begun again as often as --kills says; its files must be the same to the last bit. Files must appear whole or not at
    all, a folder in use must be refused to a second process, a damaged checkpoint must be recognised, and known codes
    must get their known score. All of it happens in a new folder inside --folder, which is removed afterwards (also
    after Ctrl-C). With 6 kills it takes about 50 seconds of one core.

    Run it on the disk that will hold your runs, above all if that is a network file system: those differ in whether
    they lock and rename as a local disk does. What it cannot try is a loss of power; see docs/trust.md.

    The exit code is 0 if every check is ok, otherwise 2.

    Args:
        folder: Where to try it (otherwise the current folder).
        kills: How often the training is killed.
        keep: Leave the files, to look at them.
        json: Print the result as JSON.
    """
    if not 1 <= kills <= 100:
        raise UsageError(f"kills must lie in 1..100, got {kills}")
    place = user_path(folder, "--folder")
    if not place.is_dir():
        raise UsageError(f"--folder {place} is no folder; give one that exists, on the disk to try")
    began = time.monotonic()
    with _asked_to_end():
        home = Path(tempfile.mkdtemp(prefix="unbraid-selftest-", dir=place))
        try:
            rows = [_checked(title, check, json) for title, check in _checks(home, kills)]
        finally:
            if not keep:
                shutil.rmtree(home, ignore_errors=True)
    failed = [row["check"] for row in rows if not row["ok"]]
    seconds, where = round(time.monotonic() - began, 1), str(place.absolute())
    if json:
        print(json_module.dumps({"ok": not failed, "seconds": seconds, "folder": where, "checks": rows}))
    else:
        print(f"{len(rows) - len(failed)} of {len(rows)} checks ok in {seconds:.0f} s at {where}")
    if failed:
        raise UsageError(f"selftest failed: {', '.join(failed)}. Do not trust runs to this disk before it passes")


@contextlib.contextmanager
def _asked_to_end() -> Iterator[None]:
    """Let a request to end act like Ctrl-C, so that the folder is removed in any case."""

    def end(*_: Any) -> None:
        raise KeyboardInterrupt

    before = {number: signal.signal(number, end) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _checks(home: Path, kills: int) -> Iterator[tuple[str, Callable[[], str]]]:
    whole, broken = home / "whole", home / "broken"
    yield "a file is written whole or not at all", lambda: _whole_files(home)
    yield "a folder in use is refused to others", lambda: _held(home)
    yield "known codes get their known score", _known_score
    yield "a model trains to its end", lambda: _trained(whole)
    yield f"{kills} kill -9 lose no byte", lambda: _killed(whole, broken, kills)
    yield "what was stored is read back", lambda: _opened(whole)
    yield "a damaged checkpoint is recognised", lambda: _damaged(whole, home / "damaged")


def _checked(title: str, check: Callable[[], str], silent: bool) -> dict[str, Any]:
    began = time.monotonic()
    try:
        ok, told = True, check()
    except Exception as error:  # whatever goes wrong is the answer
        ok, told = False, " ".join(f"{type(error).__name__}: {error}".split())
    if not silent:
        print(f"{'ok    ' if ok else 'FAILED'}  {title:<40}  {told}", flush=True)
    return {"check": title, "ok": ok, "told": told, "seconds": round(time.monotonic() - began, 2)}


def _expect(holds: bool, otherwise: str) -> None:
    if not holds:
        raise AssertionError(otherwise)


def _whole_files(home: Path) -> str:
    path, content = home / "file.json", {"text": "R² ± 0.1", "numbers": list(range(1000))}
    write_json(path, {"earlier": True})
    with contextlib.suppress(InterruptedError), replace_file(path) as temporary:
        temporary.write_bytes(b"half")
        raise InterruptedError
    _expect(read_json(path) == {"earlier": True}, "half a file took the place of a whole one")
    write_json(path, content)
    _expect(read_json(path) == content, "what was read is not what was written")
    _expect([file.name for file in home.iterdir()] == ["file.json"], "something was left behind")
    return f"{shutil.disk_usage(home).free / 2**30:.1f} GB are free"


def _held(home: Path) -> str:
    command = [sys.executable, "-c", LOCK, str(home)]
    with exclusive(home):
        _expect(subprocess.run(command, check=False).returncode == 7, "two processes held one folder")
    _expect(subprocess.run(command, check=False).returncode == 0, "a folder that was let go is still refused")
    return "locks work here"


def _known_score() -> str:
    import numpy as np

    from unbraid.metrics import mig

    grid = np.indices((3, 4)).reshape(2, -1).T
    _expect(float(mig(grid, grid)) == 1.0, f"the MIG of the factors themselves is {float(mig(grid, grid))}, not 1")
    return "mig 1 of 1"


def _train(out: Path, *more: str) -> list[str]:
    words = ("train", "beta-vae", "--data", "mini-sprites", "--net", "mlp:width=32", "--latents", "3", "--seed", "0")
    budget = ("--steps", str(STEPS), "--log-every", "20", "--device", "cpu", "--progress", "none", "--json")
    return [sys.executable, "-m", "unbraid", *words, *budget, "--out", str(out), *more]


@contextlib.contextmanager
def _training(out: Path, *more: str) -> Iterator[subprocess.Popen[str]]:
    """A training in a process of its own, which no Ctrl-C reaches and which is gone when this ends."""
    process = subprocess.Popen(
        _train(out, *more),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        start_new_session=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def _trained(out: Path) -> str:
    with _training(out) as process:
        printed, problem = process.communicate(timeout=PATIENCE)
    _expect(process.returncode == 0, problem or "training failed")
    told = json_module.loads(printed)
    return f"{told['step']} steps in {told['seconds']:.0f} s"


def _killed(whole: Path, broken: Path, kills: int) -> str:
    steps = [_kill_beyond(broken, STEPS * (number + 1) // (kills + 1)) for number in range(kills)]
    _trained(broken)
    for name in RESULTS:
        _expect((broken / name).read_bytes() == (whole / name).read_bytes(), f"{name} differs after kill -9")
    _expect(not list(broken.glob(".*.part")), "an unfinished file was left behind")
    size = sum((whole / name).stat().st_size for name in RESULTS)
    return f"killed at step {', '.join(map(str, steps))}; {size:,} bytes are the same"


def _kill_beyond(out: Path, step: int) -> int:
    """Train until the history passes a step, kill the process; returns the step that was seen last."""
    with _training(out, "--checkpoint-seconds", "0.05") as process:
        deadline = time.monotonic() + PATIENCE
        while process.poll() is None and time.monotonic() < deadline:
            if (seen := _last_step(out / "history.csv")) >= step:
                os.kill(process.pid, signal.SIGKILL)
                process.wait()
                _expect(process.returncode == -signal.SIGKILL, "the training ended before it could be killed")
                return seen
            time.sleep(0.002)
    raise AssertionError("the training ended before it could be killed")


def _last_step(history: Path) -> int:
    """The step of the last row that is there as a whole."""
    with contextlib.suppress(OSError):
        rows = history.read_bytes().split(b"\n")[1:-1]
        return int(rows[-1].split(b",")[0]) if rows else 0
    return 0


def _opened(out: Path) -> str:
    from unbraid.data import load
    from unbraid.training import open_run

    run, images = open_run(out, device="cpu"), load("mini-sprites").images(range(8))
    _expect(run.finished, f"its status is {run.info['status']!r}")
    codes = run.encode(images)
    _expect(bool((codes == open_run(out, device="cpu").encode(images)).all()), "two readers see two models")
    return f"{run.history().height} rows of history, codes of {codes.shape[1]} latents"


def _damaged(whole: Path, copy: Path) -> str:
    from unbraid.training import open_run

    shutil.copytree(whole, copy)
    file = copy / RESULTS[0]
    content = file.read_bytes()
    for cut in (0, 4, 100, len(content) // 2, len(content) - 1):
        file.write_bytes(content[:cut])
        try:
            open_run(copy, device="cpu").model  # noqa: B018 (read when asked for)
        except UsageError:
            continue
        raise AssertionError(f"a checkpoint cut to {cut} bytes was taken for whole")
    return "5 of 5 cut ones refused"
