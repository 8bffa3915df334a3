"""Settings that begin from the run of another one: fine-tuning in a study."""

import pytest
import torch

from unbraid.engines import InlineEngine
from unbraid.errors import UsageError
from unbraid.study import open_study, parse_study, run_study
from unbraid.study.grid import Study
from unbraid.training import open_run

TEXT = """
data = ["digits8"]
seeds = 2
steps = 3
net = "mlp:width=8"
batch_size = 16

[[objectives.classifier]]
steps = 4
[[objectives.classifier]]
after = "classifier"
optimizer = "sgd"
augment = ["gaussian-noise:sigma=0.5"]
[[objectives.classifier]]
after = "classifier"
optimizer = "sgd"
learning_rate = [1e-9]
augment = ["ant:eps=1.5,every=2,restart_steps=1"]

[measures.accuracy]
"""


def test_runs_begin_from_the_run_of_the_same_seed():
    study = parse_study(TEXT, "here")
    assert [spec.after for spec in study] == [None, None, 0, 1, 0, 1]
    assert [spec.parts for spec in study][::2] == [(), ("net",), ("net",)]
    assert Study.from_json(study.to_json(), "there")[3] == study[3]


def test_fine_tuned_runs_hold_the_weights_they_began_with(tmp_path):
    study = parse_study(TEXT, "here")
    run_study(study, tmp_path, engine=InlineEngine(), progress="none")
    folder = open_study(tmp_path)
    assert {folder.state(index) for index in range(6)} == {"evaluated"}
    for seed in (0, 1):
        clean, ant = (open_run(folder.run(index)) for index in (seed, 4 + seed))
        torch.testing.assert_close(ant.model.net[1].weight, clean.model.net[1].weight, atol=1e-6, rtol=0)
        assert ant.info["step"] == 3
        assert ant.info["start"]["parts"] == ["net"]


def test_a_run_whose_beginning_is_missing_fails_and_says_so(tmp_path):
    folder = run_study(parse_study(TEXT, "here"), tmp_path, engine=InlineEngine(), indices=[2], progress="none")
    assert folder.state(2) == "failed"
    assert "run 00000, which it begins from, has not been trained" in folder.failure(2)["error"]


def test_nobody_waits_for_a_run_that_was_begun_and_left(tmp_path):
    study = parse_study(TEXT, "here")
    folder = run_study(study, tmp_path, engine=InlineEngine(), indices=[0], stages=("train",), progress="none")
    record = folder.run(0) / "run.json"
    record.write_text(record.read_text().replace('"finished"', '"running"'))  # as kill -9 leaves it
    assert folder.progress(0) == "started"
    run_study(study, tmp_path, engine=InlineEngine(), indices=[2], progress="none")
    assert folder.state(2) == "failed"


def test_the_rate_may_drop_in_a_study():
    study = parse_study(TEXT.replace("steps = 4", "steps = 4\ndrop_at = [2, 3]"), "here")
    assert [tuple(spec.options.get("drop_at", ())) for spec in study][::2] == [(2, 3), (), ()]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ('[objectives.classifier]\nafter = "clasifier"', "unknown objective of this study 'clasifier'"),
        ('[objectives.classifier]\nafter = "classifier"', "must begin by itself"),
        ('[objectives.classifier]\nparts = ["net"]', "parts: of which run"),
    ],
)
def test_wrong_beginnings_are_refused(wrong, message):
    with pytest.raises(UsageError, match=message):
        parse_study(f'data = ["digits8"]\nsteps = 1\n{wrong}\n', "here")
