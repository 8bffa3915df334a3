"""What must hold of every score that takes arrays."""

import json
from collections.abc import Callable
from inspect import signature
from pathlib import Path

import numpy as np
import pytest
from metric_toys import draws

import unbraid.metrics
from unbraid.errors import UsageError
from unbraid.metrics import METRICS, Metric, Score
from unbraid.metrics._score import KINDS

DOCS = Path(__file__).parents[2] / "docs" / "metrics"
ON_ARRAYS = [entry for entry in METRICS.values() if entry.needs in ("codes", "sample", "train and test")]
WITH_FACTORS = [entry for entry in ON_ARRAYS if entry.needs != "codes"]
LIMITS = {"jemmig": 0.80, "explicitness": 0.5, "downstream": 0.75, "tmex": 0.5}
"""Where a code that knows nothing scores above zero: log 20 / (H + log 20), chance of ranking, chance of guessing,
every expected dependence missed."""
SMALL: dict[str, dict] = {"downstream": {"sizes": (10, 100)}}


def call(entry: Metric, codes: np.ndarray, factors: np.ndarray, **options) -> Score:
    arguments = (codes,) if entry.needs == "codes" else (codes, factors)
    return entry.function(*arguments, **{**SMALL.get(entry.name, {}), **options})


def sample(n: int = 240, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    factors = rng.integers(0, (2, 3), size=(n, 2))
    return factors @ rng.normal(size=(2, 3)) + 0.3 * rng.normal(size=(n, 3)), factors


every: Callable = pytest.mark.parametrize("entry", ON_ARRAYS, ids=lambda entry: entry.name)
with_factors: Callable = pytest.mark.parametrize("entry", WITH_FACTORS, ids=lambda entry: entry.name)


@every
def test_a_built_in_score_has_what_others_need_not(entry):
    assert "seed" in signature(entry.function).parameters, f"{entry.name} needs a parameter seed, used or not"
    assert isinstance(call(entry, *sample()), Score), f"{entry.name} must return a Score with parts and settings"
    assert entry.title != entry.name, f"give {entry.name} a title as papers write it"
    assert hasattr(unbraid.metrics, entry.function.__name__), f"unbraid.metrics does not export {entry.name}"


@every
def test_a_score_tells_value_ceiling_parts_and_settings(entry):
    score = call(entry, *sample())
    assert score.name == entry.name
    low, high = entry.range
    assert low <= score.value <= high + 1e-9
    # Where less is better, 0 is best, and there is nothing to reach.
    assert np.isnan(score.ceiling) == (entry.needs == "codes" or not entry.higher_is_better)
    assert score.parts
    assert score.settings["seed"] == 0
    json.dumps(score.to_json(), allow_nan=False)


@every
def test_the_same_seed_gives_the_same_score(entry):
    assert float(call(entry, *sample(), seed=3)) == float(call(entry, *sample(), seed=3))


@every
@pytest.mark.parametrize("seed", [-1, 0.5, True, "0", None])
def test_a_seed_that_is_none_is_refused(entry, seed):
    with pytest.raises(UsageError, match="seed must be a whole number from 0 on"):
        call(entry, *sample(), seed=seed)


@pytest.mark.parametrize(
    "entry", [e for e in WITH_FACTORS if "kinds" in signature(e.function).parameters], ids=lambda entry: entry.name
)
def test_unknown_kinds_are_refused(entry):
    with pytest.raises(UsageError, match="unknown kind of factor 'cyclic'"):
        call(entry, *sample(), kinds=("ordinal", "cyclic"))


@every
def test_constant_codes_give_the_documented_limit_without_a_warning(entry):
    factors = draws((2, 3), 240)
    score = call(entry, np.full((240, 2), 0.1), factors)
    assert np.isfinite(score.value)
    assert entry.range[0] <= score.value <= LIMITS.get(entry.name, 0.0) + 1e-9


@every
def test_one_constant_code_among_others_is_no_trouble(entry):
    codes, factors = sample()
    assert np.isfinite(call(entry, np.column_stack([codes, np.ones(len(codes))]), factors).value)


@every
def test_a_single_code_is_enough(entry):
    codes, factors = sample()
    if entry.name == "support":
        with pytest.raises(UsageError, match="pairs of codes"):
            call(entry, codes[:, :1], factors)
    else:
        assert np.isfinite(call(entry, codes[:, :1], factors).value)


@with_factors
def test_a_single_factor_is_enough(entry):
    codes, factors = sample()
    assert np.isfinite(call(entry, codes, factors[:, 1:]).value)


@with_factors
def test_any_integers_name_the_values(entry):
    codes, factors = sample()
    assert float(call(entry, codes, factors * 10 - 7)) == pytest.approx(float(call(entry, codes, factors)), abs=1e-9)


@pytest.mark.parametrize(
    "entry", [e for e in WITH_FACTORS if e.needs == "train and test"], ids=lambda entry: entry.name
)
def test_a_seed_or_test_set_that_is_none_is_named(entry):
    codes, factors = sample()
    for seed in (-1, 0.5):
        with pytest.raises(UsageError, match="seed must be a whole number"):
            call(entry, codes, factors, seed=seed)
    with pytest.raises(UsageError, match="test must be a pair"):
        call(entry, codes, factors, test=(codes, factors, factors))


@every
def test_nan_is_refused_with_a_count(entry):
    codes, factors = sample()
    codes[3, 1] = np.nan
    with pytest.raises(UsageError, match=r"1 of 720 entries"):
        call(entry, codes, factors)


@every
def test_codes_without_columns_or_rows_are_refused(entry):
    codes, factors = sample()
    with pytest.raises(UsageError, match=r"\[n, d\]"):
        call(entry, codes[:, 0], factors)
    with pytest.raises(UsageError, match="at least two samples"):
        call(entry, codes[:1], factors[:1])


@with_factors
def test_whole_numbers_as_floats_score_as_integers_and_measured_ones_say_their_bins(entry):
    codes, factors = sample()
    assert float(call(entry, codes, factors.astype(float))) == float(call(entry, codes, factors))
    measured = factors + np.random.default_rng(3).random(factors.shape)
    settings = call(entry, codes, measured).settings
    assert (settings.get("factor_bins"), settings.get("binned_factors")) == (
        (None, None) if entry.measured else (10, list(range(factors.shape[1])))
    )
    with pytest.raises(UsageError, match="NaN or infinite"):
        call(entry, codes, np.where(factors == factors[0, 0], np.nan, factors))


@with_factors
def test_wrong_lengths_are_refused(entry):
    codes, factors = sample()
    with pytest.raises(UsageError, match="differ in length"):
        call(entry, codes[:-1], factors)
    with pytest.raises(UsageError, match=r"\[n, K\]"):
        call(entry, codes, factors[:, 0])


@with_factors
def test_a_factor_that_never_changes_is_named(entry):
    codes, factors = sample()
    factors[:, 1] = 5
    with pytest.raises(UsageError, match=r"factor 1 .*single value 5"):
        call(entry, codes, factors)


@pytest.mark.parametrize(
    "entry", [e for e in WITH_FACTORS if e.needs == "train and test"], ids=lambda entry: entry.name
)
def test_fewer_training_samples_than_values_are_refused(entry):
    with pytest.raises(UsageError, match="too few for factor 0 with its 30 values"):
        call(entry, np.random.default_rng(0).normal(size=(30, 2)), np.arange(30)[:, None])


@every
def test_parts_with_a_title_are_there(entry):
    found = call(entry, *sample()).parts
    assert all(isinstance(found[part], float) for part in entry.parts)


def test_the_list_describes_what_the_package_offers():
    import unbraid.metrics

    for name, entry in METRICS.items():
        if not entry.function.__module__.startswith("unbraid.metrics.") or entry.function.__module__.endswith(
            "._registry"
        ):
            continue  # an example of the documentation
        assert entry.name == name
        assert entry.about
        assert entry.title != name
        assert (DOCS / f"{name}.md").is_file(), f"docs/metrics/{name}.md is missing"
        assert f"[{name}]({name}.md)" in (DOCS / "index.md").read_text()
        assert getattr(unbraid.metrics, name) is entry.function


def test_every_repair_in_the_docs_is_an_option_of_the_scores_beside_it():
    page = (DOCS / "index.md").read_text(encoding="utf-8")
    table = page.split("## Where the published definition has a flaw")[1].split("## How to call them")[0]
    rows = [line.split("|") for line in table.splitlines() if line.startswith("|")][2:]
    assert len(rows) > 8
    for _, _, scores, repair, _ in rows:
        option = repair.strip(" `").partition("=")[0]
        for name in scores.strip().split(", "):
            assert option in signature(METRICS[name].function).parameters, (name, option)
    for option in ("use_kinds", "representation"):
        assert f"`{option}=" in page
        assert option in signature(unbraid.metrics.evaluate).parameters
    assert all(f'"{kind}"' in page for kind in KINDS)
