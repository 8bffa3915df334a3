"""A benchmark as Markdown: the page, its charts as files, and the tables that its verdicts rest on."""

import dataclasses
import re
from xml.etree import ElementTree

import pytest

from benchmark_toys import toy_runs
from unbraid.errors import UsageError
from unbraid.report.generalization import write_markdown
from unbraid.report.page.markup import Html, tag
from unbraid.report.page.svg import standalone
from unbraid.study.generalization import beside_published, judge_findings, judge_statements, read_tables, tabulate


@pytest.fixture(scope="module")
def benchmark(tmp_path_factory):
    """Toy answers under the name of a data set of the paper."""
    made = toy_runs(tmp_path_factory.mktemp("toys"), "mini-sprites", images=400)
    return tabulate("toy", [dataclasses.replace(run, data="dsprites-90") for run in made])


@pytest.fixture(scope="module")
def folder(benchmark, tmp_path_factory):
    target = tmp_path_factory.mktemp("page") / "toy"
    write_markdown(benchmark, target, made_by=["unbraid generalize run toy.toml --out toy"])
    return target


def test_every_picture_of_the_page_is_a_file_that_can_be_read(folder):
    pictures = re.findall(r"!\[[^]]+\]\(([^)]+)\)", (folder / "report.md").read_text())
    assert len(pictures) == 7
    for name in pictures:
        if name.endswith(".svg"):
            root = ElementTree.fromstring((folder / name).read_text())
            assert root.attrib["aria-label"]
            assert "var(" not in (folder / name).read_text()


def test_the_page_tells_the_verdicts_and_the_published_cells(benchmark, folder):
    text = (folder / "report.md").read_text()
    for one in [*judge_findings(benchmark), *judge_statements(benchmark)]:
        assert one.verdict.word in text
        assert one.verdict.sentence.replace("|", "/") in text
    row = beside_published(benchmark).filter(model="CNN", split="composition").row(0, named=True)
    assert f"{row['mean']:.1f} ± {row['sd']:.1f} [53.3 ± 10.4]" in text  # published for the CNN on dSprites-90


def test_verdicts_come_out_the_same_from_the_tables_alone(benchmark, folder):
    again = read_tables(folder / "tables", "toy")
    assert judge_findings(again) == judge_findings(benchmark)
    assert judge_statements(again) == judge_statements(benchmark)
    assert beside_published(again).equals(beside_published(benchmark))


def test_another_table_is_refused_by_name(folder, tmp_path):
    for path in (folder / "tables").iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    (tmp_path / "trust.parquet").write_bytes((folder / "tables" / "parts.parquet").read_bytes())
    with pytest.raises(UsageError, match=r"trust\.parquet is not the table 'trust'"):
        read_tables(tmp_path, "toy")
    (tmp_path / "trust.parquet").write_bytes(b"PAR1")
    with pytest.raises(UsageError, match=r"trust\.parquet cannot be read"):
        read_tables(tmp_path, "toy")


def test_only_one_chart_makes_a_file():
    with pytest.raises(ValueError, match="one chart"):
        standalone(Html(tag("p", "no chart")))
