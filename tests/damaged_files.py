"""Damage files of every kind and read them, in a process apart: ``python damaged_files.py COUNT SEED``.

Prints one JSON object: how many were read all the same, how many were refused, the most memory of a reader, the slowest
file, and what ended otherwise, which should be nothing.
"""

import contextlib
import gzip
import json
import os
import pickle
import random
import re
import resource
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
from PIL import Image

from small_folders import PLUGIN, VAE, make_population, make_study
from unbraid import objectives
from unbraid.cli.app import main
from unbraid.data import load
from unbraid.data.files.folder import from_folder
from unbraid.data.files.idx import read_idx
from unbraid.data.files.measurement_table import read_measurements
from unbraid.data.files.plain_pickle import read_plain_pickle
from unbraid.data.files.store import ImageStore, render_store
from unbraid.data.part import read_indices
from unbraid.data.sets.shapes3d import convert_shapes3d
from unbraid.data.sets.smallnorb import read_matrix
from unbraid.data.space import FactorSpace
from unbraid.errors import UsageError
from unbraid.evaluation import read_rows, read_share
from unbraid.generalization import evaluate, read_predictions, write_predictions
from unbraid.plugins import import_file
from unbraid.report.explorer import run_site
from unbraid.report.page.build import make_report
from unbraid.selection import open_evolution
from unbraid.study import make_table, open_study, read_study
from unbraid.training import open_run, train

SECONDS, MEMORY = 10, 2 << 30
Case = tuple[Path, Callable[[], object]]


import_file(PLUGIN)


def command(words: str, *more: object) -> None:
    """Run a command that must not fail."""
    with contextlib.redirect_stdout(sys.stderr):
        assert main([*words.split(), *map(str, more)]) == 0, words


def make_folders(place: Path) -> None:
    """A run, a study and a population, all finished."""
    command(VAE, "--out", place / "run", "--steps", 4)
    command("evaluate --metrics mig --train 60 --test 30", place / "run")
    study = make_study(place)
    (study / "failures").mkdir()
    (study / "failures" / "00001.json").write_text(json.dumps({"stage": "train", "error": "no", "traceback": "none"}))
    with contextlib.redirect_stdout(sys.stderr):
        make_population(place)


def run_cases(place: Path) -> list[Case]:
    """The files of a run, a study and a population, each with what reads it."""
    run, study, population = place / "run", place / "study", place / "population"
    failure = study / "failures" / "00001.json"

    def weights() -> None:
        _ = open_run(run).model

    def page() -> None:
        make_report([run])

    objective = objectives.make("vae", {"net": "mlp:width=8", "latents": 2})

    def go_on() -> None:
        train(objective, load("dots"), out=run, steps=6, batch_size=8, log_every=2, progress="none")

    def table() -> None:
        make_table(open_study(study))

    def look() -> None:
        found = open_evolution(population)
        _ = found.best, found.history(), found.lineage(), found.members()

    scores, measured = sorted((run / "scores").iterdir()), study / "runs" / "00000"
    shares = sorted((measured / "scores").glob("*.npz"))
    assert shares
    assert scores
    return [
        (run / "run.json", weights),
        (run / "run.json", go_on),
        (run / "checkpoint.safetensors", weights),
        (run / "checkpoint.safetensors", go_on),
        (run / "history.csv", go_on),
        (run / "history.csv", lambda: open_run(run).history()),
        (run / "scores.json", page),
        (run / "scores.json", lambda: run_site(run, images=4, sample=64)),
        (run / "run.json", page),
        (scores[0], lambda: read_rows(scores[0])),
        (shares[0], lambda: read_share(shares[0])),
        (measured / "evaluation.json", table),
        (measured / "run.json", table),
        (study / "study.json", table),
        (failure, table),
        (population / "evolution.json", look),
        (place / "study.toml", lambda: read_study(place / "study.toml")),
    ]


def data_cases(place: Path) -> list[Case]:
    """Files of data."""
    rng = np.random.default_rng(0)
    pixels = rng.integers(0, 256, (12, 8, 8, 1), dtype=np.uint8)
    grid = np.indices((3, 4)).reshape(2, -1).T
    np.savez(stored := place / "stored.npz", images=pixels, factors=grid)
    np.savez_compressed(packed := place / "packed.npz", images=pixels, labels=grid[:, 0])
    np.save(part := place / "part.npy", np.arange(7))
    idx = bytes((0, 0, 8, 3)) + np.array([12, 8, 8], ">i4").tobytes() + pixels.tobytes()
    (plain := place / "images-idx3-ubyte").write_bytes(idx)
    (zipped := place / "images-idx3-ubyte.gz").write_bytes(gzip.compress(idx))
    matrix = np.array([0x1E3D4C55, 3, 12, 8, 8], "<i4").tobytes() + pixels.tobytes()
    (norb := place / "norb.mat").write_bytes(matrix)
    with h5py.File(hdf5 := place / "shapes.h5", "w") as file:
        file["images"], file["labels"] = pixels, grid.astype(float)
    space = FactorSpace(("a", "b"), (3, 4), ("ordinal", "ordinal"))
    rows = [f"{track},{frame},{frame}.5,2,30" for track in range(3) for frame in range(5)]
    (table := place / "tracks.csv").write_text("\n".join(["track,frame,x,y,area", *rows]) + "\n")
    (pictures := place / "pictures").mkdir()
    for name in ("a.png", "b.jpg", "c.gif"):
        Image.fromarray(pixels[0, :, :, 0]).save(pictures / name)
    store = render_store("fuzz", count=12, shape=(8, 8, 1), render=lambda index: pixels[index])
    said = place / "said.parquet"
    write_predictions(said, evaluate(lambda images: np.zeros((len(images), 2)), load("dots"), images=40, one_ood=20))
    (pickled := place / "kitti.pickle").write_bytes(pickle.dumps({"pedestrians": [pixels[0]], "names": ["a"]}))
    return [
        (stored, lambda: load(str(stored)).images([0])),
        (packed, lambda: load(str(packed)).images([0])),
        (part, lambda: read_indices(part)),
        (plain, lambda: read_idx(plain, 3)),
        (zipped, lambda: read_idx(zipped, 3)),
        (norb, lambda: read_matrix(norb)),
        (hdf5, lambda: convert_shapes3d(hdf5, space)),
        (table, lambda: read_measurements(table)),
        *((pictures / name, lambda: from_folder(pictures, size=8)) for name in ("a.png", "b.jpg", "c.gif")),
        (store.path, lambda: ImageStore.open(store.path).images([0])),
        (store.path.with_suffix(".json"), lambda: ImageStore.open(store.path).images([0])),
        (said, lambda: read_predictions(said).answers().modularity()),
        (pickled, lambda: read_plain_pickle(pickled)),
    ]


def damaged(content: bytes, rng: random.Random, name: str) -> bytes:
    """The content with one fault in it."""
    ways = [_flip, _cut, _noise, _repeat, _numbers, _drop]
    if name.endswith(".json"):
        ways += [_other_type] * 6
    return rng.choice(ways)(content, rng)


def _flip(content: bytes, rng: random.Random) -> bytes:
    found = bytearray(content)
    for _ in range(rng.choice((1, 2, 8, 64))):
        found[rng.randrange(min(len(found), rng.choice((128, len(found)))))] ^= 1 << rng.randrange(8)
    return bytes(found)


def _cut(content: bytes, rng: random.Random) -> bytes:
    return content[: rng.randrange(len(content))]


def _noise(content: bytes, rng: random.Random) -> bytes:
    start, length = rng.randrange(len(content)), rng.choice((4, 32, len(content)))
    return content[:start] + rng.randbytes(length) + content[start + length :]


def _repeat(content: bytes, rng: random.Random) -> bytes:
    return content + content[rng.randrange(len(content)) :] * rng.choice((1, 5))


def _drop(content: bytes, rng: random.Random) -> bytes:
    start = rng.randrange(len(content))
    return content[:start] + content[start + rng.choice((1, 4, 100)) :]


def _numbers(content: bytes, rng: random.Random) -> bytes:
    """Another number in the place of one that is written out, or of four bytes."""
    places = list(re.finditer(rb"\d+", content[:4096]))
    if places and rng.random() < 0.7:
        place = rng.choice(places)
        new = rng.choice((b"999999999999", b"-1", b"0", b"1e400", b"nan", b"'a'", b"[" * 5000, b"4294967296"))
        return content[: place.start()] + new + content[place.end() :]
    start = rng.randrange(max(1, min(64, len(content) - 4)))
    new = rng.choice((b"\xff\xff\xff\xff", b"\x00\x00\x00\x00", b"\x7f\xff\xff\xff", b"\x80\x00\x00\x00"))
    return content[:start] + new + content[start + 4 :]


def _other_type(content: bytes, rng: random.Random) -> bytes:
    """A value of another type somewhere in a JSON tree, or none."""
    tree = json.loads(content)
    places: list[tuple[object, object]] = []

    def walk(node: object) -> None:
        for key in list(node) if isinstance(node, dict) else range(len(node)) if isinstance(node, list) else ():
            places.append((node, key))
            walk(node[key])  # type: ignore[index]

    walk(tree)
    if not places:
        return b"[]"
    node, key = rng.choice(places)
    new = rng.choice(
        (None, True, -1, 10**30, 1.5, float("nan"), "text", "", [], [[]], {}, {"a": {}}, [1, "a"], "delete")
    )
    if new == "delete":
        del node[key]  # type: ignore[attr-defined]
    else:
        node[key] = new  # type: ignore[index]
    return json.dumps(tree).encode()


def work(cases: list[Case], content: dict[Path, bytes], place: Path, seed: int, numbers: range) -> None:
    """Damage one file after the other and read it; each end is written down, so that a death shows where it was."""
    for stream in (1, 2):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, used + MEMORY))
    with (place.parent / f"{place.name}.said").open("a", buffering=1, encoding="utf-8") as said:
        for number in numbers:
            path, read = cases[number % len(cases)]
            if number >= 0:
                path.write_bytes(damaged(content[path], random.Random(f"{seed} {number}"), path.name))
            signal.setitimer(signal.ITIMER_PROF, SECONDS)  # at work
            signal.setitimer(signal.ITIMER_REAL, 6 * SECONDS)  # waiting, on a busy machine
            began, end = time.process_time(), "read"
            try:
                read()
            except UsageError as error:
                end = "refused" if str(error) and "\n" not in str(error) else f"said {str(error)!r}"
            except BaseException:
                end = traceback.format_exc()[-1500:]
            signal.setitimer(signal.ITIMER_PROF, 0)
            signal.setitimer(signal.ITIMER_REAL, 0)
            print(json.dumps([number, end, time.process_time() - began]), file=said)
            restore(place, content)


def work_apart(
    cases: list[Case], content: dict[Path, bytes], place: Path, seed: int, numbers: range
) -> tuple[list[tuple[int, str, float]], int]:
    """How reading each ends (number, end, seconds at work) in other processes, and the most memory they took.

    One process reads one file after the other; another goes on where it dies.
    """
    said, most, begin = place.parent / f"{place.name}.said", 0, numbers.start
    said.write_text("")
    while begin < numbers.stop:
        child = os.fork()
        if child == 0:
            code = 1
            try:
                work(cases, content, place, seed, range(begin, numbers.stop))
                code = 0
            finally:
                os._exit(code)
        _, status, usage = os.wait4(child, 0)
        most = max(most, usage.ru_maxrss * 1024)
        ends = [json.loads(line) for line in said.read_text(encoding="utf-8").splitlines()]
        begin = numbers.start + len(ends)
        if status != 0:
            how = f"signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else "the process failed"
            with said.open("a", encoding="utf-8") as file:
                print(json.dumps([begin, how, 0.0]), file=file)
            begin += 1
            restore(place, content)
    found = [json.loads(line) for line in said.read_text(encoding="utf-8").splitlines()]
    said.unlink()
    return [(number, end, seconds) for number, end, seconds in found], most


def restore(folder: Path, content: dict[Path, bytes]) -> None:
    for path in folder.rglob("*"):
        if path.is_file() and path not in content:
            path.unlink()
    for path, held in content.items():
        if not path.exists() or path.read_bytes() != held:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(held)


def main_loop(count: int, seed: int) -> dict[str, object]:
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder).resolve()
        os.environ["UNBRAID_DATA"] = str(place / "data-root")
        builder = os.fork()  # what it starts (threads of polars) must not be copied into the readers
        if builder == 0:
            try:
                make_folders(place)
                os._exit(0)
            except BaseException:
                traceback.print_exc()
                os._exit(1)
        assert os.waitpid(builder, 0)[1] == 0
        cases = run_cases(place) + data_cases(place)
        content = {path: path.read_bytes() for path in place.rglob("*") if path.is_file() and not path.is_symlink()}
        # Whole files first, with negative numbers: these must be read, and what is slow the first time is done.
        found, most = work_apart(cases, content, place, seed, range(-len(cases), count))
        whole, found = found[: len(cases)], found[len(cases) :]
        names = [str(path.relative_to(place)) for path, _ in cases]
        assert {end for _, end, _ in whole} == {"read"}, [(names[n], end) for n, end, _ in whole if end != "read"]
        ends = Counter(end if end in ("read", "refused") else "otherwise" for _, end, _ in found)
        wrong = [f"{n}: {names[n % len(cases)]}: {end}" for n, end, _ in found if end not in ("read", "refused")]
        slowest, number = max((seconds, n) for n, _, seconds in found)
        slow = f"{slowest:.1f} s: {number}: {names[number % len(cases)]}"
    return {**ends, "files": len(cases), "memory": most, "slowest": slow, "wrong": wrong}


if __name__ == "__main__":
    print(json.dumps(main_loop(int(sys.argv[1]), int(sys.argv[2]))))
