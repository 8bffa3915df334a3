"""unbraid evolve run"""

from __future__ import annotations

import json as json_module
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from tyro.conf import arg

from unbraid.cli.early import RECURSIONS, check_data, check_options_of, check_score
from unbraid.cli.hints import next_commands
from unbraid.paths import quoted

if TYPE_CHECKING:
    from unbraid.selection import Evolution, Population

__all__ = ["changed_population", "evolve_run", "tell_population"]

Number = Annotated[int | None, arg(metavar="INT")]
Text = Annotated[str | None, arg(metavar="STR")]


def evolve_run(
    *,
    out: Path,
    preset: Literal["smoke", "small", "rooms", "paper"] = "smoke",
    data: Text = None,
    objective: Text = None,
    option: Annotated[tuple[str, ...], arg(metavar="NAME=VALUE")] = (),
    search: Annotated[tuple[str, ...], arg(metavar="NAME=VALUE,VALUE")] = (),
    score: str = "mig",
    recursive: bool = False,
    leaf_runs: Number = None,
    members: Number = None,
    models: Number = None,
    images: Number = None,
    generations: Number = None,
    halving: Number = None,
    patience: Number = None,
    exploit: Literal["truncation", "tournament", "t-test"] = "truncation",
    seed: int = 0,
    workers: Number = None,
    engine: Literal["process", "ray"] = "process",
    address: Text = None,
    progress: Literal["auto", "bar", "lines", "none"] = "auto",
    json: bool = False,
) -> None:
    """Train a population that copies its best members, selected by any score; the same command again goes on.

    Labels are used by the score alone, never by the loss.

    Args:
        out: Folder of the population.
        preset: What everything below starts from: smoke (a minute), small (an estimated three to eight
            minutes), rooms (an estimated quarter to half an hour of one core, with --recursive), paper (days).
        data: Data set by name.
        objective: What the members minimise.
        option: Options of the objective that stay as they are, such as net=mlp:width=64.
        search: Values that members start from, such as beta=1,2,4, or anywhere in a range, gamma=1..16; explore
            multiplies them. With --generations 1 this is a random search.
        score: mig, dci, udr, with options as in mig:labels=1000, or an own function as module:function.
        recursive: Learn a few factors at a time without labels, and select a final model by what was found. Settings
            below then hold for every population of the recursion; it has scores of its own.
        leaf_runs: How many times a recursion goes down from the whole data set.
        members: Size of the population.
        models: Models per member, trained on the same batches; UDR compares them.
        images: Images that each model sees per generation.
        generations: Generations at most.
        halving: After the first generation one in so many members goes on.
        patience: Stop when the best score has hardly changed for so many generations.
        exploit: How members are chosen to be replaced.
        seed: Seed of everything random.
        workers: Members trained at a time, one thread each (otherwise one per core).
        engine: process for this machine, ray for a cluster.
        address: Ray cluster to join (otherwise a Ray is started on this machine).
        progress: How progress is shown (on stderr).
        json: Print the result as JSON.
    """
    check_options_of(RECURSIONS[preset] if objective is None else objective, option)
    check_data(data)
    if score is not None and not recursive:
        check_score(score)
    from unbraid.cli.recursion import changed_recursion, run_recursion
    from unbraid.engines import make_engine
    from unbraid.errors import UsageError
    from unbraid.plugins import imported
    from unbraid.selection import evolve, population_preset, recursion_preset

    if engine == "process" and address is not None:
        raise UsageError(f"--address {address} is for --engine ray")
    if leaf_runs is not None and not recursive:
        raise UsageError(f"--leaf-runs {leaf_runs} is for --recursive")
    numbers = {
        "size": members,
        "models": models,
        "images": images,
        "generations": generations,
        "halving": halving,
        "patience": patience,
    }
    if recursive:
        recursion, its_data = recursion_preset(preset)
        change = partial(changed_population, objective=objective, option=option, search=search, exploit=exploit)
        recursion = changed_recursion(recursion, change, numbers, leaf_runs)
        with make_engine(engine, workers=workers, address=address) as pool:
            run_recursion(recursion, data or its_data, out, seed=seed, engine=pool, progress=progress, json=json)
        return
    base, its_data = population_preset(preset, score)
    population = changed_population(
        base, objective=objective, option=option, search=search, exploit=exploit, numbers=numbers
    )
    with make_engine(engine, workers=workers, address=address) as pool:
        found = evolve(
            population,
            data or its_data,
            out=out,
            engine=pool,
            seed=seed,
            plugins=imported(),
            progress=progress,
        )
    tell_population(found, json)


def changed_population(
    base: Population,
    *,
    option: tuple[str, ...],
    search: tuple[str, ...],
    numbers: dict[str, int | None],
    objective: str | None = None,
    exploit: Any = "truncation",
) -> Population:
    """A population with what the command line asks of it."""
    from unbraid import objectives
    from unbraid.options import parse_value
    from unbraid.selection import default_ranges, starting_from

    changed: dict[str, Any] = {name: value for name, value in numbers.items() if value is not None}
    options = {name: parse_value(value) for name, value in _pairs("option", option)}
    if objective is not None and objective != base.objective:
        changed |= {"objective": objective, "ranges": default_ranges(objectives.get(objective))}
    ranges = dict(changed.get("ranges", base.searched))
    for name, values in _pairs("search", search):
        ranges[name] = starting_from(name, values.split(","), ranges.get(name))
    for name in options:
        ranges.pop(name, None)  # what is fixed is not searched
    return replace(base, exploit=exploit, options={**base.options, **options}, **{**changed, "ranges": ranges})


def _pairs(flag: str, words: tuple[str, ...]) -> list[tuple[str, str]]:
    from unbraid.errors import UsageError

    pairs = [word.partition("=") for word in words]
    for name, equals, value in pairs:
        if not equals or not value:
            raise UsageError(f"--{flag} {name}: write NAME=VALUE")
    return [(name.replace("-", "_"), value) for name, _, value in pairs]


_ABOUT_UDR = """\
  (UDR: how far models trained alike from other seeds found the same latents, from 0, nothing in common, to 1, one to
  one. It needs no labels, compares members of this population, and says nothing of what the latents mean.)"""


def tell_population(evolution: Evolution, json: bool) -> None:
    """Print how far a population is."""
    from unbraid import objectives

    done, of = len(evolution.generations), evolution.population.generations
    state = "converged" if evolution.converged else "finished" if evolution.finished else "unfinished"
    if json:
        told: dict[str, Any] = {
            "folder": str(evolution.folder),
            "state": state,
            "generations": done,
            "best_scores": evolution.best_scores,
            "seconds": round(evolution.seconds, 1),
        }
        if done:
            best = evolution.best
            told["best"] = {
                "score": best.score,
                "generation": best.generation,
                "member": best.result.member,
                "hyperparameters": best.hyperparameters,
                "run": str(best.run),
                "runs": [str(run) for run in best.runs],
            }
        print(json_module.dumps(told))
        return
    population = evolution.population
    net = str(population.options.get("net") or getattr(objectives.get(population.objective)(), "net", "its own"))
    took = f"{state} after {done} of {of} generations, {evolution.seconds:.0f} s"
    print(f"{population.objective} with network {net}: {took}")
    if not done:
        return
    scores = "  ".join(f"{number}: {score:.3f}" for number, score in enumerate(evolution.best_scores, start=1))
    print(f"best {population.score} of each generation: {scores}")
    if population.score.partition(":")[0] == "udr":
        print(_ABOUT_UDR)
    best = evolution.best
    values = ", ".join(f"{name} {value:g}" for name, value in best.hyperparameters.items())
    where = evolution.member_folder(best.generation, best.result.member).relative_to(evolution.folder)
    print(f"best of all: {best.score:.4f} in generation {best.generation + 1} ({values}), folder {where}")
    if of == 1:
        print(f"\n{'':>9}{population.score:>12}  hyperparameters")
        for result in sorted(evolution.generations[0].results, key=lambda one: -one.score):
            values = ", ".join(f"{name} {value:.4g}" for name, value in result.hyperparameters.items())
            print(f"member-{result.member:02d}{result.score:>12.4f}  {values}")
    failed = [r for generation in evolution.generations for r in generation.results if r.error]
    if failed:
        print(f"{len(failed)} member(s) scored 0, for example: {failed[-1].error}")
    if evolution.finished:
        print(next_commands(best.run))
        report, explore = (f"unbraid {word} {quoted(evolution.folder)}" for word in ("report", "explore"))
        print(f"its page and its explorer: {report}   or   {explore}")
    else:
        print("the same command again goes on from here")
