"""unbraid explore RUN | STUDY"""

from __future__ import annotations

import json as json_module
from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from unbraid.cli.best import best_run
from unbraid.cli.early import check_data, check_folder

__all__ = ["explore_command"]


def explore_command(
    folder: Positional[Path],
    *,
    out: Annotated[Path | None, arg(metavar="PATH")] = None,
    data: Annotated[str | None, arg(metavar="STR")] = None,
    images: int = 64,
    sample: int = 4000,
    limit: int = 24,
    port: int = 0,
    browser: bool = True,
    json: bool = False,
) -> None:
    """Open a page to look into a run or a study: sliders that move latents, maps, swaps, the table of all runs.

    Served on this machine only, until Ctrl-C. With --out it becomes a folder that works from any file server, or
    opened from a disk.

    Args:
        folder: Folder of a run or of a study. Of a population: its best model.
        out: Write the page into this folder instead of serving it.
        data: Data set to look at (otherwise the one it was trained on); for a run.
        images: Images to start from.
        sample: Images that tell where the codes lie and what they know.
        limit: With --out, how many of a study's runs get their own page and picture.
        port: Port on 127.0.0.1; 0 takes any free one.
        browser: Open the browser.
        json: Print the result as JSON (with --out).
    """
    from unbraid.errors import UsageError

    check_folder(folder, "run", "study", "population")
    check_data(data)
    folder = best_run(folder)
    is_study = (folder / "study.json").exists()
    if is_study and data is not None:
        raise UsageError(f"--data {data}: the runs of a study are shown on their own data")
    from unbraid.data import load
    from unbraid.report.explorer import Site, run_site, serve, study_site, write_site

    site: Site
    if is_study:
        site = study_site(folder, limit=None if out is None else limit, images=images, sample=sample)
    else:
        opened = run_site(folder, data=None if data is None else load(data), images=images, sample=sample)
        for problem in opened.contents.problems:
            print(f"{problem['what']} {problem['detail']}")
        site = opened
    if out is None:
        serve(site, port=port, browser=browser)
        return
    size = write_site(site, out)
    if json:
        print(json_module.dumps({"folder": str(out), "page": str(out / "index.html"), "bytes": size}))
    else:
        print(f"wrote {out / 'index.html'} and what belongs to it ({size / 1e6:.1f} MB)")
