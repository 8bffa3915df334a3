"""What a worker does for a matrix: train one run, ask it what is missing. Functions of plain arguments, for engines."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from functools import lru_cache
from traceback import format_exc
from typing import Any, Literal

from unbraid import objectives
from unbraid.data import Dataset, load
from unbraid.evaluation import Measured, measure
from unbraid.transfer.domains import DOMAINS, RANDOM
from unbraid.transfer.folder import MatrixFolder, open_matrix
from unbraid.transfer.plan import Cell, RunKey
from unbraid.transfer.recipes import Recipe, recipe
from unbraid.transfer.shared import sharing
from unbraid.transfer.subjects import subject_of
from unbraid.transfer.trained import batch_of

__all__ = ["ask_run", "train_recipe", "train_run"]

Result = Literal["done", "busy", "stopped"]


def train_run(folder: str, key: dict[str, Any]) -> Result:
    """Train a run of a matrix, or go on with it; does nothing if another process is at it."""
    matrix, asked = open_matrix(folder), RunKey(**key)
    with matrix.claim(asked) as held:
        if not held:
            return "busy"
        matrix.check_run(asked)
        if matrix.trained(asked):
            return "done"
        made = recipe(asked.recipe, DOMAINS[asked.domain], matrix.plan.budget)
        start, parts = _start(matrix, asked, made)
        done = train_recipe(made, made.domain.data(asked.training), matrix.run(asked), asked.seed, start, parts)
        return "done" if done else "stopped"


def ask_run(folder: str, key: dict[str, Any], cells: Sequence[dict[str, Any]]) -> Result:
    """Ask a trained run those of the cells that are missing, each stored as it comes, unless another is at it.

    A scenario that fails does not keep the others from being asked; its error is raised in the end.
    """
    from unbraid.training import open_run

    matrix, asked = open_matrix(folder), RunKey(**key)
    failed: list[tuple[Cell, Exception]] = []
    with matrix.claim(asked) as held, sharing(matrix.path / "images"):
        if not held:
            return "busy"
        matrix.check_run(asked)
        run = open_run(matrix.run(asked))  # once, so that what is built on it is, too
        for cell in (Cell(**one) for one in cells):
            if matrix.cell(cell) is not None:
                continue
            try:
                _ask(matrix, cell, run)
            except Exception as error:
                matrix.fail(cell, f"{type(error).__name__}: {error}", format_exc())
                failed.append((cell, error))
    if failed:
        names = ", ".join(f"{cell.bias} on {cell.scenario}" for cell, _ in failed)
        first = failed[0][1]
        raise RuntimeError(f"{names}: {type(first).__name__}: {first}") from first
    return "done"


def _ask(matrix: MatrixFolder, cell: Cell, run: Any) -> None:
    began = time.perf_counter()
    domain = DOMAINS[cell.domain]
    scenario = matrix.plan.scenario(cell)
    data = _load(scenario.on(domain))
    if scenario.missing(subject_of(run, data, scenario.reading), domain):
        matrix.write_cell(cell, None, (), time.perf_counter() - began)
        return
    found: Measured = measure(run, data, scenario, seed=0)[scenario.name]
    value = float(found.rows[0][1]["value"])
    seconds = time.perf_counter() - began
    matrix.write_cell(cell, value if math.isfinite(value) else None, found.rows, seconds)


def train_recipe(made: Recipe, data: str, out: Any, seed: int, start: Any = None, parts: tuple[str, ...] = ()) -> bool:
    """Train a recipe, or go on with it; gives whether it was finished."""
    from unbraid.training import train

    about = made.trained()
    objective = objectives.make(about["objective"], about["options"])
    loaded = _load(data)
    run = train(
        objective,
        loaded,
        out=out,
        steps=about["steps"],
        seed=seed,
        batch_size=batch_of(objective, about["batch_size"], loaded, made.domain.factor),
        progress="none",
        start=start,
        parts=parts,
    )
    return run.finished


def _start(matrix: MatrixFolder, key: RunKey, made: Recipe) -> tuple[Any, tuple[str, ...]]:
    """The run on other data that a recipe begins from, trained now if it is not there."""
    if not made.start:
        return None, ()
    out = matrix.path / "runs" / key.domain / f"before-{key.training}" / key.recipe / str(key.seed)
    before = recipe("vanilla", DOMAINS[made.start], matrix.plan.budget)
    train_recipe(before, before.domain.data(RANDOM), out, key.seed)
    return out, ("trunk",)


@lru_cache(maxsize=8)
def _load(name: str) -> Dataset:
    return load(name)
