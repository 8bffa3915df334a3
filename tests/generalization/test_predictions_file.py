"""What models said of a split, in files."""

import json

import numpy as np
import polars as pl
import pyarrow
import pyarrow.parquet
import pytest

from unbraid.data import load, split
from unbraid.errors import UsageError
from unbraid.generalization import (
    BASELINES,
    Predictions,
    clamp,
    evaluate,
    read_predictions,
    similarity,
    targets,
    write_predictions,
)
from unbraid.generalization.drawing import draw_split

DATA = load("mini-sprites")
HALVES = split(DATA, "extrapolation")
PLACES = {image.tobytes(): k for k, image in enumerate(DATA.images(np.arange(len(DATA))))}


def clamped(images):
    """A model that never leaves the range it saw; a little noise tells two of them apart."""
    factors = DATA.factors([PLACES[image.tobytes()] for image in images])
    noise = np.sin(np.arange(factors.size)).reshape(factors.shape) / 50
    return clamp(factors, DATA.space, HALVES.unseen) + noise


@pytest.fixture(scope="module")
def answers():
    return evaluate(clamped, DATA, HALVES, images=60, train_images=40, one_ood=25)


@pytest.fixture
def file(answers, tmp_path):
    return write_predictions(tmp_path / "said.parquet", answers, {"run": "first", "recipe": "cpu"})


def test_a_file_gives_back_every_number_and_every_analysis(answers, file):
    found = read_predictions(file)
    assert found.about == {"run": "first", "recipe": "cpu"}
    assert (found.split.kind, found.split.seed, found.split.hash) == ("extrapolation", None, HALVES.hash)
    assert found.split.unseen == {name: tuple(values) for name, values in HALVES.unseen.items()}
    assert found.space == DATA.space
    again = found.answers()
    for name in ("test", "train", "one_ood"):
        for one, other in zip(getattr(answers, name), getattr(again, name), strict=True):
            np.testing.assert_array_equal(one, other)
    for name in ("modularity", "attribution", "towards_mean", "trust_range", "error_parts", "table"):
        assert getattr(again, name)().equals(getattr(answers, name)()), name
    for name in BASELINES:
        np.testing.assert_array_equal(again.baselines[name].r2, answers.baselines[name].r2)
    assert found.answers(HALVES).split is HALVES
    said = {"mine": [answers.test.predicted, again.test.predicted]}
    table = similarity(said, again.test.factors, again.space, again.facts.unseen)
    assert table.filter(first="mine", second="mine")["pooled"].item() == pytest.approx(1)


def test_the_file_is_a_plain_table(answers, file):
    table = pl.read_parquet(file)
    names = [f"{word} {name}" for name in DATA.space.names for word in ("true", "predicted")]
    assert table.columns == ["side", "image", *names]
    tested = table.filter(side="test")
    assert len(tested) == 60
    # Positions are those of the whole data set, whose last factor is fastest.
    np.testing.assert_array_equal(tested["true y"], tested["image"].to_numpy() % DATA.space.sizes[-1])
    np.testing.assert_array_equal(tested["predicted x"], answers.test.predicted[:, 2])


def test_images_are_positions_in_the_whole_data_set(answers):
    for part in (answers.test, answers.train, answers.one_ood):
        np.testing.assert_array_equal(DATA.factors(part.image), part.factors)


@pytest.mark.parametrize("wanted", [0, 25, 10_000])
def test_images_with_one_unseen_factor_are_added_and_never_twice(wanted):
    test, _, more = draw_split(HALVES, 60, 10, wanted, 3)
    assert not set(test) & set(more)
    assert len(set(more)) == len(more)
    np.testing.assert_array_equal(draw_split(HALVES, 60, 10, 0, 3)[0], test)  # R² is of the same images
    for name in HALVES.unseen if wanted else ():
        kind = HALVES.one_ood(name)
        there = set(kind.to_base().tolist())
        asked = [place for place in HALVES.test.to_base(np.concatenate([test, more])) if place in there]
        assert len(asked) >= min(wanted, len(there))
        if len(more) and wanted < len(there):
            assert len(asked) <= max(wanted, sum(place in there for place in HALVES.test.to_base(test)))


def test_the_mean_over_drawn_images_is_that_of_the_test_side():
    # 400 drawings of 60 of 444 images: the mean of their means is off by at most 4 standard errors.
    truth = targets(HALVES.test.factors(np.arange(len(HALVES.test))), DATA.space)[:, 2]
    means = [truth[draw_split(HALVES, 60, 1, 25, seed)[0]].mean() for seed in range(400)]
    assert abs(np.mean(means) - truth.mean()) < 4 * truth.std() / np.sqrt(60 * 400)


def test_splits_without_unseen_values_need_no_more_images(tmp_path):
    answers = evaluate(lambda images: np.zeros((len(images), 4)), DATA, "random", images=20, one_ood=5)
    assert answers.one_ood is None
    found = read_predictions(write_predictions(tmp_path / "said.parquet", Predictions.of(answers)))
    assert (found.split.kind, found.split.seed) == ("random", 0)
    assert found.answers().one_ood is None
    with pytest.raises(UsageError, match=r"split is 'extrapolation'.*predictions are of 'random'"):
        found.answers(HALVES)


def rewritten(file, change_table=lambda table: table, change_said=lambda said: said):
    """The file with something in it changed."""
    table = pyarrow.parquet.read_table(file)
    said = json.loads(table.schema.metadata[b"unbraid"])
    changed = change_table(table)
    metadata = {"unbraid": json.dumps(change_said(said))}
    pyarrow.parquet.write_table(changed.replace_schema_metadata(metadata), file)
    return file


def put(name, value):
    def change(table):
        place = table.schema.get_field_index(name)
        return table.set_column(place, name, pyarrow.array([value] * len(table)))

    return change


def inside(key, value):
    def change(said):
        said["split"][key] = value
        return said

    return change


@pytest.mark.parametrize(
    ("table", "said", "message"),
    [
        (lambda table: table.drop_columns(["true x"]), None, "no column 'true x'"),
        (put("side", "left"), None, "side must be one of test, train, one-ood, got 'left'"),
        (put("true x", 99), None, r"factor 'x' takes 0\.\.7"),
        (put("true x", 0.5), None, "factors must be integers"),
        (put("predicted y", float("nan")), None, "factor 'y' holds"),
        (put("predicted y", "much"), None, "prediction must be numbers"),
        (put("image", None), None, "empty cells"),
        (None, lambda said: {**said, "predictions": 2}, "no predictions of a split as this version"),
        (None, lambda _: [], "expected dict"),
        (None, lambda _: {"predictions": 1, "about": {}}, "no entry 'split'"),
        (None, inside("hash", 3), "hash is int"),
        (None, inside("factors", []), "must have a number per factor"),
        (None, inside("baselines", {}), "no entry 'constant'"),
    ],
)
def test_damaged_files_are_refused_by_name(file, table, said, message):
    rewritten(file, table or (lambda table: table), said or (lambda said: said))
    with pytest.raises(UsageError, match=message) as caught:
        read_predictions(file)
    assert str(file) in str(caught.value)


def test_what_is_no_such_file_is_refused(tmp_path, answers):
    with pytest.raises(UsageError, match="no file"):
        read_predictions(tmp_path / "none.parquet")
    (tmp_path / "half.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(UsageError, match=r"half\.parquet cannot be read"):
        read_predictions(tmp_path / "half.parquet")
    pl.DataFrame({"a": [1]}).write_parquet(tmp_path / "other.parquet")
    with pytest.raises(UsageError, match="holds no predictions"):
        read_predictions(tmp_path / "other.parquet")
    with pytest.raises(UsageError, match=r"must end in \.parquet"):
        write_predictions(tmp_path / "said.csv", answers)


def test_a_few_bytes_that_stand_for_very_many_cells_are_not_unpacked(tmp_path):
    pyarrow.parquet.write_table(pyarrow.table({"a": np.zeros(1 << 20, np.int8)}), tmp_path / "many.parquet")
    import unbraid.reading.stored

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(unbraid.reading.stored, "CELLS", 1 << 19)
        with pytest.raises(UsageError, match=r"promises 1,048,576 rows"):
            read_predictions(tmp_path / "many.parquet")
