"""Smallest distances of many images by many attacks, stored block by block so that nothing is asked twice."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from unbraid.errors import UsageError
from unbraid.evaluation import describe_run
from unbraid.files import claim, make_folders, save_table
from unbraid.robustness.budgets import BOUNDS, budget_of
from unbraid.robustness.distances import (
    accuracy_at,
    accuracy_interval,
    median_distance,
    median_interval,
    nearest_of,
)

if TYPE_CHECKING:
    import polars

    from unbraid.robustness.target import Target

__all__ = ["ALL", "BLOCK", "Task", "attack_blocks", "attack_table", "blocks_of", "share_blocks"]

BLOCK = 20
"""So many images are attacked between two files: what a process that is killed loses."""
ALL = "all"
"""The nearest image of any attack."""


def attack_blocks(
    target: Target, norms: Sequence[str] = ("l0", "l2", "linf"), *, say: Callable[[str], None] = lambda _: None
) -> polars.DataFrame:
    """One row per norm, attack and image: norm, attack, image (its position), label, distance, guess, refuted, picture.

    ``guess`` is what the nearest image that was found is taken for, ``picture`` its pixels as bytes (h, w, c), rounded.
    Every attack writes a Parquet file per block of images into the folder of the target; what is there is read, so that
    the same call goes on where it was stopped, and several processes share the work: none does what another has in
    hand. What is drawn for an image depends on the image, not on its block. What was found with a shorter search counts
    if the whole one agrees (``refuted`` if the first claim was false).
    """
    import polars

    kind = {"dear": target.dear, "draws": target.search is not None, "substitute": target.substitute is not None}
    known = budget_of(norms, target.budget, **kind)
    tasks = [
        task
        for norm, attacks in known.items()
        for name, options in attacks.items()
        for task in blocks_of(target, norm, name, options)
    ]
    return polars.concat(share_blocks(tasks, say))


Task = tuple[Path, str, Callable[[], "polars.DataFrame"]]
"""Where a block is stored, what to call it, and what computes it."""


def blocks_of(target: Target, norm: str, name: str, options: Mapping[str, Any], most: int | None = None) -> list[Task]:
    """The blocks of one attack, all of them or the first ones."""
    count = len(target.examples)
    told = {"options": dict(options), "images": count}
    if name == "transfer" and target.substitute is not None:
        told["substitute"] = describe_run(target.substitute)
    place = target.place(f"{norm}-{name}", **told)

    def task(start: int) -> Task:
        rows = np.arange(start, min(start + BLOCK, count))
        words = f"{name}, {norm}, image {start} of {count}"
        return place / f"{start:06d}.parquet", words, lambda: _block(target, rows, norm, name, options)

    return [task(start) for start in range(0, count, BLOCK)[:most]]


def share_blocks(tasks: Sequence[Task], say: Callable[[str], None]) -> list[polars.DataFrame]:
    """What every block holds: those that nobody has in hand are computed, then those of others are waited for."""
    import polars

    for wait in (False, True):
        for path, words, compute in tasks:
            if path.exists():
                continue
            make_folders(path.parent)
            with claim(path.with_name(f".{path.stem}.lock"), wait=wait) as held:
                if held and not path.exists():  # it may have been done while we waited
                    say(words)
                    save_table(compute(), path)
    return [polars.read_parquet(path) for path, _, _ in tasks]


def attack_table(blocks: polars.DataFrame, bounds: Mapping[str, float] = BOUNDS, *, seed: int = 0) -> polars.DataFrame:
    """One row per norm and attack, then "all", the nearest by any: median distance and accuracy at the bound in %.

    Both with 95 % intervals by drawing images again. Images that are named wrong have distance 0, those that an attack
    failed for an infinite one. The accuracy counts images whose distance is larger than the bound.
    """
    import polars

    rows = []
    for (norm,), part in blocks.group_by(["norm"], maintain_order=True):
        found = {str(name): each.sort("image") for (name,), each in part.group_by(["attack"], maintain_order=True)}
        if len({tuple(each["image"]) for each in found.values()}) > 1:
            raise UsageError(f"blocks must hold the same images for every attack in {norm}; run the attacks again")
        columns = {name: each["distance"].to_numpy() for name, each in found.items()}
        columns[ALL] = nearest_of(columns)
        for name, distances in columns.items():
            bound = bounds[str(norm)]
            low, high = median_interval(distances, seed=seed)
            least, most = accuracy_interval(distances, bound, seed=seed)
            about = {"norm": norm, "attack": name, "median": median_distance(distances), "bound": bound}
            share = {"accuracy": 100 * accuracy_at(distances, bound), "images": len(distances)}
            more = {"median_low": low, "median_high": high, "accuracy_low": 100 * least, "accuracy_high": 100 * most}
            rows.append({**about, **share, **more})
    return polars.DataFrame(rows)


def _block(target: Target, rows: np.ndarray, norm: str, name: str, options: Mapping[str, Any]) -> polars.DataFrame:
    import polars

    from unbraid.robustness import attacks

    classify, verify = target.models
    images, labels = target.examples.read(rows), target.labels[rows]
    told: dict[str, Any] = {**options, "threshold": target.threshold}
    if name == "transfer":
        told["substitute"] = target.substitute
    if name == "latent-descent":
        told["binary"] = target.threshold
    found = attacks.get(name)(classify, images, labels, norm=norm, seed=target.seed, verify=verify, **told)
    guess = target.judge.scores(found.adversarials).argmax(1)
    pixels = found.adversarials.mul(255).round().byte().permute(0, 2, 3, 1).contiguous().cpu().numpy()
    assert found.refuted is not None
    return polars.DataFrame(
        {
            "norm": [norm] * len(rows),
            "attack": [name] * len(rows),
            "image": target.examples.index[rows],
            "label": labels,
            "distance": found.distances.cpu().numpy(),
            "guess": guess.cpu().numpy(),
            "refuted": found.refuted.cpu().numpy(),
            "picture": [image.tobytes() for image in pixels],
        }
    )
