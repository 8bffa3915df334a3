"""The page about smallest distances: which attack comes how near, and what its images look like."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import polars

from unbraid.report.page.charts import legend
from unbraid.report.page.markup import Html, Section, figure, fragment, note, section, tag
from unbraid.report.page.tables import data_table
from unbraid.report.robustness import attack_charts as charts
from unbraid.report.robustness import captions
from unbraid.report.robustness.attack_charts import Nearest
from unbraid.report.robustness.pages import assemble, curves
from unbraid.robustness import BOUNDS, Doubt, climbs_by_way, fooled_within, nearest_of

__all__ = ["Attacked", "attack_page"]


BOUND_COLUMNS = ("model", "L2, mean", "L2 coupled, mean", "Linf, median", "images", "fooled within")


@dataclass(frozen=True)
class Attacked:
    """What is known of a model that was attacked."""

    name: str
    blocks: polars.DataFrame
    """Of :func:`unbraid.robustness.attack_blocks`."""
    classes: Sequence[str]
    """What its classes are called."""
    doubts: Mapping[str, Sequence[Doubt]] = field(default_factory=dict)
    """Reasons not to believe it, by norm."""
    distal: polars.DataFrame | None = None
    """Of :func:`unbraid.robustness.distal_blocks`."""
    bounds: polars.DataFrame | None = None
    """Of :func:`unbraid.robustness.bound_blocks`."""

    def nearest(self, norm: str, shape: Sequence[int]) -> list[Nearest]:
        """Of each image the nearest adversarial by any attack."""
        best = self.blocks.filter(norm=norm).sort("distance", maintain_order=True).unique("image", keep="first")
        return [
            Nearest(
                row["image"],
                row["label"],
                row["guess"],
                row["distance"],
                row["attack"],
                np.frombuffer(row["picture"], np.uint8).reshape(shape),
            )
            for row in best.sort("image").iter_rows(named=True)
        ]

    def distances(self, norm: str) -> np.ndarray:
        """Of each image the smallest distance by any attack."""
        part = self.blocks.filter(norm=norm)
        by_attack = {str(name): each.sort("image")["distance"] for (name,), each in part.group_by(["attack"])}
        return nearest_of(by_attack)


def attack_page(
    models: Sequence[Attacked],
    table: polars.DataFrame,
    originals: Mapping[int, np.ndarray],
    data: str,
    *,
    published: polars.DataFrame | None = None,
    seed: int = 0,
    notes: Sequence[str] = (),
    made_by: str = "unbraid.report.robustness.attack_page",
) -> str:
    """The page of models that were attacked on the same images; ``originals`` are these by their positions."""
    norms = [norm for norm in BOUNDS if norm in set(table["norm"])]
    shape = next(iter(originals.values())).shape
    told = captions.T1 if published is None else f"{captions.T1} {captions.T1_PUBLISHED}"
    parts: list[Section] = [section("How far", figure(told, charts.t1_table(table, published)), short="Table")]
    found = {norm: {one.name: one.distances(norm) for one in models} for norm in norms}
    bounded = [one for one in models if one.bounds is not None]
    if bounded:
        table_of_bounds = data_table(
            BOUND_COLUMNS, [row for one in bounded for row in _bound_rows(one)], "Lower bounds"
        )
        parts.append(section("How far at least", figure(captions.BOUNDED, table_of_bounds), short="Bounds"))
    drawn = [charts.distance_curves(found[norm], norm, seed) for norm in norms]
    parts.append(section("Accuracy over distance", curves(captions.BANDS, [m.name for m in models], drawn)))
    bars = [
        charts.distance_histogram(distances, norm, name, tone, _reach(found[norm]))
        for norm in norms
        for tone, (name, distances) in enumerate(found[norm].items())
    ]
    names = legend([one.name for one in models])
    parts.append(
        section("Distances", figure(captions.HISTOGRAM, names, tag("div", bars, class_="grid")), short="Histograms")
    )
    parts += _panels(models, originals, norms, seed)
    climbs = [
        fragment(tag("h3", one.name + way), charts.distal_images(part, shape, one.classes))
        for one in models
        if one.distal is not None
        for way, part in climbs_by_way(one.distal)
    ]
    if climbs:
        parts.append(section("Sure of noise", figure(captions.DISTAL, climbs), short="Noise"))
    count = len(originals)
    numbers = [
        ("models", str(len(models)), ""),
        ("images", f"{count:,}", data),
        ("attacks", str(len(set(zip(table["norm"], table["attack"], strict=True))) - len(norms)), ", ".join(norms)),
    ]
    doubts = [
        note(tag("b", f"{one.name}, {norm}: "), str(doubt))
        for one in models
        for norm, of_norm in one.doubts.items()
        for doubt in of_norm
    ]
    return assemble(
        f"Attacks on {data}", "how near the nearest adversarial images are", numbers, parts, notes, made_by, doubts
    )


def _panels(
    models: Sequence[Attacked], originals: Mapping[int, np.ndarray], norms: Sequence[str], seed: int
) -> list[Section]:
    shape = next(iter(originals.values())).shape
    classes: list[Html] = []
    quarters: list[Html] = []
    kind = "l2" if "l2" in norms else norms[-1]
    for one in models:
        panel = charts.by_class(one.nearest(kind, shape), originals, one.classes, kind, seed)
        if panel is not None:
            classes.append(fragment(tag("h3", one.name), panel))
        for norm in norms:
            rows = charts.by_quarter(one.nearest(norm, shape), originals, one.classes, norm, seed)
            if rows:
                quarters.append(fragment(tag("h3", f"{one.name}, {norm}"), tag("div", rows, class_="grid wide")))
    found = []
    if classes:
        found.append(section("One of each class", figure(captions.BY_CLASS, classes), short="Classes"))
    if quarters:
        found.append(section("Near and far", figure(captions.BY_QUARTER, quarters), short="Near and far"))
    return found


def _bound_rows(one: Attacked) -> list[list[str | float]]:
    """Means of the bounds in l2, the median in linf, and how many images were fooled within them.

    Of models that see thresholded images, the bounds of these in another row.
    """
    known = one.bounds
    assert known is not None
    within = 0
    for norm, column in (("l2", "coupled"), ("linf", "linf")):
        if norm in set(one.blocks["norm"]):
            within += fooled_within(one.distances(norm), known.sort("image")[column])

    def means(prefix: str = "") -> list[float]:
        return [float(known[prefix + name].mean()) for name in ("l2", "coupled")]  # type: ignore[arg-type]

    rows: list[list[str | float]] = [[one.name, *means(), float(np.median(known["linf"])), len(known), within]]
    if "seen_l2" in known.columns:
        rows.append([f"{one.name}, of thresholded images", *means("seen_"), "", len(known), ""])
    return rows


def _reach(found: Mapping[str, np.ndarray]) -> float:
    finite = np.concatenate([values[np.isfinite(values)] for values in found.values()])
    return float(finite.max(initial=0.0)) or 1.0
