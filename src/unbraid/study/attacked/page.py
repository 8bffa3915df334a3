"""A page in Markdown about classifiers that were attacked, with its tables and pictures beside it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import polars as pl

from unbraid.files import make_folders, save_table, write_text
from unbraid.robustness import (
    ALL,
    BOUNDS,
    Doubt,
    attack_table,
    climbs_by_way,
    fooled_within,
    nearest_of,
    published_attacks,
)
from unbraid.sharing import code_span, markdown
from unbraid.study.analysis._style import save_figure
from unbraid.study.attacked.cautions import spared, told_doubts
from unbraid.study.attacked.findings import judge_attacks
from unbraid.study.attacked.roles import ROLES
from unbraid.study.attacked.views import plot_curves, plot_pictures
from unbraid.study.judged import findings_section

__all__ = ["Attack", "write_attack_study"]


@dataclass(frozen=True)
class Attack:
    """A classifier, what it is, and what was found about it."""

    name: str
    role: str
    """One of ``ROLES``, or nothing."""
    about: str
    """How it was trained."""
    blocks: pl.DataFrame
    """Of :func:`unbraid.robustness.attack_blocks`."""
    climbs: pl.DataFrame | None = None
    """Of :func:`unbraid.robustness.distal_blocks`."""
    bounds: pl.DataFrame | None = None
    """Of :func:`unbraid.robustness.bound_blocks`."""
    doubts: Mapping[str, Sequence[Doubt]] = field(default_factory=dict)
    """Reasons not to believe the distances, by norm."""

    def nearest(self, norm: str) -> np.ndarray:
        part = self.blocks.filter(norm=norm).sort("image")
        return nearest_of({str(name): each["distance"] for (name,), each in part.group_by(["attack"])})


def write_attack_study(
    folder: Path,
    models: Sequence[Attack],
    originals: Mapping[int, np.ndarray],
    data: str,
    *,
    budget: str,
    command: str,
    seed: int = 0,
) -> Path:
    """Write report.md, the tables it rests on and its pictures; ``originals`` are the images by their positions."""
    make_folders(folder)
    joined = {"distances": "blocks", "climbs": "climbs", "bounds": "bounds"}
    tables: dict[str, pl.DataFrame] = {}
    for name, attribute in joined.items():
        parts = [
            part.drop("picture", strict=False).select(pl.lit(one.name).alias("model"), pl.all())
            for one in models
            if (part := getattr(one, attribute)) is not None
        ]
        if parts:
            tables[name] = pl.concat(parts, how="diagonal_relaxed")
            save_table(tables[name], folder / f"{name}.parquet")
    roles = {one.name: one.role for one in models}
    about = pl.DataFrame({"model": list(roles), "role": list(roles.values()), "about": [one.about for one in models]})
    write_text(folder / "models.csv", about.write_csv())
    lines = [
        f"# Attacks on {markdown(data)}",
        "",
        f"- {len(originals)} images of {code_span(data)}, the same for all models; budget {code_span(budget)}",
        *(f"- {markdown(one.name)}: {markdown(one.about)}" for one in models),
        *spared(models),
        *told_doubts(models),
        f"- Made by {code_span(command)}; `distances.parquet` has every image and attack",
    ]
    if sum(bool(role) for role in roles.values()) > 1:
        found = judge_attacks(tables["distances"], roles, tables.get("climbs"), data, seed)
        lines += findings_section("Findings about attacks", "Schott et al. (2019)", found, ELSE, COUNTED)
    lines += _distances(models, data, seed)
    lines += _bounds(models)
    lines += _climbs(models)
    lines += _pictures(folder, models, originals, seed)
    write_text(folder / "report.md", "\n".join(lines) + "\n")
    return folder / "report.md"


COUNTED = (
    "Models are compared on the same images, drawn again 2,000 times: a median is above another if it is in 97.5 % of "
    "the draws"
)
ELSE = "where neither is, it is undecided. Seeds of training were not varied"


def _distances(models: Sequence[Attack], data: str, seed: int) -> Iterator[str]:
    tables = {one.name: attack_table(one.blocks, seed=seed) for one in models}
    known = {row[:3]: row[3:] for row in published_attacks(data).iter_rows()}
    beside = "; in brackets Schott et al. (2019) for their models, attacks and number of images, which they do not tell"
    yield from (
        "",
        "## How far",
        "",
        "Median distance of the nearest image that each attack found / accuracy in % at the bound. All is the nearest "
        f"by any of them, with 95 % intervals over images of the median{beside if known else ''}. Distances are upper "
        "bounds.",
        "",
        "| norm (bound) | attack | " + " | ".join(markdown(one.name) for one in models) + " |",
        "|---|---|" + "---|" * len(models),
    )
    clean = [f"{100 * np.mean(one.nearest(one.blocks['norm'][0]) > 0):.0f} %" for one in models]
    yield f"| clean | | {' | '.join(clean)} |"
    for norm in BOUNDS:
        rows = [table.filter(norm=norm) for table in tables.values()]
        names = dict.fromkeys(name for part in rows for name in part["attack"] if name != ALL)
        for name in (*names, ALL) if names else ():
            cells = []
            for one, part in zip(models, rows, strict=True):
                found = part.filter(attack=name)
                theirs = known.get((norm, name, ROLES.get(one.role, "")))
                cells.append(_cell(found, name == ALL, theirs))
            head = f"{norm} ({BOUNDS[norm]:g}) | {'**all**' if name == ALL else name}"
            yield f"| {head} | {' | '.join(cells)} |"


def _cell(found: pl.DataFrame, whole: bool, theirs: tuple[float, ...] | None) -> str:
    if not len(found):
        return ""
    row = found.row(0, named=True)
    text = f"{_number(row['median'])} / {row['accuracy']:.0f}"
    if whole:
        text = f"**{text}** ({_number(row['median_low'])} to {_number(row['median_high'])})"
    return text if theirs is None else f"{text} \\[{_number(theirs[0])} / {theirs[1]:.0f}\\]"


def _number(value: float) -> str:
    return "inf" if np.isinf(value) else f"{value:.3g}"


def _bounds(models: Sequence[Attack]) -> Iterator[str]:
    known = [(one, one.bounds) for one in models if one.bounds is not None]
    if not known:
        return
    yield from (
        "",
        "## How far at least",
        "",
        "Mean lower bounds in L2, as published with the formula mended and with the divergence of other classes "
        "counted (coupled), and the median in Linf, ± standard errors over images. They hold if the search found the "
        "best latent of every class; the last column counts images that an attack fooled within their bound. "
        "Published, of digits: 0.690 for ABS, 0.601 for Binary ABS, median Linf 0.06. Binary ABS sees thresholded "
        "images: one with a pixel next to the threshold crosses it by next to nothing, which the bound of the image "
        "itself must count.",
        "",
        "| | L2 | L2 coupled | Linf, median | images | fooled within |",
        "|---|---|---|---|---|---|",
    )
    for one, found in known:
        sizes = [_with_error(found[name].to_numpy()) for name in ("l2", "coupled")]
        within = sum(
            fooled_within(one.nearest(norm), found.sort("image")[column])
            for norm, column in (("l2", "coupled"), ("linf", "linf"))
            if norm in set(one.blocks["norm"])
        )
        median = _number(float(np.median(found["linf"].to_numpy())))
        yield f"| {markdown(one.name)} | {sizes[0]} | {sizes[1]} | {median} | {len(found)} | {within} |"
        if "seen_l2" in found.columns:
            sizes = [_with_error(found[f"seen_{name}"].to_numpy()) for name in ("l2", "coupled")]
            yield f"| {markdown(one.name)}, of thresholded images | {sizes[0]} | {sizes[1]} | | {len(found)} | |"


def _with_error(values: np.ndarray) -> str:
    if len(values) < 2:  # one image tells nothing of the others
        return f"{values.mean():.3f}"
    return f"{values.mean():.3f} ± {values.std(ddof=1) / np.sqrt(len(values)):.3f}"


def _climbs(models: Sequence[Attack]) -> Iterator[str]:
    known = [(one, one.climbs) for one in models if one.climbs is not None]
    if not known:
        return
    yield from (
        "",
        "## Sure of noise",
        "",
        "Climbs from uniform noise until a class has a probability of 0.9, calibrated so that the median confidence on "
        "the attacked images is 0.9. Where a posterior is flat on noise no climb along the probability begins; climbs "
        "along the class's own score tell where such a model becomes sure.",
        "",
        "| | sure | median confidence | median steps |",
        "|---|---|---|---|",
    )
    for one, climbs in known:
        for way, found in climbs_by_way(climbs):
            sure, middle, steps = int(found["success"].sum()), np.median(found["confidence"]), np.median(found["steps"])
            yield f"| {markdown(one.name + way)} | {sure} of {len(found)} | {middle:.3f} | {steps:.0f} |"


def _pictures(folder: Path, models: Sequence[Attack], originals: Mapping[int, np.ndarray], seed: int) -> Iterator[str]:
    norms = [norm for norm in BOUNDS if norm in set(models[0].blocks["norm"])]
    found = {norm: {one.name: one.nearest(norm) for one in models} for norm in norms}
    save_figure(plot_curves(found, BOUNDS, seed), folder / "curves.png")
    yield from ("", "## Pictures", "", "![Accuracy over distance, with bands over images](curves.png)")
    norm = "l2" if "l2" in norms else norms[0]
    shown = _one_of_each(models[0].blocks)
    rows: dict[str, list[tuple[np.ndarray, str] | None]] = {"image": [(originals[image], "") for image in shown]}
    shape = next(iter(originals.values())).shape
    for one in models:
        best = one.blocks.filter(norm=norm).sort("distance", maintain_order=True).unique("image", keep="first")
        by_image = {row["image"]: row for row in best.iter_rows(named=True)}
        rows[one.name] = [_told(by_image[image], shape) for image in shown]
    save_figure(plot_pictures(rows), folder / "nearest.png")
    yield from ("", f"![One image of each class and its nearest adversarial in {norm}, by model](nearest.png)")
    climbs = {
        one.name + way: [
            (np.frombuffer(row["picture"], np.uint8).reshape(shape), f"{row['label']:d}: {row['confidence']:.2f}")
            for row in part.iter_rows(named=True)
        ]
        for one in models
        if one.climbs is not None
        for way, part in climbs_by_way(one.climbs)
    }
    if climbs:
        save_figure(plot_pictures(climbs), folder / "climbs.png")
        yield from ("", "![Where climbs from noise ended: class and probability](climbs.png)")


def _one_of_each(blocks: pl.DataFrame) -> list[int]:
    """The first image of every class."""
    return [int(image) for image in blocks.unique("label", keep="first").sort("label")["image"]]


def _told(row: Mapping[str, object], shape: Sequence[int]) -> tuple[np.ndarray, str]:
    distance = float(row["distance"])  # type: ignore[arg-type]
    picture = np.frombuffer(row["picture"], np.uint8).reshape(shape)  # type: ignore[call-overload]
    found = f"{int(row['guess'])}: {distance:.2g}"  # type: ignore[call-overload]
    word = "wrong" if distance == 0 else "none" if np.isinf(distance) else found
    return picture, word
