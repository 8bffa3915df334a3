"""Trained runs by name: what the catalogue says of them is so, and nothing but a whole, checked run is unpacked."""

import hashlib
import json
import shlex
import subprocess
import sys
import threading
import zipfile
from contextlib import nullcontext
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest

import unbraid
from unbraid.cli.app import main
from unbraid.errors import UsageError
from unbraid.objectives import BetaVAE
from unbraid.training import CHECKPOINT, open_run
from unbraid.training.tracking import send_run
from unbraid.training.zoo import entries, entry, fetch_run, pack_run

SHIPPED = ("rooms-pairs", "sprites-beta")


@pytest.fixture
def root(tmp_path, monkeypatch):
    """An empty data root."""
    monkeypatch.setenv("UNBRAID_DATA", str(tmp_path / "data"))
    return tmp_path / "data"


def unlocked(root: Path) -> list[str]:
    """What lies under the data root for the zoo, but for locks."""
    return [path.name for path in (root / "zoo").iterdir() if path.suffix != ".lock"]


@pytest.fixture
def packed(tmp_path, monkeypatch, root):  # noqa: ARG001
    """A small run in an archive beside a catalogue that the environment names."""
    run = unbraid.train(
        BetaVAE(net="mlp:width=8", latents=3), "blobs16", out=tmp_path / "run", steps=5, progress="none"
    )
    folder = tmp_path / "served"
    folder.mkdir()
    command = "unbraid train beta-vae --data blobs16 --net mlp:width=8 --latents 3 --steps 5 --out runs/small"
    record = {
        "title": "small",
        "objective": "beta-vae",
        "data": "blobs16",
        "seed": 0,
        "steps": 5,
        "command": command,
        "scores": {"preset": "fast", "seed": 0, "values": {}},
        "sha256": pack_run(run, folder / "small.zip", command),
        "size": (folder / "small.zip").stat().st_size,
    }
    monkeypatch.setenv("UNBRAID_ZOO", str(folder / "catalogue.json"))

    def say(**changes):
        told = {**record, "file": "small.zip"} | changes
        told = {key: value for key, value in told.items() if value is not None}
        (folder / "catalogue.json").write_text(json.dumps({"runs": {"small": told}}))

    say()
    return run, folder / "small.zip", say


@pytest.fixture
def server(tmp_path):
    """The folder of the archive, served on loopback."""

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_): ...

    found = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=tmp_path / "served"))
    threading.Thread(target=found.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{found.server_port}/small.zip"
    found.shutdown()
    found.server_close()


@pytest.mark.usefixtures("root")
@pytest.mark.parametrize("name", SHIPPED)
def test_a_shipped_run_opens_and_is_the_one_that_its_command_makes(name):
    found, run = entry(name), open_run(f"zoo:{name}")
    words = shlex.split(found.command)
    assert found.file.stat().st_size == found.size < 3e6
    given = dict(zip(words[3::2], words[4::2], strict=True))
    arithmetic = {"--precision": "bf16", "--threads": "1"}
    assert arithmetic.items() <= given.items()
    assert run.info["arithmetic"] == {"device": "cpu", "precision": "torch.bfloat16", "threads": 1}
    # The record has the command without what was chosen by itself on the machine that trained it.
    said = [word for pair in given.items() if pair[0] not in arithmetic for word in pair]
    assert run.info["command"] in (words, [*words[:3], *said])
    assert words[:3] == ["unbraid", "train", found.objective] == ["unbraid", "train", run.info["objective"]["name"]]
    assert (given["--data"], given["--seed"], given["--steps"]) == (found.data, str(found.seed), str(found.steps))
    assert (run.info["data"]["name"], run.info["seed"], run.info["step"]) == (found.data, found.seed, found.steps)
    assert float(given["--beta"]) == run.objective.beta
    images = np.zeros((2, *run.info["data"]["shape"]), np.uint8)
    assert np.isfinite(run.encode(images)).all()
    assert set(entries()) == set(SHIPPED)


def test_scores_of_a_shipped_run_are_those_of_the_catalogue():
    run, expected = open_run("zoo:sprites-beta"), entry("sprites-beta").scores
    quick = ["mig", "modularity", "mcc", "irs"]
    found = unbraid.evaluate(run, run.data(), metrics=quick, preset=expected["preset"], seed=expected["seed"])
    assert {name: float(score) for name, score in found.items()} == pytest.approx(
        {name: expected["values"][name] for name in quick}, abs=1e-6
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", SHIPPED)
def test_all_scores_of_a_shipped_run_are_those_of_the_catalogue(name):
    run, expected = open_run(f"zoo:{name}"), entry(name).scores
    found = unbraid.evaluate(run, run.data(), preset=expected["preset"], seed=expected["seed"])
    assert {name: float(score) for name, score in found.items()} == pytest.approx(expected["values"], abs=1e-6)


def test_a_packed_run_encodes_as_before_and_takes_a_third_of_the_room(packed):
    run, archive, _ = packed
    again = open_run("zoo:small")
    images = run.data().images(np.arange(10))
    np.testing.assert_array_equal(again.encode(images), run.encode(images))
    assert again.history().equals(run.history())
    assert (again.path / CHECKPOINT).stat().st_size < 0.5 * (run.path / CHECKPOINT).stat().st_size
    before = archive.read_bytes()
    pack_run(run, archive, shlex.join(again.info["command"]))
    assert archive.read_bytes() == before


@pytest.mark.usefixtures("packed")
def test_a_packed_run_is_begun_from_but_not_trained_on(tmp_path):
    folder = fetch_run("small", tmp_path / "got")
    objective = BetaVAE(net="mlp:width=8", latents=3)
    with pytest.raises(UsageError, match=r"without the memory of their optimisers.*--parts"):
        unbraid.train(objective, "blobs16", out=folder, steps=9, progress="none")
    begun = unbraid.train(
        objective, "blobs16", out=tmp_path / "new", steps=1, start=folder, parts=("encoder", "decoder"), progress="none"
    )
    assert begun.info["start"]["parts"] == ["encoder", "decoder"]


def test_a_run_is_downloaded_checked_and_its_archive_not_kept(packed, server, root):
    run, _, say = packed
    say(file=None, url=server)
    found = open_run("zoo:small")
    assert found.info["objective"] == run.info["objective"]
    assert unlocked(root) == [found.path.name]


def test_two_processes_of_several_threads_open_a_run_at_once(packed, server, root):
    _, _, say = packed
    say(file=None, url=server)
    script = (
        "import sys, threading\n"
        "from concurrent.futures import ThreadPoolExecutor\n"
        "from unbraid.training.zoo import fetch_run\n"
        "together = threading.Barrier(4)\n"
        "print('ready', flush=True)\n"
        "sys.stdin.readline()\n"
        "with ThreadPoolExecutor(4) as threads:\n"
        "    found = set(threads.map(lambda _: (together.wait(), fetch_run('small'))[1].name, range(4)))\n"
        "print(*found)\n"
    )
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    processes = [subprocess.Popen([sys.executable, "-c", script], **pipes) for _ in range(2)]
    for process in processes:
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        process.stdin.write("\n")
        process.stdin.flush()
    told = [process.communicate(timeout=60) for process in processes]
    assert [process.returncode for process in processes] == [0, 0], told
    (name,) = unlocked(root)
    assert [out.strip() for out, _ in told] == [name, name]
    assert open_run("zoo:small").finished


@pytest.mark.parametrize("where", ["file", "url"])
def test_a_wrong_checksum_leaves_no_file(packed, server, root, where):
    _, _, say = packed
    say(sha256="0" * 64, **({"file": None, "url": server} if where == "url" else {}))
    with pytest.raises(UsageError, match="damaged: expected sha256 0000"):
        open_run("zoo:small")
    assert not unlocked(root)


@pytest.mark.parametrize(
    ("member", "content"),
    [
        ("../outside.txt", b"x"),
        ("/outside.txt", b"x"),
        ("weights.pkl", b"\x80\x04N."),
        ("scores/mig.json", b"{}"),
        ("run.json", b"{}"),
    ],
)
def test_an_archive_with_anything_else_is_refused_whole(packed, root, member, content):
    _, archive, say = packed
    with (
        zipfile.ZipFile(archive, "a") as file,
        pytest.warns(UserWarning, match="Duplicate") if member == "run.json" else nullcontext(),
    ):
        file.writestr(member, content)
    say(sha256=hashlib.sha256(archive.read_bytes()).hexdigest(), size=archive.stat().st_size)
    with pytest.raises(UsageError, match=r"expected only run\.json"):
        open_run("zoo:small")
    assert not unlocked(root)


@pytest.mark.usefixtures("packed")
def test_the_commands_list_runs_and_put_one_into_a_folder(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["zoo", "list"]) == 0
    assert "small" in capsys.readouterr().out
    assert main(["zoo", "list", "--json"]) == 0
    assert [row["name"] for row in json.loads(capsys.readouterr().out)] == ["small", *SHIPPED]
    assert main(["zoo", "get", "small"]) == 0
    assert open_run("runs/small").finished
    assert main(["zoo", "get", "small", "--json"]) == 2
    assert "is there already; choose another folder" in capsys.readouterr().err
    assert main(["zoo", "get", "smal"]) == 2
    assert "unknown run of the zoo 'smal'; did you mean 'small'?" in capsys.readouterr().err
    assert main(["evaluate", "zoo:small"]) == 2
    assert "unbraid zoo get small --out runs/small" in capsys.readouterr().err


@pytest.mark.usefixtures("packed")
def test_a_run_of_the_zoo_is_sent_to_no_tracker_before_it_has_a_folder_of_its_own():
    run = open_run("zoo:small")
    before = {path.name: path.read_bytes() for path in run.path.iterdir()}
    for asked in ("zoo:small", run):
        with pytest.raises(UsageError, match=r"zoo:small must be .*: unbraid zoo get small --out runs/small"):
            send_run(asked, "tensorboard")
    assert {path.name: path.read_bytes() for path in run.path.iterdir()} == before


@pytest.mark.usefixtures("packed")
def test_an_empty_folder_is_filled_and_stays_the_current_one(tmp_path, monkeypatch, capsys):
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    assert main(["zoo", "get", "small", "--out", "."]) == 0
    assert Path.cwd().samefile(tmp_path / "here")
    assert {path.name for path in Path().iterdir()} == {"run.json", CHECKPOINT, "history.csv", "evaluations.csv"}
    assert open_run(".").finished
    assert main(["zoo", "get", "small", "--out", "."]) == 2
    assert "is there already" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"url": "http://127.0.0.1/x"}, "a file or a url, one of both"),
        ({"file": "gone.zip"}, "not where its catalogue says"),
        ({"steps": "many"}, "steps"),
        ({"colour": "red"}, "unknown entry 'colour'"),
        ({"sha256": "../../" + "0" * 58}, "sha256 must be 64 hex digits"),
        ({"sha256": "0" * 63}, "sha256 must be 64 hex digits"),
    ],
)
def test_a_wrong_catalogue_is_told_of(packed, changes, message):
    _, _, say = packed
    say(**changes)
    with pytest.raises(UsageError, match=message):
        open_run("zoo:small")


def test_a_catalogue_that_is_not_there_is_named(monkeypatch):
    monkeypatch.setenv("UNBRAID_ZOO", str(Path("nowhere.json")))
    with pytest.raises(UsageError, match=r"UNBRAID_ZOO names nowhere\.json"):
        entries()
