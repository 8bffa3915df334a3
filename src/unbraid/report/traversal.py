"""Latent traversals: what the decoder draws when one latent moves and the others stay."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from statistics import NormalDist
from typing import Literal

import numpy as np

from unbraid.data import ImageDataset, counter_rng
from unbraid.errors import UsageError
from unbraid.evaluation import ACTIVE
from unbraid.files import save_picture
from unbraid.metrics import mig
from unbraid.paths import quoted
from unbraid.report.tiles import captioned, enlarge, labelled_rows
from unbraid.training import Run

__all__ = ["Traversal", "TraversalKind", "save_animation", "save_grid", "traverse", "walk"]

TraversalKind = Literal["prior", "posterior", "range"]
LEAST = 0.1
"""A latent that knows less than this part of any factor is not named after it."""


@dataclass(frozen=True)
class Traversal:
    """Decoded images ``[latents, values, h, w, c]``, most informative latent first."""

    images: np.ndarray
    latents: tuple[int, ...]
    kl: np.ndarray | None
    """Mean KL of each row's latent in nats."""
    values: np.ndarray
    """What the latent of each row was set to, ``[latents, values]``."""
    knows: tuple[tuple[str, float] | None, ...] | None = None
    """Of which factor each row's latent knows most, and what part of its entropy; none below a tenth."""


def traverse(
    run: Run,
    data: ImageDataset,
    *,
    kind: TraversalKind = "posterior",
    values: int = 11,
    reach: float = 2.0,
    image: int | None = None,
    active_only: bool = False,
    seed: int = 0,
) -> Traversal:
    """Move one latent at a time.

    ``prior`` starts at the prior's mean and goes through the middle 95 % of the prior. ``posterior`` starts at the code
    of one image of the data set and goes where the codes of the data lie (their 1 % to 99 % quantiles). ``range``
    starts there too and goes from ``-reach`` to ``reach``. Rows are sorted by the latent's mean KL.

    Where a run's codes are discrete, ``posterior`` goes through the values that the codes of the data take: evenly
    chosen ones if there are more than ``values``, repeated if there are fewer. The other kinds would draw codes that no
    image has, and are refused.
    """
    if kind not in ("prior", "posterior", "range"):
        raise UsageError(f"kind must be prior, posterior or range, got {kind!r}")
    if values < 2 or not reach > 0:
        raise UsageError(f"values must be at least 2 and reach positive, got {values} and {reach}")
    for ability in ("encode", "decode"):
        if not run.can(ability):
            raise UsageError(
                f"{run.path} has no latents to walk along: a model trained by {run.objective.name!r} does not "
                f"{ability}; `unbraid report {quoted(run.path)}` shows what it does"
            )
    if run.discrete_codes and kind != "posterior":
        raise UsageError(
            f"{run.path} has codes of a few values, and most of what kind {kind!r} goes through is none of them; take "
            "kind posterior, which goes through the values themselves"
        )
    data.need_pictures("a traversal")
    rng = counter_rng(seed, 0)
    index = data.sample_index(1000, rng)
    sample = data.images(index, rng)
    found = run.describe(sample, seed=seed)
    codes = found["mean"] if "mean" in found else run.encode(sample)
    kl = found["kl_per_latent"].mean(axis=0) if "kl_per_latent" in found else None
    order = np.argsort(-(kl if kl is not None else codes.var(axis=0)), kind="stable")
    if active_only and kl is not None:
        order = order[kl[order] > ACTIVE]
        if len(order) == 0:
            raise UsageError(
                f"{run.path} has no active latent: all codes are the prior; train longer or weaken the penalty"
            )
    start = np.zeros(codes.shape[1]) if kind == "prior" else _code_of(run, data, image, codes, rng)
    paths = np.stack([_path(kind, codes[:, latent], values, reach, discrete=run.discrete_codes) for latent in order])
    batch = np.repeat(start[None, None], len(order), axis=0).repeat(values, axis=1)  # [latents, values, d]
    batch[np.arange(len(order)), :, order] = paths
    images = run.decode(batch.reshape(-1, len(start)))
    return Traversal(
        images.reshape(len(order), values, *images.shape[1:]),
        tuple(int(latent) for latent in order),
        None if kl is None else kl[order],
        paths,
        _known(codes[:, order], data, index, counter_rng(seed, 1), discrete=run.discrete_codes),
    )


def _known(
    codes: np.ndarray, data: ImageDataset, index: np.ndarray, rng: np.random.Generator, *, discrete: bool
) -> tuple[tuple[str, float] | None, ...] | None:
    """Of which factor each code knows most, in parts of that factor's entropy and beyond chance."""
    names = data.factor_names
    factors = data.factors(index) if data.factor_sizes else None  # measured ones have no sizes, nor a plug-in entropy
    varying = [] if factors is None else [k for k in range(factors.shape[1]) if np.ptp(factors[:, k])]
    if factors is None or not varying:
        return None
    chosen = factors[:, varying]
    binning: Literal["values", "width"] = "values" if discrete else "width"
    found, chance = (mig(codes, rows, binning=binning).parts for rows in (chosen, rng.permutation(chosen)))
    # Counts of few images find information in anything: what they find with images mixed up is taken off.
    shares = (found["information"] - chance["information"]) / (found["entropy"] - chance["information"])  # [latents, K]
    best = shares.argmax(axis=1)
    return tuple(
        (names[varying[k]], float(share[k])) if share[k] >= LEAST else None
        for share, k in zip(shares, best, strict=True)
    )


def _code_of(
    run: Run, data: ImageDataset, image: int | None, codes: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    if image is None:
        return codes[int(rng.integers(len(codes)))]
    if not 0 <= image < len(data):
        raise UsageError(f"image must lie in 0..{len(data) - 1}, got {image}")
    return run.encode(data.images(np.array([image]), rng))[0]


def _path(kind: TraversalKind, codes: np.ndarray, values: int, reach: float, *, discrete: bool) -> np.ndarray:
    if kind == "prior":
        return np.array([NormalDist().inv_cdf(p) for p in np.linspace(0.025, 0.975, values)])
    if kind == "posterior":
        return walk(codes, values, discrete=discrete)
    return np.linspace(-reach, reach, values)


def walk(codes: np.ndarray, values: int, *, discrete: bool) -> np.ndarray:
    """So many steps through where the codes ``[n]`` of a latent lie; discrete ones only through values they take."""
    if discrete:
        taken = np.unique(codes)
        return taken[np.linspace(0, len(taken) - 1, values).round().astype(int)]
    low, high = np.quantile(codes, [0.01, 0.99])
    return np.linspace(low, high, values)


def save_grid(traversal: Traversal, path: Path) -> None:
    """A PNG with a labelled row per latent and a column per value."""
    tiles = [[enlarge(image) for image in row] for row in traversal.images]
    notes = None if traversal.kl is None else [f"{kl:.2f} nats" for kl in traversal.kl]
    save_picture(labelled_rows(tiles, _labels(traversal), notes), path)


def save_animation(traversal: Traversal, path: Path, *, seconds: float = 2.0) -> None:
    """A GIF in which every latent moves there and back at once."""
    labels = _labels(traversal)
    if traversal.kl is not None:
        labels = [f"{label}  {kl:.2f} nats" for label, kl in zip(labels, traversal.kl, strict=True)]
    there = range(traversal.images.shape[1])
    frames = [
        captioned([enlarge(row[step], 96) for row in traversal.images], labels, columns=5)
        for step in [*there, *reversed(there[1:-1])]
    ]
    duration = int(1000 * seconds / len(there))
    save_picture(frames[0], path, save_all=True, append_images=frames[1:], duration=duration, loop=0)


def _labels(traversal: Traversal) -> list[str]:
    known = traversal.knows or (None,) * len(traversal.latents)
    return [
        f"z{latent}" if fact is None else f"{fact[0].replace('_', ' ')} {fact[1]:.0%}   z{latent}"
        for latent, fact in zip(traversal.latents, known, strict=True)
    ]
