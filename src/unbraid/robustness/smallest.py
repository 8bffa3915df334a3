"""Smallest distances of many images by many attacks, stored block by block so that nothing is asked twice."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from unbraid.errors import UsageError, unknown_name
from unbraid.evaluation import describe_run, fingerprint_data
from unbraid.files import make_folders, save_table
from unbraid.robustness._examples import Examples

if TYPE_CHECKING:
    import polars

    from unbraid.data import ImageDataset
    from unbraid.training import Run

__all__ = ["ALL", "BOUNDS", "BUDGETS", "attack_blocks", "attack_table"]

VERSION = 1
"""Goes up when an attack gives other distances than it did: what is stored is then measured anew."""
BLOCK = 20
"""So many images are attacked between two files: what a process that is killed loses."""
BOUNDS = {"l0": 12.0, "l2": 1.5, "linf": 0.3}
"""Distances at which Schott et al. (2019) tell the accuracy on digits."""
ALL = "all"
"""The nearest image of any attack."""
BUDGETS: dict[str, dict[str, dict[str, dict[str, Any]]]] = {
    "quick": {
        "l0": {"salt-and-pepper": {"restarts": 3}, "pointwise": {"restarts": 3}, "fmn": {}},
        "l2": {"gaussian": {"restarts": 3}, "fgm": {}, "deepfool": {}, "bim": {}, "ddn": {}},
        "linf": {"fgm": {}, "deepfool": {}, "bim": {}, "mim": {}, "fmn": {}},
    },
    "full": {
        "l0": {"salt-and-pepper": {}, "pointwise": {}, "fmn": {"steps": 500}},
        "l2": {
            "gaussian": {},
            "boundary": {"steps": 5000},
            "pointwise": {},
            "fgm": {},
            "deepfool": {},
            "bim": {},
            "ddn": {"steps": 300},
            "fmn": {"steps": 300},
            "apgd": {"loss": "margin"},
        },
        "linf": {
            "fgm": {},
            "deepfool": {},
            "bim": {},
            "mim": {},
            "fmn": {"steps": 300},
            "pgd": {"restarts": 3},
            "apgd": {"loss": "margin"},
            "square": {},
        },
    },
}
"""Attacks with their options, by budget and norm."""


def attack_blocks(
    run: Run,
    data: ImageDataset,
    norms: Sequence[str] = ("l0", "l2", "linf"),
    budget: str = "quick",
    *,
    folder: str | Path,
    images: int = 100,
    seed: int = 0,
    say: Callable[[str], None] = lambda _: None,
) -> polars.DataFrame:
    """One row per norm, attack and image: columns norm, attack, image (its position), label, distance.

    Every attack writes a Parquet file per block of images into ``folder``; what is there is read, so that the same call
    goes on where it was stopped. What is drawn for an image depends on the image, not on its block.
    """
    import polars

    plan = _plan(norms, budget)
    examples = Examples(data, images, seed)
    labels = examples.labels(run)
    state = {"run": describe_run(run), "data": fingerprint_data(data), "seed": seed, "images": len(examples)}
    tables = []
    for norm, known in plan.items():
        for name, options in known.items():
            about = {**state, "norm": norm, "attack": name, "options": options, "version": VERSION}
            key = hashlib.sha256(json.dumps(about, sort_keys=True, default=str).encode()).hexdigest()[:12]
            place = Path(folder) / f"{norm}-{name}-{key}"
            for start in range(0, len(examples), BLOCK):
                path = place / f"{start:06d}.parquet"
                if not path.exists():
                    say(f"{name}, {norm}, image {start} of {len(examples)}")
                    rows = np.arange(start, min(start + BLOCK, len(examples)))
                    make_folders(place)
                    save_table(_block(run, examples, labels, rows, norm, name, options, seed), path)
                tables.append(polars.read_parquet(path))
    return polars.concat(tables)


def attack_table(blocks: polars.DataFrame, bounds: Mapping[str, float] = BOUNDS) -> polars.DataFrame:
    """One row per norm and attack, then "all", the nearest by any: median distance and accuracy at the bound in %.

    Images that are named wrong have distance 0, those that an attack failed for an infinite one. The accuracy counts
    images whose distance is larger than the bound.
    """
    import polars

    rows = []
    for (norm,), part in blocks.group_by(["norm"], maintain_order=True):
        found = {name: each.sort("image") for (name,), each in part.group_by(["attack"], maintain_order=True)}
        columns = {str(name): each["distance"].to_numpy() for name, each in found.items()}
        if len({len(each) for each in columns.values()}) > 1:
            raise UsageError(f"blocks must hold the same images for every attack in {norm}; run the attacks again")
        columns[ALL] = np.min(list(columns.values()), axis=0)
        for name, distances in columns.items():
            bound = bounds[str(norm)]
            share = 100 * float((distances > bound).mean())
            median = float(np.median(distances))
            about = {"norm": norm, "attack": name, "median": median, "bound": bound, "accuracy": share}
            rows.append({**about, "images": len(distances)})
    return polars.DataFrame(rows)


def _plan(norms: Sequence[str], budget: str) -> dict[str, dict[str, dict[str, Any]]]:
    if budget not in BUDGETS:
        raise unknown_name("budget", budget, BUDGETS)
    if not norms:
        raise UsageError(f"norms must name at least one of {', '.join(BOUNDS)}, got none")
    for norm in norms:
        if norm not in BOUNDS:
            raise unknown_name("norm", norm, BOUNDS)
    return {norm: BUDGETS[budget][norm] for norm in norms}


def _block(
    run: Run,
    examples: Examples,
    labels: np.ndarray,
    rows: np.ndarray,
    norm: str,
    name: str,
    options: Mapping[str, Any],
    seed: int,
) -> polars.DataFrame:
    import polars

    from unbraid.robustness import attacks

    found = attacks.get(name)(run, examples.read(rows), labels[rows], norm=norm, seed=seed, **options)
    return polars.DataFrame(
        {
            "norm": [norm] * len(rows),
            "attack": [name] * len(rows),
            "image": examples.index[rows],
            "label": labels[rows],
            "distance": found.distances.cpu().numpy(),
        }
    )
