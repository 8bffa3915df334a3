"""Charts about smallest distances: the table of attacks, curves, histograms, and panels of images."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import polars

from unbraid.data import counter_rng
from unbraid.report.page.axes import Scale, label_ticks, number
from unbraid.report.page.charts import Series, line_chart
from unbraid.report.page.markup import Html, tag
from unbraid.report.page.pictures import png
from unbraid.report.page.svg import HEIGHT, WIDTH, label, svg, tone_of
from unbraid.report.page.tables import data_table
from unbraid.report.tiles import enlarge
from unbraid.robustness import ALL, accuracy_curve

__all__ = ["Nearest", "by_class", "by_quarter", "distal_images", "distance_curves", "distance_histogram", "t1_table"]

BINS = 24
PER_QUARTER = 4
NORMS = {"l0": "L0, pixels changed", "l2": "L2", "linf": "L∞"}


class Nearest(NamedTuple):
    """The nearest adversarial image of a picture, by any attack."""

    image: int
    label: int
    guess: int
    distance: float
    attack: str
    picture: np.ndarray


def t1_table(table: polars.DataFrame, published: polars.DataFrame | None) -> Html:
    """Attacks by models, median / accuracy at the bound; "all" with its intervals; what was published beside it."""
    models = list(dict.fromkeys(table["model"]))
    cells = {(row["norm"], row["attack"], row["model"]): row for row in table.iter_rows(named=True)}
    known = {} if published is None else {row[:3]: row[3:] for row in published.iter_rows()}
    theirs = [] if published is None else list(dict.fromkeys(published["model"]))
    bounds = dict(table.select("norm", "bound").iter_rows())
    rows: list[list[object]] = []
    for norm, bound in bounds.items():
        ours = dict.fromkeys(attack for kind, attack, _ in cells if kind == norm and attack != ALL)
        extra = dict.fromkeys(attack for kind, attack, _ in known if kind == norm and attack not in (*ours, ALL))
        for place, attack in enumerate((*ours, *extra, ALL)):
            row: list[object] = ["" if place else tag("b", f"{norm} ({bound:g})")]
            row.append(tag("b", attack) if attack == ALL else attack)
            row += [_cell(cells.get((norm, attack, model)), attack == ALL) for model in models]
            row += [_published(known.get((norm, attack, model))) for model in theirs]
            rows.append(row)
    columns = ["norm (bound)", "attack", *models, *(f"{name} (published)" for name in theirs)]
    return data_table(columns, rows, "Median distance / accuracy at the bound in %", sortable=False)


def _cell(row: Mapping[str, float] | None, whole: bool) -> Html | str:
    if row is None:
        return ""
    text = f"{number(row['median'])} / {row['accuracy']:.0f}"
    if not whole:
        return text
    median = f"{number(row['median_low'])} to {number(row['median_high'])}"
    return tag("span", tag("b", text), tag("br"), tag("small", f"{median} / {_range(row)}"))


def _range(row: Mapping[str, float]) -> str:
    return f"{row['accuracy_low']:.0f} to {row['accuracy_high']:.0f}"


def _published(found: tuple[float, float] | None) -> str:
    return "" if found is None else f"{number(found[0])} / {found[1]:.0f}"


def distance_curves(found: Mapping[str, np.ndarray], norm: str, seed: int = 0) -> Html:
    """Accuracy over the bound with a band of 95 %, a curve per model."""
    most = _reach(found)
    bounds = np.arange(round(most) + 1) if norm == "l0" and most < 400 else np.linspace(0, most, 121)
    series = []
    for tone, (name, distances) in enumerate(found.items()):
        curve = accuracy_curve(distances, bounds, seed=seed)
        series.append(Series(name, bounds.astype(float), curve.accuracy, tone, curve.low, curve.high))
    return line_chart(series, NORMS[norm], x_label="bound", y_label="accuracy", within=(0, 1))


def distance_histogram(distances: np.ndarray, norm: str, name: str, tone: int, reach: float | None = None) -> Html:
    """How many images are how far; grey at the right, those that nothing was found for."""
    left, right, top, bottom = 40, 12, 30, 40
    finite = distances[np.isfinite(distances)]
    most = reach or float(finite.max(initial=0.0)) or 1.0
    counts, edges = np.histogram(finite, BINS, (0, most))
    never = int(np.isinf(distances).sum())
    end = WIDTH - right - (40 if never else 0)
    across = Scale(0.0, most, left, end)
    up = Scale(0.0, float(max(counts.max(initial=0), never, 1)), HEIGHT - bottom, top)
    body: list[Html] = [tag("text", f"{name}: {NORMS[norm]}", x=0, y=14, class_="name")]
    body.append(label("images", WIDTH - 2, 14, "end"))
    for tick, word in label_ticks(up.ticks(4, whole=True)):
        body.append(tag("path", d=f"M{left} {up(tick)}H{WIDTH - right}", class_="grid"))
        body.append(label(word, left - 7, up(tick) + 4, "end"))
    bars = [
        (across(a), across(b) - across(a), n, tone_of(tone))
        for a, b, n in zip(edges[:-1], edges[1:], counts, strict=True)
    ]
    bars += [(end + 12.0, 24.0, never, "dead")] if never else []
    for x, width, count, kind in bars:
        if count:
            high = up(0) - up(float(count))
            box = {"x": x, "y": up(float(count)), "width": round(max(width - 1, 1), 1), "height": round(high, 1)}
            body.append(tag("rect", class_=f"bar {kind}", **box))
    below = HEIGHT - bottom + 17
    body += [label(word, across(tick), below, "middle") for tick, word in label_ticks(across.ticks(5))]
    body += [label("none", end + 24, below, "middle")] if never else []
    body.append(label("distance of the nearest adversarial", (left + end) / 2, HEIGHT - 6, "middle"))
    about = f"{name}, {NORMS[norm]}: {len(finite)} distances from {number(float(finite.min(initial=most)))} to "
    return svg(body, f"{about}{number(float(finite.max(initial=0)))}, {never} images that nothing was found for")


def by_class(
    found: Sequence[Nearest], originals: Mapping[int, np.ndarray], classes: Sequence[str], norm: str, seed: int
) -> Html | None:
    """One image of each class, drawn at random from those that are named right and were moved."""
    rng, shown = counter_rng(seed, 0), []
    for number_of in range(len(classes)):
        some = [one for one in found if one.label == number_of and 0 < one.distance < np.inf]
        if some:
            shown.append(some[int(rng.integers(len(some)))])
    return _panel(shown, originals, classes, norm) if shown else None


def by_quarter(
    found: Sequence[Nearest], originals: Mapping[int, np.ndarray], classes: Sequence[str], norm: str, seed: int
) -> list[Html]:
    """Images from each quarter of the range up to the largest distance, drawn at random, near ones first."""
    moved = [one for one in found if 0 < one.distance < np.inf]
    most, rng, panels = max([one.distance for one in moved], default=0.0), counter_rng(seed, 1), []
    for quarter in range(4):
        low, high = quarter * most / 4, (quarter + 1) * most / 4
        some = [one for one in moved if low < one.distance <= high]
        if not some:
            continue
        pick = rng.choice(len(some), min(PER_QUARTER, len(some)), replace=False)
        chosen = sorted((some[k] for k in pick), key=lambda one: one.distance)
        heading = f"{norm} {number(low)} to {number(high)}: {len(some)} of {len(moved)} images"
        panels.append(tag("div", tag("h4", heading), _panel(chosen, originals, classes, norm)))
    return panels


def distal_images(found: polars.DataFrame, shape: Sequence[int], classes: Sequence[str]) -> Html:
    """Where climbs from noise ended."""
    shown = []
    for row in found.iter_rows(named=True):
        picture = np.frombuffer(row["picture"], np.uint8).reshape(shape)
        state = f"after {row['steps']} steps" if row["success"] else "not reached"
        text = f"{classes[row['label']]}: {row['confidence']:.2f}, {state}"
        drawn = tag("img", src=png(enlarge(picture, 64)), width=88, alt=text, class_="pixels")
        shown.append(tag("li", drawn, tag("small", text)))
    return tag("ul", shown, class_="pairs captioned ten")


def _panel(chosen: Sequence[Nearest], originals: Mapping[int, np.ndarray], classes: Sequence[str], norm: str) -> Html:
    """Image, adversarial and difference under each other."""
    shown = []
    for one in chosen:
        image = originals[one.image]
        column = np.concatenate([enlarge(part, 64) for part in (image, one.picture, _difference(image, one.picture))])
        text = f"{classes[one.label]}, taken for {classes[one.guess]}; {norm} {number(one.distance)} by {one.attack}"
        drawn = tag("img", src=png(column), width=88, alt=text, class_="pixels")
        shown.append(tag("li", drawn, tag("small", text)))
    return tag("ul", shown, class_="pairs captioned ten")


def _difference(image: np.ndarray, moved: np.ndarray) -> np.ndarray:
    """Grey where nothing changed, brighter and darker as it did, the largest change black or white."""
    change = moved.astype(np.float64) - image
    largest = max(float(np.abs(change).max()), 1.0)
    return (127.5 + 127.5 * change / largest).round().astype(np.uint8)


def _reach(found: Mapping[str, np.ndarray]) -> float:
    finite = np.concatenate([values[np.isfinite(values)] for values in found.values()])
    return float(finite.max(initial=0.0)) or 1.0
