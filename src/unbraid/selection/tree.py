"""What a recursion left behind: a folder with a population per metaEpoch, the labels and the final model."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from unbraid.errors import UsageError
from unbraid.files import write_json
from unbraid.paths import user_path
from unbraid.reading import read_json, understood
from unbraid.selection.evolution import RECORD as POPULATION
from unbraid.selection.evolution import Evolution, open_evolution
from unbraid.selection.hyperparameters import Hyperparameters
from unbraid.selection.reduction import Reduction, reduce_dataset
from unbraid.selection.surrogates import Entry, SurrogateStore

__all__ = ["TREE", "Explained", "MetaEpoch", "Stop", "StopKind", "Tree", "explain", "open_tree"]

TREE = "recursion.json"

StopKind = Literal["noise", "inactive", "explained", "small", "depth"]


@dataclass(frozen=True)
class Stop:
    """Why a leaf-run ended.

    ``noise``: the best UDR stayed below the floor. ``inactive``: no latent carried enough. ``explained``: the
    encodings cannot be cut further. ``small``: too few images would be left. ``depth``: enough metaEpochs. After the
    last three the labels of the last metaEpoch count.
    """

    kind: StopKind
    detail: str


@dataclass(frozen=True)
class MetaEpoch:
    """One population on one (reduced) data set, and what was learned there."""

    leaf_run: int
    """0 is the root, on the whole data set."""
    depth: int
    images: int
    """Size of its data set."""
    udr: float
    """Best of all generations."""
    generations: int
    model_images: int
    """Cost: images seen, summed over all models."""
    seconds: float
    hyperparameters: Hyperparameters | None = None
    """Of the best member, unless none could be trained."""
    run: str | None = None
    """Folder of the best model, relative to the recursion's."""
    active: tuple[int, ...] = ()
    """Its active latents: those that gave labels."""
    kl: tuple[float, ...] = ()
    """Mean KL of all its latents in nats."""

    @property
    def name(self) -> str:
        return "root" if self.leaf_run == 0 else f"leaf-run {self.leaf_run}, depth {self.depth}"


@dataclass(frozen=True)
class Explained:
    """Which true factor a latent follows: for reading a tree, never for making it."""

    latent: int
    factor: str
    share: float
    """Share of the latent's variance that the factor's values explain, corrected for their number."""


@dataclass
class Tree:
    """The folder of a recursion. What is here survives ``kill -9``; :func:`unbraid.selection.recurse` goes on with it.

    ``tree.text()`` tells all of it in lines.
    """

    folder: Path
    settings: dict[str, Any]
    """Of the recursion: see :class:`unbraid.selection.Recursion`."""
    seed: int
    data: dict[str, Any]
    metaepochs: list[MetaEpoch] = dataclasses.field(default_factory=list)
    stops: dict[int, Stop] = dataclasses.field(default_factory=dict)
    """Why each leaf-run ended."""

    @property
    def root(self) -> MetaEpoch:
        if not self.metaepochs:
            raise UsageError(f"{self.folder}: the root run is not finished yet")
        return self.metaepochs[0]

    @property
    def store(self) -> SurrogateStore:
        """All surrogate labels found so far."""
        return SurrogateStore.load(self.labels_folder)

    @property
    def labels_folder(self) -> Path:
        return self.folder / "labels"

    @property
    def final(self) -> Evolution | None:
        """The population selected by all surrogate labels, once it has begun."""
        return self.final_with(int(self.settings["leaf_runs"]))

    def final_with(self, leaf_runs: int) -> Evolution | None:
        """The final population selected by the labels of the first few leaf-runs."""
        folder = self.final_folder(leaf_runs)
        return open_evolution(folder) if (folder / POPULATION).exists() else None

    def final_folder(self, leaf_runs: int) -> Path:
        return self.folder / ("final" if leaf_runs == self.settings["leaf_runs"] else f"final-{leaf_runs}-leaf-runs")

    def population_folder(self, leaf_run: int, depth: int) -> Path:
        return self.folder / "metaepochs" / f"leaf{leaf_run:02d}_depth{depth:02d}"

    def population(self, metaepoch: MetaEpoch) -> Evolution:
        """History and lineage of a metaEpoch."""
        return open_evolution(self.population_folder(metaepoch.leaf_run, metaepoch.depth))

    def run_of(self, metaepoch: MetaEpoch) -> Path | None:
        """Run folder of a metaEpoch's best model."""
        return None if metaepoch.run is None else self.folder / metaepoch.run

    @property
    def finished(self) -> bool:
        final = self.final
        return final is not None and final.finished

    @property
    def model_images(self) -> int:
        """Cost up to the labels: images seen, summed over the models of all metaEpochs."""
        return sum(metaepoch.model_images for metaepoch in self.metaepochs)

    def reduce(self, entry: Entry, rank: int) -> Reduction:
        """Cut the images of an entry as this recursion does."""
        chosen = {key: self.settings[key] for key in ("top", "prefer", "trim", "compat")}
        return reduce_dataset(entry.values, rank=rank, **chosen)

    def record(self, metaepoch: MetaEpoch) -> None:
        """Add a metaEpoch, on the disk too."""
        self.metaepochs = [m for m in self.metaepochs if (m.leaf_run, m.depth) != (metaepoch.leaf_run, metaepoch.depth)]
        self.metaepochs = sorted([*self.metaepochs, metaepoch], key=lambda m: (m.leaf_run, m.depth))
        self.save()

    def stop(self, leaf_run: int, kind: StopKind, detail: str) -> None:
        """Note why a leaf-run ended."""
        self.stops[leaf_run] = Stop(kind, detail)
        self.save()

    def save(self) -> None:
        write_json(
            self.folder / TREE,
            {
                "format": 1,
                "settings": self.settings,
                "seed": self.seed,
                "data": self.data,
                "metaepochs": [dataclasses.asdict(metaepoch) for metaepoch in self.metaepochs],
                "stops": {str(run): dataclasses.asdict(stop) for run, stop in sorted(self.stops.items())},
            },
        )

    def text(self, explained: dict[tuple[int, int], list[Explained]] | None = None) -> str:
        """The tree in lines; ``explained`` adds which factors latents follow, as :func:`explain` finds them."""
        lines = [f"{self.folder}: {self.settings['leaf_runs']} leaf-run(s) on {self.data['name']}, seed {self.seed}"]
        known = {(m.leaf_run, m.depth): m for m in self.metaepochs}
        for run in sorted({m.leaf_run for m in self.metaepochs} | self.stops.keys()):
            if run:
                lines.append(f"  leaf-run {run}")
            for (_, depth), metaepoch in sorted(item for item in known.items() if item[0][0] == run):
                pad = "  " * (2 + depth if run else 1)
                lines.append(f"{pad}{_words(metaepoch, (explained or {}).get((run, depth), []))}")
            if run in self.stops:
                lines.append(f"    ended: {self.stops[run].detail}")
        if self.stops and not any(m.leaf_run for m in self.metaepochs):
            lines.append(_NOTHING_SPLIT)
        folders = {k: self.final_with(k) for k in range(int(self.settings["leaf_runs"]) + 1)}
        for count, final in folders.items():
            if final is not None:
                state = "" if final.finished else ", still running"
                best = f", best surrogate MIG {max(final.best_scores):.3f}" if final.generations else ""
                lines.append(f"final by {count} leaf-run(s): {len(final.generations)} generations{best}{state}")
                if final.finished:
                    lines.append(f"  best model: {final.best.run}")
        return "\n".join(lines)


_NOTHING_SPLIT = """\
  Nothing was split, for the reason above: there are no groups of images to learn apart. What was found is what
  the first population found, and the final model is selected by that alone. Factors that vary smoothly look like this,
  and so do models that are trained too shortly or use few latents: try more --images and --generations, or a smaller
  beta (--search beta=1,2)."""


def _words(metaepoch: MetaEpoch, explained: Sequence[Explained]) -> str:
    factors = {found.latent: f" {found.factor} {found.share:.0%}" for found in explained}
    latents = ", ".join(f"z{j} {metaepoch.kl[j]:.1f} nats{factors.get(j, '')}" for j in metaepoch.active)
    return (
        f"{'root' if metaepoch.leaf_run == 0 else f'depth {metaepoch.depth}'}: {metaepoch.images:,} images, "
        f"UDR {metaepoch.udr:.2f} in {metaepoch.generations} generations, "
        f"{latents if latents else 'no active latent'}"
    )


def explain(values: np.ndarray, latents: Sequence[int], factors: np.ndarray, names: Sequence[str]) -> list[Explained]:
    """The factor that explains most of each latent's variance, from encodings ``[n, a]`` and true factors ``[n, K]``.

    Adjusted as R-squared is: ``1 - (1 - R2)(n - 1)/(n - values)``, so that a factor with many values has no advantage.
    """
    n, found = len(values), []
    for column, latent in zip(values.T.astype(np.float64), latents, strict=True):
        shares = []
        for factor in factors.T:
            labels, place = np.unique(factor, return_inverse=True)
            if len(labels) < 2 or len(labels) >= n or column.var() == 0:
                shares.append(0.0)
                continue
            counts = np.bincount(place)
            means = np.bincount(place, weights=column) / counts
            share = (counts * (means - column.mean()) ** 2).sum() / (n * column.var())
            shares.append(1 - (1 - share) * (n - 1) / (n - len(labels)))
        best = int(np.argmax(shares))
        found.append(Explained(latent, names[best], max(float(shares[best]), 0.0)))
    return found


_FORM = {
    "settings": dict,
    "seed": int,
    "data": {"fingerprint": str},
    "metaepochs": [{"active": [int], "kl": [float], "leaf_run": int, "depth": int, "images": int, "udr": float}],
    "stops": dict,
}


def open_tree(folder: str | Path) -> Tree:
    """Open the folder of a recursion."""
    path = user_path(folder, "folder")
    if not (path / TREE).exists():
        raise UsageError(f"{path} holds no recursion: it has no {TREE}")
    remedy = "put back a copy, or give the recursion a new folder"
    stored = read_json(path / TREE, _FORM, remedy=remedy)
    with understood(path / TREE, remedy):
        return _tree(path, stored)


def _tree(path: Path, stored: dict[str, Any]) -> Tree:
    return Tree(
        path,
        stored["settings"],
        stored["seed"],
        stored["data"],
        [
            MetaEpoch(**{**entry, "active": tuple(entry["active"]), "kl": tuple(entry["kl"])})
            for entry in stored["metaepochs"]
        ],
        {int(run): Stop(**stop) for run, stop in stored["stops"].items()},
    )
