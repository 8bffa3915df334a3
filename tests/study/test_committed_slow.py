"""The committed comparison on pairs: its page is what its table gives."""

import importlib.util
from dataclasses import asdict
from pathlib import Path

import polars as pl

from unbraid.study import read_study

DOCS = Path(__file__).parents[2] / "docs" / "studies"


def script():
    specification = importlib.util.spec_from_file_location("make_slow", DOCS / "make_slow.py")
    made = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(made)
    return made


def test_every_sentence_of_the_page_follows_from_its_table():
    made = script()
    table = pl.read_parquet(DOCS / "slow" / "table.parquet")
    assert made.report("slow", table) == (DOCS / "slow" / "report.md").read_text(encoding="utf-8")


def test_the_page_says_that_its_runs_are_those_of_an_earlier_preset():
    page = (DOCS / "slow" / "report.md").read_text(encoding="utf-8")
    assert "an earlier preset of that name; today's is another study" in " ".join(page.split())
    specs = [asdict(spec) | {"strength_name": spec.parameter} for spec in read_study("slow")]
    names = ["index", "data", "objective", "strength_name", "strength", "seed", "net", "steps", "batch_size"]
    today = pl.DataFrame([[spec[name] for name in names] for spec in specs], schema=names, orient="row")
    is_earlier = script().is_earlier
    assert not is_earlier("slow", today)
    assert not is_earlier("slow", today.head(30))  # a part of it
    assert is_earlier("slow", today.with_columns(steps=pl.lit(4000)))
    assert not is_earlier("own", today.with_columns(steps=pl.lit(4000)))
