"""Trackers are told everything once, and change nothing."""

import json
import os
import shlex
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import unbraid
from unbraid.cli.app import main
from unbraid.errors import UsageError, UsageWarning
from unbraid.objectives import BetaVAE
from unbraid.training import Hook, open_run
from unbraid.training.tracking import Tracker, named_trackers, send_run, settings_of
from unbraid.training.tracking.base import sent_later

OWN = f"{Path(__file__).with_name('own_tracker.py')}:Lines"
PLUGIN = Path(__file__).parents[1] / "dots.py"


def train(dots, out, **options):
    options = {"steps": 60, "progress": "none", "log_every": 20} | options
    return unbraid.train(BetaVAE(beta=1.0, net="mlp:width=32", latents=3), dots, out=out, **options)


@pytest.fixture
def told(tmp_path, monkeypatch):
    """What an own tracker was told so far."""
    path = tmp_path / "told.jsonl"
    monkeypatch.setenv("TOLD", str(path))
    return lambda: [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def contents(folder: Path) -> dict[str, object]:
    """All files of a run but what differs between any two: when, how long, and by which command it was made."""
    record = json.loads((folder / "run.json").read_text())
    files = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file() and path.name != "run.json"}
    return {**files, "run.json": {key: value for key, value in record.items() if key not in ("seconds", "command")}}


def test_a_run_folder_is_the_same_with_and_without_a_tracker_but_for_the_remote_id(dots, tmp_path, told):
    hook = Hook(lambda moment: {"twice": 2.0 * moment.step}, every=30)
    plain = contents(train(dots, tmp_path / "plain", hooks=[hook]).path)
    tracked = contents(train(dots, tmp_path / "tracked", hooks=[hook], track=OWN).path)
    assert tracked["run.json"].pop("tracking") == {"own_tracker.py:Lines": {"step": 60, "id": "id-7"}}
    assert tracked == plain
    history = open_run(tmp_path / "tracked").history()
    rows = {row.pop("step"): row for row in history.to_dicts()}
    expected = {20: rows[20], 30: {"twice": 60.0}, 40: rows[40], 60: {**rows[60], "twice": 120.0}}
    logged = [call[1:] for call in told() if call[0] == "log"]
    assert [step for step, _ in logged] == [20, 30, 40, 60]
    assert dict(map(tuple, logged)) == expected
    assert told()[0] == ["start", "tracked", 0, None]
    assert told()[-1] == ["finish", "finished"]


def test_a_longer_budget_goes_on_with_the_same_id_and_sends_what_is_new(dots, tmp_path, told):
    train(dots, tmp_path / "run", steps=50, track=OWN)  # leaves a short row for step 50, which the next one replaces
    train(dots, tmp_path / "run", steps=80, track=OWN)
    assert [call[1] for call in told() if call[0] == "log"] == [20, 40, 60, 80]
    assert [call[3] for call in told() if call[0] == "start"] == [None, "id-7"]


def test_a_tracker_that_comes_later_hears_of_the_beginning_too(dots, tmp_path, told):
    train(dots, tmp_path / "run", steps=40)
    train(dots, tmp_path / "run", steps=80, track=OWN)
    assert [call[1] for call in told() if call[0] == "log"] == [20, 40, 60, 80]


def test_steps_rise_over_kill_9_and_resume(tmp_path, told):
    words = ["-c", "import sys; from unbraid.cli.app import main; sys.exit(main())", "train", "beta-vae"]
    words += ["--plugin", str(PLUGIN), "--data", "dots", "--net", "mlp:width=32", "--latents", "3", "--track", OWN]
    words += ["--log-every", "10", "--checkpoint-seconds", "0.05", "--progress", "none", "--out", str(tmp_path / "run")]
    process = subprocess.Popen([sys.executable, *words, "--steps", "20000"], stdout=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 60
        while process.poll() is None and time.monotonic() < deadline and len(told()) < 30:
            time.sleep(0.002)
        assert process.poll() is None, "the run ended before it could be killed"
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    reached = json.loads((tmp_path / "run" / "run.json").read_text())["step"]
    subprocess.run([sys.executable, *words, "--steps", str(reached + 200)], check=True, stdout=subprocess.DEVNULL)
    steps = [call[1] for call in told() if call[0] == "log"]
    assert steps == sorted(set(steps))
    assert steps[-1] == (reached + 200) // 10 * 10
    assert [call[3] for call in told() if call[0] == "start"] == [None, "id-7"]


def test_a_tracker_that_always_raises_costs_one_warning(dots, tmp_path):
    plain = contents(train(dots, tmp_path / "plain").path)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        run = train(dots, tmp_path / "tracked", track=OWN.replace("Lines", "Raises"), checkpoint_seconds=0.0)
    assert [one.category for one in found] == [UsageWarning]
    assert "own_tracker.py:Raises failed (RuntimeError: always)" in str(found[0].message)
    assert contents(run.path) == plain


def test_what_a_broken_tracker_missed_is_sent_later(dots, tmp_path, told, monkeypatch, capsys):
    monkeypatch.setenv("BREAKS_AT", "40")
    with pytest.warns(UsageWarning, match="ConnectionError: no line") as warned:
        run = train(dots, tmp_path / "run", track=OWN)
    words = shlex.split(
        str(warned[0].message).split("The run folder has everything: ")[1].removesuffix(" sends it later")
    )
    assert run.info["tracking"]["own_tracker.py:Lines"]["step"] == 20
    with pytest.raises(UsageError, match="ConnectionError: no line"):
        send_run(run, OWN)
    monkeypatch.delenv("BREAKS_AT")
    monkeypatch.chdir(tmp_path)
    assert main([*words[1:], "--json"]) == 0
    (sent,) = json.loads(capsys.readouterr().out)
    assert (sent["steps"], sent["id"]) == (2, "id-7")
    assert [call[1] for call in told() if call[0] == "log"] == [20, 40, 60]


def test_tables_that_cannot_be_read_cost_one_warning(dots, tmp_path, told):
    def spoil(_):
        (tmp_path / "run" / "evaluations.csv").write_text("step,name,value\n10,twice,many\n")
        return {}

    with pytest.warns(UsageWarning, match=r"own_tracker\.py:Lines failed .*The run folder has everything"):
        run = train(dots, tmp_path / "run", track=OWN, hooks=[Hook(spoil, every=60)])
    assert run.finished
    assert [call[0] for call in told()] == ["start"]
    assert run.info["tracking"]["own_tracker.py:Lines"]["step"] == 0


def test_the_command_sends_a_finished_run_once_and_again_when_asked(tmp_path, told, capsys):
    run = train("blobs16", tmp_path / "run", steps=50)
    Image.fromarray(np.zeros((4, 4, 3), np.uint8)).save(run.path / "factors.png")
    assert main(["evaluate", str(run.path), "--metrics", "mig", "--train", "200", "--test", "50"]) == 0
    capsys.readouterr()
    assert main(["track", str(run.path), "--to", OWN]) == 0
    assert "sent 3 rows" in capsys.readouterr().out
    assert [call[1] for call in told() if call[0] == "log"] == [20, 40, 50]
    (table,) = [call[1] for call in told() if call[0] == "scores"]
    mig = json.loads((run.path / "scores.json").read_text())["scores"]["mig"]["value"]
    expected = {"measure": "disentanglement", "score": "mig", "value": mig, "condition": {"representation": "mean"}}
    assert expected in table
    assert {row["score"] for row in table if row["measure"] == "summary"} >= {"reconstruction", "kl"}
    assert [call[1:] for call in told() if call[0] == "picture"] == [["factors", "factors.png"]]
    assert told()[-1] == ["finish", "finished"]
    before = len(told())
    assert main(["track", str(run.path), "--to", OWN, "--json"]) == 0
    assert [call[0] for call in told()[before:]] == ["start", "finish"]
    (sent,) = json.loads(capsys.readouterr().out)
    assert (sent["steps"], sent["scores"], sent["pictures"]) == (0, 0, 0)
    assert main(["track", str(run.path), "--to", OWN, "--again"]) == 0
    assert told()[before + 2][3] is None
    assert open_run(run.path).finished


class HalfATracker:
    def start(self, *_): ...


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ("mlfow", "unknown tracker 'mlfow'; did you mean 'mlflow'"),
        ("missing.py:Mine", "no such Python file"),
        (OWN.replace("Lines", "Nothing"), "the file has no class 'Nothing'"),
        (OWN.replace("Lines", "Half"), "has no method 'log', expected start, log, picture, scores, finish"),
        (HalfATracker(), "tracker HalfATracker has no method 'log', expected start"),
        (Tracker, r"got the class Tracker; give Tracker\(\)"),
        ([OWN, Tracker], r"got the class Tracker; give Tracker\(\)"),
        (3, r"track must be names of trackers \(tensorboard, wandb, mlflow, FILE.py:CLASS\) or objects.*got 3"),
        (None, "got None"),
        (object(), "got <object object"),
    ],
)
def test_a_wrong_tracker_is_refused_before_anything_is_done(dots, tmp_path, asked, message):
    with pytest.raises(UsageError, match=message):
        train(dots, tmp_path / "run", track=asked)
    assert not (tmp_path / "run").exists()


def test_extras_are_imported_only_when_named():
    script = (
        "import sys, unbraid.training\n"
        "assert not {'wandb', 'mlflow', 'tensorboard'} & set(sys.modules)\n"
        "for name in ('wandb', 'mlflow', 'torch.utils.tensorboard'): sys.modules[name] = None\n"
        "from unbraid.cli.app import main\n"
        "for name in ('wandb', 'mlflow', 'tensorboard'):\n"
        "    assert main(['train', 'vae', '--data', 'blobs16', '--track', name, '--out', 'none']) == 2\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert [line.split("pip install ")[1] for line in done.stderr.splitlines()] == [
        "'unbraid[wandb]'",
        "'unbraid[mlflow]'",
        "'unbraid[tensorboard]'",
    ]
    assert not Path("none").exists()


def test_objects_are_taken_beside_names():
    class Mine(Tracker): ...

    mine = Mine()
    assert named_trackers([mine, OWN]).keys() == {"Mine", "own_tracker.py:Lines"}

    class Other:
        start = log = picture = scores = finish = lambda *_: None

    other = Other()
    assert named_trackers(other) == {"Other": other}
    assert named_trackers("") == {}


def test_what_an_object_missed_is_sent_later_from_python(dots, tmp_path):
    class Mine(Tracker):
        steps, broken = (), True

        def start(self, folder, record, before):
            return before or "mine"

        def log(self, step, scalars):
            if self.broken:
                raise ConnectionError("no line")
            self.steps += (step,)

    mine = Mine()
    with pytest.warns(UsageWarning, match=r"unbraid\.training\.tracking\.send_run\('.*run', Mine\(\.\.\.\)\) sends"):
        run = train(dots, tmp_path / "run", track=mine)
    mine.broken = False
    (sent,) = send_run(run, mine)
    assert (sent.to, sent.id, mine.steps) == ("Mine", "mine", (20, 40, 60))


def test_the_hint_for_a_named_tracker_is_its_name(tmp_path):
    pytest.importorskip("tensorboard")
    tracker = named_trackers("tensorboard")["tensorboard"]
    assert sent_later("tensorboard", tracker, tmp_path) == f"unbraid track {tmp_path} --to tensorboard"


def test_tensorboard_has_the_numbers_of_the_history_once(dots, tmp_path):
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    train(dots, tmp_path / "run", steps=40, track="tensorboard")
    run = train(dots, tmp_path / "run", steps=60, track="tensorboard")
    events = accumulator.EventAccumulator(str(run.path / "tensorboard"))
    events.Reload()
    history = run.history()
    for name in history.columns[1:]:
        found = events.Scalars(name)
        assert [event.step for event in found] == history["step"].to_list()
        np.testing.assert_allclose([event.value for event in found], history[name].to_list(), rtol=1e-6)
    Image.fromarray(np.zeros((4, 4, 3), np.uint8)).save(run.path / "factors.png")
    send_run(run, "tensorboard")
    events.Reload()
    assert events.Tags()["images"] == ["factors"]
    (sent,) = send_run(run, "tensorboard", again=True)
    assert (sent.steps, sent.pictures) == (history.height, 1)
    events = accumulator.EventAccumulator(str(run.path / "tensorboard"))
    events.Reload()
    assert [event.step for event in events.Scalars("loss")] == history["step"].to_list()
    assert len(events.Images("factors")) == 1
    train(dots, tmp_path / "run", steps=20, fresh=True)
    assert not (run.path / "tensorboard").exists()


def test_no_secret_of_the_environment_reaches_the_record(dots, tmp_path, told, monkeypatch):
    monkeypatch.setenv("WANDB_API_KEY", "0123456789secret")
    run = train(dots, tmp_path / "run", track=OWN)
    assert b"0123456789secret" not in b"".join(path.read_bytes() for path in run.path.iterdir())
    assert "0123456789secret" not in os.fspath(json.dumps(told()))


@pytest.mark.parametrize(
    ("value", "sent"),
    [
        (["ant:snapshots=/home/me/secret/run", "flip"], "['ant:snapshots=run', 'flip']"),
        ("ant:snapshots=secret/my runs/first/,rate=1/8", "ant:snapshots=first,rate=1/8"),
        ("/home/me,secret/run", "run"),
        ("~/secret/run", "run"),
        ("C:\\Users\\secret\\run", "C:run"),
        ("https://secret.example/run", "https:run"),
        ({"from": Path("/home/secret/run")}, "{'from': 'run'}"),
        ("mlp:width=32,norm=none", "mlp:width=32,norm=none"),
        (2.0, 2.0),
    ],
)
def test_of_paths_in_settings_only_the_last_part_is_sent(value, sent):
    assert settings_of({"objective": {"name": "vae", "options": {"option": value}}})["option"] == sent
