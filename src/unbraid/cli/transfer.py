"""unbraid transfer run | report | card | combine"""

from __future__ import annotations

import json as json_module
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from tyro.conf import Positional, arg

from unbraid.cli.early import check_data, check_folder
from unbraid.errors import UsageError
from unbraid.paths import quoted

if TYPE_CHECKING:
    from unbraid.transfer import MatrixFolder, Plan

__all__ = ["transfer_card", "transfer_combine", "transfer_report", "transfer_run"]

Names = Annotated[str, arg(metavar="NAME,NAME")]
Workers = Annotated[int | None, arg(metavar="INT")]
Address = Annotated[str | None, arg(metavar="STR")]
Shown = Literal["auto", "bar", "lines", "none"]


def transfer_run(
    preset: Positional[str],
    *,
    out: Path,
    domains: Names = "",
    biases: Names = "",
    scenarios: Names = "",
    seeds: Annotated[str, arg(metavar="INT,INT")] = "",
    steps: Annotated[int | None, arg(metavar="INT")] = None,
    known: Annotated[tuple[Path, ...], arg(metavar="FILE...")] = (),
    workers: Workers = None,
    engine: Literal["process", "ray"] = "process",
    address: Address = None,
    retry_failed: bool = False,
    dry_run: bool = False,
    progress: Shown = "auto",
    json: bool = False,
) -> None:
    """Train every bias and its vanilla twin, and ask all of them every scenario; the same command again goes on.

    What is there is not done again: more biases, scenarios or seeds in the same folder add to it. Several of these
    commands may work in one folder at once. Ends with exit code 1 if runs failed.

    Args:
        preset: smoke (two minutes of one core), small (digits and rooms, evenings of two cores), paper (a cluster).
        out: Folder of the matrix.
        domains: Other domains than the preset's: affine-digits, rooms3d-32, sprites32, mnist, fashion-mnist.
        biases: Other biases than the preset's (`unbraid list biases`); a + joins several, twins come by themselves.
        scenarios: Other scenarios than the preset's (`unbraid list scenarios`).
        seeds: Other seeds than the preset's.
        steps: Another number of steps of training than the preset's.
        known: Numbers measured in other folders, perhaps on other machines: the cells.parquet of their reports.
        workers: Models at a time, one thread each (otherwise one per core).
        engine: process for this machine, ray for a cluster.
        address: Ray cluster to join (otherwise a Ray is started on this machine).
        retry_failed: Try runs again that failed earlier.
        dry_run: Say what is missing and how long it will take, and stop.
        progress: How progress is shown (on stderr).
        json: Print the result as JSON.
    """
    from unbraid.transfer import bring_cells
    from unbraid.transfer import preset as made

    plan = made(
        preset,
        domains=_list(domains),
        biases=_list(biases),
        scenarios=_list(scenarios),
        seeds=_numbers(seeds),
        steps=steps,
    )
    if engine == "process" and address is not None:
        raise UsageError(f"--address {address} is for --engine ray")
    if dry_run:
        _foretell(plan, out, known)
        return
    if known:
        bring_cells(out, known, plan)
    folder = _run(plan, out, workers, engine, address, retry_failed, progress)
    missing, cells = folder.missing(plan), len(plan.cells())
    failures = folder.failures(plan)
    if json:
        about = {"folder": str(folder.path), "cells": cells, "missing": len(missing)}
        print(json_module.dumps(about | {"failures": failures}))
    else:
        print(f"{plan.name}: {cells - len(missing)} of {cells} cells")
        for name, why in list(failures.items())[:10]:
            print(f"  {name} failed: {why}")
        print(f"next: unbraid transfer report {quoted(folder.path)}")
    if failures:
        raise SystemExit(1)


def transfer_report(
    folder: Positional[Path], *, out: Annotated[Path | None, arg(metavar="DIR")] = None, json: bool = False
) -> None:
    """Judge a matrix: a page with heat maps, verdicts, combinations, agreement and cards, tables and pictures.

    Args:
        folder: Folder of the matrix.
        out: Where they are written (otherwise FOLDER/report).
        json: Print verdicts and files as JSON.
    """
    check_folder(folder, "matrix")
    from unbraid.report.transfer import write_matrices
    from unbraid.transfer import matrix, open_matrix

    opened = open_matrix(folder)
    written = write_matrices(opened, out or folder / "report", f"unbraid transfer report {quoted(folder)}")
    found = {domain: matrix(opened, domain) for domain in opened.plan.domains}
    if json:
        told = {domain: one.to_json() for domain, one in found.items()}
        print(json_module.dumps({"files": [str(path) for path in written], "matrices": told}))
        return
    for domain, one in found.items():
        for bias, judged in one.verdicts.items():
            print(f"{domain}: {bias}: {judged}")
        for (first, second), judged in one.combinations.items():
            print(f"{domain}: {first} with {second}: {judged}")
    print(_doubts(opened))
    print(f"wrote {written[0]}")


def transfer_card(
    run: Positional[Annotated[Path | None, arg(metavar="RUN")]] = None,
    *,
    model: Annotated[str, arg(metavar="FILE.py:NAME")] = "",
    data: Annotated[str | None, arg(metavar="NAME")] = None,
    scenarios: Names = "all",
    reference: Annotated[str | None, arg(metavar="RUN|BIAS")] = None,
    images: Annotated[int | None, arg(metavar="INT")] = None,
    budget: Literal["smoke", "quick", "full"] = "quick",
    seed: int = 0,
    out: Path = Path("transfer"),
    json: bool = False,
) -> None:
    """One model on every scenario that applies: a table here, and a page with the images it fails on.

    Any classifier will do: a run, or a function from uint8 images to scores in a Python file.

    Args:
        run: A run that names classes.
        model: A function instead: mine.py:predict.
        data: A domain or data set with classes (of a run, otherwise what it was trained on).
        scenarios: Which (otherwise all that apply).
        reference: Another run, whose numbers stand beside, or a recipe such as vanilla, which is trained now.
        images: Images per scenario (otherwise its own number).
        budget: How hard it is attacked.
        seed: Which images, and what is drawn.
        out: Folder of the page card.html, of card.json and of card.png.
        json: Print the card as JSON.
    """
    if (run is None) == (not model):
        raise UsageError("give a run, or --model FILE.py:NAME, and not both")
    if run is not None:
        check_folder(run, "run")
    if data is None and run is None:
        raise UsageError("--model needs --data NAME, such as affine-digits")
    check_data(data)
    from unbraid.files import make_folders, save_figure, write_json, write_text
    from unbraid.report.transfer import card_page
    from unbraid.training import open_run
    from unbraid.transfer import biases, card, domain_name, get_scenario, shown_data
    from unbraid.transfer import scenarios as known

    if reference is not None and reference not in biases():
        check_folder(Path(reference), "run")

    asked = known() if scenarios == "all" else _list(scenarios)
    for name in asked:
        get_scenario(name)
    opened: Any = _function(model) if run is None else open_run(run)
    name = data or domain_name(opened.info["data"]["recipe"])
    if not name:
        raise UsageError(f"{run} was trained on data held in memory; say on which data to ask it: --data NAME")
    attacked = any("budget" in vars(get_scenario(one))["__dataclass_fields__"] for one in asked)
    told: dict[str, Any] = ({"budget": budget} if attacked else {}) | ({} if images is None else {"images": images})
    other = reference if reference is None or reference in biases() else open_run(reference)
    say = None if json else lambda text: print(f"asking {text}", file=sys.stderr)
    found = card(opened, name, scenarios=asked, reference=other, seed=seed, progress=say, **told)
    make_folders(out)
    given = {
        "data": data,
        "scenarios": None if scenarios == "all" else scenarios,
        "reference": reference,
        "images": images,
        "budget": budget if budget != "quick" else None,
        "seed": seed or None,
    }
    words = " ".join(
        ["unbraid transfer card", quoted(run) if run is not None else f"--model {quoted(model)}"]
        + [f"--{key} {quoted(str(value))}" for key, value in given.items() if value is not None]
    )
    write_text(out / "card.html", card_page(found, shown_data(name), words))
    write_json(out / "card.json", found.to_json())
    save_figure(found.plot(), out / "card.png", dpi=160)
    print(json_module.dumps(found.to_json()) if json else f"{found}\nwrote {out / 'card.html'}")


def transfer_combine(
    first: Positional[str],
    second: Positional[str],
    *,
    domain: str = "affine-digits",
    preset: str = "small",
    scenarios: Names = "",
    seeds: Annotated[str, arg(metavar="INT,INT")] = "",
    steps: Annotated[int | None, arg(metavar="INT")] = None,
    out: Path = Path("studies/transfer"),
    workers: Workers = None,
    progress: Shown = "auto",
    json: bool = False,
) -> None:
    """Two biases alone and together, on one domain: orthogonal, symbiotic or exclusive.

    Args:
        first: A bias.
        second: Another one.
        domain: Where they are trained and asked.
        preset: Whose budget and settings are taken: smoke, small, paper.
        scenarios: Other scenarios than the preset's.
        seeds: Other seeds than the preset's.
        steps: Another number of steps of training than the preset's.
        out: Folder of the matrix; what is there is not done again.
        workers: Models at a time.
        progress: How progress is shown (on stderr).
        json: Print the result as JSON.
    """
    from unbraid.transfer import DOMAINS, canonical, matrix, recipe
    from unbraid.transfer import preset as made

    both = canonical(f"{first}+{second}")
    if domain not in DOMAINS:
        from unbraid.errors import unknown_name

        raise unknown_name("domain", domain, DOMAINS)
    recipe(both, DOMAINS[domain])
    plan = made(
        preset,
        domains=(domain,),
        biases=(first, second, both),
        scenarios=_list(scenarios),
        seeds=_numbers(seeds),
        steps=steps,
    )
    folder = _run(plan, out, workers, "process", None, False, progress)
    found = matrix(folder, domain)
    judged = found.combination(first, second)
    if json:
        print(json_module.dumps({"word": judged.word, "sentence": judged.sentence, "numbers": dict(judged.numbers)}))
        return
    for one, pairing in found.pairings(first, second).items():
        effects = (pairing.first, pairing.second, pairing.both)
        print(f"  {one:20s}" + "".join(f"{effect.mean:+9.3f}" for effect in effects))
    print(f"{first} with {second} on {domain}: {judged}")


def _run(
    plan: Plan,
    out: Path,
    workers: int | None,
    engine: Literal["process", "ray"],
    address: str | None,
    retry_failed: bool,
    progress: Shown,
) -> MatrixFolder:
    from unbraid.engines import make_engine
    from unbraid.plugins import imported
    from unbraid.transfer import begin_matrix, run_matrix

    _say_missing(begin_matrix(out, plan), plan)
    pool = make_engine(engine, workers=workers, address=address)
    return run_matrix(plan, out, engine=pool, plugins=imported(), progress=progress, retry_failed=retry_failed)


def _foretell(plan: Plan, out: Path, known: Sequence[Path]) -> None:
    """What would be missing, without writing anything to the folder: known numbers are taken over to a passing one."""
    from tempfile import TemporaryDirectory

    from unbraid.transfer import bring_cells, planned_matrix

    folder = planned_matrix(out, plan)
    with TemporaryDirectory(prefix="unbraid-known-") as place:
        _say_missing(folder, plan, bring_cells(Path(place) / "known", known, plan) if known else None)


def _say_missing(folder: MatrixFolder, plan: Plan, known: MatrixFolder | None = None) -> None:
    from unbraid.transfer import expected_hours

    for domain in plan.domains:
        for bias in plan.biases:
            if why := plan.refused(domain, bias):
                print(f"left out on {domain}: {why}", file=sys.stderr)
    missing = [cell for cell in folder.missing(plan) if known is None or known.cell(cell) is None]
    models = {plan.run_key(cell) for cell in missing}
    hours = expected_hours(folder, plan, known)
    print(f"{len(missing)} cells of {len(models)} models to do, about {hours:.2g} hours of one core", file=sys.stderr)


def _doubts(folder: MatrixFolder) -> str:
    """Whether signs of masked gradients were looked for, and where there are some."""
    from unbraid.transfer import doubts_of

    cells = [cell for cell in folder.plan.cells() if cell.scenario in ("l0", "l2", "linf")]
    told = {cell: doubts_of(found["details"]) for cell in cells if (found := folder.cell(cell)) is not None}
    doubtful = [f"{cell.bias} on {cell.scenario}" for cell, found in told.items() if found]
    looked = sum(found is not None for found in told.values())
    words = f"masked gradients: looked for in {looked} of {len(told)} cells of attacks"
    where = ", ".join(dict.fromkeys(doubtful))
    return f"{words}, signs in {len(doubtful)}" + (f" ({where})" if where else "")


def _list(text: str) -> Sequence[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


def _numbers(text: str) -> Sequence[int]:
    try:
        return [int(word) for word in _list(text)]
    except ValueError as error:
        raise UsageError(f"--seeds must be whole numbers separated by commas, got {text!r}") from error


def _function(text: str) -> Any:
    """A function in a Python file, by ``FILE.py:NAME``."""
    from unbraid.plugins import import_file

    path, _, name = text.rpartition(":")
    if not path or not name:
        raise UsageError(f"--model must be FILE.py:NAME, a file and the function in it, got {text!r}")
    import_file(path)
    module = sys.modules[Path(path).stem]
    found = getattr(module, name, None)
    if not callable(found):
        known = [key for key, value in vars(module).items() if callable(value) and not key.startswith("_")]
        raise UsageError(f"{path} has no function {name!r}; it has {', '.join(known) or 'none'}")
    return found
