"""unbraid zoo list, get, read"""

from __future__ import annotations

import json as json_module
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from unbraid.cli.hints import next_commands

__all__ = ["zoo_get", "zoo_list", "zoo_read"]


def zoo_list(json: bool = False) -> None:
    """List the trained runs that can be opened by name: `unbraid.open_run("zoo:NAME")`.

    Args:
        json: Print one JSON array, with commands, scores and checksums, instead of a table.
    """
    from unbraid.training.zoo import entries

    found = list(entries().values())
    if json:
        print(json_module.dumps([asdict(one) | {"file": one.file and str(one.file)} for one in found], indent=2))
        return
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("name", "objective", "data"):
        table.add_column(heading, no_wrap=True)
    for heading in ("steps", "MB"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("scores")
    table.add_column("what")
    for one in found:
        shown = "  ".join(
            f"{key} {one.scores['values'][key]:.2f}" for key in ("mig", "dci") if key in one.scores["values"]
        )
        size = f"{one.size / 1e6:.1f}"
        table.add_row(one.name, one.objective, one.data, f"{one.steps:,}", size, shown, one.title)
    Console().print(table)


def zoo_get(
    name: Positional[str], *, out: Annotated[Path | None, arg(metavar="PATH")] = None, json: bool = False
) -> None:
    """Put a trained run into a folder, downloaded if need be, and checked.

    Args:
        name: A name from `unbraid zoo list`.
        out: The folder; runs/NAME unless given. It must not be there yet.
        json: Print the folder as JSON.
    """
    from unbraid.training.zoo import entry, fetch_run

    found = entry(name)
    folder = fetch_run(found.name, out or Path("runs") / found.name, quiet=json)
    if json:
        print(json_module.dumps({"name": found.name, "run": str(folder)}))
        return
    print(f"{folder}: {found.title}\nmade by: {found.command}\n{next_commands(folder)}")


def zoo_read(
    folder: Positional[Path],
    *,
    data: str,
    out: Annotated[Path | None, arg(metavar="PATH")] = None,
    json: bool = False,
) -> None:
    """Make a run of a disentangling VAE that others released: a folder with specs.json and model.pt.

    Args:
        folder: The folder of the release.
        data: The data it was trained on, as in `unbraid data list`.
        out: The folder of the run; runs/NAME unless given, after the name of the release's folder.
        json: Print the folder as JSON.
    """
    from unbraid.training.zoo import read_release

    run = read_release(folder, data, out or Path("runs") / folder.resolve().name)
    if json:
        print(json_module.dumps({"run": str(run.path)}))
        return
    print(f"{run.path}: {run.info['objective']['name']} on {run.info['data']['name']}\n{next_commands(run.path)}")
