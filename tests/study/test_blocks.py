"""A study carried out in blocks: its joined table is that of the whole."""

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from unbraid.cli.app import main
from unbraid.engines import InlineEngine
from unbraid.errors import UsageError
from unbraid.study import join_blocks, make_table, parse_study, run_study, write_table

TEXT = """
name = "blocks"
data = ["mini-sprites"]
seeds = 2
steps = 2
net = "mlp:width=8"

[objectives.beta-vae]
beta = [1, 4]

[evaluation]
metrics = ["mig"]
train = 40
test = 20
batches = 1
images = 20
"""


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """The whole study, and its two halves in folders of their own."""
    study, root = parse_study(TEXT, "here"), tmp_path_factory.mktemp("blocks")
    return study, [
        run_study(study, root / name, engine=InlineEngine(), indices=rows, progress="none")
        for name, rows in (("whole", range(4)), ("first", range(2)), ("second", range(2, 4)))
    ]


def test_joined_blocks_are_the_table_of_the_whole(folders):
    study, (whole, first, second) = folders
    joined = join_blocks(study, make_table(first), [write_table(second)])
    assert_frame_equal(joined.drop("seconds"), make_table(whole).drop("seconds"))
    assert joined["udr"].null_count() == 0  # which compares the two seeds of a setting


def test_the_report_is_about_all_blocks(folders, capsys):
    _, (_, first, second) = folders
    assert main(["study", "report", str(first.path), "--blocks", str(write_table(second))]) == 0
    capsys.readouterr()
    assert "4 of 4 runs measured" in (first.path / "report" / "report.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda rows: rows.with_columns(index=pl.lit(1)), "has run 1, which is in the study's own folder, too"),
        (lambda rows: rows.with_columns(index=pl.lit(7)), "has a run 7, and this study has 0 to 3"),
        (lambda rows: rows.with_columns(steps=pl.lit(3)), r"run 2 has steps 3, in this study it is 2"),
        (lambda rows: rows.with_columns(augment=pl.lit("blur")), r"run 2 has augment 'blur', in this study it is None"),
        (lambda rows: rows.drop("status"), "no column 'status'"),
    ],
)
def test_rows_of_something_else_are_refused(folders, tmp_path, change, message):
    study, (_, first, second) = folders
    change(make_table(second)).write_parquet(tmp_path / "other.parquet")
    with pytest.raises(UsageError, match=message):
        join_blocks(study, make_table(first), [tmp_path / "other.parquet"])
