"""Measures are computed once per run, settings, seed and data, and read from the run's folder afterwards."""

import json
import shutil
import sys
from dataclasses import dataclass

import numpy as np
import pytest
from measure_toys import CALLS, Brightness, Spread

from unbraid import objectives
from unbraid.data import from_arrays
from unbraid.errors import UsageError
from unbraid.evaluation import Measure, get, make, measure, measure_group, names, read_measures, register
from unbraid.metrics import METRICS, Score
from unbraid.plugins import import_file
from unbraid.training import open_run, train


def trained(data, out, seed=0, steps=3):
    objective = objectives.make("beta-vae", {"net": "mlp:width=8", "latents": 2})
    return train(objective, data, steps=steps, seed=seed, batch_size=8, out=out, progress="none")


@pytest.fixture(scope="module")
def first(tmp_path_factory):
    from dots import Dots

    return trained(Dots(), tmp_path_factory.mktemp("measured") / "run").path


@pytest.fixture
def run(first, tmp_path):
    shutil.copytree(first, tmp_path / "run")
    CALLS.clear()
    return open_run(tmp_path / "run")


def test_an_answer_is_computed_once_and_then_read(run, dots):
    found = measure(run, dots, "brightness")["brightness"]
    assert CALLS["brightness"] == 2
    again = measure(open_run(run.path), dots, "brightness")["brightness"]
    assert CALLS["brightness"] == 2
    assert [(c, {n: float(s) for n, s in scores.items()}) for c, scores in again.rows] == [
        (c, {n: float(s) for n, s in scores.items()}) for c, scores in found.rows
    ]
    # 9 white pixels of 16 x 16 in each of the first images: a square of 3 x 3.
    assert found.scores(level=100)["above"] == pytest.approx(9 / 256)
    assert isinstance(again.scores(level=0)["width"], Score)
    assert float(again.scores(level=0)["width"]) == 2
    with pytest.raises(UsageError, match="under several conditions"):
        again.scores()


def test_other_settings_seeds_data_and_weights_are_measured_anew(run, dots, tmp_path):
    def asked(data=dots, measures="brightness", seed=0, path=run.path):
        before = CALLS["brightness"]
        measure(open_run(path), data, measures, seed=seed)
        return CALLS["brightness"] - before

    assert asked() == 2
    assert asked(measures="brightness:images=11") == 2
    assert asked(measures="brightness:levels=0+50+100") == 3
    assert asked(seed=1) == 2
    assert asked(data=dots.subset(x=slice(0, 6))) == 2
    pixels = dots.images(np.arange(20))
    assert asked(data=from_arrays(pixels, labels=[0, 1] * 10)) == 2
    assert asked(data=from_arrays(pixels, labels=[1, 0] * 10)) == 2  # the same images with other labels
    assert asked(data=from_arrays(pixels, labels=[1, 0] * 10)) == 0
    moved = shutil.move(run.path, tmp_path / "moved")
    assert asked(path=moved) == 0
    trained(dots, moved, steps=5)
    assert asked(path=moved) == 2
    assert asked(path=moved) == 0


def test_an_edited_own_metric_or_measure_is_computed_anew(run, dots, tmp_path, monkeypatch):
    for held in ("_things", "_names", "_homes"):  # the metric is gone again after this test
        monkeypatch.setattr(METRICS, held, dict(getattr(METRICS, held)))
    file = tmp_path / "edited_metric.py"
    text = """
from dataclasses import dataclass
from unbraid.evaluation import Measure
from unbraid.evaluation import register as register_measure
from unbraid.metrics import register

@register("edited")
def edited(codes, factors):
    return 0.25

@register_measure("edited-measure")
@dataclass(frozen=True)
class Edited(Measure):
    def rows(self, run, data, seed):
        yield {}, {"number": 0.25}
"""

    def numbers(**options):
        asked = "disentanglement:metrics=edited,train=20,test=10,representations=mean,edited-measure"
        found = measure(run, dots, asked, **options)
        scores = found["disentanglement"].scores() | found["edited-measure"].scores()
        return [float(score) for score in scores.values()], {one.path.name for one in found.values()}

    file.write_text(text)
    import_file(file)
    first, files = numbers()
    file.write_text(text.replace("0.25", "0.625"))
    del sys.modules["edited_metric"]
    import_file(file)
    second, others = numbers()
    assert (first, second) == ([0.25, 0.25], [0.625, 0.625])
    assert not files & others
    file.write_text(text)
    del sys.modules["edited_metric"]
    import_file(file)
    assert numbers() == (first, files)


def test_what_was_measured_is_measured_again_if_asked(run, dots):
    measure(run, dots, "brightness,spread")
    assert CALLS == {"brightness": 2, "spread": 1}
    measure(run, dots, "brightness,spread", again=True)
    assert CALLS == {"brightness": 4, "spread": 2}


def test_equal_runs_leave_equal_bytes(first, dots, tmp_path):
    files = []
    for name in ("a", "b"):
        shutil.copytree(first, tmp_path / name)
        measure(open_run(tmp_path / name), dots, ["brightness", "spread"])
        files.append({path.name: path.read_bytes() for path in (tmp_path / name / "scores").iterdir()})
    assert len(files[0]) == 2
    assert files[0] == files[1]


def test_the_file_says_what_was_asked_of_what(run, dots):
    path = measure(run, dots, Brightness(images=4), seed=3)["brightness"].path
    assert path.parent == run.path / "scores"
    record = json.loads(path.read_text())
    assert (record["measure"], record["seed"], record["run"]["step"]) == ("brightness", 3, 3)
    assert record["settings"] == {"images": 4, "levels": [0, 100]}
    assert record["data"]["fingerprint"] == run.info["data"]["fingerprint"]
    assert [row["condition"] for row in record["rows"]] == [{"level": 0}, {"level": 100}]


def test_rows_that_were_stored_before_an_end_are_not_computed_again(run, dots, monkeypatch):
    def stop(*_):
        raise KeyboardInterrupt

    whole = measure(run, dots, Brightness(levels=(0, 50, 100)))["brightness"]
    content = whole.path.read_bytes()
    whole.path.unlink()
    above = Brightness.above
    monkeypatch.setattr(
        Brightness, "above", lambda self, p, level, r: above(self, p, level, r) if level < 100 else stop()
    )
    with pytest.raises(KeyboardInterrupt):
        measure(run, dots, Brightness(levels=(0, 50, 100)))
    (partial,) = whole.path.parent.glob(".*.rows")
    with partial.open("ab") as file:  # what kill -9 leaves of a row
        file.write(b'{"condition": {"level": 100}, "sco')
    monkeypatch.setattr(Brightness, "above", above)
    CALLS.clear()
    measure(run, dots, Brightness(levels=(0, 50, 100)))
    assert CALLS["brightness"] == 1
    assert whole.path.read_bytes() == content
    assert not partial.exists()
    partial.touch()  # kill -9 between the answer and the end of its rows
    measure(run, dots, Brightness(levels=(0, 50, 100)))
    assert not partial.exists()


def test_a_measure_that_does_not_apply_is_left_out(run, dots):
    many = from_arrays(np.zeros((1000, 16, 16, 1), np.uint8))
    assert measure(run, many, "brightness") == {}
    assert list(measure(run, dots, "brightness")) == ["brightness"]


def test_a_function_takes_the_place_of_a_run_and_leaves_nothing(dots):
    CALLS.clear()

    def means(images):
        return images.mean(axis=(1, 2))

    found = measure(means, dots, "brightness")["brightness"]
    assert found.path is None
    assert float(found.scores(level=0)["width"]) == 1
    measure(means, dots, "brightness")
    assert CALLS["brightness"] == 4
    for wrong, words in (("runs/first", "open it with unbraid.open_run"), (3, "a run or a function")):
        with pytest.raises(UsageError, match=words):
            measure(wrong, dots, "brightness")


def test_a_group_is_compared_by_what_each_run_left(run, dots, tmp_path):
    other = trained(dots, tmp_path / "other", seed=1)
    found = measure_group([run, other], dots, "spread")
    # Two runs are equally far from their mean, half the distance between them.
    codes = [one.encode(dots.images(np.arange(5)))[:, 0] for one in (run, other)]
    expected = float(np.abs(codes[0] - codes[1]).mean() / 2)
    assert [answer.scores()["spread"] for answer in found] == pytest.approx([expected] * 2, rel=1e-5)
    measure_group([run, other], dots, Spread())
    measure(run, dots, "spread")
    assert CALLS["spread"] == 2
    assert found[0].path.suffix == ".npz"
    with pytest.raises(UsageError, match="at least two runs"):
        measure_group([run], dots, "spread")
    with pytest.raises(UsageError, match="one run at a time"):
        measure_group([run, other], dots, "brightness")


def test_whoever_waits_is_told(run, dots):
    told = []
    measure(run, dots, "brightness", progress=told.append)
    assert told == ["brightness", "brightness: level 0", "brightness: level 100"]


def test_settings_come_with_the_name():
    assert make("brightness:images=3,levels=1+2") == Brightness(images=3, levels=(1, 2))
    assert make("brightness", {"levels": [7]}) == Brightness(levels=(7,))
    assert [(n.name, dict(n.options)) for n in read_measures("brightness:images=3,levels=1+2, spread")] == [
        ("brightness", {"images": 3, "levels": [1, 2]}),
        ("spread", {}),
    ]
    assert get("Brightness") is Brightness
    assert {"brightness", "spread"} <= set(names())


def test_numbers_of_a_list_arrive_as_numbers():
    @register("shares")
    @dataclass(frozen=True)
    class Shares(Measure):
        shares: tuple[float, ...] = (0.5,)
        words: tuple[str, ...] = ()

    assert make("shares:shares=0.25+1e-3,words=3+a") == Shares(shares=(0.25, 0.001), words=("3", "a"))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("brightnes", "did you mean 'brightness'"),
        ("brightness:image=3", "did you mean 'images'"),
        ("brightness:images=many", "must be int"),
        ("brightness:levels=x", r"option 'levels\[0\]' of measure 'brightness' must be int, got 'x'"),
        ("brightness:levels=1+x", r"option 'levels\[1\]' of measure 'brightness' must be int, got 'x'"),
        ("udr:kind=laso", "unknown kind of measure 'udr': 'laso'; did you mean 'lasso'"),
        ("brightness,brightness:images=2", "must differ in their names"),
        (",", "names separated by commas"),
    ],
)
def test_wrong_words_are_answered_with_right_ones(text, words, run, dots):
    with pytest.raises(UsageError, match=words):
        measure(run, dots, text)


def test_what_is_no_measure_is_refused(run, dots):
    with pytest.raises(UsageError, match="must be a dataclass derived from"):
        register("nothing")(dict)
    with pytest.raises(UsageError, match="a word of its own in study files"):

        @register("bad")
        @dataclass(frozen=True)
        class Bad(Measure):
            seed: int = 0

    @register("twice")
    @dataclass(frozen=True)
    class Twice(Measure):
        def rows(self, run, data, seed):
            yield {"a": np.int64(1)}, {"x": 1.0}
            yield {"a": 1}, {"x": 2.0}

    with pytest.raises(UsageError, match=r"the condition \{'a': 1\} twice"):
        measure(run, dots, "twice")


@pytest.mark.parametrize(
    "text",
    [
        '{"rows": [{"condition": {}, "scores": []}]}',
        '{"rows": [{"condition": {}, "scores": {"kl": "abc"}}]}',
        '{"rows": [{"condi',
        "[]",
    ],
)
def test_a_damaged_answer_is_named_with_what_to_do(text, run, dots):
    path = measure(run, dots, "brightness")["brightness"].path
    path.write_text(text)
    with pytest.raises(UsageError, match=f"{path}.*; delete it to measure anew"):
        measure(run, dots, "brightness")


def test_damaged_arrays_of_a_group_are_named_with_what_to_do(run, dots):
    path = measure(run, dots, "spread")["spread"].path
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(UsageError, match=f"{path}.*; delete it to measure anew"):
        measure(run, dots, "spread")


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (None, "rows must yield pairs"),
        ([{"x": 1.0}], "rows must yield pairs"),
        ([({}, None)], "must give scores by name, got None"),
        ([({}, {"x": None})], "gives 'x': None, expected a number"),
        ([({}, {"x": "3"})], "gives 'x': '3', expected a number"),
        ([({}, {"x": np.ones(2)})], "gives 'x': array.*, expected a number"),
        ([({"a": np.nan}, {"x": 1.0})], "gives the condition 'a': nan"),
    ],
)
def test_an_own_measure_that_gives_no_numbers_is_named(rows, words, run, dots):
    @register("wayward")
    @dataclass(frozen=True)
    class Wayward(Measure):
        def rows(self, run, data, seed):
            return rows

    with pytest.raises(UsageError, match=f"measure 'wayward'.*{words}"):
        measure(run, dots, "wayward")
