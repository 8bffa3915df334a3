"""The committed comparison on pairs: its page is what its table gives."""

import importlib.util
from pathlib import Path

import polars as pl

DOCS = Path(__file__).parents[2] / "docs" / "studies"


def test_every_sentence_of_the_page_follows_from_its_table():
    specification = importlib.util.spec_from_file_location("make_slow", DOCS / "make_slow.py")
    made = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(made)
    table = pl.read_parquet(DOCS / "slow" / "table.parquet")
    assert made.report("slow", table) == (DOCS / "slow" / "report.md").read_text(encoding="utf-8")
