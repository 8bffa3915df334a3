"""The trackers of others, themselves, offline: what they hold afterwards is what the run folder holds."""

import json
import struct
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import unbraid
from unbraid.objectives import BetaVAE
from unbraid.training.tracking import flat_scores, score_rows, send_run, settings_of

WHY = "an extra too large for every check (pip install '.[mlflow,wandb]' to run this)"


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Trained in two goes with a tracker; the second one was told of the first."""
    monkeypatch.chdir(tmp_path)

    def make(track):
        for steps in (40, 60):
            found = unbraid.train(
                BetaVAE(beta=1.0, net="mlp:width=32", latents=3),
                "blobs16",
                out="run",
                steps=steps,
                log_every=20,
                progress="none",
                track=track,
            )
        scores = {"mig": {"value": 0.1 + 0.2}, "dci": {"value": None}}
        rows = [{"condition": {"corruption": "fog", "severity": 3}, "scores": {"accuracy": 0.25}}]
        told = {"representation": "mean", "scores": scores, "measures": {"corruptions": {"rows": rows}}}
        Path("run", "scores.json").write_text(json.dumps(told))
        return found

    return make


@pytest.mark.filterwarnings("ignore")
def test_the_file_store_of_mlflow_holds_settings_history_and_scores(run, tmp_path, monkeypatch):
    mlflow = pytest.importorskip("mlflow", reason=WHY)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", (tmp_path / "store").as_uri())
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")  # later versions ask for this word
    trained = run("mlflow")
    client = mlflow.MlflowClient()
    entry = trained.info["tracking"]["mlflow"]
    found = client.get_run(entry["id"])
    assert found.data.params == {key: str(value) for key, value in settings_of(trained.info).items()}
    assert (found.info.status, found.info.run_name) == ("FINISHED", "run")
    history = trained.history()
    for name in history.columns[1:]:
        stored = client.get_metric_history(entry["id"], name)
        assert [one.step for one in stored] == [20, 40, 60]
        assert [one.value for one in stored] == history[name].to_list()
    (sent,) = send_run("run", "mlflow")
    assert (sent.id, sent.steps, sent.scores) == (entry["id"], 0, 2)
    expected = flat_scores(score_rows(Path("run", "scores.json")))
    stored = client.get_run(entry["id"]).data.metrics
    assert {name: stored[name] for name in expected} == expected
    assert len(expected) == 2
    assert [one.path for one in client.list_artifacts(entry["id"])] == ["scores.json"]
    (other,) = send_run("run", "mlflow", again=True)
    assert other.id != entry["id"]
    assert [one.step for one in client.get_metric_history(other.id, "loss")] == [20, 40, 60]


@pytest.mark.filterwarnings("ignore")
def test_the_offline_files_of_wandb_hold_settings_history_and_scores(run, monkeypatch):
    pytest.importorskip("wandb", reason=WHY)
    monkeypatch.setenv("WANDB_MODE", "offline")
    trained = run("wandb")
    Image.fromarray(np.zeros((4, 4, 3), np.uint8)).save(Path("run", "factors.png"))
    send_run("run", "wandb")
    entry = trained.info["tracking"]["wandb"]
    files = sorted(Path("wandb").glob("offline-run-*/*.wandb"), key=lambda path: path.stat().st_mtime)
    assert {path.stem for path in files} == {f"run-{entry['id']}"}
    records = [record for path in files for record in read_records(path)]
    rows = [{item.key or item.nested_key[0]: item.value_json for item in one.history.item} for one in records]
    rows = [{key: json.loads(value) for key, value in row.items()} for row in rows if row]
    history = trained.history()
    assert [row["_step"] for row in rows if "loss" in row] == [20, 40, 60]
    assert [row["loss"] for row in rows if "loss" in row] == history["loss"].to_list()
    assert [one for row in rows for one in row if one.startswith("factors")]
    (config, *_) = [one.run.config for one in records if one.HasField("run")]
    settings = {item.key: json.loads(item.value_json) for item in config.update}
    assert {key: settings[key] for key in settings_of(trained.info)} == settings_of(trained.info)
    final = {item.key or item.nested_key[0]: item.value_json for one in records for item in one.summary.update}
    assert {key: json.loads(final[key]) for key in flat_scores(score_rows(Path("run", "scores.json")))} == flat_scores(
        score_rows(Path("run", "scores.json"))
    )


def read_records(path: Path):
    """The messages of a wandb file: after 7 bytes, blocks of 32 KiB of pieces of messages, each with a head of 7."""
    from wandb.proto import wandb_internal_pb2 as messages

    data, place, whole = path.read_bytes(), 7, b""
    while place + 7 <= len(data):
        if 32768 - place % 32768 < 7:  # no room for a head: the next block
            place += 32768 - place % 32768
            continue
        _, length, kind = struct.unpack_from("<IHB", data, place)
        whole += data[place + 7 : place + 7 + length]
        place += 7 + length
        if kind in (1, 4):  # a whole message, or the last piece of one
            record = messages.Record()
            record.ParseFromString(whole)
            yield record
            whole = b""
