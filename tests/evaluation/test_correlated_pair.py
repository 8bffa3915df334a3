"""The measure of correlated factors, and what a table of it says."""

import numpy as np
import polars as pl
import pytest

from unbraid.data import load
from unbraid.errors import UsageError
from unbraid.evaluation import as_run, make, measure
from unbraid.metrics import repair_pair
from unbraid.study.analysis import correlated_pair

SMALL = "correlated-pair:train=600,test=100"


def reader(data, angle):
    """The true factors of images, two of them turned."""
    every = data.images(np.arange(len(data))).reshape(len(data), -1)
    place = {image.tobytes(): row for row, image in enumerate(every)}
    x, y = data.factor_names.index("x"), data.factor_names.index("y")
    c, s = np.cos(np.radians(angle)), np.sin(np.radians(angle))

    def encode(images):
        factors = data.factors(np.array([place[image.tobytes()] for image in images]))
        codes = factors - (np.array(data.factor_sizes) - 1) / 2
        codes[:, [x, y]] = codes[:, [x, y]] @ np.array([[c, s], [-s, c]])
        return codes

    return encode


def test_a_turned_pair_stands_out_and_its_repair_with_correlated_labels_mends_it():
    data = load("mini-sprites:correlate=x+y,sigma=0.2")
    ((condition, found),) = measure(reader(data, 45), data, SMALL)["correlated-pair"].rows
    assert condition == {"pair": "x+y"}
    values = {name: float(score) for name, score in found.items()}
    assert values["pair_entanglement"] > 0.4
    assert values["other_entanglement"] < 0.1
    assert values["repaired_pair"] < values["pair_entanglement"] / 2
    ((_, straight),) = measure(reader(data, 0), data, SMALL)["correlated-pair"].rows
    assert float(straight["pair_entanglement"]) < 0.1
    assert found["pair_entanglement"].parts["importance"].shape == (len(data.factor_names),) * 2


def test_the_repair_knows_few_labels_alone(monkeypatch):
    # Whatever the importances of the whole grid say, codes and fit follow from the labelled images.
    data, chosen = load("mini-sprites:correlate=x+y,sigma=0.2"), []

    def wide(images):  # x and y turned, in the last two of many codes; the first tell nothing
        codes = reader(data, 45)(images)
        return np.hstack([np.zeros((len(codes), 3)), codes])

    def seen(codes, factors, matrix, pair):
        chosen.append((len(codes), np.asarray(matrix), repair_pair(codes, factors, matrix, pair).codes))
        return repair_pair(codes, factors, matrix, pair)

    monkeypatch.setattr("unbraid.evaluation.correlated_pair.repair_pair", seen)
    ((_, found),) = measure(wide, data, f"{SMALL},labels=40")["correlated-pair"].rows
    ((count, matrix, codes),) = chosen
    x, y = (data.factor_names.index(name) for name in "xy")
    assert count == 40
    assert set(codes) == {3 + x, 3 + y}
    assert not np.delete(matrix, [x, y], axis=1).any()  # of the other factors nothing is asked
    assert (matrix != found["pair_entanglement"].parts["importance"]).any()
    assert set(found["repaired_pair"].parts["codes"]) == {3 + x, 3 + y}


def test_constant_codes_have_nothing_to_repair():
    data = load("mini-sprites:correlate=x+y,sigma=0.2")
    ((_, found),) = measure(lambda images: np.zeros((len(images), 3)), data, SMALL)["correlated-pair"].rows
    assert float(found["pair_entanglement"]) == 0
    assert np.isnan(float(found["repaired_pair"]))
    assert np.isnan(float(found["repaired_others"]))


def test_pairs_are_those_of_the_data_or_the_one_asked_for():
    plain, both = load("mini-sprites"), load("mini-sprites:correlate=x+y;x+shape")
    assert make(SMALL).pairs(plain) == []
    assert make(SMALL).pairs(both) == [("x", "y"), ("x", "shape")]
    assert make(f"{SMALL},pair=shape+y").pairs(plain) == [("shape", "y")]
    assert make(f"{SMALL},pair=hue+y").pairs(plain) == []
    seen = as_run(lambda images: images.reshape(len(images), -1))
    assert make(SMALL).applies(seen, both)
    assert not make(SMALL).applies(seen, plain)
    assert "pair=FACTOR+FACTOR" in make(SMALL).lacks(seen, plain)
    for wrong, words in (
        ("pair=x", "two factors joined by"),
        ("pair=x+x+y", "two factors joined by"),
        ("labels=2", "at least 3"),
        ("train=1", "at least 2"),
    ):
        with pytest.raises(UsageError, match=words):
            make(f"correlated-pair:{wrong}")


def test_without_labels_nothing_is_repaired():
    data = load("mini-sprites")
    ((_, found),) = measure(reader(data, 0), data, f"{SMALL},labels=0,pair=x+y")["correlated-pair"].rows
    assert set(found) == {"pair_entanglement", "other_entanglement"}


ROWS = {
    "data": ["a"] * 4,
    "objective": ["beta-vae"] * 4,
    "strength_name": ["beta"] * 4,
    "strength": [1.0, 1.0, 1.0, 4.0],
    "seed": [0, 1, 2, 0],
    "pair": ["x+y", "x+y", "x+y", None],
    "pair_entanglement": [0.5, 0.4, 0.1, None],
    "other_entanglement": [0.1, 0.2, 0.3, None],
    "repaired_pair": [0.25, 0.3, 0.01, None],
    "repaired_others": [0.1, 0.1, 0.2, None],
}


def test_the_analysis_takes_medians_over_seeds():
    rows = ROWS
    (row,) = correlated_pair(pl.DataFrame(rows)).iter_rows(named=True)
    assert (row["entanglement"], row["others"], row["repaired"], row["repaired_others"]) == (0.4, 0.2, 0.25, 0.1)
    assert row["above"] == pytest.approx(2 / 3)
    assert row["mended"] == pytest.approx(2 / 3)  # .25 of .5 and .01 of .1, not .3 of .4
    assert row["runs"] == 3
    alone = pl.DataFrame(rows).drop("repaired_pair", "repaired_others")
    assert correlated_pair(alone)["repaired"].to_list() == [None]
    with pytest.raises(UsageError, match=r"no column 'pair': add \[measures.correlated-pair\]"):
        correlated_pair(pl.DataFrame(rows).drop("pair"))


def test_rows_of_several_networks_are_not_pooled():
    table = pl.DataFrame(ROWS)
    nets = pl.concat([table.with_columns(index=pl.lit(k), net=pl.lit(net)) for k, net in enumerate(("mlp", "conv"))])
    with pytest.raises(UsageError, match=r"several runs that differ in network"):
        correlated_pair(nets)
    assert correlated_pair(nets.filter(pl.col("net") == "mlp"))["runs"].to_list() == [3]
    other = table.with_columns(pair_entanglement=pl.col("pair_entanglement") + 0.1)
    with pytest.raises(UsageError, match=r"measured one run several times under pair"):
        correlated_pair(pl.concat([table, other]))


@pytest.mark.parametrize("nothing", [None, float("nan")])
def test_of_what_is_not_there_nothing_is_told(nothing):
    # Two factors have no other pair; constant codes are not entangled, so that no repair can halve it.
    table = pl.DataFrame(ROWS)[:3].with_columns(
        pair_entanglement=pl.Series([0.0, 0.4, 0.0]),
        other_entanglement=pl.Series([nothing] * 3, dtype=pl.Float64),
        repaired_pair=pl.Series([0.0, 0.1, nothing]),
    )
    (row,) = correlated_pair(table).iter_rows(named=True)
    assert (row["others"], row["above"], row["runs"]) == (None, None, 3)
    assert row["mended"] == 1  # of the one run that has something to mend
    assert row["repaired"] == pytest.approx(0.05)
    (row,) = correlated_pair(table[[0, 2]]).iter_rows(named=True)
    assert row["mended"] is None
