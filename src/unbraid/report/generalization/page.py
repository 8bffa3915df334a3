"""The page about a benchmark as one HTML file."""

from __future__ import annotations

import shlex
from pathlib import Path

from unbraid.errors import UsageError
from unbraid.files import write_text
from unbraid.reading import read_json
from unbraid.report.generalization.sections import sections, tile_numbers
from unbraid.report.page.folder import Gap, plugin_words
from unbraid.report.page.markup import Html, Section, command, section, tag
from unbraid.report.page.run_sections import gaps
from unbraid.report.page.shell import page
from unbraid.study import Coverage, StudyFolder, coverage, open_study
from unbraid.study.generalization import BENCHMARKS, Benchmark, collect
from unbraid.training import INFO

__all__ = ["benchmark_page", "write_benchmark"]


def write_benchmark(path: str | Path, out: str | Path | None = None, found: Benchmark | None = None) -> Path:
    """Write the page about a benchmark's folder; ``report.html`` in it unless ``out`` is given."""
    folder = Path(path)
    target = Path(out) if out is not None else folder / "report.html"
    if target.is_dir():
        target = target / "report.html"
    text = benchmark_page(folder, found)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        write_text(target, text)
    except OSError as error:
        raise UsageError(f"cannot write {target} ({error.strerror or error}); choose another file (--out)") from error
    return target


def benchmark_page(path: Path, found: Benchmark | None = None) -> str:
    """The HTML of a benchmark's report."""
    folder = open_study(path)
    benchmark = collect(folder) if found is None else found
    covered = coverage(folder)
    made_by = _command(folder, "generalize", "report", str(path))
    lead = [_tiles(folder, covered, benchmark), gaps(_gaps(folder, covered))]
    parts = [*sections(benchmark), _reproduce(folder, made_by)]
    about = f"{path}: which factors models know on images that they were not trained on"
    return page(f"Generalisation benchmark {folder.study.name}", about, lead, parts, made_by)


def _tiles(folder: StudyFolder, found: Coverage, benchmark: Benchmark) -> Html:
    measured = found.count("evaluated")
    shown = [("runs measured", f"{measured:,}", f"of {len(folder.study):,}"), *tile_numbers(benchmark)]
    return tag(
        "ul",
        [tag("li", tag("span", name), tag("b", value), tag("small", extra)) for name, value, extra in shown],
        class_="tiles",
    )


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
