"""unbraid theory identifiability|collapse|dimensionality|rotation"""

from __future__ import annotations

import json as json_module
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated, Any, Literal

from tyro.conf import UseAppendAction, arg

from unbraid.errors import UsageError
from unbraid.files import make_folders

__all__ = ["theory_collapse", "theory_dimensionality", "theory_identifiability", "theory_rotation"]

Out = Annotated[Path | None, arg(metavar="PATH")]
Rows = list[dict[str, Any]]


def theory_identifiability(
    *,
    world: Literal["linear", "nonlinear", "series"] = "linear",
    dimensions: int = 5,
    seeds: int = 3,
    steps: Annotated[int | None, arg(metavar="INT")] = None,
    pairs: int = 20_000,
    layers: UseAppendAction[tuple[int, ...]] = (),
    restarts: int = 1,
    out: Out = None,
    json: bool = False,
) -> None:
    """Are latents that move sparsely found up to order and sign? Toy worlds in which the answer is known.

    linear: exact likelihood behind a random matrix (seconds). nonlinear: slow-vae, its normal control and pm-vae
    behind two layers (minutes). series: slow-flow, pcl and pcl with the flow's encoder on
    autoregressive sources behind 1, 2 and 3 layers, beside the published numbers (minutes).

    Args:
        world: linear, nonlinear or series.
        dimensions: Number of latents.
        seeds: How often to repeat each model, with new data.
        steps: Training steps (otherwise enough: 600 in the linear world, 4000 in the others).
        pairs: Pairs to train on (at most 5000 are used in the linear world).
        layers: Layers of the mixing in the world series; give it several times (otherwise 1, 2 and 3).
        restarts: Trainings with new weights of which the one with the least loss counts.
        out: Folder for identifiability.json and identifiability.png.
        json: Print the rows as JSON.
    """
    from unbraid.theory import identifiability

    found = identifiability(
        world,
        dimensions=dimensions,
        seeds=seeds,
        steps=steps,
        pairs=pairs,
        layers=layers or (1, 2, 3),
        restarts=restarts,
    )
    rows = [row | _published(row) for row in _collect(found, json)]

    def draw(path: Path) -> None:
        from unbraid.report.theory import draw_identifiability

        draw_identifiability(rows, path)

    _finish("identifiability", rows, draw, out, json)


def _published(row: dict[str, Any]) -> dict[str, Any]:
    """The published correlation behind as many layers, of 20 sources, if there is one."""
    from unbraid.study.published import load

    if "layers" not in row:
        return {}
    known = load("slow_sources").filter(method=row["model"], layers=row["layers"])["mcc"]
    return {"published": known[0] if len(known) else None}


def theory_collapse(
    *,
    kappa: UseAppendAction[tuple[float, ...]] = (),
    seeds: int = 1,
    steps: int = 2000,
    out: Out = None,
    json: bool = False,
) -> None:
    """When does a linear SlowVAE give up a latent that explains little, and does an exact likelihood keep it?

    Args:
        kappa: Size of the second of two axes; give it several times (otherwise 0.2, 0.4, 0.6, 0.8 and 1).
        seeds: How often to repeat each model, with new data.
        steps: Training steps.
        out: Folder for collapse.json and collapse.png.
        json: Print the rows as JSON.
    """
    from unbraid.theory import posterior_collapse

    rows = _collect(posterior_collapse(kappa or (0.2, 0.4, 0.6, 0.8, 1.0), seeds=seeds, steps=steps), json)

    def draw(path: Path) -> None:
        from unbraid.report.theory import draw_collapse

        draw_collapse(rows, path)

    _finish("collapse", rows, draw, out, json)


def theory_dimensionality(
    *,
    seen: UseAppendAction[tuple[int, ...]] = (),
    dimensions: int = 5,
    seeds: int = 1,
    steps: int = 4000,
    out: Out = None,
    json: bool = False,
) -> None:
    """Does a SlowVAE find the same latents better when it sees more of them?

    Args:
        seen: Numbers seen per image; give it several times (otherwise 5, 15 and 50).
        dimensions: Number of latents.
        seeds: How often to repeat, with new data.
        steps: Training steps.
        out: Folder for dimensionality.json and dimensionality.png.
        json: Print the rows as JSON.
    """
    from unbraid.theory import dimensionality

    sizes = seen or (5, 15, 50)
    rows = _collect(dimensionality(sizes, dimensions=dimensions, seeds=seeds, steps=steps), json)

    def draw(path: Path) -> None:
        from unbraid.report.theory import draw_sweep

        draw_sweep(rows, "seen", "numbers seen per image", path)

    _finish("dimensionality", rows, draw, out, json)


def theory_rotation(
    *, alpha: UseAppendAction[tuple[float, ...]] = (), degrees: int = 15, out: Out = None, json: bool = False
) -> None:
    """What does a rotation of two latents cost under the transition prior? Nothing at alpha 2, something below.

    Args:
        alpha: Shape of the steps; give it several times (otherwise 0.5, 1, 1.5 and 2).
        degrees: Distance between the angles of the table.
        out: Folder for rotation.json and rotation.png.
        json: Print the rows as JSON.
    """
    import numpy as np

    from unbraid.theory import rotation_energy

    if not 1 <= degrees <= 90:
        raise UsageError(f"degrees must lie in 1..90, got {degrees}")
    shapes = alpha or (0.5, 1.0, 1.5, 2.0)
    angles = np.arange(0, 91, degrees)
    energies = {shape: rotation_energy(np.radians(angles), shape) for shape in shapes}
    rows = [
        {"degrees": int(angle), **{f"alpha {shape:g}": float(energies[shape][i]) for shape in shapes}}
        for i, angle in enumerate(angles)
    ]
    if not json:
        _table(rows)

    def draw(path: Path) -> None:
        from unbraid.report.theory import draw_rotation

        fine = np.arange(91)
        draw_rotation(fine, {shape: rotation_energy(np.radians(fine), shape, points=20_000) for shape in shapes}, path)

    _finish("rotation", rows, draw, out, json)


def _collect(rows: Iterable[dict[str, Any]], quiet: bool) -> Rows:
    """All rows; each is printed as soon as it is there, since the next may take a minute."""
    from unbraid.training import numerics

    numerics.setup()
    found: Rows = []
    for row in rows:
        found.append(row)
        if not quiet:
            settings = ", ".join(f"{key} {row[key]}" for key in ("kappa", "seen", "layers", "seed") if key in row)
            spread = " ".join(f"{value:.2f}" for value in row["spread"])
            print(f"{row['model']:<36} {settings:<22} correlation {row['pearson']:.4f}   spread {spread}", flush=True)
    return found


def _table(rows: Rows) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for name in rows[0]:
        table.add_column(name, justify="right")
    for row in rows:
        table.add_row(*(f"{value:.4f}" if isinstance(value, float) else str(value) for value in row.values()))
    Console().print(table)


def _finish(name: str, rows: Rows, draw: Callable[[Path], None], out: Path | None, json: bool) -> None:
    if out is not None:
        from unbraid.files import write_json

        make_folders(out)
        write_json(out / f"{name}.json", {"rows": rows})
        draw(out / f"{name}.png")
    if json:
        print(json_module.dumps(rows, allow_nan=False))
    elif out is not None:
        print(f"wrote {out}")
