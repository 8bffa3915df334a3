"""The numbering of runs."""

import json

import pytest

from unbraid.errors import UsageError
from unbraid.study import Study, read_study
from unbraid.study.grid import parse_index


@pytest.fixture(scope="module")
def paper():
    return read_study("paper")


def test_the_paper_preset_has_12600_runs_of_36_settings(paper):
    assert len(paper) == 7 * 36 * 50 == 12_600
    assert len(paper.settings) == 36


@pytest.mark.parametrize(
    ("index", "data", "objective", "strength", "seed"),
    [
        # ((data set * 36) + setting) * 50 + seed
        (0, "dsprites", "beta-vae", 1, 0),
        (49, "dsprites", "beta-vae", 1, 49),
        (50, "dsprites", "beta-vae", 2, 0),
        (300, "dsprites", "factor-vae", 10, 0),
        (600, "dsprites", "dip-vae-i", 1, 0),
        (900, "dsprites", "dip-vae-ii", 1, 0),
        (1200, "dsprites", "beta-tcvae", 1, 0),
        (1500, "dsprites", "annealed-vae", 5, 0),
        (1799, "dsprites", "annealed-vae", 100, 49),
        ((3 * 36 + 5) * 50 + 7, "scream-dsprites", "beta-vae", 16, 7),
        (10_799, "cars3d", "annealed-vae", 100, 49),
        (10_800, "shapes3d", "beta-vae", 1, 0),
        (12_599, "shapes3d", "annealed-vae", 100, 49),
    ],
)
def test_the_paper_preset_counts_as_published(paper, index, data, objective, strength, seed):
    run = paper[index]
    assert (run.data, run.objective, run.strength, run.seed) == (data, objective, strength, seed)
    assert run.index == index
    assert (run.steps, run.batch_size) == (300_000, 64)
    assert run.options["latents"] == 10
    assert run.options["net"] == "conv"


def test_a_study_comes_back_from_its_record(paper):
    again = Study.from_json(json.loads(json.dumps(paper.to_json())), "elsewhere")
    assert again.to_json() == paper.to_json()
    assert again[777] == paper[777]


def test_a_damaged_record_is_named(paper):
    record = paper.to_json()
    record.pop("seeds")
    with pytest.raises(UsageError, match="here has no entry 'seeds'"):
        Study.from_json(record, "here")


@pytest.mark.parametrize(
    ("text", "expected"),
    [(None, range(10)), ("2:5", range(2, 5)), (":3", range(3)), ("8:", range(8, 10)), ("4", range(4, 5))],
)
def test_shards_are_ranges(text, expected):
    assert parse_index(text, 10) == expected


@pytest.mark.parametrize("text", ["5:5", "0:11", "-1", "a:b", "10"])
def test_shards_outside_the_study_are_refused(text):
    with pytest.raises(UsageError, match="index"):
        parse_index(text, 10)
