"""Write docs/studies/small/ from the folder of a finished study, or of one that was carried out in blocks.

unbraid study run small --out studies/small --index 0:90
python docs/studies/make_small.py studies/small --blocks other/table.parquet

Every sentence of the page follows from the table, and a test makes the page anew from it.
"""

import argparse
import re
from pathlib import Path

import polars as pl

from unbraid.data import load
from unbraid.report import save_grid, traverse
from unbraid.study import (
    PRESETS,
    Study,
    StudyFolder,
    answer_all,
    join_blocks,
    learning_table,
    open_study,
    read_study,
    write_markdown,
    write_table,
)
from unbraid.training import open_run

HERE = Path(__file__).parent / "small"
EARLIER = (
    "These are runs of an earlier preset of that name; today's is another study, which is what "
    "`unbraid study run {0}` trains.\n"
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("study", type=Path, help="folder of the study")
    parser.add_argument("--blocks", type=Path, nargs="*", default=[], help="tables of blocks carried out elsewhere")
    asked = parser.parse_args()
    folder = open_study(asked.study)
    table = pl.read_parquet(write_table(folder)).filter(pl.col("status") == "evaluated")
    table = join_blocks(folder.study, table, asked.blocks)
    for old in [*HERE.glob("*.png"), *HERE.glob("*.csv")]:
        old.unlink()
    write_page(folder, table, HERE)
    print(f"wrote {HERE / 'report.md'}")


def write_page(folder: StudyFolder, table: pl.DataFrame, out: Path) -> None:
    """The page, its pictures and its table; tables that it does not name are left out."""
    out.mkdir(parents=True, exist_ok=True)
    answers = answer_all(table, out, plots=(".png",))
    curves = learning_table(folder) if folder.study.watch else None
    write_markdown(out / "report.md", folder.study, table, answers, curves=curves)
    table.write_parquet(out / "table.parquet")
    (out / "study.json").write_bytes((folder.path / "study.json").read_bytes())
    page = (out / "report.md").read_text(encoding="utf-8")
    for made in out.glob("*.csv"):
        if made.name not in page:
            made.unlink()
    page = with_note(page, folder.study) + "".join(_walks(folder, table, out))
    (out / "report.md").write_text(page, encoding="utf-8")


def with_note(page: str, study: Study) -> str:
    """The page; below its heading a note, if today's preset of the study's name is another study."""
    today = read_study(study.name).to_json() if study.name in PRESETS else study.to_json()
    if today == study.to_json():
        return page
    heading, _, rest = page.partition("\n")
    return f"{heading}\n\n{EARLIER.format(study.name)}{rest}"


def _walks(folder: StudyFolder, table: pl.DataFrame, out: Path) -> list[str]:
    """What the model with the highest MIG of each data set learned, where its run is at hand."""
    lines = []
    best = table.filter(pl.col("representation") == "mean").sort("mig", descending=True).unique("data", keep="first")
    for row in best.sort("index").iter_rows(named=True):
        run = folder.run(row["index"])
        if not run.exists():
            continue
        name = re.split("[:@ ]", row["data"])[0]
        save_grid(traverse(open_run(run), load(row["data"]), active_only=True), out / f"traversal-{name}.png")
        words = (
            f"{row['objective']}, {row['strength_name']} {row['strength']:g}, seed {row['seed']}: MIG {row['mig']:.2f}"
        )
        lines.append(f"\n![Walks along the latents](traversal-{name}.png)\n\n*`{row['data']}`, {words}.*\n")
    return ["\n## What the models with the highest MIG learned\n", *lines] if lines else []


if __name__ == "__main__":
    main()
