"""unbraid generalize run | report | table | show"""

from __future__ import annotations

import json as json_module
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from tyro.conf import Positional, UseAppendAction, arg

from unbraid.cli.early import check_folder
from unbraid.cli.generalize_tables import json_rows, print_published, print_table
from unbraid.cli.study import RunOptions, carry_out
from unbraid.errors import UsageError, unknown_name
from unbraid.paths import quoted

if TYPE_CHECKING:
    from unbraid.generalization import Answers
    from unbraid.study.generalization import Trained

__all__ = ["generalize_report", "generalize_run", "generalize_show", "generalize_table"]


def generalize_run(
    benchmark: Positional[str],
    *,
    out: Path,
    weights: UseAppendAction[Annotated[tuple[str, ...], arg(metavar="NET=FILE")]] = (),
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
    """Train models on splits of data sets and ask each about the images it was not trained on.

    A benchmark is a study file: `data`, `splits`, `seeds`, `steps`, and models under [objectives.NAME]; a model x split
    x seed is a run. The same command again goes on where it stopped, and several may work in one folder at once. Models
    that predict factors (regressor, with any network) are asked directly, models with a code through a read-out that is
    trained on their frozen codes. Ends with exit code 1 if runs failed.

    Start: `unbraid generalize run smoke --out bench`, then `unbraid generalize report bench`.

    Args:
        benchmark: A study file (TOML) with splits, or a preset: smoke (a minute on two cores), small (nine models, two
            data sets, 216 runs: an evening on two cores; small-dsprites is half of it, small-rooms a shorter half),
            paper (all published rows, 3 seeds each; some 20,000 GPU hours), ablation-training and
            ablation-augmentation (the CNN trained otherwise, 90 and 100 runs).
        out: Folder of the benchmark.
        weights: Released weights for rows of the preset that start from them, such as bit-r50x1=BiT-M-R50x1.npz,
            bit-r101x3=FILE or densenet-121=FILE; rows without are left out.
        workers: Runs at a time, one thread each (otherwise one per core).
        engine: process for this machine, ray for a cluster.
        address: Ray cluster to join (otherwise a Ray is started on this machine).
        index: Only these runs, such as 0:100; for sharing a benchmark among machines.
        stage: Only train, or only ask what is trained.
        retry_failed: Try runs again that failed earlier.
        reevaluate: Accept changed measures, and measure all runs anew.
        progress: How progress is shown (on stderr).
        json: Print the result as JSON.
    """
    from unbraid.study.generalization import left_out, read_benchmark

    files = {}
    for text in weights:
        net, equals, file = text.partition("=")
        if not equals:
            raise UsageError(f"--weights {text}: write NET=FILE, such as bit-r50x1=BiT-M-R50x1.npz")
        files[net] = file
    plan = read_benchmark(benchmark, files)
    skipped = left_out(plan)
    if skipped:
        print(f"left out, no weight files given (--weights NET=FILE): {', '.join(skipped)}", file=sys.stderr)
    options = RunOptions(workers, engine, address, index, stage, retry_failed, reevaluate, progress, json)
    carry_out(plan, out, options, "generalize")


def generalize_report(
    folder: Positional[Path],
    *,
    out: Annotated[Path | None, arg(metavar="PATH")] = None,
    markdown: Annotated[Path | None, arg(metavar="FOLDER")] = None,
    json: bool = False,
) -> None:
    """Make one HTML page about a benchmark: findings, scores beside baselines and published ones, and how models fail.

    Every published finding and statement stands there with its numbers and whether it shows here; then R² by model and
    split, the table beside the published one, what each split trains on, predicted against true values, which factor
    costs most, whether models fail alike, whether disentanglement helps, and how far beyond the seen values each can
    be trusted. The page is one file and loads nothing. Runs that are missing are named with the command that adds them.

    Args:
        folder: Folder of the benchmark.
        out: The file to write (otherwise report.html in the folder).
        markdown: Also write the same as report.md with its charts and tables into this folder.
        json: Print the result as JSON, verdicts included.
    """
    check_folder(folder, "benchmark")
    from unbraid.report.generalization import write_benchmark, write_markdown
    from unbraid.study import open_study
    from unbraid.study.generalization import collect, judge_findings, judge_statements

    found = collect(open_study(folder))
    path = write_benchmark(folder, out, found)
    if markdown is not None:
        write_markdown(found, markdown, made_by=_made_by(folder))
    verdicts = [*judge_findings(found), *judge_statements(found)]
    if json:
        told = [
            {"name": one.name, "data": one.data, "verdict": one.verdict.word, "sentence": one.verdict.sentence}
            for one in verdicts
        ]
        print(json_module.dumps({"report": str(path), "bytes": path.stat().st_size, "findings": told}))
        return
    for one in verdicts:
        print(f"{one.data}, {one.name}: {one.verdict}")
    print(f"wrote {path} ({path.stat().st_size / 1e6:.1f} MB): open it in a browser")


def _made_by(folder: Path) -> tuple[str, str]:
    from unbraid.study import open_study
    from unbraid.study.generalization import BENCHMARKS

    name = open_study(folder).study.name
    file = name if name in BENCHMARKS else f"{name}.toml"
    return f"unbraid generalize run {file} --out {name}", f"unbraid generalize report {name} --markdown FOLDER"


def generalize_table(
    folder: Positional[Path],
    what: Positional[str] = "published",
    *,
    out: Annotated[Path | None, arg(metavar="FILE")] = None,
    json: bool = False,
) -> None:
    """Print a table of a benchmark, or write it as CSV or Parquet.

    published: R² x 100 over seeds by model and split, beside the published cell (the default). augmentation: R² over
    seeds with and without augmentation. scores, factors, baselines, modularity, attribution, towards, trust, parts,
    similarity: the tables that the page is made of.

    Args:
        folder: Folder of the benchmark.
        what: Which table.
        out: Write it to this file, by its ending as CSV or Parquet, instead of printing it.
        json: Print it as JSON, a list of rows.
    """
    check_folder(folder, "benchmark")
    from unbraid.study.generalization import TABLES

    known = ("published", "augmentation", *TABLES)
    if what not in known:
        raise unknown_name("table", what, known)
    if out is not None and out.suffix not in (".csv", ".parquet"):
        raise UsageError(f"--out {out} must end in .csv or .parquet")
    import polars as pl

    from unbraid.files import save_table
    from unbraid.sharing import spreadsheet
    from unbraid.study import open_study
    from unbraid.study.generalization import augmentation_effects, beside_published, collect

    found, made = collect(open_study(folder)), {"published": beside_published, "augmentation": augmentation_effects}
    table = made[what](found) if what in made else getattr(found, what)
    if what == "augmentation" and not len(table):
        raise UsageError(f"{folder} has no model that was trained both with and without augmentation on one split")
    if out is not None:
        save_table(spreadsheet(table.drop(pl.selectors.by_dtype(pl.List))) if out.suffix == ".csv" else table, out)
        print(json_module.dumps({"table": str(out), "rows": len(table)}) if json else f"wrote {out}: {len(table)} rows")
    elif json:
        print(json_module.dumps(json_rows(table), allow_nan=False))
    elif what == "published":
        print_published(found, table)
    else:
        print_table(table)


def generalize_show(
    folder: Positional[Path],
    *,
    model: Annotated[str | None, arg(metavar="NAME")] = None,
    data: Annotated[str | None, arg(metavar="NAME")] = None,
    split: Annotated[str | None, arg(metavar="KIND")] = None,
    seed: Annotated[int | None, arg(metavar="INT")] = None,
    out: Annotated[Path | None, arg(metavar="PNG")] = None,
    json: bool = False,
) -> None:
    """Show one model: R² by factor beside the baselines, and predicted against true values as a picture.

    In the picture values that training never showed are shaded, and images in which one factor alone has such a value
    stand out. Splits themselves are drawn by `unbraid data show NAME --split KIND`.

    Examples: `unbraid generalize show bench --model CNN`, `unbraid generalize show bench --model MLP --split
    interpolation`, `unbraid generalize show runs/mine` for a run that was trained with `--data NAME:split=KIND`.

    Args:
        folder: Folder of a benchmark, or of one run.
        model: Which model of the benchmark, as its table calls it (otherwise the CNN, or the first).
        data: Which of its data sets (otherwise the first).
        split: Which split: random, composition, interpolation, extrapolation (otherwise extrapolation).
        seed: Which of its seeds (otherwise the first).
        out: Where to write the picture (otherwise MODEL-DATA-SPLIT.png in this folder).
        json: Print the result as JSON.
    """
    check_folder(folder, "benchmark", "run")
    if split is not None:
        from unbraid.data import SPLITS

        if split not in SPLITS:
            raise unknown_name("split", split, SPLITS)
    from unbraid.report.generalization import draw_panels, panels_of

    title, answers = _run_answers(folder) if _is_run(folder) else _benchmark_answers(folder, model, data, split, seed)
    panels = panels_of(answers) if answers.facts.unseen else []
    name = "-".join(word.strip("().,").replace("/", "-").replace(":", "-") for word in title.lower().split())
    picture = draw_panels(panels, out or Path(f"{name}.png"), title=title) if panels else None
    table = answers.table()
    if json:
        about = {"title": title, "table": json_rows(table), "picture": None if picture is None else str(picture)}
        print(json_module.dumps(about, allow_nan=False))
        return
    print(f"{title}: R² of {len(answers.test.predicted):,} images that were not trained on")
    print_table(table)
    print(
        f"picture: {picture}"
        if picture is not None
        else "no picture: this split keeps no value from training; interpolation and extrapolation do"
    )


def _is_run(folder: Path) -> bool:
    return (folder / "run.json").exists()


def _run_answers(folder: Path) -> tuple[str, Answers]:
    from unbraid.generalization import predictions_of
    from unbraid.training import open_run

    found = predictions_of(open_run(folder)).answers()
    return f"{folder.resolve().name} {found.facts.data} {found.facts.kind}", found


def _benchmark_answers(
    folder: Path, model: str | None, data: str | None, split: str | None, seed: int | None
) -> tuple[str, Answers]:
    from unbraid.study import open_study
    from unbraid.study.generalization import trained_runs

    runs = list(trained_runs(open_study(folder)))
    if not runs:
        raise UsageError(
            f"{folder} holds no run that was asked about its split; see `unbraid study status {quoted(folder)}`"
        )
    names = list(dict.fromkeys(run.model.name for run in runs))
    chosen = _among("model", model, names, "CNN")
    runs = [run for run in runs if run.model.name == chosen]
    runs = _kept(runs, "data", data, None)
    runs = _kept(runs, "split", split, "extrapolation")
    runs = _kept(runs, "seed", seed, None)
    run = runs[0]
    return f"{run.model.name} {run.data} {run.split}, seed {run.seed}", run.answers()


def _kept(runs: list[Trained], what: str, wanted: object, usual: object) -> list[Trained]:
    known = list(dict.fromkeys(str(getattr(run, what)) for run in runs))
    chosen = _among(what, None if wanted is None else str(wanted), known, None if usual is None else str(usual))
    return [run for run in runs if str(getattr(run, what)) == chosen]


def _among(what: str, wanted: str | None, known: list[str], usual: str | None) -> str:
    if wanted is None:
        return usual if usual in known else known[0]
    for name in known:
        if name.lower() == wanted.lower():
            return name
    raise unknown_name(what, wanted, known)
