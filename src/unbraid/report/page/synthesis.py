"""What each class of an ABS run would draw of an image, how sure that makes it, and how far it can be trusted."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from unbraid.data import Dataset, counter_rng
from unbraid.errors import UsageWarning
from unbraid.evaluation import class_names, has_classes, true_classes
from unbraid.nets import ClassVAEs
from unbraid.report.page.captions import DRAWN
from unbraid.report.page.markup import Html, Section, figure, fragment, section, tag
from unbraid.report.page.pictures import png
from unbraid.report.page.predictions import Predicted
from unbraid.report.page.tables import data_table
from unbraid.report.tiles import enlarge
from unbraid.robustness import synthesis
from unbraid.training import Run

__all__ = ["Drawn", "drawings", "see_drawings"]

IMAGES, BOUNDED = 10, 20
"""Images whose drawings are shown, and images whose bounds are computed."""
SHOWN = 10
"""Classes whose drawings are shown, the best first."""
CANDIDATES = 400
"""Images among which one of each class is looked for."""


@dataclass(frozen=True)
class Drawn:
    """What a model that explains images by drawing them was seen to do."""

    names: tuple[str, ...]
    images: np.ndarray
    """uint8 ``[n, h, w, c]``."""
    truth: np.ndarray | None
    found: synthesis.Explanation
    posterior: np.ndarray
    calibration: synthesis.Calibration
    fitted: int
    """Images that the posterior was fitted to; 0 where it is the published one."""
    bounds: synthesis.Bounds | None
    bounded: np.ndarray
    """True classes of the images that were bounded."""
    search: str
    data: str


def see_drawings(run: Run, data: Dataset, seed: int, predicted: Sequence[Predicted]) -> Drawn | None:
    """Let an ABS run explain images of the data; nothing for other runs and for vectors."""
    if not isinstance(run.model, ClassVAEs) or not data.has_pictures:
        return None
    search, known = run.objective.search, has_classes(run, data)  # type: ignore[attr-defined]
    index = data.sample_index(min(CANDIDATES, len(data)), counter_rng(seed, 0))
    truth = true_classes(run, data, index) if known else None
    chosen = np.arange(min(IMAGES, len(index))) if truth is None else _one_of_each(truth)
    images = data.images(index[chosen])
    found = synthesis.infer(run, images)
    calibration, fitted = synthesis.PUBLISHED, 0
    judged = next((one for one in predicted if one.measure == "accuracy"), None)
    if judged is not None and search.likelihood == "gaussian":
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UsageWarning)  # the page tells eta
            calibration, fitted = synthesis.calibrate(judged.outputs, judged.truth), len(judged.truth)
    bounds, bounded = None, index[:0]
    if truth is not None and search.likelihood == "gaussian":
        bounded = truth[:BOUNDED]
        bounds = synthesis.lower_bounds(run, data.images(index[:BOUNDED]), bounded)
    return Drawn(
        class_names(run, data, run.model.classes),
        images,
        None if truth is None else truth[chosen],
        found,
        synthesis.posterior(-found.energy, calibration),
        calibration,
        fitted,
        bounds,
        bounded,
        f"{search.samples:,} random latents and {search.iterations} passes of Adam",
        data.name,
    )


def _one_of_each(truth: np.ndarray) -> np.ndarray:
    """Positions of the first image of each class, in the order of classes, filled up with others."""
    first = np.unique(truth, return_index=True)[1][:IMAGES]
    rest = np.setdiff1d(np.arange(len(truth)), first)
    return np.concatenate([first, rest[: IMAGES - len(first)]])


def drawings(drawn: Drawn | None) -> list[Section]:
    """The sections about it."""
    if drawn is None:
        return []
    rows = [_row(drawn, number) for number in range(len(drawn.images))]
    fitted = f"fitted to {drawn.fitted:,} images" if drawn.fitted else "as published"
    scale = f"alpha {drawn.calibration.alpha:.3g}, eta {drawn.calibration.eta:.3g}, {fitted}"
    told = f"{DRAWN['drawings']} Images of {drawn.data}, searched with {drawn.search}; posterior with {scale}."
    found = [section("What each class would draw", figure(told, fragment(rows)), short="Drawings")]
    if drawn.bounds is not None:
        found.append(_bounds(drawn, drawn.bounds))
    return found


def _row(drawn: Drawn, number: int) -> Html:
    truth = None if drawn.truth is None else drawn.names[drawn.truth[number]]
    tiles = [_tile(drawn.images[number], "image", [f"image: {truth}" if truth else "image"], "input")]
    best = drawn.found.best[number]
    for c in np.argsort(drawn.found.energy[number], kind="stable")[:SHOWN]:
        energy, chance = drawn.found.energy[number, c], drawn.posterior[number, c]
        picture = (255 * drawn.found.reconstructions[number, c]).round().astype(np.uint8).transpose(1, 2, 0)
        text = [drawn.names[c], f"{energy:.1f}", f"p {chance:.2f}"]
        about = f"drawn as {drawn.names[c]}, energy {energy:.1f}, posterior {chance:.2f}"
        tiles.append(_tile(picture, about, text, "best" if c == best else None))
    return tag("ul", tiles, class_="pairs captioned drawn")


def _tile(image: np.ndarray, about: str, lines: Sequence[str], kind: str | None) -> Html:
    picture = tag("img", src=png(enlarge(image, 56)), width=64, alt=about, class_="pixels")
    words = [tag("b", lines[0]), *(part for line in lines[1:] for part in (tag("br"), line))]
    return tag("li", picture, tag("small", words), class_=kind)


def _bounds(drawn: Drawn, bounds: synthesis.Bounds) -> Section:
    coupled = bounds.coupled if bounds.coupled is not None else bounds.l2
    rows = [
        [number + 1, drawn.names[label], "yes" if right else "no", float(plain), float(both)]
        for number, (label, right, plain, both) in enumerate(
            zip(drawn.bounded, bounds.right, bounds.l2, coupled, strict=True)
        )
    ]
    table = data_table(["image", "class", "named right", "L2 bound", "coupled L2 bound"], rows, "Lower bounds")
    told = f"{DRAWN['bounds']} Here, {bounds}. Searched with {drawn.search}; images of {drawn.data}."
    return section("How far images may be moved", figure(told, table), short="Bounds")
