"""Pictures of data that moves: fitted laws of the steps, their dependence, sheets of pairs, short films."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from unbraid.data import ImageDataset, SequenceStream, Tracks, make_stream
from unbraid.data.motion import TransitionFit
from unbraid.files import make_folders, save_figure, save_picture, writing
from unbraid.options import Named
from unbraid.report.tiles import enlarge, labelled_rows

__all__ = ["draw_dependence", "draw_fits", "draw_gaps", "film", "pair_sheet"]

_INK, _QUIET = "#1f2430", "#b6bcc6"
_LAWS = {"general": ("#0072B2", "-"), "laplace": ("#D55E00", "--"), "normal": ("#009E73", ":")}
_LABELS = {"general": "generalized Laplace", "laplace": "Laplace", "normal": "normal"}
_MARKS = ("o", "s", "D", "^", "v")


def draw_fits(tracks: Tracks, fits: Sequence[TransitionFit], path: Path) -> Path:
    """Histograms of the steps between neighbouring frames, in deviations, under the three fitted laws."""
    from matplotlib.figure import Figure

    first = [fit for fit in fits if fit.max_gap == min(fit.max_gap for fit in fits)]
    increments = tracks.increments(first[0].max_gap)
    figure = Figure(figsize=(3.9 * len(first), 3.3), layout="constrained")
    axes = np.atleast_1d(figure.subplots(1, len(first), sharey=True))
    at = np.linspace(-5, 5, 501)
    for k, (axis, fit) in enumerate(zip(axes, first, strict=True)):
        deviation = fit.deviation
        steps = (increments[:, k] - fit.normal.loc) / deviation
        counts, edges = np.histogram(steps, bins=121, range=(-5, 5))
        density = counts / len(steps) / np.diff(edges)  # of all steps, also those beyond the picture
        axis.fill_between(edges[:-1], np.maximum(density, 1e-6), 1e-6, step="post", color=_QUIET, linewidth=0)
        for law, (colour, style) in _LAWS.items():
            values = getattr(fit, law).log_prob(at * deviation + fit.normal.loc) + np.log(deviation)
            axis.plot(at, np.exp(values), style, color=colour, linewidth=1.6, label=_LABELS[law])
        axis.set_yscale("log")
        axis.set_ylim(1e-4, 30)
        axis.set_title(f"{fit.factor}: α = {fit.general.alpha:.2f}", fontsize=10, loc="left", color=_INK)
        axis.set_xlabel(f"step / {deviation:.3g}")
        axis.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel("density")
    axes[0].legend(frameon=False, fontsize=8, loc="upper left")
    return _save(figure, path)


def draw_gaps(fits: Sequence[TransitionFit], path: Path) -> Path:
    """Fitted shape against the largest gap, one line per factor; 1 is Laplace, 2 normal."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4.6, 3.3), layout="constrained")
    axis = figure.subplots()
    for k, name in enumerate(dict.fromkeys(fit.factor for fit in fits)):
        rows = [(fit.max_gap, fit.general.alpha) for fit in fits if fit.factor == name]
        colour = list(_LAWS.values())[k % 3][0]
        axis.plot(*zip(*rows, strict=True), marker=_MARKS[k % len(_MARKS)], color=colour, label=name, markersize=5)
    axis.axhline(1, color=_QUIET, linewidth=1)
    axis.annotate("Laplace", (1, 1), (0, 3), textcoords="offset points", fontsize=8, color="#6b7280")
    gaps = sorted({fit.max_gap for fit in fits})
    axis.set_xscale("log")
    axis.set_xticks(gaps, [str(gap) for gap in gaps])
    axis.minorticks_off()
    axis.set_ylim(0, max(1.15, *(fit.general.alpha + 0.1 for fit in fits)))
    axis.set_xlabel("largest gap (frames)")
    axis.set_ylabel("fitted shape α")
    axis.legend(frameon=False, fontsize=8, loc="lower right")
    axis.spines[["top", "right"]].set_visible(False)
    return _save(figure, path)


def draw_dependence(tracks: Tracks, path: Path, *, seed: int = 0) -> Path:
    """Joint densities of the steps of two factors, as they are and with each factor's pairs shuffled."""
    from matplotlib.figure import Figure

    natural = tracks.increments()
    shuffled = tracks.permuted(np.random.default_rng(seed)).increments()
    couples = [(i, j) for i in range(len(tracks.names)) for j in range(i)]
    figure = Figure(figsize=(2.9 * len(couples) + 0.6, 5.6), layout="constrained")
    axes = figure.subplots(2, len(couples), squeeze=False)
    for row, (steps, title) in enumerate(((natural, "as measured"), (shuffled, "permuted"))):
        for column, (i, j) in enumerate(couples):
            points = (steps[:, [j, i]] - steps[:, [j, i]].mean(axis=0)) / natural[:, [j, i]].std(axis=0)
            counts = np.histogram2d(points[:, 0], points[:, 1], bins=61, range=[[-5, 5], [-5, 5]])[0]
            axis = axes[row, column]
            axis.imshow(
                np.log10(counts.T + 1), origin="lower", extent=(-5, 5, -5, 5), cmap="cividis", interpolation="nearest"
            )
            r = np.corrcoef(np.abs(steps[:, [j, i]]).T)[0, 1]
            axis.set_title(f"{title}, r of sizes {r:.2f}", fontsize=9, loc="left", color=_INK)
            axis.set_xlabel(f"step in {tracks.names[j]} (deviations)", fontsize=8)
            axis.set_ylabel(f"step in {tracks.names[i]}", fontsize=8)
            axis.tick_params(labelsize=7)
    return _save(figure, path)


def pair_sheet(dataset: ImageDataset, path: Path, *, pairs: int = 12, stream: str = "pairs", seed: int = 0) -> Path:
    """A PNG of training pairs as an objective gets them: first images, second ones, and what changed."""
    dataset.need_pictures("a sheet of pairs")
    batch = make_stream(stream, dataset, pairs, seed)(0)
    assert batch.partners is not None
    difference = np.abs(batch.images.astype(np.int64) - batch.partners).astype(np.uint8)
    rows = [[enlarge(image, 96) for image in part] for part in (batch.images, batch.partners, difference)]
    picture = labelled_rows(rows, ["first", "second", "difference"])
    return _write(path, lambda: save_picture(picture, path))


def film(
    dataset: ImageDataset, path: Path, *, columns: int = 6, frames: int = 24, stream: str = "sequences", seed: int = 0
) -> Path:
    """An animated GIF of ``columns`` sequences side by side, six frames per second.

    Where tracks are shorter than ``frames``, the longest there are set the length.
    """
    from PIL import Image

    dataset.need_pictures("a film")
    frames = min(frames, dataset.longest_chain or frames)
    asked = Named.read(stream)
    source = make_stream(Named(asked.name, {**asked.options, "length": frames}), dataset, columns * (frames - 1), seed)
    assert isinstance(source, SequenceStream)
    strips = [
        Image.fromarray(
            np.concatenate(
                [np.pad(enlarge(image, 128), ((2, 2), (2, 2), (0, 0)), constant_values=128) for image in row], axis=1
            )
        )
        for row in source.frames(0).swapaxes(0, 1)
    ]
    return _write(
        path,
        lambda: save_picture(
            strips[0], path, save_all=True, append_images=strips[1:], duration=167, loop=0, optimize=False
        ),
    )


def _save(figure: Any, path: Path) -> Path:
    return _write(path, lambda: save_figure(figure, path, dpi=160))


def _write(path: Path, save: Callable[[], None]) -> Path:
    with writing(path):
        make_folders(path.parent)
        save()
    return path
