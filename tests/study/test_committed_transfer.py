"""The committed matrix of biases: its page and its words follow from its table."""

from pathlib import Path

import polars as pl
import pytest

from unbraid.transfer import judge_published, matrices_of, tell_published, tell_verdicts

HERE = Path(__file__).parents[2] / "docs" / "studies" / "transfer"
pytestmark = pytest.mark.skipif(not (HERE / "table.parquet").exists(), reason="the study is not committed yet")


@pytest.fixture(scope="module")
def table():
    return pl.read_parquet(HERE / "table.parquet")


@pytest.fixture(scope="module")
def page():
    return (HERE / "report.md").read_text(encoding="utf-8")


def test_it_is_as_large_as_it_says(table):
    for domain, least in (("affine-digits", 12), ("rooms3d-32", 8)):
        found = matrices_of(table)[domain]
        asked = [bias for bias, row in found.effects.items() if len(row) >= 10]
        assert len(asked) >= least
        assert all(len(one.seeds) >= 3 for row in found.effects.values() for one in row.values())
    assert len(matrices_of(table)["affine-digits"].combinations) >= 6


def test_verdicts_and_combinations_of_the_page_are_those_of_the_table(table, page):
    for domain, found in matrices_of(table).items():
        part = page.split(f"\n## {domain}\n")[1].split("\n## ")[0]
        assert tell_verdicts(found.verdicts)[1:] in part
        for bias, judged in found.verdicts.items():
            assert f"| {bias} | {judged.word} | {judged.sentence}" in part
        for (first, second), judged in found.combinations.items():
            assert f"| {first} | {second} | {judged.word} | {judged.sentence}" in part


def test_published_outcomes_of_the_page_are_judged_from_the_table(table, page):
    for domain, found in matrices_of(table).items():
        part = page.split(f"\n## {domain}\n")[1].split("\n## ")[0]
        assert tell_published(judge_published(found, table)) in part
        for one in judge_published(found, table):
            sentence, word = one.verdict.sentence.replace("|", "/"), one.verdict.word
            assert f"{sentence} | {'**does not hold**' if word == 'does not hold' else word} |" in part
