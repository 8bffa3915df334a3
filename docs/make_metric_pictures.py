"""Score four standard codes by every metric; draw the pictures and fill the tables of ``docs/metrics``.

``python docs/make_metric_pictures.py`` writes ``docs/metrics/values.json``, ``docs/metrics/images/*.svg`` and the
tables between the ``values`` marks of the pages. Nothing depends on a clock or a global random state: a second run
changes nothing. ``--draw`` draws and fills from the stored values without computing them again, ``--missing`` computes
those of scores that have none yet.
"""

import json
import math
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from unbraid.data import IdentityFactors
from unbraid.metrics import AGGREGATIONS, MATRICES, METRICS, Score

FOLDER = Path(__file__).parent / "metrics"
SIZES = (5, 6, 8, 10)
SAMPLES = 2000
NOISE = 0.5
ANGLES = (9, 27, 45, 63, 81)
CODES = ("perfect", "rotated", "duplicated", "noisy")

Row = tuple[str, dict[str, Any], Callable[[Score], tuple[float, float]]]
"""A line of a page's table: its label, the options of the score, and what is read off the answer."""


def whole(score: Score) -> tuple[float, float]:
    return score.value, score.ceiling


def part(name: str, ceiling: str = "") -> Callable[[Score], tuple[float, float]]:
    return lambda score: (float(score.parts[name]), float(score.parts[ceiling]) if ceiling else math.nan)


def accuracy(learner: str, size: int) -> Callable[[Score], tuple[float, float]]:
    return lambda score: (
        float(score.parts[learner]["mean_test"][score.settings["sizes"].index(size)]),
        score.ceiling if (learner, size) == ("gbt", 1000) else math.nan,
    )


ROWS: dict[str, list[Row]] = {name: [("default", {}, whole)] for name in METRICS}
for _name in ("mig", "mig_sup", "jemmig", "dcimig", "pairwise_mutual_information", "modularity"):
    ROWS[_name].append(('`binning="quantile"`', {"binning": "quantile"}, whole))
for _name in ("modularity", "mig_sup"):
    ROWS[_name].append(("`active_only=True`", {"active_only": True}, whole))
for _name in ("beta_vae", "sap", "explicitness", "udr"):
    ROWS[_name].append(("`rescale=True`", {"rescale": True}, whole))
ROWS["factor_vae"].append(("`relative=True`", {"relative": True}, whole))
ROWS["sap"] += [("`c=1`", {"c": 1.0}, whole), ("`continuous=True`", {"continuous": True}, whole)]
ROWS["irs"].append(("`robust=True`", {"robust": True}, whole))
ROWS["mcc"].append(('`method="pearson"`', {"method": "pearson"}, whole))
ROWS["wasserstein_correlation"].append(("`normalize=True`", {"normalize": True}, whole))
ROWS["udr"].append(('`kind="spearman"`', {"kind": "spearman"}, whole))
ROWS["disentanglement_score"] = [
    ("default", {}, whole),
    ('`mode="literal"`', {"mode": "literal"}, whole),
]
ROWS["dci"] = [
    ("D (the value)", {}, whole),
    ("C, completeness", {}, part("completeness")),
    ("I, informativeness", {}, part("informativeness_test")),
]
ROWS["infomec"] = [
    ("InfoM (the value)", {}, whole),
    ("InfoC", {}, part("infoc", "infoc_ceiling")),
    ("InfoE", {}, part("infoe")),
    ('InfoM, `estimator="bins"`', {"estimator": "bins"}, whole),
]
ROWS["dci_es"] = [("E (the value)", {}, whole), ("S, size", {}, part("size"))]
ROWS["downstream"] = [
    (f"{label}, {size} labels", {}, accuracy(learner, size))
    for learner, label in (("gbt", "trees"), ("lr", "logistic regression"))
    for size in (1000, 100, 10)
]
ROWS["med"] += [
    ("C, completeness", {}, part("completeness", "completeness_ceiling")),
    ("`debias=True`", {"debias": True}, whole),
    ("`top=1`", {"top": 1}, whole),
]
ROWS["reduced"] = [
    ("default", {}, whole),
    ("accuracy, all codes", {}, part("plain")),
    ("accuracy, own code dropped", {}, part("own")),
    ("accuracy of the others then", {}, part("others")),
]
ROWS["support"] += [
    ("codes as they are", {}, part("raw")),
    ("shuffled codes", {}, part("shuffled")),
    ("the factors", {}, part("factors")),
]
_FEW: dict[str, Any] = {"train": 1000, "test": 1000, "repeats": 3}
ROWS["strong"] = [
    ("1,000 images, 3 repeats", _FEW, whole),
    ("without the shift", _FEW, part("plain")),
    ("gap", _FEW, part("gap")),
]
_SOME: dict[str, Any] = {"train": 2000, "test": 1000}
ROWS["unfairness"] = [
    ("2,000 images", _SOME, whole),
    ("accuracy of the predictions", _SOME, part("accuracy")),
    ("by chance", _SOME, part("by_chance")),
]
ROWS["edi"].append(("compactness", {}, part("compactness", "compactness_ceiling")))
ROWS["block_r2"].append(("leak", {}, part("leak")))
ROWS["tmex"] += [("errors", {}, part("errors")), ("errors by chance", {}, part("floor"))]
ROWS["pida"] = [
    ("2,000 pairs", {"pairs": 2000}, whole),
    *((name.replace("_", " "), {"pairs": 2000}, part(name)) for name in METRICS["pida"].parts),
]
ROWS["unified"] = [
    ("groups per factor", {}, whole),
    *(
        (f"{title} of {matrix}", {}, part(f"{matrix}_{name}"))
        for matrix in MATRICES
        for name, (title, _) in AGGREGATIONS.items()
    ),
]


def turn(codes: np.ndarray, degrees: float) -> np.ndarray:
    """The first code with the second and the third with the fourth, rotated by an angle."""
    cosine, sine = np.cos(np.deg2rad(degrees)), np.sin(np.deg2rad(degrees))
    left, right = codes[:, 0::2], codes[:, 1::2]
    return np.stack([cosine * left + sine * right, cosine * right - sine * left], axis=2).reshape(codes.shape)


def code(name: str, perfect: np.ndarray, seed: int = 0, degrees: float = 45.0) -> np.ndarray:
    """A standard code of every image of the grid, made from the perfect one."""
    if name == "rotated":
        return turn(perfect, degrees)
    if name == "duplicated":
        return np.hstack([perfect, perfect])
    if name == "noisy":
        return perfect + NOISE * np.random.default_rng(seed).standard_normal(perfect.shape)
    return perfect


def models(name: str, perfect: np.ndarray) -> list[np.ndarray]:
    """Five models for UDR: own noise, own angle, own order and own signs of the codes."""
    found = []
    for seed, degrees in enumerate(ANGLES):
        rng = np.random.default_rng(seed)
        codes = code(name, perfect, seed, degrees)
        found.append(codes[:, rng.permutation(codes.shape[1])] * rng.choice([-1, 1], codes.shape[1]))
    return found


def compute(known: dict[str, Any]) -> dict[str, dict[str, dict[str, list[float]]]]:
    """Value and ceiling by score, line of the table and code; those ``known`` stay."""
    data = IdentityFactors(SIZES)
    grid = data.space.factors(np.arange(len(data.space)))
    perfect = (grid - grid.mean(axis=0)) / grid.std(axis=0)
    drawn = np.sort(np.random.default_rng(0).permutation(len(grid))[:SAMPLES])
    values: dict[str, dict[str, dict[str, list[float]]]] = {}
    for name, entry in METRICS.items():
        if name in known:
            values[name] = known[name]
            continue
        values[name] = {label: {} for label, _, _ in ROWS[name]}
        for which in CODES:
            table = code(which, perfect)
            if entry.needs == "interventions":
                arguments = [lambda images, table=table: table[data.space.index(images.reshape(len(images), -1))], data]
            elif entry.needs == "models":
                arguments = [[codes[drawn] for codes in models(which, perfect)]]
            else:
                arguments = [table[drawn]] if entry.needs == "codes" else [table[drawn], grid[drawn]]
            scores: dict[str, Score] = {}
            for label, options, read in ROWS[name]:
                key = str(options)
                if key not in scores:
                    scores[key] = entry.function(*arguments, **options, seed=0)
                values[name][label][which] = [round(number, 6) for number in read(scores[key])]
        print(name, {which: values[name][ROWS[name][0][0]][which][0] for which in CODES}, flush=True)
    return values


INK, QUIET, LINE = "#1f2430", "#5b6472", "#c9ced6"
COLOURS = {"perfect": "#0072b2", "rotated": "#e69f00", "duplicated": "#009e73", "noisy": "#cc79a7"}
"""Okabe and Ito's colours, told apart by colour-blind eyes; each bar is named as well."""


def shown(number: float) -> str:
    if math.isnan(number):
        return "–"
    text = "∞" if math.isinf(number) else f"{number:.2f}"
    return "0.00" if text == "-0.00" else text


def bars(name: str, row: dict[str, list[float]], plt: Any) -> Any:
    """One score's value on the four codes, the ceiling as a line."""
    numbers = [row[which][0] for which in CODES]
    ceiling = row["perfect"][1]
    lower = not METRICS[name].higher_is_better
    finite = [number for number in numbers if math.isfinite(number)]
    reach = max(1.0, *finite) if not lower else max(1.15 * max(finite), 0.6)
    figure, axis = plt.subplots(figsize=(5.6, 1.95))
    figure.subplots_adjust(left=0.17, right=0.965, top=0.76, bottom=0.13)
    for place, (which, number) in enumerate(zip(CODES, numbers, strict=True)):
        end = number if math.isfinite(number) else reach
        axis.barh(place, end, height=0.66, color=COLOURS[which], zorder=2)
        if math.isinf(number):
            axis.barh(place, end, height=0.66, color="none", edgecolor="white", hatch="///", linewidth=0, zorder=3)
        start = max(end, 0) + 0.015 * reach
        if start - 0.015 * reach < ceiling < start + 0.09 * reach:  # the line must not cross the number
            start = ceiling + 0.015 * reach
        axis.text(start, place, shown(number), va="center", fontsize=9.5, color=INK, zorder=4)
    if math.isfinite(ceiling):
        axis.axvline(ceiling, color=INK, linewidth=1.3, linestyle=(0, (4, 2)), zorder=5)
        axis.text(ceiling, -0.62, f"ceiling {ceiling:.2f}", ha="center", va="bottom", fontsize=8.5, color=INK)
    low = min(0.0, 1.1 * min(finite))
    axis.set(xlim=(low, 1.13 * reach), ylim=(3.5, -0.5))
    axis.set_yticks(range(4), CODES, fontsize=9.5, color=INK)
    axis.tick_params(axis="y", length=0)
    axis.tick_params(axis="x", labelsize=8, color=LINE, labelcolor=QUIET)
    axis.locator_params(axis="x", nbins=6)
    axis.spines[["top", "right", "left"]].set_visible(False)
    axis.spines["bottom"].set_color(LINE)
    axis.axvline(0, color=QUIET, linewidth=0.9, zorder=6)
    way = "lower is better, best 0" if lower else "higher is better"
    figure.text(0.015, 0.92, name, fontsize=11, fontweight="bold", color=INK, va="center")
    figure.text(0.985, 0.92, way, fontsize=8.5, color="#b3261e" if lower else QUIET, va="center", ha="right")
    return figure


def overview(values: dict[str, Any], plt: Any) -> Any:
    """All scores by all codes: numbers, shaded by the share of the ceiling."""
    names = [name for name in METRICS if METRICS[name].higher_is_better]
    falling = [name for name in METRICS if not METRICS[name].higher_is_better]
    figure, axis = plt.subplots(figsize=(7.0, 0.31 * (len(METRICS) + 3.2)))
    figure.subplots_adjust(left=0.355, right=0.985, top=0.935, bottom=0.02)
    colours = plt.get_cmap("Blues")
    gap = 1.15
    places = {name: float(i) for i, name in enumerate(names)}
    places |= {name: len(names) + gap + i for i, name in enumerate(falling)}
    for name, place in places.items():
        row = values[name][ROWS[name][0][0]]
        numbers = np.array([row[which][0] for which in CODES])
        ceiling = row["perfect"][1]
        worst = max(numbers[np.isfinite(numbers)].max(), 0.5)
        share = 1 - numbers / worst if name in falling else numbers / ceiling
        share = np.clip(np.nan_to_num(share, neginf=0.0), 0, 1)
        for column, (number, good) in enumerate(zip(numbers, share, strict=True)):
            face = colours(0.04 + 0.8 * good)
            axis.add_patch(plt.Rectangle((column, place), 0.97, 0.93, facecolor=face, linewidth=0))
            ink = "white" if good > 0.62 else INK
            axis.text(column + 0.485, place + 0.47, shown(number), ha="center", va="center", fontsize=9, color=ink)
        axis.text(4.5, place + 0.47, shown(ceiling), ha="center", va="center", fontsize=9, color=QUIET)
        axis.text(-0.1, place + 0.47, name, ha="right", va="center", fontsize=9.5, color=INK)
    for column, which in enumerate((*CODES, "ceiling")):
        colour = QUIET if which == "ceiling" else INK
        axis.text(column + 0.485, -0.35, which, ha="center", va="center", fontsize=9.5, fontweight="bold", color=colour)
    axis.text(0, len(names) + 0.62 * gap, "lower is better", va="center", fontsize=8.5, color="#b3261e")
    axis.set(xlim=(0, 5), ylim=(len(METRICS) + gap, 0))
    axis.axis("off")
    return figure


def draw(values: dict[str, Any]) -> None:
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot as plt

    plt.rcParams.update({"svg.hashsalt": "unbraid", "font.family": "DejaVu Sans", "hatch.linewidth": 1.4})
    (FOLDER / "images").mkdir(exist_ok=True)
    for name in (*METRICS, "overview"):
        figure = overview(values, plt) if name == "overview" else bars(name, values[name][ROWS[name][0][0]], plt)
        figure.savefig(FOLDER / "images" / f"{name}.svg", facecolor="white", metadata={"Date": None})
        plt.close(figure)


def fill(values: dict[str, Any]) -> None:
    """Put the tables between the marks of the pages."""
    for name in METRICS:
        lines = ["| | perfect | rotated | duplicated | noisy | ceiling |", "|---|---:|---:|---:|---:|---:|"]
        for label, row in values[name].items():
            numbers = [*(shown(row[which][0]) for which in CODES), shown(row["perfect"][1])]
            lines.append(f"| {label} | {' | '.join(numbers)} |")
        page = FOLDER / f"{name}.md"
        marks = r"(<!-- values -->\n).*?(\n<!-- end of values -->)"
        table = "\n".join(["", *lines, ""])
        text, found = re.subn(marks, rf"\g<1>{table}\g<2>", page.read_text(encoding="utf-8"), flags=re.DOTALL)
        if not found:
            raise SystemExit(f"{page.name} has no place for its values")
        page.write_text(text, encoding="utf-8")


def plain(thing: Any) -> Any:
    """The same with what JSON cannot write: no ceiling becomes null, infinity a word."""
    if isinstance(thing, dict):
        return {key: plain(value) for key, value in thing.items()}
    if isinstance(thing, list):
        return [plain(value) for value in thing]
    return None if math.isnan(thing) else "infinity" if math.isinf(thing) else thing


def numbers(thing: Any) -> Any:
    """The inverse of :func:`plain`."""
    if isinstance(thing, dict):
        return {key: numbers(value) for key, value in thing.items()}
    if isinstance(thing, list):
        return [numbers(value) for value in thing]
    return math.nan if thing is None else float(thing)


def main() -> None:
    path = FOLDER / "values.json"
    stored = numbers(json.loads(path.read_text(encoding="utf-8"))["scores"]) if path.exists() else {}
    if sys.argv[1:] == ["--draw"]:
        values = stored
    else:
        values = compute(stored if sys.argv[1:] == ["--missing"] else {})
        about = {"sizes": SIZES, "samples": SAMPLES, "noise": NOISE, "angles": ANGLES}
        path.write_text(
            json.dumps({"codes": about, "scores": plain(values)}, indent=1, allow_nan=False) + "\n", encoding="utf-8"
        )
    draw(values)
    fill(values)


if __name__ == "__main__":
    main()
