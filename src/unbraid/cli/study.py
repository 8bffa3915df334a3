"""unbraid study run | status | report | choose"""

from __future__ import annotations

import json as json_module
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from tyro.conf import Positional, arg

from unbraid.cli.early import check_folder, check_nets
from unbraid.files import make_folders
from unbraid.paths import quoted

if TYPE_CHECKING:
    from unbraid.study import Coverage, State, Study, StudyFolder

__all__ = ["RunOptions", "carry_out", "study_choose", "study_report", "study_run", "study_status"]


def study_run(
    study: Positional[str],
    *,
    out: Path,
    workers: Annotated[int | None, arg(metavar="INT")] = None,
    engine: Literal["process", "ray"] = "process",
    address: Annotated[str | None, arg(metavar="STR")] = None,
    index: Annotated[str | None, arg(metavar="START:STOP")] = None,
    stage: Literal["all", "train", "evaluate"] = "all",
    retry_failed: bool = False,
    reevaluate: bool = False,
    progress: Literal["auto", "bar", "lines", "none"] = "auto",
    json: bool = False,
) -> None:
    """Train and measure every run of a study; the same command again goes on where it stopped.

    Several of these commands may work in one folder at once, also from machines that share it. Ends with exit code 1 if
    runs failed.

    Args:
        study: A study file (TOML), or a preset: smoke (a minute), small (about six hours; by blocks, such as --index
            0:15, half an hour each), pilot, pilot-objectives and pilot-strengths (learning curves to
            judge its settings by: up to an hour of a core each), paper (12,600 runs), slow and slow-search (methods on
            pairs at published strengths, and the search for their own: an estimated six and three hours), slow-paper
            (the published comparison of them), slow-control (natural against permuted transitions, an hour), noise,
            noise-sigmas and noise-fashion (training with noise: 80, 25 and 25 minutes of one core), invariance,
            invariance-fashion and invariance-spheres (what bijective classifiers ignore: 60, 45 and 30 minutes),
            correlated (factors that go together in training, 20 minutes), today-search (classic objectives and newer
            ones, three settings each: an estimated two and a half hours).
        out: Folder of the study.
        workers: Runs at a time, one thread each (otherwise one per core).
        engine: process for this machine, ray for a cluster.
        address: Ray cluster to join (otherwise a Ray is started on this machine).
        index: Only these runs, such as 0:100; for sharing a study among machines.
        stage: Only train, or only measure what is trained.
        retry_failed: Try runs again that failed earlier.
        reevaluate: Accept changed evaluation settings, and measure what is not there yet or cannot be read.
        progress: How progress is shown (on stderr).
        json: Print the result as JSON.
    """
    from unbraid.study import read_study

    plan = read_study(study)  # before torch is imported: a wrong key is answered at once
    options = RunOptions(workers, engine, address, index, stage, retry_failed, reevaluate, progress, json)
    carry_out(plan, out, options, "study")


@dataclass(frozen=True)
class RunOptions:
    """How the runs of a study are carried out, as the command line says it."""

    workers: int | None = None
    engine: Literal["process", "ray"] = "process"
    address: str | None = None
    index: str | None = None
    stage: Literal["all", "train", "evaluate"] = "all"
    retry_failed: bool = False
    reevaluate: bool = False
    progress: Literal["auto", "bar", "lines", "none"] = "auto"
    json: bool = False


def carry_out(plan: Study, out: Path, options: RunOptions, group: str) -> None:
    """Do the runs of a study and tell how they stand; ``group`` is the command that reports on them."""
    from unbraid.errors import UsageError
    from unbraid.plugins import imported
    from unbraid.study import parse_index

    check_nets(plan)
    indices = parse_index(options.index, len(plan))
    if options.engine == "process" and options.address is not None:
        raise UsageError(f"--address {options.address} is for --engine ray")
    from unbraid.engines import make_engine
    from unbraid.study import coverage, run_study, write_table

    stage = options.stage
    stages: tuple[Literal["train", "evaluate"], ...] = ("train", "evaluate") if stage == "all" else (stage,)
    folder = run_study(
        plan,
        out,
        engine=make_engine(options.engine, workers=options.workers, address=options.address),
        indices=indices,
        stages=stages,
        retry_failed=options.retry_failed,
        reevaluate=options.reevaluate,
        plugins=imported(),
        progress=options.progress,
    )
    table = write_table(folder)
    found = coverage(folder, indices)
    _tell(folder, found, options.json, table, group)
    if found.errors:
        raise SystemExit(1)


def study_status(folder: Positional[Path], *, json: bool = False) -> None:
    """Say how far a study is: runs by state, and why runs failed.

    Args:
        folder: Folder of the study.
        json: Print the result as JSON.
    """
    check_folder(folder, "study")
    from unbraid.study import coverage, open_study

    opened = open_study(folder)
    _tell(opened, coverage(opened), json)


def study_report(
    folder: Positional[Path],
    *,
    blocks: Annotated[tuple[Path, ...], arg(metavar="FILE...")] = (),
    json: bool = False,
) -> None:
    """Collect a study's table and answer its questions with tables and plots, in FOLDER/report (start with report.md).

    Args:
        folder: Folder of the study.
        blocks: Tables (table.parquet) of other runs of the study, which were carried out elsewhere with --index.
        json: Print the result as JSON.
    """
    check_folder(folder, "study")
    import polars as pl

    from unbraid.study import answer_all, coverage, join_blocks, learning_table, open_study, write_markdown, write_table

    opened = open_study(folder)
    path = write_table(opened)
    table = pl.read_parquet(path).filter(pl.col("status") == "evaluated")
    table = join_blocks(opened.study, table, blocks) if blocks else table
    found = coverage(opened)
    answers = answer_all(table, folder / "report") if len(table) else []
    curves = learning_table(opened) if opened.study.watch else None
    if answers or curves is not None:
        make_folders(folder / "report")  # no question may have had an answer
        write_markdown(folder / "report" / "report.md", opened.study, table, answers, curves=curves)
    if json:
        told = _as_json(opened, found) | {
            "table": str(path),
            "answers": {answer.name: answer.missing or "written" for answer in answers},
        }
        print(json_module.dumps(told))
        return
    _tell(opened, found, json)
    print(f"wrote {path}")
    asked = any(not answer.missing for answer in answers)
    if answers and not asked:
        print("no codes were scored ([measures.disentanglement] does that): questions about them are left out")
    for answer in answers if asked else ():
        result = f"not answered, {answer.missing}" if answer.missing else f"{folder / 'report' / answer.name}.csv"
        print(f"question {answer.analysis.question}: {answer.analysis.title}: {result}")
    if answers or curves is not None:
        print(f"wrote {folder / 'report' / 'report.md'}")
    else:
        print("no run has been measured yet: nothing to answer the questions with")


def study_choose(
    folder: Positional[Path],
    *,
    out: Path,
    by: str = "mcc",
    seeds: int = 5,
    steps: Annotated[int | None, arg(metavar="INT")] = None,
    keep: Annotated[tuple[str, ...], arg(metavar="NAME")] = (),
    also: Annotated[tuple[str, ...], arg(metavar="DATA")] = (),
) -> None:
    """Write the file of a study that compares objectives, each in the setting that was best in a search.

    The search is a finished study with several settings of each objective. They are ranked within each data set by the
    mean of a score over seeds; the best mean rank is chosen. The new study has other seeds.

    Args:
        folder: Folder of the search.
        out: The study file (TOML) to write.
        by: The score to choose by, a column of the search's table: mcc, udr (which needs no labels), mig, ... Of
            reconstruction, kl, loss, regularizer, mean_squared_error and scores of which less is better (tmex,
            support, unfairness, total correlations) the lowest is best, of all others the highest.
        seeds: How many seeds the new study has.
        steps: Its steps (otherwise the search's).
        keep: Objectives that stay in all their settings.
        also: Further data sets to compare on, such as rooms3d-32:correlate=s1; nothing is chosen by them.
    """
    check_folder(folder, "study")
    import polars as pl

    from unbraid.files import write_text
    from unbraid.study import chosen_study, make_table, open_study, parse_study

    opened = open_study(folder)
    table = make_table(opened).filter(pl.col("status") == "evaluated")
    text = chosen_study(opened.study, table, by=by, seeds=seeds, steps=steps, keep=keep, also=also)
    plan = parse_study(text, str(out))
    write_text(out, text)
    for setting in plan.settings:
        told = "" if setting.parameter is None else f" {setting.parameter} {setting.strength:g}"
        print(f"{setting.objective}{told}")
    print(f"wrote {out}: {len(plan)} runs")
    print(f"next: unbraid study run {quoted(out)} --out FOLDER")


def _as_json(folder: StudyFolder, found: Coverage) -> dict[str, object]:
    return {
        "study": folder.study.name,
        "folder": str(folder.path),
        "runs": len(found.states),
        "states": dict(Counter(found.states.values())),
        "failures": {str(index): error for index, error in found.errors.items()},
    }


def _tell(folder: StudyFolder, found: Coverage, json: bool, table: Path | None = None, group: str = "study") -> None:
    if json:
        print(json_module.dumps(_as_json(folder, found) | ({} if table is None else {"table": str(table)})))
        return
    states = Counter(found.states.values())
    shown = ", ".join(f"{states[state]} {state}" for state in _ORDER if states[state])
    print(f"{folder.study.name}: {len(found.states)} runs: {shown}")
    missing = found.missing()
    if missing:
        print(f"without scores: {_ranges(missing)}")
    for index, error in list(found.errors.items())[:10]:
        print(f"  run {index:05d} failed: {error}")
    if len(found.errors) > 10:
        print(f"  and {len(found.errors) - 10} more: see {folder.path / 'failures'}")
    if found.errors:
        print(f"give --retry-failed to `unbraid {group} run` to try them again")
    if table is not None:
        print(f"wrote {table}")
        print(f"next: unbraid {group} report {quoted(folder.path)}")


_ORDER: tuple[State, ...] = ("evaluated", "trained", "started", "pending", "failed")


def _ranges(indices: list[int]) -> str:
    """Sorted indices in words: ``0-4, 7, 9-10``."""
    parts: list[list[int]] = []
    for index in indices:
        if parts and index == parts[-1][1] + 1:
            parts[-1][1] = index
        else:
            parts.append([index, index])
    words = [str(first) if first == last else f"{first}-{last}" for first, last in parts]
    return ", ".join(words[:12]) + (f", ... ({len(indices)} in all)" if len(words) > 12 else "")
