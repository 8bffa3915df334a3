"""Put what `unbraid theory study` left in a folder into this page: tables, pictures and one CSV per study.

    python docs/studies/vae_pca/collect.py FOLDER

Trials that are not finished are left out; the number of trials stands in every row of the tables.
"""

import re
import sys
from pathlib import Path

import polars

from unbraid.reading import read_json
from unbraid.report.theory import verdict_table
from unbraid.report.theory.trials import STUDIES, draw_trials, trial_table
from unbraid.theory import read_trials

HERE = Path(__file__).parent


def trials_of(study: str, folder: Path) -> polars.DataFrame | None:
    """All finished trials of a study, or none."""
    places = [folder / study, *sorted(folder.glob(f"{study}/*/trials"))]
    parts = [read_trials(place) for place in places if any(place.glob("*.json"))]
    return polars.concat(parts, how="diagonal_relaxed") if parts else None


def gaps_of(folder: Path) -> polars.DataFrame:
    """How far the disentangled models were behind the entangled ones while each pattern was trained, in nats."""
    return polars.DataFrame(
        [
            {"data": place.parts[-3], "step": step, "gap": gap, "noise_advantage": max(record["noise_advantages"])}
            for place in sorted(folder.glob("manipulation/*/perturbation/perturbation.json"))
            for record in [read_json(place)]
            for step, gap in record["gaps"]
        ]
    )


def with_gaps(rows: polars.DataFrame, gaps: polars.DataFrame) -> polars.DataFrame:
    """Trials with the largest gap of their data set's pattern, unless they tell it themselves.

    The study's folders are named after data sets, with a dash for all but letters, digits and points.
    """
    largest = dict(gaps.group_by("data").agg(polars.col("gap").max()).iter_rows()) if len(gaps) else {}
    found = [largest.get(re.sub(r"[^A-Za-z0-9.]+", "-", data)) for data in rows["data"]]
    told = polars.Series("gap", found, dtype=polars.Float64)
    own = [rows["gap"]] if "gap" in rows.columns else []
    return rows.with_columns(gap=polars.coalesce(*own, told))


def filled(page: str, mark: str, text: str) -> str:
    """The page with a text between two marks."""
    before, _, after = page.split(f"<!-- {mark} -->")
    return f"{before}<!-- {mark} -->\n\n{text}\n<!-- {mark} -->{after}"


def main(folder: Path) -> None:
    page = (HERE / "report.md").read_text(encoding="utf-8")
    gaps = gaps_of(folder)
    for study, view in STUDIES.items():
        rows = trials_of(study, folder)
        if rows is None:
            continue
        rows = rows.sort([*view.cells, "seed"])
        rows.write_csv(HERE / f"{study}.csv", float_precision=6)
        draw_trials(study, rows, HERE / f"{study}.png")
        page = filled(page, study, trial_table(study, rows))
        if study == "manipulation":
            page = filled(page, "verdicts", verdict_table(with_gaps(rows, gaps)))
    (HERE / "report.md").write_text(page, encoding="utf-8")
    if len(gaps):
        gaps.write_csv(HERE / "manipulation_gaps.csv", float_precision=6)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
