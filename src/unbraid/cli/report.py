"""unbraid report RUN... | STUDY"""

from __future__ import annotations

import json as json_module
import sys
from pathlib import Path
from typing import Annotated, Literal

from tyro.conf import Positional, arg

from unbraid.cli.best import best_run
from unbraid.cli.early import check_data, check_folder
from unbraid.errors import UsageError

__all__ = ["report_command"]


def report_command(
    folders: Positional[tuple[Path, ...]] = (),
    *,
    out: Annotated[Path | None, arg(metavar="PATH")] = None,
    scores: bool = True,
    metrics: Annotated[str | None, arg(metavar="NAMES")] = None,
    data: Annotated[str | None, arg(metavar="STR")] = None,
    seed: int = 0,
    json: bool = False,
) -> None:
    """Make one HTML page about a run, a comparison of runs, or a study; it opens anywhere and prints well.

    For a run: training curves, reconstructions, what each latent does, which latent knows which factor, scores against
    their ceilings, and the command that makes it again. A run that is not whole shows what is there and says what is
    missing. The page is one file and loads nothing.

    Args:
        folders: Folder of a run, several of them to compare, or the folder of a study. Of a population: its best model.
        out: The file to write (otherwise report.html in the folder; for a comparison, in the current one).
        scores: Compute a few quick scores of runs that have none stored.
        metrics: Compute these scores for the page, separated by commas, instead of reading stored ones.
        data: Data set to look at (otherwise the one a run was trained on).
        seed: Decides which images are looked at.
        json: Print the result as JSON.
    """
    if not folders:
        raise UsageError("give the folder of a run, several of them to compare, or the folder of a study")
    if metrics is not None and not scores:
        raise UsageError("--metrics asks for scores and --no-scores forbids them; give one of the two")
    names = None if metrics is None else _names(metrics)
    for folder in folders:
        check_folder(folder, "run", "study", "population")
    check_data(data)
    shown = [best_run(folder) for folder in folders]
    if out is None and len(folders) == 1:
        out = folders[0] / "report.html"
    from unbraid.report.page import Choices, write_report

    say = (lambda _: None) if json else (lambda text: print(text, file=sys.stderr))
    path = write_report(shown, out, choices=Choices(names, scores, data, seed), say=say)
    size = path.stat().st_size
    if json:
        print(json_module.dumps({"report": str(path), "bytes": size}))
    else:
        print(f"wrote {path} ({size / 1e6:.1f} MB): open it in a browser")


def _names(text: str) -> Literal["all"] | tuple[str, ...]:
    from unbraid.errors import unknown_name
    from unbraid.metrics import METRICS

    if text == "all":
        return "all"
    chosen = tuple(name.strip() for name in text.split(",") if name.strip())
    for name in chosen:
        if name not in METRICS:
            raise unknown_name("metric", name, METRICS)
    if not chosen:
        raise UsageError("--metrics is empty; give all, names separated by commas, or --no-scores")
    return chosen
