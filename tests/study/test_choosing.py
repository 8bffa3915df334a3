"""From a search to a comparison: the best setting of each objective, on seeds of their own."""

from collections import Counter

import polars as pl
import pytest

from unbraid.cli.app import main
from unbraid.errors import UsageError
from unbraid.study import best_settings, chosen_study, parse_study, read_study

SEARCH = """
name = "search"
data = ["mini-sprites @ protocol=lap", "mini-sprites @ protocol=uni"]
seeds = [1, 3]
steps = 2
net = "mlp:width=8"
batch_size = 16

[[objectives.slow-vae]]
reference_size = 64
[[objectives.slow-vae]]
rate = [1, 12]
reference_size = 64
[objectives.beta-vae]
beta = [1, 4, 16]
steps = 3
[objectives.vae]

[[measures.disentanglement]]
metrics = ["mig", "mcc"]
representations = ["mean"]
train = 40
test = 20
[measures.losses]
batches = 1
"""

DATA = ("mini-sprites @ protocol=lap", "mini-sprites @ protocol=uni")


def scored(values: dict[tuple[str, str | None, float | None], tuple[float, ...]], by: str = "mig") -> pl.DataFrame:
    """A table of settings with a score per data set of the search; its two seeds lie around it."""
    rows = [
        (DATA[k], *setting, seed, value + (0.01 if seed == 3 else -0.01))
        for setting, scores in values.items()
        for k, value in enumerate(scores)
        for seed in (1, 3)
    ]
    return pl.DataFrame(rows, schema=["data", "objective", "strength_name", "strength", "seed", by], orient="row")


TABLE = {
    ("slow-vae", None, None): (0.5, 0.1),
    ("slow-vae", "rate", 1.0): (0.4, 0.3),
    ("slow-vae", "rate", 12.0): (0.1, 0.2),
    ("beta-vae", "beta", 1.0): (0.9, 0.8),
    ("beta-vae", "beta", 4.0): (0.1, 0.1),
    ("beta-vae", "beta", 16.0): (0.0, 0.9),
    ("vae", None, None): (0.0, 0.0),
}


def first(found: pl.DataFrame) -> dict[str, float | None]:
    return dict(reversed(found.select("objective", "strength").rows()))


def test_the_best_mean_rank_over_data_sets_wins_within_an_objective():
    found = best_settings(scored(TABLE), "mig")
    # slow-vae: ranks (1, 3), (2, 1), (3, 2); beta-vae: (1, 2), (2, 3), (3, 1).
    assert first(found) == {"slow-vae": 1.0, "beta-vae": 1.0, "vae": None}
    ranks = found.filter(objective="slow-vae").select("strength", "mean_rank").rows()
    assert ranks == [(1.0, 1.5), (None, 2.0), (12.0, 2.5)]


def test_of_losses_the_lowest_is_best_and_of_equal_ranks_the_better_mean():
    found = best_settings(scored(TABLE, "reconstruction"), "reconstruction")
    # slow-vae: ranks (3, 1), (2, 3), (1, 2); beta-vae: (3, 2), (2, 1), (1, 3), the second with the least mean of 0.1.
    assert first(found) == {"slow-vae": 12.0, "beta-vae": 4.0, "vae": None}
    for by in ("tmex", "support", "unfairness", "gaussian_total_correlation"):
        assert best_settings(scored(TABLE, by), by).drop("mean").equals(found.drop("mean"))
    tied = {("vae", "width", 1.0): (0.1, 0.9), ("vae", "width", 2.0): (0.2, 0.5)}
    assert first(best_settings(scored(tied), "mig")) == {"vae": 1.0}


def test_an_unfinished_search_and_a_missing_score_are_refused():
    table = scored(TABLE)
    with pytest.raises(UsageError, match=r"beta-vae beta 4 was measured on 1 of 2 data sets: finish the search"):
        best_settings(table.filter(pl.col("strength").ne_missing(4.0) | (pl.col("data") == DATA[0])), "mig")
    with pytest.raises(UsageError, match="no column 'udr'"):
        best_settings(table, "udr")


def test_nothing_is_chosen_from_a_search_with_gaps():
    search, table = parse_study(SEARCH, "search"), scored(TABLE)
    four = pl.col("strength").eq_missing(4.0)
    last = four & (pl.col("data") == DATA[1]) & (pl.col("seed") == 3)
    words = (
        r"beta-vae beta 4 has 'mig' for 1 of 2 seeds on 'mini-sprites @ protocol=uni': finish .*unbraid study status"
    )
    with pytest.raises(UsageError, match=words):
        chosen_study(search, table.filter(~last), by="mig")
    with pytest.raises(UsageError, match="1 of 2 seeds"):  # measured, but not this
        chosen_study(search, table.with_columns(mig=pl.when(~last).then("mig")), by="mig")
    with pytest.raises(
        UsageError, match=r"beta-vae beta 4 has 'mig' for 0 of 2 seeds on 'mini-sprites @ protocol=lap'"
    ):
        chosen_study(search, table.filter(~four), by="mig")
    plain = pl.col("objective") == "vae"
    with pytest.raises(UsageError, match=r"vae has 'mig' for 0 of 2 seeds"):
        chosen_study(search, table.filter(~plain), by="mig")
    without = table.with_columns(mig=pl.when(~plain).then("mig"))
    with pytest.raises(UsageError, match=r"^vae has no 'mig': measure it, or --keep vae$"):
        chosen_study(search, without, by="mig")
    kept = parse_study(chosen_study(search, without, by="mig", keep=["vae"]), "kept")
    assert [setting.objective for setting in kept.settings] == ["slow-vae", "beta-vae", "vae"]


def test_the_chosen_study_has_the_best_settings_fresh_seeds_and_the_same_measures():
    search = parse_study(SEARCH, "search")
    chosen = parse_study(chosen_study(search, scored(TABLE), by="mig", seeds=3, steps=9), "chosen")
    assert chosen.seeds == (0, 2, 4)  # without 1 and 3
    assert (chosen.data, chosen.nets, chosen.batch_size, chosen.steps) == (search.data, search.nets, 16, (9,))
    assert chosen.measures == search.measures
    told = {setting.objective: (setting.parameter, setting.strength) for setting in chosen.settings}
    assert told == {"slow-vae": ("rate", 1.0), "beta-vae": ("beta", 1.0), "vae": (None, None)}
    assert [setting.steps for setting in chosen.settings] == [None, 3, None]
    assert chosen.settings[0].options == {"rate": 1, "reference_size": 64}
    kept = parse_study(chosen_study(search, scored(TABLE), by="mig", keep=["slow-vae"]), "kept")
    assert [setting.strength for setting in kept.settings] == [None, 1.0, 12.0, 1.0, None]
    wider = parse_study(chosen_study(search, scored(TABLE), by="mig", also=["sprites32:correlate=x+y"]), "wider")
    assert wider.data == (*search.data, "sprites32:correlate=x+y")  # compared on, not chosen by
    with pytest.raises(UsageError, match="unknown objective of this study 'slow'"):
        chosen_study(search, scored(TABLE), by="mig", keep=["slow"])


def test_every_objective_of_today_is_tuned_as_much_as_the_others():
    search = read_study("today-search")
    tried = Counter(setting.objective for setting in search.settings)
    assert len(tried) == 12
    assert set(tried.values()) == {3}
    assert set(search.data) == set(read_study("small").data)
    assert not set(search.seeds) & set(range(5))  # those of the comparison
    # One number decides; all else, network, rate and steps included, is the same for all three.
    for name in tried:
        own = [s for s in search.settings if s.objective == name]
        rest = [{k: v for k, v in s.options.items() if k not in (s.parameter, "penalties")} for s in own]
        assert rest[0] == rest[1] == rest[2]
        assert len({s.strength if s.parameter else str(s.options["penalties"]) for s in own}) == 3


def test_settings_that_differ_in_steps_alone_are_told_apart():
    text = """
    data = ["mini-sprites"]
    seeds = [1, 3]
    steps = 2
    precision = "fp32"
    [[objectives.vae]]
    [[objectives.vae]]
    steps = 7
    """
    search = parse_study(text, "search")
    for best in (2, 7):
        rows = [("mini-sprites", "vae", None, None, s, k, float(s == best)) for s in (2, 7) for k in (1, 3)]
        names = ["data", "objective", "strength_name", "strength", "steps", "seed", "mig"]
        table = pl.DataFrame(rows, schema=names, orient="row")
        chosen = parse_study(chosen_study(search, table, by="mig"), "chosen")
        assert [setting.steps for setting in chosen.settings] == [None if best == 2 else 7]
        assert (chosen.steps, chosen.precision) == ((2,), "fp32")
        with pytest.raises(UsageError, match="vae has 'mig' for 0 of 2 seeds"):
            chosen_study(search, table.filter(steps=best), by="mig")
    with pytest.raises(UsageError, match="steps must be at least 1, got 0"):
        chosen_study(search, table, by="mig", steps=0)


def test_a_search_that_was_run_becomes_a_study_that_can_be(tmp_path, capsys):
    (tmp_path / "search.toml").write_text(SEARCH.replace('"mini-sprites @ protocol=lap", ', ""))
    folder, out = str(tmp_path / "search"), tmp_path / "chosen.toml"
    assert main(["study", "run", str(tmp_path / "search.toml"), "--out", folder, "--workers", "1"]) == 0
    assert main(["study", "choose", folder, "--by", "mcc", "--seeds", "2", "--out", str(out)]) == 0
    assert "next: unbraid study run" in capsys.readouterr().out
    assert len(read_study(out)) == 3 * 2


def test_the_search_of_the_slow_study_is_on_its_data_and_not_on_its_seeds():
    slow, search = read_study("slow"), read_study("slow-search")
    assert slow.data == search.data
    assert not set(slow.seeds) & set(search.seeds)
    several = {s.objective for s in search.settings}
    assert several == {s.objective for s in slow.settings}
    for name in several:
        assert sum(s.objective == name for s in search.settings) >= 3
    # All that reconstructs weighs it as at 64x64, where the published strengths belong.
    assert {s.options.get("reference_size") for s in (*slow.settings, *search.settings) if s.objective != "pcl"} == {64}
