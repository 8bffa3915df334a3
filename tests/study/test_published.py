"""The published numbers and how measured ones stand beside them."""

import polars as pl
import pytest
from study_toys import full_table

from unbraid import objectives
from unbraid.errors import UsageError
from unbraid.study.analysis import METRICS, transfer_trials, variance_explained
from unbraid.study.published import TABLES, compare, load


def test_variance_explained_has_the_published_means():
    # The paper's averages over data sets: column means 37.9, ... and 37 % and 59 % over all 42 cells.
    table = load("variance_explained")
    assert len(table) == 7 * 6 * 2
    assert set(table["metric"]) == set(METRICS)
    by = dict(table.group_by("by").agg(pl.col("explained").mean()).iter_rows())
    assert round(by["objective"]) == 37
    assert round(by["objective x strength"]) == 59
    means = dict(table.filter(by="objective").group_by("metric").agg(pl.col("explained").mean().round(1)).iter_rows())
    assert means == {
        "beta_vae": 37.9,
        "dci_disentanglement": 39.9,
        "factor_vae": 41.4,
        "mig": 33.3,
        "modularity": 39.7,
        "sap": 29.6,
    }


def test_data_sets_bear_the_names_they_are_loaded_by():
    from unbraid import data

    assert set(load("variance_explained")["data"]) <= set(data.names())


def test_the_sweep_is_the_one_objectives_know():
    # Six strengths of six objectives, 36 settings, as in each objective's own record of its published sweep.
    sweep = load("sweep")
    assert len(sweep) == 36
    for (name,), rows in sweep.group_by("objective"):
        parameter, values = objectives.get(str(name)).sweep
        assert set(rows["strength_name"]) == {parameter}
        assert rows["strength"].to_list() == list(values)


def test_every_table_loads_and_says_where_it_is_from():
    for name, table in TABLES.items():
        assert len(load(name)) > 0
        assert "Locatello" in table.source


def test_measured_and_published_stand_side_by_side():
    measured = variance_explained(full_table(data=("dsprites", "mini-sprites")))
    beside = compare(measured, "variance_explained")
    assert len(beside) == len(measured)
    row = beside.filter(data="dsprites", metric="mig", by="objective").row(0, named=True)
    assert row["published"] == 26
    assert row["difference"] == pytest.approx(row["measured"] - 26)
    assert row["noise"] == pytest.approx(100 * 5 / 179)
    assert beside.filter(data="mini-sprites")["published"].null_count() == 12


def test_a_stand_in_is_held_against_the_data_set_it_stands_for():
    measured = variance_explained(full_table())
    with pytest.raises(UsageError, match="say which stands for which"):
        compare(measured, "variance_explained")
    beside = compare(measured, "variance_explained", data={"sprites32": "dsprites", "rooms3d-32": "shapes3d"})
    assert beside.filter(data="rooms3d-32", metric="sap", by="objective x strength")["published"].to_list() == [35]
    with pytest.raises(UsageError, match="did you mean 'sprites32'"):
        compare(measured, "variance_explained", data={"sprites": "dsprites"})


def test_transfer_trials_stand_beside_the_published_percentages():
    beside = compare(transfer_trials(full_table(), trials=200), "transfer_trials")
    assert beside["published"].to_list() == [80.7, 59.3, 62.6, 54.9]
    assert beside["chance"].to_list() == pytest.approx([50 + 50 / 36] * 4)


def test_unknown_tables_and_tables_without_results_are_explained():
    with pytest.raises(UsageError, match="did you mean 'sweep'"):
        load("sweeps")
    with pytest.raises(UsageError, match="share no column of results"):
        compare(full_table(seeds=1), "sweep")
