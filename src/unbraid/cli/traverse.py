"""unbraid traverse RUN"""

from __future__ import annotations

import json as json_module
from pathlib import Path
from typing import Annotated, Literal

from tyro.conf import Positional, arg

from unbraid.cli.early import check_data, check_folder
from unbraid.files import make_folders

__all__ = ["traverse_command"]


def traverse_command(
    run: Positional[Path],
    *,
    kind: Literal["posterior", "prior", "range"] = "posterior",
    values: int = 11,
    reach: float = 2.0,
    image: Annotated[int | None, arg(metavar="INT")] = None,
    active_only: bool = False,
    seed: int = 0,
    data: Annotated[str | None, arg(metavar="STR")] = None,
    out: Annotated[Path | None, arg(metavar="PATH")] = None,
    json: bool = False,
) -> None:
    """Draw what each latent does: a PNG grid and a GIF, most informative latent first.

    Args:
        run: Folder of a run.
        kind: posterior starts at an image's code and goes where the data's codes lie; prior starts at zero and goes
            through the prior; range starts at an image's code and goes from -reach to reach. Discrete codes only have
            posterior, which goes through their values.
        values: Pictures per latent.
        reach: Half width of kind range.
        image: Index of the image to start from (otherwise one drawn by the seed).
        active_only: Leave out latents that carry nothing.
        seed: Decides which images are looked at.
        data: Data set to look at (otherwise the one it was trained on).
        out: Folder for the pictures (otherwise the run's).
        json: Print the result as JSON.
    """
    check_folder(run, "run")
    check_data(data)
    from unbraid.report import save_animation, save_grid, traverse
    from unbraid.training import open_run

    opened = open_run(run)
    dataset = opened.data(data)
    found = traverse(
        opened, dataset, kind=kind, values=values, reach=reach, image=image, active_only=active_only, seed=seed
    )
    folder = out or run
    make_folders(folder)
    grid, animation = folder / "traversal.png", folder / "traversal.gif"
    save_grid(found, grid)
    save_animation(found, animation)
    if json:
        kl = None if found.kl is None else [float(value) for value in found.kl]
        print(json_module.dumps({"grid": str(grid), "animation": str(animation), "latents": found.latents, "kl": kl}))
    else:
        print(f"wrote {grid} and {animation}")
