"""The transfer trial: how often the best setting of one place beats a random one in another."""

import numpy as np
import polars as pl
import pytest
from study_toys import DATA, full_table, grid, noise_table

from unbraid.errors import UsageError
from unbraid.study.analysis import METRICS, transfer_trials


def with_effects(effects: np.ndarray, noise: float, seed: int = 0) -> pl.DataFrame:
    """A full table from effects ``[data, metric, setting]`` and noise of this size."""
    table = grid(data=DATA)
    data = np.arange(len(table)) // (36 * 50)
    setting = np.arange(len(table)) // 50 % 36
    rng = np.random.default_rng(seed)
    columns = {
        metric: pl.Series(effects[data, position, setting] + noise * rng.standard_normal(len(table)))
        for position, metric in enumerate(METRICS)
    }
    return table.with_columns(**columns)


def test_pure_noise_wins_a_little_more_than_half():
    # The random setting is the chosen one once in 36 trials, and a tie counts: 50 + 50 / 36 = 51.4 %.
    found = transfer_trials(noise_table())
    np.testing.assert_allclose(found["percent"], 51.4, atol=1.5)
    np.testing.assert_allclose(found["chance"], 50 + 50 / 36)
    assert found["trials"].to_list() == [10_000] * 4


def test_a_shared_effect_without_noise_always_wins():
    effects = np.broadcast_to(np.random.default_rng(0).standard_normal(36), (7, 6, 36))
    assert transfer_trials(with_effects(effects, noise=0.0))["percent"].to_list() == [100.0] * 4


def test_effects_of_one_place_help_only_there():
    # Effects of each data set and metric of their own, noise of the same size: about 80 % where the effect is the same,
    # about chance elsewhere (the few data sets and metrics leave some luck in the draw of the effects).
    effects = np.random.default_rng(1).standard_normal((7, 6, 36))
    percent = transfer_trials(with_effects(effects, noise=1.0), trials=20_000)["percent"].to_list()
    assert percent[0] == pytest.approx(80, abs=3)
    np.testing.assert_allclose(percent[1:], 51.4, atol=3.5)


def test_the_cells_name_metric_and_data_set():
    # Effects shared by the data sets, one per metric: transfer works for the same metric only.
    effects = np.broadcast_to(np.random.default_rng(2).standard_normal((1, 6, 36)), (7, 6, 36))
    found = transfer_trials(with_effects(effects, noise=0.5))
    percent = {(metric, data): value for metric, data, value in found.select("metric", "data", "percent").iter_rows()}
    assert percent["same", "same"] > 90
    assert percent["same", "other"] > 90
    assert percent["other", "same"] < 65
    assert percent["other", "other"] < 65


def test_partial_tables_count_the_settings_that_are_there():
    table = noise_table(seeds=10).filter(pl.col("objective").is_in(["beta-vae", "factor-vae"]))
    np.testing.assert_allclose(transfer_trials(table, trials=500)["chance"], 50 + 50 / 12)
    holed = table.sample(fraction=0.5, seed=0)
    found = transfer_trials(holed, trials=20_000)
    # About 6 of 12 settings remain per data set and seed, so chance is near 50 + 50 / 6, and noise reaches just that.
    assert found["settings"].min() > 5
    assert found["chance"].min() > 57
    np.testing.assert_allclose(found["percent"], found["chance"], atol=4)


def test_what_cannot_be_asked_is_null():
    one_data = transfer_trials(full_table(data=("sprites32",)), trials=100)
    assert one_data.filter(pl.col("data") == "other")["percent"].null_count() == 2
    assert one_data.filter(pl.col("data") == "same")["percent"].null_count() == 0
    one_seed = transfer_trials(full_table(seeds=1), trials=100)
    assert one_seed["percent"].null_count() == 4
    one_metric = transfer_trials(full_table(), metrics=["mig"], trials=100)
    assert one_metric.filter(pl.col("metric") == "other")["percent"].null_count() == 2


def test_equal_seeds_repeat_the_trials():
    table = full_table()
    assert transfer_trials(table, trials=300, seed=4).equals(transfer_trials(table, trials=300, seed=4))
    assert not transfer_trials(table, trials=300, seed=4).equals(transfer_trials(table, trials=300, seed=5))


def test_wrong_input_is_explained():
    with pytest.raises(UsageError, match="trials must be at least 1"):
        transfer_trials(full_table(seeds=1), trials=0)
    table = full_table(seeds=1)
    with pytest.raises(UsageError, match="several rows for one run"):
        transfer_trials(pl.concat([table, table.with_columns(pl.col("index") + len(table))]))
