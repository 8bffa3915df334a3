"""The charts of a benchmark: from its tables to pictures, one function each."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from unbraid.generalization import BASELINES
from unbraid.report.generalization.rows import Mark, Row, legend_of, mark_rows, stacks
from unbraid.report.page.axes import number
from unbraid.report.page.charts import Series, scatter, strips
from unbraid.report.page.markup import Html, fragment, tag
from unbraid.report.page.svg import WIDTH, label, svg
from unbraid.report.page.tables import heat_table
from unbraid.study.generalization import BINS, Benchmark

__all__ = [
    "attribution_chart",
    "disentanglement_chart",
    "error_chart",
    "modularity_chart",
    "scores_chart",
    "similarity_tables",
    "towards_chart",
    "trust_table",
]

PARTS = ("shrinkage", "offset", "noise")
_NAMES = {"constant": "constant", "train-mean": "training mean", "clamp": "clamped truth"}


def scores_chart(benchmark: Benchmark, data: str) -> Html:
    """E1: every model with one mark per split, baselines below."""
    here, splits = benchmark.on(data), benchmark.splits(data)
    clamp = dict(here.baselines.filter(pl.col("baseline") == "clamp").select("split", "r2").rows())
    rows, told = [], []
    for model in benchmark.models(data):
        own = here.chosen.filter(pl.col("model") == model)
        per = [own.filter(pl.col("split") == kind)["r2"] for kind in splits]
        marks = [_over_seeds(r2, tone, clamp.get(splits[tone])) for tone, r2 in enumerate(per)]
        rows.append(Row(model, marks))
        told.append(f"{model} " + ", ".join(f"{s} {number(m.value, 2)}" for s, m in zip(splits, marks, strict=True)))
    for name in BASELINES:
        values = dict(here.baselines.filter(pl.col("baseline") == name).select("split", "r2").rows())
        rows.append(Row(_NAMES[name], [Mark(values.get(s, np.nan), tone) for tone, s in enumerate(splits)], line=True))
    about = f"R² by model and split on {data}: {'; '.join(told)}"
    return mark_rows(rows, data, x_label="R² on the test side, below 0 drawn at 0", about=about)


def _over_seeds(values: pl.Series, tone: int, tick: float | None = None) -> Mark:
    """The mean with its standard deviation to either side; one seed has none."""
    found = values.drop_nulls().to_numpy()
    if not len(found):
        return Mark(float("nan"), tone)
    mean, sd = float(found.mean()), float(found.std(ddof=1)) if len(found) > 1 else None
    low, high = (None, None) if sd is None else (mean - sd, mean + sd)
    return Mark(mean, tone, low, high, None if tick is None or tick > 0.9995 else tick)


def modularity_chart(benchmark: Benchmark, data: str, split: str) -> Html | None:
    """E2: R² of the factor that is unseen and of all others, beside the same model on the random split."""
    here = benchmark.on(data)
    table = here.modularity.filter(pl.col("split") == split)
    if not len(table):
        return None
    random = here.chosen.filter(pl.col("split") == "random")
    runs = table.group_by("model", "seed", maintain_order=True).agg(pl.col("ood").mean(), pl.col("id").mean())
    rows, told = [], []
    for model in (name for name in benchmark.models(data) if name in set(runs["model"])):
        own = runs.filter(pl.col("model") == model)
        marks = [
            _over_seeds(random.filter(pl.col("model") == model)["r2"], 0),
            _over_seeds(own["id"], 1),
            _over_seeds(own["ood"], 2),
        ]
        rows.append(Row(model, marks, bars=True))
        told.append(f"{model} {', '.join(number(mark.value, 2) for mark in marks)}")
    about = f"R² on {data}, {split}: random split, other factors, unseen factor. {'; '.join(told)}"
    return mark_rows(rows, split, x_label="R², below 0 drawn at 0", about=about)


def attribution_chart(benchmark: Benchmark, data: str) -> Html | None:
    """E3: mean R² where one factor alone is unseen, a point per supervised model and seed."""
    table = benchmark.on(data).attribution.filter(pl.col("split") == "extrapolation", pl.col("kind") != "read-out")
    if not len(table):
        return None
    order = table.group_by("factor").agg(pl.col("r2").median()).sort("r2")["factor"].to_list()
    groups = []
    for name in order:
        values = np.maximum(table.filter(pl.col("factor") == name)["r2"].to_numpy(), -1.0)
        groups.append(Series(name, values, np.zeros(len(values)), 0))
    return strips(groups, data, x_label="mean R² of all factors, below −1 drawn at −1")


def towards_chart(benchmark: Benchmark, data: str) -> Html | None:
    """E4: how far predictions of unseen values go from the training mean, as a share of the truth's distance."""
    table = benchmark.on(data).towards.filter(pl.col("split") == "extrapolation", pl.col("kind") != "read-out")
    if not len(table):
        return None
    counts = np.sum(table["counts"].to_list(), axis=0).astype(float)
    below = float(np.average(table["below"], weights=table["images"]))
    left, right, top, bottom = 34, WIDTH - 12, 46, 170
    most = counts.max() or 1.0
    step = (right - left) / len(counts)
    body: list[Html] = [tag("text", data, x=0, y=14, class_="name")]
    body.append(label(f"{100 * below:.0f} % not beyond the truth", right, 14, "end"))
    for place, count in enumerate(counts):
        height = round(float(count) / most * (bottom - top), 1)
        tone = "t0" if BINS[place] < 1 - 1e-9 else "t1"
        if height > 0:
            x = round(left + place * step + 0.5, 1)
            body.append(
                tag("rect", x=x, y=bottom - height, width=round(step - 1, 1), height=height, class_=f"bar {tone}")
            )
    body.append(tag("path", d=f"M{left} {bottom}H{right}", class_="grid"))
    for value, words in ((0.0, "0"), (0.5, "0.5"), (1.0, "1"), (1.5, "1.5"), (2.0, "≥ 2")):
        at = left + value / 2 * (right - left)
        body.append(label(words, at, bottom + 15, "middle" if value < 2 else "end"))
    truth = left + (right - left) / 2
    body.append(tag("path", d=f"M{truth} {top - 8}V{bottom}", class_="guide"))
    body.append(label("the truth", truth + 5, top - 2))
    body.append(label("mean", left, top - 2))
    body.append(label("distance from the training mean, truth = 1", (left + right) / 2, bottom + 32, "middle"))
    median = float(np.median(table["median"].to_numpy()))
    about = (
        f"{data}: histogram of predictions' distances from the mean; {100 * below:.0f} % at most 1, median {median:.2f}"
    )
    return svg(body, about, (WIDTH, bottom + 38))


def similarity_tables(benchmark: Benchmark, data: str) -> list[Html]:
    """E5: mean correlation of every two models' predictions at unseen values, pooled and within factors."""
    table = benchmark.on(data).similarity
    if not len(table):
        return []
    names = [*(m for m in benchmark.models(data) if m in set(table["first"])), "truth"]
    made = []
    for column, title in (("pooled", "pooled over factors"), ("within", "within each factor")):
        means = table.filter(pl.col(column).is_not_nan()).group_by("first", "second").agg(pl.col(column).mean())
        cells = {(a, b): value for a, b, value in means.iter_rows()}
        values = np.array([[100 * cells.get((a, b), np.nan) for b in names] for a in names])
        values[-1, -1] = 100.0
        made.append(
            heat_table(values, names, [_initials(n) for n in names], f"{data}, {title}", low=-100, high=100, digits=0)
        )
    return made


def _initials(name: str) -> str:
    """A column's heading: as short as can be told from the others."""
    return (
        name.replace("Spatial Transformer", "STN")
        .replace("Rotation-EQ", "Rot-EQ")
        .replace("Coordinate Based", "Coord.")
    )


def disentanglement_chart(benchmark: Benchmark, data: str) -> Html | None:
    """E6: disentanglement of the codes against R² of the read-out, a point per run, a colour per split."""
    rows = benchmark.on(data).scores.filter(pl.col("kind") == "read-out").drop_nulls("dci")
    if len(rows) < 2:
        return None
    series = []
    for tone, split in enumerate(benchmark.splits(data)):
        own = rows.filter(pl.col("split") == split)
        series.append(Series(split, own["dci"].to_numpy(), np.maximum(own["r2"].to_numpy(), -0.5), tone))
    return scatter(series, data, x_label="DCI disentanglement of the codes", y_label="R² of the read-out")


def trust_table(benchmark: Benchmark, data: str, split: str = "extrapolation") -> Html | None:
    """Steps of each factor's grid up to which predictions can be trusted beyond the seen values, in percent."""
    table = benchmark.on(data).trust.filter(pl.col("split") == split)
    if not len(table):
        return None
    factors = table["factor"].unique(maintain_order=True).to_list()
    asked = dict(table.group_by("factor").agg(pl.col("asked").max()).rows())
    means = {
        (model, factor): value
        for model, factor, value in table.group_by("model", "factor").agg(pl.col("steps").mean()).iter_rows()
    }
    models = [model for model in benchmark.models(data) if (model, factors[0]) in means]
    values = np.array([[100 * means[model, factor] / asked[factor] for factor in factors] for model in models])
    columns = [f"{factor} ({asked[factor]})" for factor in factors]
    return heat_table(values, models, columns, data, high=100.0, digits=0)


def error_chart(benchmark: Benchmark, data: str) -> Html | None:
    """What the squared error at unseen values is made of, mean over supervised models."""
    table = benchmark.on(data).parts.filter(
        pl.col("split") == "extrapolation", pl.col("where") == "unseen", pl.col("kind") != "read-out"
    )
    if not len(table):
        return None
    means = table.group_by("factor", maintain_order=True).agg(pl.col(*PARTS).mean())
    rows = [(name, [float(value) for value in parts]) for name, *parts in means.iter_rows()]
    told = "; ".join(
        f"{name} " + ", ".join(f"{part} {number(v)}" for part, v in zip(PARTS, values, strict=True))
        for name, values in rows
    )
    return stacks(rows, data, x_label="squared error of the scaled factor", about=f"{data}: {told}")


def split_legend(splits: Sequence[str], also: str = "") -> Html:
    """The colours of splits."""
    return fragment(legend_of(splits), tag("p", also, class_="count") if also else None)
