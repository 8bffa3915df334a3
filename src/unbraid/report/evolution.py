"""Pictures of a recursion: where a set was cut, which hyperparameters won, what each metaEpoch learned."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from unbraid.data import Dataset, Part
from unbraid.files import make_folders, save_figure, save_picture
from unbraid.report.tiles import enlarge, labelled_rows
from unbraid.report.traversal import traverse
from unbraid.selection import CannotReduce, Cut, Evolution, Interval, MetaEpoch, Tree, cut_latent, found_factors
from unbraid.training import open_run

__all__ = ["draw_lineage", "draw_metaepochs", "draw_reduction", "draw_tree"]

_INK, _FIRST, _SECOND, _THIRD, _QUIET = "#1f2430", "#0072B2", "#D55E00", "#009E73", "#b6bcc6"


def draw_reduction(
    cuts: Sequence[Cut],
    path: Path,
    *,
    chosen: Sequence[Interval] = (),
    names: Sequence[str] | None = None,
    title: str = "",
) -> None:
    """Sorted encodings of every active latent, their derivative, its peaks, and the chosen interval.

    ``chosen`` comes from :class:`unbraid.selection.reduction.Reduction`; without it only the peaks are drawn.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(3.4 * max(len(cuts), 1.5) + 0.6, 4.6), layout="constrained")
    axes = figure.subplots(2, len(cuts), squeeze=False, sharex="col", height_ratios=[3, 2])
    for column, cut in enumerate(cuts):
        above, below = axes[:, column]
        n = len(cut.values)
        derivative = cut.derivative
        for axis in (above, below):
            for interval in chosen[column : column + 1]:
                axis.axvspan(interval.start, interval.stop - 1, color=_THIRD, alpha=0.25, linewidth=0)
            axis.axvspan(0, cut.edge, color=_QUIET, alpha=0.25, linewidth=0)
            axis.axvspan(n - 1 - cut.edge, n - 1, color=_QUIET, alpha=0.25, linewidth=0)
            axis.margins(x=0)
            _plain(axis)
        above.plot(cut.values, color=_FIRST, linewidth=1.2)
        below.plot(derivative, color=_INK, linewidth=0.6)
        below.plot(cut.peaks, derivative[cut.peaks], "v", color=_SECOND, markersize=4)
        if np.isfinite(cut.threshold):
            below.axhline(cut.threshold, color=_SECOND, linewidth=0.8, linestyle="--")
            inner = derivative[cut.edge : n - 1 - cut.edge]
            below.set_ylim(0, 1.15 * max(float(inner.max()), cut.threshold))  # the tails may be steeper by far
        name = names[column] if names else f"latent {column}"
        kept = f", {len(chosen[column]):,} in the green one" if column < len(chosen) else ""
        above.set_title(f"{name}: {len(cut.peaks)} peaks{kept}", fontsize=9, loc="left")
        below.set_xlabel("images, sorted by encoding", fontsize=8)
    axes[0, 0].set_ylabel("encoding", fontsize=8)
    axes[1, 0].set_ylabel("derivative", fontsize=8)
    if title:
        figure.suptitle(title, fontsize=10, x=0.01, ha="left", color=_INK)
    save_figure(figure, path, dpi=150)


def draw_lineage(evolution: Evolution, path: Path, *, title: str = "") -> None:
    """Scores and hyperparameters of all members over generations; a branch is a member taken over by another.

    The line of the best member, with its hyperparameter schedule, is drawn strongly.
    """
    from matplotlib.figure import Figure

    names = list(evolution.population.searched)
    points = {
        (number, result.member): result
        for number, generation in enumerate(evolution.generations)
        for result in generation.results
    }
    best = evolution.best
    line = {(number, result.member) for number, result in evolution.ancestry(best.generation, best.result.member)}
    figure = Figure(figsize=(6.4, 1.5 * (len(names) + 1) + 0.5), layout="constrained")
    axes = figure.subplots(len(names) + 1, 1, sharex=True)
    for axis, name in zip(axes, ["", *names], strict=True):
        for key, result in points.items():
            value = result.hyperparameters[name] if name else result.score
            strong = key in line
            style = {"color": _SECOND if strong else _QUIET, "zorder": 3 if strong else 1}
            if result.start is not None:
                donor = points[result.start]
                before = donor.hyperparameters[name] if name else donor.score
                width = 1.8 if strong else 0.8
                axis.plot([result.start[0] + 1, key[0] + 1], [before, value], linewidth=width, **style)
            axis.plot([key[0] + 1], [value], "o", markersize=3.5 if strong else 2, **style)
        axis.set_ylabel(name.replace("_", " ") or evolution.population.score.partition(":")[0], fontsize=8)
        _plain(axis)
        if name:
            axis.set_yscale("log")
            axis.yaxis.set_major_formatter("{x:g}")
            axis.yaxis.set_minor_formatter("{x:g}")
            axis.tick_params(which="minor", labelsize=6)
    axes[-1].set_xlabel("generation", fontsize=8)
    axes[-1].xaxis.get_major_locator().set_params(integer=True)
    axes[0].set_title(title or "one line per member; orange: the best one's", fontsize=9, loc="left", color=_INK)
    save_figure(figure, path, dpi=150)


def draw_metaepochs(tree: Tree, data: Dataset, path: Path, *, values: int = 9) -> None:
    """What every metaEpoch learned: traversals of its active latents, each on the images it was trained on.

    Where factors are known, the one that explains most of a latent stands beside it.
    """
    explained = found_factors(tree, data) if data.factor_sizes else {}
    rows, labels, notes = [], [], []
    for entry in tree.store.entries:
        metaepoch = _metaepoch(tree, entry.leaf_run, entry.depth)
        run = None if metaepoch is None else tree.run_of(metaepoch)
        if metaepoch is None or run is None:
            continue
        seen = data if entry.leaf_run == 0 else Part(data, entry.indices)
        found = traverse(open_run(run), seen, values=values)
        known = {
            item.latent: f"{item.factor} {item.share:.0%}" for item in explained.get((entry.leaf_run, entry.depth), [])
        }
        for row, latent in enumerate(found.latents):
            if latent in metaepoch.active:
                rows.append([enlarge(image) for image in found.images[row]])
                labels.append(f"{metaepoch.name}: z{latent}")
                notes.append(f"{metaepoch.kl[latent]:.1f} nats" + (f", {known[latent]}" if latent in known else ""))
    if rows:
        save_picture(labelled_rows(rows, labels, notes), path)


def draw_tree(tree: Tree, data: Dataset, folder: Path) -> list[Path]:
    """Every picture of a recursion: reductions, traversals, and the lineage of all its populations."""
    make_folders(folder)
    made = []
    for metaepoch in tree.metaepochs:
        made.append(folder / f"lineage_{_slug(metaepoch)}.png")
        if metaepoch.run is None:
            made.pop()
            continue
        draw_lineage(tree.population(metaepoch), made[-1], title=f"{metaepoch.name}: UDR {metaepoch.udr:.2f}")
    final = tree.final
    if final is not None and final.generations:
        made.append(folder / "lineage_final.png")
        draw_lineage(final, made[-1], title=f"final: surrogate MIG {final.best.score:.2f}")
    made += _draw_reductions(tree, folder)
    if len(tree.store):
        made.append(folder / "metaepochs.png")
        draw_metaepochs(tree, data, made[-1])
    return made


def _draw_reductions(tree: Tree, folder: Path) -> list[Path]:
    made = []
    for entry in tree.store.entries:
        metaepoch = _metaepoch(tree, entry.leaf_run, entry.depth)
        if metaepoch is None:
            continue
        ranks = range(int(tree.settings["leaf_runs"])) if entry.leaf_run == 0 else [0]
        for rank in ranks:
            cuts, chosen, kept = _reduction(tree, entry.values, entry.leaf_run, entry.depth, rank)
            suffix = f"_rank{rank}" if entry.leaf_run == 0 else ""
            made.append(folder / f"reduction_{_slug(metaepoch)}{suffix}.png")
            names = [f"z{latent}" for latent in metaepoch.active]
            title = f"{metaepoch.name}: {len(entry.indices):,} images, {kept}"
            draw_reduction(cuts, made[-1], chosen=chosen, names=names, title=title)
    return made


def _reduction(
    tree: Tree, values: np.ndarray, leaf_run: int, depth: int, rank: int
) -> tuple[Sequence[Cut], Sequence[Interval], str]:
    try:
        found = tree.reduce(tree.store.find(leaf_run, depth), rank)
    except CannotReduce as reason:
        several, compat = values.shape[1] > 1, bool(tree.settings["compat"])
        cuts = [cut_latent(column.astype(np.float64), several=several, compat=compat) for column in values.T]
        return cuts, (), f"not reduced ({str(reason).partition(':')[0]})"
    return found.cuts, found.chosen, f"{len(found.indices):,} on all green plateaus"


def _metaepoch(tree: Tree, leaf_run: int, depth: int) -> MetaEpoch | None:
    return next((m for m in tree.metaepochs if (m.leaf_run, m.depth) == (leaf_run, depth)), None)


def _slug(metaepoch: MetaEpoch) -> str:
    return "root" if metaepoch.leaf_run == 0 else f"leaf{metaepoch.leaf_run}_depth{metaepoch.depth}"


def _plain(axis: Any) -> None:
    axis.spines[["top", "right"]].set_visible(False)
    axis.tick_params(labelsize=8)
