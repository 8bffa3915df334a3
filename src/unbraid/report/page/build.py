"""From folders to one HTML file."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from pathlib import Path

from unbraid.errors import UsageError
from unbraid.files import make_folders, write_text, writing
from unbraid.report.page.folder import plugin_words, read_folder
from unbraid.report.page.model import Choices, look
from unbraid.report.page.run_sections import gaps, headline, run_sections, tiles
from unbraid.report.page.shell import page

__all__ = ["make_report", "write_report"]

STUDY = "study.json"


def write_report(
    paths: Sequence[str | Path],
    out: str | Path | None = None,
    *,
    choices: Choices | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> Path:
    """Write the page about a run, several runs to compare, or a study; returns the file.

    Without ``out`` it is ``report.html`` in the run's or study's folder, and in the current folder for a comparison.
    """
    folders = [Path(path) for path in paths]
    _check(folders)
    target = Path(out) if out is not None else (folders[0] if len(folders) == 1 else Path()) / "report.html"
    if target.is_dir():
        target = target / "report.html"
    with writing(target):  # before the work, so that a wrong place costs no time
        make_folders(target.parent)
    text = make_report(folders, choices=choices, say=say)
    with writing(target):
        write_text(target, text)
    return target


def make_report(
    paths: Sequence[str | Path], *, choices: Choices | None = None, say: Callable[[str], None] = lambda _: None
) -> str:
    """The HTML of :func:`write_report`."""
    folders = [Path(path) for path in paths]
    _check(folders)
    chosen = choices or Choices()
    if (folders[0] / STUDY).exists():
        from unbraid.report.page.study_sections import study_page

        return study_page(folders[0])
    looks = [look(folder, chosen, say) for folder in [read_folder(path) for path in folders]]
    plugins = plugin_words(*(one.folder.info for one in looks))
    made_by = shlex.join(["unbraid", *plugins, "report", *map(str, folders)])
    if len(looks) > 1:
        from unbraid.report.page.comparison import comparison_page

        return comparison_page(looks, made_by)
    one = looks[0]
    lead = [tiles(one), gaps(one.folder.gaps)]
    return page(headline(one), str(one.folder.path), lead, run_sections(one), made_by)


def _check(folders: Sequence[Path]) -> None:
    if not folders:
        raise UsageError("give at least one folder of a run, or one of a study")
    for folder in folders:
        if not folder.is_dir():
            raise UsageError(f"there is no folder {folder}; give the folder of a run or of a study")
    if len(folders) > 1:
        for folder in folders:
            if (folder / STUDY).exists():
                raise UsageError(f"{folder} is a study; give a study alone, or several runs to compare")
        if len(set(map(Path.resolve, folders))) < len(folders):
            raise UsageError("the same run is given twice; a comparison needs different ones")
