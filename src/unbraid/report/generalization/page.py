"""The page about a benchmark as one HTML file."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from unbraid.errors import UsageError
from unbraid.files import make_folders, write_text
from unbraid.reading import read_json
from unbraid.report.generalization.sections import sections, tile_numbers
from unbraid.report.page.folder import Gap, plugin_words
from unbraid.report.page.markup import Html, Section, command, section, tag
from unbraid.report.page.run_sections import gaps
from unbraid.report.page.shell import page
from unbraid.study import Coverage, StudyFolder, coverage, open_study
from unbraid.study.generalization import BENCHMARKS, Benchmark, collect
from unbraid.training import INFO

__all__ = ["benchmark_page", "tables_page", "write_benchmark"]


def write_benchmark(
    source: str | Path | Benchmark, out: str | Path | None = None, found: Benchmark | None = None
) -> Path:
    """Write the page about a benchmark: its folder (then ``report.html`` in it unless ``out`` is given), or tables.

    ``found`` are the tables of the folder, if they were collected before.
    """
    if isinstance(source, Benchmark):
        if out is None:
            raise UsageError("out is missing: tables have no folder to write their page to")
        text = tables_page(source)
    else:
        text = benchmark_page(Path(source), found)
    target = Path(source) / "report.html" if out is None and not isinstance(source, Benchmark) else Path(out or "")
    if target.is_dir():
        target = target / "report.html"
    try:
        make_folders(target.parent)
        write_text(target, text)
    except OSError as error:
        raise UsageError(f"cannot write {target} ({error.strerror or error}); choose another file (--out)") from error
    return target


def benchmark_page(path: Path, found: Benchmark | None = None) -> str:
    """The HTML about the folder of a benchmark."""
    folder = open_study(path)
    benchmark, covered = collect(folder) if found is None else found, coverage(folder)
    made_by = _command(folder, "generalize", "report", str(path))
    measured = ("runs measured", f"{covered.count('evaluated'):,}", f"of {len(folder.study):,}")
    lead = [_tiles([measured, *tile_numbers(benchmark)]), gaps(_gaps(folder, covered))]
    parts = [*sections(benchmark), _reproduce(folder, made_by)]
    return page(f"Generalisation benchmark {benchmark.name}", f"{path}: {_ABOUT}", lead, parts, made_by)


def tables_page(benchmark: Benchmark) -> str:
    """The HTML about a benchmark that was made in Python."""
    made_by = "unbraid.report.generalization.write_benchmark"
    title = f"Generalisation benchmark {benchmark.name}"
    return page(title, _ABOUT, _tiles(tile_numbers(benchmark)), sections(benchmark), made_by)


_ABOUT = "which factors models know on images that they were not trained on"


def _tiles(shown: Sequence[tuple[str, str, str]]) -> Html:
    items = [tag("li", tag("span", name), tag("b", value), tag("small", extra)) for name, value, extra in shown]
    return tag("ul", items, class_="tiles")


def _gaps(folder: StudyFolder, found: Coverage) -> list[Gap]:
    failed = found.count("failed")
    left, missing = len(found.missing()) - failed, []
    if left:
        missing.append(Gap(f"{left:,} runs", "they are not trained and measured yet", _continue(folder)))
    if failed:
        index, error = next(iter(found.errors.items()))
        missing.append(
            Gap(f"{failed:,} runs", f"they failed; run {index:05d}: {error}", _continue(folder, "--retry-failed"))
        )
    return missing


def _continue(folder: StudyFolder, *words: str) -> str:
    name = folder.study.name if folder.study.name in BENCHMARKS else "FILE.toml"
    return _command(folder, "generalize", "run", name, "--out", str(folder.path), *words)


def _command(folder: StudyFolder, *words: str) -> str:
    """A command with the files of own code that the first run was started with."""
    first = min(folder.path.glob(f"runs/*/{INFO}"), default=None)
    return shlex.join(["unbraid", *(plugin_words(read_json(first)) if first else ()), *words])


def _reproduce(folder: StudyFolder, made_by: str) -> Section:
    return section(
        "Reproduce it",
        tag("p", "Go on with the benchmark, print its table, draw one model, and make this page again:"),
        command(_continue(folder)),
        command(_command(folder, "generalize", "table", str(folder.path))),
        command(_command(folder, "generalize", "show", str(folder.path))),
        command(made_by),
    )
