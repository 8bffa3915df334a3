"""Recursions and what the same images buy otherwise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from unbraid.claims.cells import CellGroup, Work
from unbraid.claims.group import Recipe, fresh
from unbraid.errors import UsageError
from unbraid.reading import read_json

__all__ = ["COMPARE", "EVAL"]

_HERE = "unbraid.claims.all_groups.rpu"


def compared(place: Path, preset: str, seed: int, smaller: bool = False) -> list[dict[str, Any]]:
    """All ways of a comparison for one seed, what metaEpochs found, and the root's best model."""
    import numpy as np

    from unbraid.data import load
    from unbraid.engines import InlineEngine
    from unbraid.metrics import mig
    from unbraid.selection import compare, comparison_tables, open_tree, recursion_preset
    from unbraid.training import open_run

    recursion, data = recursion_preset(preset)
    if smaller:
        few: dict[str, Any] = {"size": 2, "images": 2_000, "generations": 2}
        root = replace(recursion.root, **few)
        recursion = replace(recursion, root=root, leaf=root, final=replace(recursion.final, **few), least_images=1_000)
    out = place / f"seed-{seed}"
    compare(recursion, data, out=out, seeds=[seed], engine=InlineEngine(), progress="none")
    models, found = comparison_tables(out)
    rows = [{"part": "models", **row} for row in models.to_dicts()]
    rows += [{"part": "found", **row} for row in found.to_dicts()]
    tree = open_tree(out / f"seed-{seed}" / "recursive")
    run = tree.run_of(tree.root)
    if run is None:
        raise UsageError(f"seed {seed}: the root has no model")
    images = load(data)
    index = np.arange(min(len(images), 50_000))
    score = float(mig(open_run(run).encode(images.images(index)), images.factors(index)))
    return [*rows, {"part": "root", "seed": seed, "mig": score, "udr": tree.root.udr}]


def selected_by(needed: Mapping[str, str], seed: int) -> list[dict[str, Any]]:
    """The populations of a comparison that were selected with all labels: by the MIG, and by DCI."""
    path = Path(needed["rpu-compare"]) / "cells" / f"seed-{seed}.json"
    if not path.exists():
        raise UsageError(f"rpu-compare has no seed {seed} yet")
    rows = read_json(path, {"rows": list})["rows"]
    arms = {"pbt-s-all": "mig", "pbt-s-dci": "dci"}
    return [
        {"score": arms[row["arm"]], "seed": seed, "mig": row["mig"], "dci": row["dci"]}
        for row in rows
        if row["part"] == "models" and row["arm"] in arms and row["selected"]
    ]


def _compare(plan: Mapping[str, Any], seeds: Sequence[int]) -> list[Work]:
    return [
        Work(
            f"seed-{seed}", {"seed": seed}, function=f"{_HERE}:compared", arguments={**plan, "seed": seed}, trains=True
        )
        for seed in seeds
    ]


def _eval(_: Mapping[str, Any], seeds: Sequence[int]) -> list[Work]:
    return [
        Work(f"seed-{seed}", {"seed": seed}, function=f"{_HERE}:selected_by", arguments={"seed": seed})
        for seed in seeds
    ]


def _gate(table: pl.DataFrame) -> list[str]:
    low = table.filter((pl.col("part") == "root") & (pl.col("udr") < 0.1))
    return [
        f"the root of seed {seed} has a UDR of {udr:.3f}, below .1" for seed, udr in low.select("seed", "udr").rows()
    ]


_DATA = ("sprites16",)
COMPARE = CellGroup(
    "rpu-compare",
    "recursions, plain models of the same cost, and ways to spend 1,000 labels",
    {
        "smoke": Recipe("sprites16, 2,000 images", {"preset": "smoke", "smaller": True}, fresh(3), 1.5, _DATA),
        "small": Recipe(
            "sprites16 on 8x8 places, populations of 4 and 5 (of 56)", {"preset": "small"}, fresh(6), 110, _DATA
        ),
        "paper": Recipe(
            "dSprites, populations of 56, three leaf-runs",
            {"preset": "paper"},
            fresh(5),
            5 * 150 * 105,
            ("dsprites",),
            runs=5 * 150,
            steps=300_000,
            unit="GPU",
        ),
    },
    work=_compare,
    gate=_gate,
)
EVAL = CellGroup(
    "rpu-eval",
    "populations of the comparison selected with all labels, by MIG and by DCI",
    {
        "smoke": Recipe("sprites16, 2,000 images", {}, fresh(3), 0.1, _DATA),
        "small": Recipe("sprites16 on 8x8 places, populations of 5 (of 56)", {}, fresh(6), 0.1, _DATA),
        "paper": Recipe("dSprites, populations of 56", {}, fresh(5), 1, ("dsprites",)),
    },
    needs=("rpu-compare",),
    work=_eval,
)
