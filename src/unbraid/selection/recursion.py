"""rPU-VAE: learn a few factors without labels, freeze them, learn the next ones (Estermann, Marks & Yanik, 2020).

A population selected by UDR learns the factors that change images most. Their encodings become surrogate labels, and
cut the data set down to images in which these factors stand still, where a fresh population finds others. At the end a
population on the whole data set is selected by all surrogate labels. Labels decide selection only; every gradient
is that of the unsupervised objective.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from unbraid.data import ImageDataset, Part, load
from unbraid.engines import Engine, ProcessEngine
from unbraid.errors import UsageError
from unbraid.files import exclusive, make_folders
from unbraid.paths import user_path
from unbraid.progress import ProgressKind
from unbraid.selection.controller import check_population, evolve
from unbraid.selection.evolution import Evolution
from unbraid.selection.labelling import active_latents, encode_dataset
from unbraid.selection.members import seed_of
from unbraid.selection.population import Population
from unbraid.selection.reduction import CannotReduce
from unbraid.selection.surrogates import Entry, SurrogateStore
from unbraid.selection.tree import TREE, MetaEpoch, Tree, open_tree
from unbraid.training import describe_data, open_run

__all__ = ["Recursion", "recurse"]

METAEPOCH, FINAL = 1, 2
"""Which populations a seed is for."""


def _unsupervised() -> Population:
    return Population(score="udr", models=5, generations=50, patience=6)


def _selected() -> Population:
    return Population(halving=2, generations=17)


@dataclass(frozen=True)
class Recursion:
    """How a recursion is carried out. The default numbers are those of the paper, but for ``min_size`` (there 10)."""

    root: Population = field(default_factory=_unsupervised)
    """The population on the whole data set, selected by UDR."""
    leaf: Population | None = None
    """The populations on reduced sets (otherwise as the root)."""
    final: Population = field(default_factory=_selected)
    """The population on the whole data set at the end; it is selected by surrogate labels, whatever its score."""
    leaf_runs: int = 3
    """Paths from the whole data set down; each freezes other plateaus of what the root learned."""
    min_size: int = 500
    """Smallest set that is trained on."""
    udr_floor: float = 0.1
    """A leaf-run whose best UDR is lower has only noise left."""
    kl_threshold: float = 1.0
    """Mean KL in nats above which a latent is active."""
    max_depth: int = 8
    """Most metaEpochs of a leaf-run."""
    least_images: int = 10_000
    """Images per generation in leaf-runs: the size of the reduced set, but at least so many."""
    top: int = 5
    """Plateaus per latent that are combined."""
    prefer: Literal["median", "largest"] = "median"
    """Which combinations come first: those of median size, or the largest."""
    trim: float = 0.0
    """Share taken off both ends of a plateau when a single latent is active."""
    compat: bool = False
    """Cut as the published code does: see :func:`unbraid.selection.reduction.reduce_dataset`."""
    ablation: bool = False
    """Also train a final population for every smaller number of leaf-runs."""

    def __post_init__(self) -> None:
        for name, least in (("leaf_runs", 0), ("min_size", 2), ("max_depth", 1), ("least_images", 1)):
            if getattr(self, name) < least:
                raise UsageError(f"{name} must be at least {least}, got {getattr(self, name)}")
        for name in ("root", "leaf"):
            population = getattr(self, name)
            if population is not None and population.score.partition(":")[0] != "udr":
                raise UsageError(f"{name} must be selected by udr: a recursion has no labels, got {population.score!r}")

    def settings(self) -> dict[str, Any]:
        """All of it as JSON holds it."""
        plain: dict[str, Any] = json.loads(json.dumps(dataclasses.asdict(self)))
        for population in (plain[name] for name in ("root", "leaf", "final") if plain[name]):
            for values in (population["ranges"] or {}).values():
                if not values["between"]:  # records made before there were such ranges lack it
                    del values["between"]
        return plain


def recurse(
    recursion: Recursion,
    data: str | ImageDataset,
    *,
    out: str | Path,
    engine: Engine | None = None,
    seed: int = 0,
    plugins: Sequence[str] = (),
    progress: ProgressKind = "auto",
    after: Callable[[Tree, MetaEpoch], None] | None = None,
) -> Tree:
    """Train root, leaf-runs and final model into a folder.

    The same call again goes on where an earlier one stopped, also after ``kill -9``, and ends with the same tree; what
    comes out depends neither on the engine nor on its number of workers. ``after`` is called after each metaEpoch.

    Raises:
        UsageError: The root found no active latent, or could not be trained: there are no labels to go on with.
    """
    dataset = load(data) if isinstance(data, str) else data
    folder = user_path(out, "out")
    make_folders(folder)
    with contextlib.ExitStack() as stack:
        stack.enter_context(exclusive(folder))
        if "," in str(folder.absolute()):
            raise UsageError(f"the folder of a recursion must have no comma in its path, got {folder.absolute()}")
        check_population(recursion.root, dataset)  # before the folder remembers it
        tree = _open_or_begin(folder, recursion, dataset, seed)
        pool = engine or stack.enter_context(ProcessEngine())
        _Walk(recursion, dataset, tree, pool, tuple(plugins), progress, after).run()
    return tree


class _Walk:
    """The controller. Every step is repeated on resuming; those whose result is on the disk take no time."""

    def __init__(
        self,
        recursion: Recursion,
        data: ImageDataset,
        tree: Tree,
        engine: Engine,
        plugins: tuple[str, ...],
        progress: ProgressKind,
        after: Callable[[Tree, MetaEpoch], None] | None,
    ) -> None:
        self.recursion, self.data, self.tree, self.engine = recursion, data, tree, engine
        self.plugins, self.progress, self.after = plugins, progress, after

    def run(self) -> None:
        root = self._root()
        for leaf_run in range(1, self.recursion.leaf_runs + 1):
            self._leaf_run(leaf_run, root)
        counts = range(self.recursion.leaf_runs + 1) if self.recursion.ablation else [self.recursion.leaf_runs]
        for leaf_runs in counts:
            self._final(leaf_runs)

    def _root(self) -> Entry:
        whole = np.arange(len(self.data))
        entry = self._metaepoch(0, 0, whole, self.data, self.recursion.root)
        if entry is None:
            root = self.tree.root
            if root.run is None:
                raise UsageError(
                    f"{self.tree.folder}: every member of the root population diverged; try lower learning rates"
                )
            raise UsageError(
                f"{self.tree.folder}: the root found no active latent (largest KL {max(root.kl, default=0):.2f} nats, "
                f"wanted {self.recursion.kl_threshold:g}); train longer, or with lower strengths (beta)"
            )
        return entry

    def _leaf_run(self, leaf_run: int, root: Entry) -> None:
        """One path down: reduce, train, label, until there is nothing more to learn."""
        entry, rank, depth = root, leaf_run - 1, 0
        while True:
            if depth == self.recursion.max_depth:
                return self.tree.stop(leaf_run, "depth", f"{depth} metaEpochs, as many as allowed")
            try:
                kept = entry.indices[self.tree.reduce(entry, rank).indices]
            except CannotReduce as reason:
                return self.tree.stop(leaf_run, "explained", str(reason))
            if len(kept) < self.recursion.min_size:
                detail = f"the reduced set has {len(kept)} images, at least {self.recursion.min_size} are wanted"
                return self.tree.stop(leaf_run, "small", detail)
            rank, depth = 0, depth + 1
            base = self.recursion.leaf or self.recursion.root
            population = replace(base, images=max(self.recursion.least_images, len(kept)))
            found = self._metaepoch(leaf_run, depth, kept, Part(self.data, kept), population)
            if found is None:
                return None
            entry = found

    def _metaepoch(
        self, leaf_run: int, depth: int, indices: np.ndarray, data: ImageDataset, population: Population
    ) -> Entry | None:
        """Train a fresh population and label its set; ``None`` if it learned nothing worth a label."""
        tree = self.tree
        done = next((m for m in tree.metaepochs if (m.leaf_run, m.depth) == (leaf_run, depth)), None)
        if done is not None:
            return tree.store.find(leaf_run, depth) if done.active else None
        evolution = evolve(
            population,
            data,
            out=tree.population_folder(leaf_run, depth),
            engine=self.engine,
            seed=seed_of(tree.seed, METAEPOCH, leaf_run, depth),
            plugins=self.plugins,
            progress=self.progress,
            title="root" if leaf_run == 0 else f"leaf-run {leaf_run}, depth {depth}",
        )
        metaepoch, run = _described(tree, evolution, leaf_run, depth, len(data))
        if run is not None and (leaf_run == 0 or metaepoch.udr >= self.recursion.udr_floor):
            metaepoch = self._label(metaepoch, run, indices, data)
            if not metaepoch.active:
                tree.stop(leaf_run, "inactive", f"no latent has more than {self.recursion.kl_threshold:g} nats")
        else:
            detail = f"the best UDR is {metaepoch.udr:.3f}, below {self.recursion.udr_floor:g}: only noise is left"
            tree.stop(leaf_run, "noise", detail)
        tree.record(metaepoch)  # last: what is recorded is done
        if self.after is not None:
            self.after(tree, metaepoch)
        return tree.store.find(leaf_run, depth) if metaepoch.active else None

    def _label(self, metaepoch: MetaEpoch, run: Path, indices: np.ndarray, data: ImageDataset) -> MetaEpoch:
        """Put the encodings of the active latents into the store, if there are any."""
        means, kl = encode_dataset(open_run(run), data)
        active = active_latents(kl, self.recursion.kl_threshold)
        if active:
            entry = Entry(metaepoch.leaf_run, metaepoch.depth, indices, means[:, active])
            SurrogateStore([entry]).save(self.tree.labels_folder)
        return replace(metaepoch, active=active, kl=tuple(round(float(value), 6) for value in kl))

    def _final(self, leaf_runs: int) -> None:
        folder = self.tree.final_folder(leaf_runs)
        score = f"surrogate-mig:store={self.tree.labels_folder.absolute()},leaf_runs={leaf_runs}"
        evolve(
            replace(self.recursion.final, score=score),
            self.data,
            out=folder,
            engine=self.engine,
            seed=seed_of(self.tree.seed, FINAL),
            plugins=self.plugins,
            progress=self.progress,
            title=f"final by {leaf_runs} leaf-run(s)",
        )


def _described(
    tree: Tree, evolution: Evolution, leaf_run: int, depth: int, images: int
) -> tuple[MetaEpoch, Path | None]:
    seen = evolution.population.images
    assert seen is not None
    trained = sum(len(generation.results) for generation in evolution.generations)
    metaepoch = MetaEpoch(
        leaf_run,
        depth,
        images,
        max(evolution.best_scores),
        len(evolution.generations),
        trained * evolution.population.models * seen,
        round(evolution.seconds, 1),
    )
    if not any(result.runs for generation in evolution.generations for result in generation.results):
        return metaepoch, None
    best = evolution.best
    run = best.run.relative_to(tree.folder)
    return replace(metaepoch, hyperparameters=best.hyperparameters, run=str(run)), best.run


def _open_or_begin(folder: Path, recursion: Recursion, data: ImageDataset, seed: int) -> Tree:
    asked = Tree(folder, recursion.settings(), seed, describe_data(data))
    if not (folder / TREE).exists():
        asked.save()
        return open_tree(folder)
    stored = open_tree(folder)
    for name, before, now in (
        ("seed", stored.seed, asked.seed),
        ("data", stored.data["fingerprint"], asked.data["fingerprint"]),
        *((key, stored.settings.get(key), value) for key, value in asked.settings.items()),
    ):
        if before != now:
            raise UsageError(
                f"{folder} holds a recursion with {name} = {before!r}, now asked for {now!r}; "
                "give this one its own folder (--out)"
            )
    return stored
