"""The store of surrogate labels and the score that selects a model by them (Estermann, Marks & Yanik, 2020)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from unbraid.data import ImageDataset, Purpose, counter_rng
from unbraid.errors import UsageError
from unbraid.files import make_folders, replace_file
from unbraid.metrics import Score, mig
from unbraid.reading import read_arrays, understood
from unbraid.selection.scoring import MemberScore
from unbraid.training import Run

__all__ = ["Entry", "SurrogateStore", "surrogate_mig", "surrogate_score"]


@dataclass(frozen=True)
class Entry:
    """What one metaEpoch learned: encodings of some images of the whole data set."""

    leaf_run: int
    """0 for the root run on the whole data set."""
    depth: int
    """Reductions made before it."""
    indices: np.ndarray
    """Positions of the images in the whole data set, ascending, ``[n]``."""
    values: np.ndarray
    """Encodings of these images by the active latents, ``[n, a]``."""


class SurrogateStore:
    """Surrogate labels of all metaEpochs, in the order in which they were found; a folder keeps them as npz files."""

    def __init__(self, entries: Sequence[Entry] = ()) -> None:
        self.entries: list[Entry] = []
        for entry in entries:
            self.add(entry.leaf_run, entry.depth, entry.indices, entry.values)

    def add(self, leaf_run: int, depth: int, indices: ArrayLike, values: ArrayLike) -> Entry:
        """Put in the labels of one metaEpoch."""
        rows, labels = np.asarray(indices, dtype=np.int64), np.asarray(values)
        if labels.ndim != 2 or rows.shape != labels.shape[:1] or labels.size == 0:
            raise UsageError(f"values must be [n, a] for n = {rows.size} indices, got shape {labels.shape}")
        if any((entry.leaf_run, entry.depth) == (leaf_run, depth) for entry in self.entries):
            raise UsageError(f"the store has labels of leaf-run {leaf_run} at depth {depth} already")
        if rows.min() < 0 or not (np.diff(rows) > 0).all():
            raise UsageError("indices must be ascending positions in the whole data set")
        self.entries.append(Entry(leaf_run, depth, rows, labels))
        return self.entries[-1]

    @property
    def leaf_runs(self) -> list[int]:
        """Leaf-runs that found labels, without the root."""
        return sorted({entry.leaf_run for entry in self.entries} - {0})

    def path_to(self, leaf_run: int) -> list[Entry]:
        """The entries of the root and of one leaf-run."""
        return [entry for entry in self.entries if entry.leaf_run in (0, leaf_run)]

    def find(self, leaf_run: int, depth: int) -> Entry:
        """The labels of one metaEpoch."""
        for entry in self.entries:
            if (entry.leaf_run, entry.depth) == (leaf_run, depth):
                return entry
        raise UsageError(f"the store has no labels of leaf-run {leaf_run} at depth {depth}")

    def without_leaf_runs_above(self, last: int) -> SurrogateStore:
        """The store that fewer leaf-runs would have given."""
        return SurrogateStore([entry for entry in self.entries if entry.leaf_run <= last])

    def __len__(self) -> int:
        return len(self.entries)

    def save(self, folder: Path) -> None:
        """Write one file per entry; files that are there already are left alone."""
        make_folders(folder)
        for entry in self.entries:
            path = folder / f"leaf{entry.leaf_run:02d}_depth{entry.depth:02d}.npz"
            if path.exists():
                continue
            with replace_file(path) as temporary, temporary.open("wb") as file:
                np.savez_compressed(
                    file, leaf_run=entry.leaf_run, depth=entry.depth, indices=entry.indices, values=entry.values
                )

    @classmethod
    def load(cls, folder: Path) -> SurrogateStore:
        """Read what :meth:`save` wrote."""
        store = cls()
        for path in sorted(folder.glob("leaf*_depth*.npz")):
            remedy = "delete it to have the labels made anew"
            with understood(path, remedy):
                file = read_arrays(path, ("leaf_run", "depth", "indices", "values"), remedy=remedy)
                store.add(int(file["leaf_run"]), int(file["depth"]), file["indices"], file["values"])
        return store


def surrogate_mig(
    model: Any,
    data: ImageDataset,
    store: SurrogateStore,
    *,
    samples: int = 50_000,
    bins: int = 20,
    seed: int = 0,
) -> Score:
    """Mutual information gap of a model's mean codes with surrogate labels instead of factors.

    ``model`` is a run or a function from uint8 images ``[n, h, w, c]`` to codes ``[n, d]``. Per leaf-run the labels of
    the root and of its own metaEpochs count, each on the images they belong to; the leaf-run's score is the mean gap
    over all label columns, the value the median over leaf-runs (``parts["per_leaf_run"]``). A leaf-run that found
    nothing has no score; if none found anything, the root's labels decide alone.

    A factor that two metaEpochs found counts twice. Columns that fall into a single bin are skipped.
    """
    if len(store) == 0:
        raise UsageError("the store has no surrogate labels to score by")
    drawn = {(entry.leaf_run, entry.depth): _draw(entry, samples, seed) for entry in store.entries}
    needed = np.unique(np.concatenate([entry.indices[rows] for entry, rows in _pairs(store, drawn)]))
    if needed[-1] >= len(data):
        raise UsageError(f"the store labels image {needed[-1]} of a data set of {len(data)}; is it the right one?")
    codes = _encode(model, data, needed)
    gaps = {}
    for entry, rows in _pairs(store, drawn):
        where = np.searchsorted(needed, entry.indices[rows])
        gaps[entry.leaf_run, entry.depth] = _gaps(codes[where], entry.values[rows], bins)
    per_run = {
        run: np.concatenate([gaps[entry.leaf_run, entry.depth] for entry in store.path_to(run)])
        for run in store.leaf_runs or [0]
    }
    means = {run: float(found.mean()) if len(found) else 0.0 for run, found in per_run.items()}
    return Score(
        "surrogate_mig",
        float(np.median(list(means.values()))),
        parts={
            "per_leaf_run": {str(run): mean for run, mean in means.items()},
            "gaps": {f"{run}/{depth}": found for (run, depth), found in gaps.items()},
        },
        settings={"samples": samples, "bins": bins, "seed": seed},
    )


def surrogate_score(
    runs: Sequence[Run],
    data: ImageDataset,
    *,
    store: str,
    leaf_runs: int | None = None,
    seed: int = 0,
    images: int = 50_000,
) -> MemberScore:
    """Surrogate MIG as a population's score: ``surrogate-mig:store=FOLDER``; ``leaf_runs`` uses the first few only."""
    labels = SurrogateStore.load(Path(store))
    if leaf_runs is not None:
        labels = labels.without_leaf_runs_above(leaf_runs)
    scores = [float(surrogate_mig(run, data, labels, samples=images, seed=seed)) for run in runs]
    return MemberScore(float(np.mean(scores)), tuple(scores))


def _pairs(store: SurrogateStore, drawn: dict[tuple[int, int], np.ndarray]) -> list[tuple[Entry, np.ndarray]]:
    return [(entry, drawn[entry.leaf_run, entry.depth]) for entry in store.entries]


def _draw(entry: Entry, samples: int, seed: int) -> np.ndarray:
    n = len(entry.indices)
    if n <= samples:
        return np.arange(n)
    rng = counter_rng(seed, 1000 * entry.leaf_run + entry.depth, Purpose.SURROGATE)
    return np.sort(rng.choice(n, samples, replace=False))


def _encode(model: Any, data: ImageDataset, index: np.ndarray, batch_size: int = 1024) -> np.ndarray:
    encode: Callable[[np.ndarray], Any] = getattr(model, "encode", model)
    parts = []
    for start in range(0, len(index), batch_size):
        images = data.images(index[start : start + batch_size], counter_rng(0, start, Purpose.SURROGATE))
        parts.append(np.asarray(encode(images)))
    return np.concatenate(parts)


def _gaps(codes: np.ndarray, values: np.ndarray, bins: int) -> np.ndarray:
    """Gap of every label column that takes at least two values."""
    labels = _bin(values.astype(np.float64), bins)
    labels = labels[:, np.ptp(labels, axis=0) > 0]
    if labels.shape[1] == 0:
        return np.empty(0)
    return np.asarray(mig(codes, labels, bins=bins).parts["per_factor"])


def _bin(values: np.ndarray, bins: int) -> np.ndarray:
    """Each column cut into ``bins`` pieces of equal width: integers ``[n, a]``."""
    low, span = values.min(axis=0), np.ptp(values, axis=0)
    return np.minimum((values - low) / np.where(span > 0, span, 1) * bins, bins - 1).astype(np.int64)
