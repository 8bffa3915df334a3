"""unbraid evolve run --recursive | status | compare"""

from __future__ import annotations

import dataclasses
import json as json_module
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from tyro.conf import Positional, arg

from unbraid.cli.early import RECURSIONS, check_data, check_folder, check_options_of
from unbraid.cli.hints import next_commands
from unbraid.files import make_folders
from unbraid.paths import quoted

if TYPE_CHECKING:
    from collections.abc import Callable

    from unbraid.engines import Engine
    from unbraid.selection import Population, Recursion, Tree

__all__ = ["changed_recursion", "evolve_compare", "evolve_status", "run_recursion"]

Number = Annotated[int | None, arg(metavar="INT")]
Text = Annotated[str | None, arg(metavar="STR")]


def changed_recursion(
    recursion: Recursion,
    change: Callable[..., Population],
    numbers: dict[str, int | None],
    leaf_runs: int | None,
) -> Recursion:
    """A recursion with what the command line asks of all its populations; its final members have one model each."""
    images = numbers["images"]
    return dataclasses.replace(
        recursion,
        root=change(recursion.root, numbers=numbers),
        leaf=change(recursion.leaf or recursion.root, numbers=numbers),
        final=change(recursion.final, numbers={**numbers, "models": None}),
        leaf_runs=recursion.leaf_runs if leaf_runs is None else leaf_runs,
        least_images=recursion.least_images if images is None else images,
    )


def run_recursion(
    recursion: Recursion,
    data: str,
    out: Path,
    *,
    seed: int,
    engine: Engine,
    progress: Literal["auto", "bar", "lines", "none"],
    json: bool,
) -> None:
    """Carry out a recursion and tell what came of it; pictures are in OUT/pictures."""
    from unbraid.plugins import imported
    from unbraid.selection import recurse

    plugins = imported()
    tree = recurse(recursion, data, out=out, engine=engine, seed=seed, plugins=plugins, progress=progress)
    _tell(tree, json, data, draw=True)


def evolve_status(folder: Positional[Path], *, draw: bool = False, data: Text = None, json: bool = False) -> None:
    """Say how far a population, a recursion or a comparison is, and what it found.

    Args:
        folder: Folder given as --out.
        draw: Write pictures into FOLDER/pictures: lineage and hyperparameter schedules; of a recursion also the
            reductions and what every metaEpoch learned.
        data: Data set, if it is elsewhere now.
        json: Print the result as JSON.
    """
    check_folder(folder, "population")
    check_data(data)
    from unbraid.cli.evolve import tell_population
    from unbraid.report import draw_lineage
    from unbraid.selection import TREE, open_evolution, open_tree

    if (folder / TREE).exists():
        _tell(open_tree(folder), json, data, draw)
    elif seeds := sorted(folder.glob("seed-*")):
        for place in seeds:
            if (place / "recursive" / TREE).exists():
                _tell(open_tree(place / "recursive"), json, data, draw)
    else:
        evolution = open_evolution(folder)
        tell_population(evolution, json)
        if draw and evolution.generations:
            make_folders(folder / "pictures")
            draw_lineage(evolution, folder / "pictures" / "lineage.png")


def evolve_compare(
    preset: Positional[Literal["smoke", "small", "rooms", "paper"]],
    *,
    out: Path,
    data: Text = None,
    option: Annotated[tuple[str, ...], arg(metavar="NAME=VALUE")] = (),
    search: Annotated[tuple[str, ...], arg(metavar="NAME=VALUE,VALUE")] = (),
    leaf_runs: Number = None,
    members: Number = None,
    models: Number = None,
    images: Number = None,
    generations: Number = None,
    seeds: int = 5,
    report: Annotated[Path | None, arg(metavar="PATH")] = None,
    workers: Number = None,
    engine: Literal["process", "ray"] = "process",
    address: Text = None,
    progress: Literal["auto", "bar", "lines", "none"] = "auto",
) -> None:
    """Compare recursions with other ways to spend the same images; the same command again goes on.

    Plain beta-TCVAE runs of the same total cost, a population selected by 1000 labels, and models whose loss sees
    these labels. Writes tables, a figure and a page that says which of the paper's claims hold.

    Args:
        preset: The recursion to compare, which the options up to --generations change: smoke (some minutes a seed),
            small (an estimated half an hour), rooms (five findable factors: three hues, orientation and size; three
            leaf-runs; an estimated hour and a quarter of one core; give it --seeds 6), paper (days).
        out: Folder of everything that is trained.
        data: Data set by name; its factors must be known.
        option: Options of the objective that stay as they are, such as net=mlp:width=64.
        search: Values that members start from, such as beta=1,2,4; explore multiplies them.
        leaf_runs: How many times a recursion goes down from the whole data set.
        members: Size of every population that evolves.
        models: Models per member where UDR selects.
        images: Images that each model sees per generation.
        generations: Generations at most.
        seeds: How many seeds.
        report: Folder of the page (otherwise OUT/report).
        workers: Members trained at a time, one thread each (otherwise one per core).
        engine: process for this machine, ray for a cluster.
        address: Ray cluster to join (otherwise a Ray is started on this machine).
        progress: How progress is shown (on stderr).
    """
    check_data(data)
    check_options_of(RECURSIONS[preset], option)
    from unbraid.cli.evolve import changed_population
    from unbraid.engines import make_engine
    from unbraid.errors import UsageError
    from unbraid.plugins import imported
    from unbraid.report import write_comparison
    from unbraid.selection import compare, recursion_preset

    if seeds < 1:
        raise UsageError(f"--seeds must be at least 1, got {seeds}")
    recursion, its_data = recursion_preset(preset)
    numbers = {"size": members, "models": models, "images": images, "generations": generations}
    change = partial(changed_population, option=option, search=search)
    recursion = changed_recursion(recursion, change, numbers, leaf_runs)
    with make_engine(engine, workers=workers, address=address) as pool:
        compare(
            recursion,
            data or its_data,
            out=out,
            seeds=seeds,
            engine=pool,
            plugins=imported(),
            progress=progress,
        )
    asked: dict[str, Any] = {"data": data, "option": option, "search": search, "leaf-runs": leaf_runs}
    asked |= {"members": members, "models": models, "images": images, "generations": generations, "seeds": seeds}
    words = [preset, *(_words(name, value) for name, value in asked.items() if value not in (None, ()))]
    command = f"unbraid evolve compare {' '.join(words)} --out FOLDER"
    print(f"wrote {write_comparison(out, report or out / 'report', command=command)}")


def _words(name: str, value: Any) -> str:
    """An option as it was typed."""
    values = value if isinstance(value, tuple) else (value,)
    return " ".join([f"--{name}", *(quoted(str(one)) for one in values)])


def _tell(tree: Tree, json: bool, data: str | None, draw: bool) -> None:
    from unbraid.data import load
    from unbraid.report import draw_tree
    from unbraid.selection import found_factors

    recipe = tree.data["recipe"]
    dataset = load(data) if data else load(recipe["name"], **recipe["options"]) if recipe else None
    found = found_factors(tree, dataset) if dataset is not None and dataset.factor_sizes else {}
    if json:
        print(json_module.dumps(_as_json(tree, found)))
    else:
        print(tree.text(found))
    if draw and dataset is not None and tree.metaepochs:
        pictures = draw_tree(tree, dataset, tree.folder / "pictures")
        if not json:
            print(f"{len(pictures)} pictures in {tree.folder / 'pictures'}")
    final = tree.final
    if not json and final is not None and final.finished:
        print(next_commands(final.best.run))


def _as_json(tree: Tree, found: dict[tuple[int, int], list[Any]]) -> dict[str, Any]:
    final = tree.final
    return {
        "folder": str(tree.folder),
        "finished": tree.finished,
        "metaepochs": [
            dataclasses.asdict(m)
            | {"factors": [dataclasses.asdict(item) for item in found.get((m.leaf_run, m.depth), [])]}
            for m in tree.metaepochs
        ],
        "stops": {str(run): dataclasses.asdict(stop) for run, stop in tree.stops.items()},
        "final": None
        if final is None or not final.generations
        else {"surrogate_mig": final.best.score, "run": str(final.best.run), "generations": len(final.generations)},
    }
