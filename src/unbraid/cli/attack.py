"""unbraid robustness attack"""

from __future__ import annotations

import json as json_module
from pathlib import Path
from typing import Annotated, Any, Literal

from tyro.conf import arg

from unbraid.cli.robustness import Runs, check_runs, open_runs, plain, run_names, status, words
from unbraid.cli.robustness_tables import print_attacks
from unbraid.errors import UsageError

__all__ = ["robustness_attack"]


def robustness_attack(
    runs: Runs,
    *,
    norms: str = "l0,l2,linf",
    budget: Literal["quick", "full"] = "quick",
    images: int = 100,
    data: Annotated[str | None, arg(metavar="NAME")] = None,
    seed: int = 0,
    out: Path = Path("robustness/attack"),
    json: bool = False,
) -> None:
    """How far the decisions of classifiers are: the smallest distance of every image, by many attacks.

    The table has, per attack, the median distance and the accuracy at the bound of Schott et al. (2019; 12 pixels, l2
    1.5, linf 0.3), and for "all" of the nearest image that any of them found. Every block of images is written when it
    is done: the same command again goes on where it was stopped.

    Args:
        runs: Runs that name classes.
        norms: In which distances: l0, l2, linf.
        budget: quick (minutes) or full (many steps and restarts; hours).
        images: At most so many images.
        data: Another data set than the first run was trained on, such as mnist:split=test.
        seed: Which images, and what is drawn for them.
        out: Folder of the distances, a Parquet file per attack and block, and of distances.parquet and table.csv.
        json: Print the result as JSON.
    """
    check_runs(runs, data)
    from unbraid.robustness import BOUNDS, attack_blocks, attack_table

    kinds = words(norms)
    if not kinds or any(kind not in BOUNDS for kind in kinds):
        raise UsageError(f"--norms {norms}: name some of {', '.join(BOUNDS)}, with commas between them")
    if images < 1:
        raise UsageError(f"--images must be at least 1, got {images}")
    opened, dataset, notes = open_runs(runs, data)
    import polars

    from unbraid.files import save_table, write_text

    names = run_names(runs)
    blocks, tables = [], []
    for path, run in opened.items():
        with status(json) as say:
            folder = out / names[path].replace("/", "_")
            found = attack_blocks(run, dataset, kinds, budget, folder=folder, images=images, seed=seed, say=say)
        model = polars.lit(names[path]).alias("model")
        blocks.append(found.select(model, polars.all()))
        tables.append(attack_table(found).select(model, polars.all()))
    table = polars.concat(tables)
    save_table(polars.concat(blocks), out / "distances.parquet")
    write_text(out / "table.csv", table.write_csv())
    if json:
        rows: list[dict[str, Any]] = [{key: plain(value) for key, value in row.items()} for row in table.to_dicts()]
        print(json_module.dumps({"folder": str(out), "data": dataset.name, "budget": budget, "distances": rows}))
        return
    print_attacks(table, dataset.name)
    for note in notes:
        print(note)
    print(f"wrote {out / 'distances.parquet'} and {out / 'table.csv'}")
