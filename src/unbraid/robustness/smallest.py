"""Smallest distances of many images by many attacks, stored block by block so that nothing is asked twice."""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from unbraid.errors import UsageError
from unbraid.evaluation import describe_run, fingerprint_data
from unbraid.files import claim, make_folders, save_table
from unbraid.robustness._examples import Examples
from unbraid.robustness.budgets import BOUNDS, FEW, budget_of, check_budget
from unbraid.robustness.distances import (
    accuracy_at,
    accuracy_interval,
    median_distance,
    median_interval,
    nearest_of,
)

if TYPE_CHECKING:
    import polars

    from unbraid.data import ImageDataset
    from unbraid.nets import ClassVAEs
    from unbraid.robustness.attacks import Classifier
    from unbraid.training import Run

__all__ = ["ALL", "Asked", "attack_blocks", "attack_table"]

VERSION = 2
"""Goes up when an attack gives other distances than it did: what is stored is then measured anew."""
BLOCK = 20
"""So many images are attacked between two files: what a process that is killed loses."""
ALL = "all"
"""The nearest image of any attack."""


class Asked:
    """A run that is attacked on some images, and the folder that keeps what was found."""

    def __init__(
        self, run: Run, data: ImageDataset, budget: str = "quick", *, folder: Path, images: int = 100, seed: int = 0
    ) -> None:
        self.run, self.budget, self.folder, self.seed = run, budget, Path(folder), seed
        self.searches = getattr(run.objective, "search", None) is not None
        check_budget(budget)
        self.examples = Examples(data, images, seed)
        self.labels = self.examples.labels(run)
        self.about = {"run": describe_run(run), "data": fingerprint_data(data), "seed": seed, "version": VERSION}
        self._models: tuple[Classifier, Classifier | None] | None = None

    @property
    def models(self) -> tuple[Classifier, Classifier | None]:
        """What attacks ask, and what verifies their answers if that is another: a whole search instead of a short one.

        Made when first needed: what is stored is read without.
        """
        from unbraid.robustness.attacks import Classifier

        if self._models is None:
            if not self.searches:
                self._models = Classifier(self.run), None
            else:
                from unbraid.robustness.synthesis import SearchClassifier

                search, networks = self.run.objective.search, cast("ClassVAEs", copy.deepcopy(self.run.model))  # type: ignore[attr-defined]
                whole = Classifier(SearchClassifier(networks, search), self.run.path.name)
                few = replace(search, iterations=min(search.iterations, FEW[self.budget]))
                short = few == search
                self._models = (whole, None) if short else (Classifier(SearchClassifier(networks, few)), whole)
        return self._models

    @property
    def judge(self) -> Classifier:
        """The model whose word counts."""
        classify, verify = self.models
        return verify or classify

    def place(self, kind: str, **about: Any) -> Path:
        """The folder of the blocks of one question."""
        told = {**self.about, "kind": kind, **about}
        if self.searches:
            told["few"] = FEW[self.budget]
        key = hashlib.sha256(json.dumps(told, sort_keys=True, default=str).encode()).hexdigest()[:12]
        return self.folder / f"{kind}-{key}"


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
    """One row per norm, attack and image: norm, attack, image (its position), label, distance, guess, refuted, picture.

    ``guess`` is what the nearest image that was found is taken for, ``picture`` its pixels as bytes (h, w, c), rounded.
    Every attack writes a Parquet file per block of images into ``folder``; what is there is read, so that the same call
    goes on where it was stopped, and several processes share the work: none does what another has in hand. What is
    drawn for an image depends on the image, not on its block. Runs that classify by a search are attacked with fewer
    passes of it; what is found counts if the whole search agrees (``refuted`` if the first claim was false).
    """
    import polars

    asked = Asked(run, data, budget, folder=Path(folder), images=images, seed=seed)
    tasks = []
    for norm, known in budget_of(norms, budget, draws=asked.searches).items():
        for name, options in known.items():
            tasks += blocks_of(asked, norm, name, options)
    return polars.concat(share_blocks(tasks, say))


Task = tuple[Path, str, Callable[[], "polars.DataFrame"]]
"""Where a block is stored, what to call it, and what computes it."""


def blocks_of(asked: Asked, norm: str, name: str, options: Mapping[str, Any], most: int | None = None) -> list[Task]:
    """The blocks of one attack, all of them or the first ones."""
    count = len(asked.examples)
    place = asked.place(f"{norm}-{name}", options=dict(options), images=count)

    def task(start: int) -> Task:
        rows = np.arange(start, min(start + BLOCK, count))
        words = f"{name}, {norm}, image {start} of {count}"
        return place / f"{start:06d}.parquet", words, lambda: _block(asked, rows, norm, name, options)

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


def _block(asked: Asked, rows: np.ndarray, norm: str, name: str, options: Mapping[str, Any]) -> polars.DataFrame:
    import polars

    from unbraid.robustness import attacks

    classify, verify = asked.models
    images, labels = asked.examples.read(rows), asked.labels[rows]
    found = attacks.get(name)(classify, images, labels, norm=norm, seed=asked.seed, verify=verify, **options)
    guess = asked.judge.scores(found.adversarials).argmax(1)
    pixels = found.adversarials.mul(255).round().byte().permute(0, 2, 3, 1).contiguous().cpu().numpy()
    assert found.refuted is not None
    return polars.DataFrame(
        {
            "norm": [norm] * len(rows),
            "attack": [name] * len(rows),
            "image": asked.examples.index[rows],
            "label": labels,
            "distance": found.distances.cpu().numpy(),
            "guess": guess.cpu().numpy(),
            "refuted": found.refuted.cpu().numpy(),
            "picture": [image.tobytes() for image in pixels],
        }
    )
