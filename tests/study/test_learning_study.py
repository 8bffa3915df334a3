"""Pilots: a study that watches its runs learn, and the presets of the study at 32x32."""

import numpy as np
import polars as pl
import pytest

from unbraid.cli.app import main
from unbraid.data import load
from unbraid.study import Study, learning_table, open_study, parse_study, read_study

TEXT = """
data = ["mini-sprites"]
seeds = 2
steps = 20
net = ["mlp:width=8", "mlp:width=4"]
watch = 10

[objectives.beta-vae]
learning_rate = [1e-3, 1e-2]

[measures.summary]
images = 50
"""


def test_a_study_that_watches_reports_learning_curves(tmp_path, capsys):
    (tmp_path / "pilot.toml").write_text(TEXT)
    folder = tmp_path / "pilot"
    asked = ["study", "run", str(tmp_path / "pilot.toml"), "--out", str(folder), "--workers", "1"]
    assert main([*asked, "--index", "0:6", "--stage", "train", "--progress", "none"]) == 0
    assert main(["study", "report", str(folder)]) == 0
    capsys.readouterr()
    curves = pl.read_csv(folder / "report" / "learning.csv")
    assert len(curves) == 6 * 2  # of 8 runs 6 were trained, each looked at twice
    assert curves["setting"].unique().sort().to_list() == [
        "beta-vae, net mlp:width=4, learning_rate 0.001",
        "beta-vae, net mlp:width=8, learning_rate 0.001",
        "beta-vae, net mlp:width=8, learning_rate 0.01",
    ]
    page = (folder / "report" / "report.md").read_text(encoding="utf-8")
    assert "![Learning curves](learning.png)" in page
    last = curves.filter(pl.col("step") == 20, pl.col("setting") == "beta-vae, net mlp:width=8, learning_rate 0.01")
    assert f"| {last['r2'].mean():.3g} |" in page  # where the curve ends, over the two seeds
    assert (folder / "report" / "learning.png").stat().st_size > 10_000
    assert open_study(folder).study.watch == 10
    assert set(learning_table(open_study(folder))["index"]) == set(range(6))
    # While others are still trained their files are there, empty or with the beginning of a first look.
    for index, text in ((3, ""), (4, "step,name,value\n"), (5, "step,name,value\n10,r2,0.5\n")):
        (open_study(folder).run(index) / "evaluations.csv").write_text(text)
    assert set(learning_table(open_study(folder))["index"]) == set(range(3))
    for index in range(3):
        (open_study(folder).run(index) / "evaluations.csv").write_text("")
    assert main(["study", "report", str(folder)]) == 0


def test_a_study_that_does_not_watch_has_the_record_it_always_had():
    text = TEXT.replace("watch = 10\n", "")
    record = parse_study(text, "here").to_json()
    assert "watch" not in record
    watched = parse_study(TEXT, "here")
    assert Study.from_json(watched.to_json(), "here") == watched
    assert list(watched) == list(parse_study(text, "here"))


def test_pilots_watch_on_the_data_of_the_small_study():
    small = read_study("small")
    for name in ("pilot", "pilot-objectives", "pilot-strengths"):
        pilot = read_study(name)
        assert pilot.data == small.data
        assert pilot.watch > 0
        assert pilot.steps[0] % pilot.watch == 0
    tried = {setting.objective for setting in read_study("pilot-objectives").settings}
    assert tried == {setting.objective for setting in small.settings}


def test_the_small_study_weighs_as_at_64_and_has_no_model_twice():
    small = read_study("small")
    assert all(spec.options["reference_size"] == 64 and spec.options["net"] == "broadcast" for spec in small)
    plain = {(spec.data, spec.seed) for spec in small if spec.objective == "beta-vae" and spec.strength == 1}
    assert len(plain) == 10
    assert not any(spec.objective == "beta-tcvae" and spec.strength == 1 for spec in small)
    scores = [e.measure for e in small.measures if e.measure.name == "disentanglement"]
    assert all((measure.train, measure.test) == (10_000, 5_000) for measure in scores)
    assert {e.measure.name for e in small.measures} == {"disentanglement", "factors", "losses", "udr"}


@pytest.mark.parametrize("factor", range(5))
def test_every_factor_of_the_small_sprites_can_be_seen(factor):
    # One value further changes pixels for more than 99 of 100 images, other factors fixed.
    data = load(read_study("small").data[0])
    assert data.factor_names == ("shape", "scale", "orientation", "x", "y")
    rng = np.random.default_rng(0)
    first = data.factors(data.sample_index(3000, rng))
    first = first[first[:, factor] < data.factor_sizes[factor] - 1]
    second = first.copy()
    second[:, factor] += 1
    images = [data.images(data.space.index(factors)) for factors in (first, second)]
    changed = (images[0] != images[1]).reshape(len(first), -1).any(axis=1)
    assert changed.mean() > 0.99
