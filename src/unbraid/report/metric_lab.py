"""The page of the metric lab: what every score makes of codes whose quality is known."""

from __future__ import annotations

import numpy as np

from unbraid.evaluation import title
from unbraid.metrics import EXPERIMENTS, Lab
from unbraid.report.page.charts import Series, legend, line_chart
from unbraid.report.page.markup import Section, command, figure, section, tag
from unbraid.report.page.shell import page
from unbraid.report.page.tables import data_table, heat_table

__all__ = ["lab_report"]

_TOGETHER = 5
"""Curves in one chart; with more, none can be followed."""


def lab_report(found: Lab, *, made_by: str = "unbraid metrics lab") -> str:
    """The page as the text of an HTML file."""
    metrics, experiments = list(found.values), list(found.steps)
    table = np.array([[found.deviation(metric, name) for name in experiments] for metric in metrics])
    settings = found.settings
    tiles = [
        ("scores", str(len(metrics)), "held against what each claims to measure"),
        ("experiments", str(len(experiments)), "codes made of known factors"),
        ("points", f"{settings['points']:,}", f"{settings['factors']} factors of {settings['values']} values"),
    ]
    lead = tag("ul", [tag("li", tag("span", a), tag("b", b), tag("small", c)) for a, b, c in tiles], class_="tiles")
    names = [title(metric, short=True) for metric in metrics]
    headings = [EXPERIMENTS[name].title for name in experiments]
    summary = section(
        "How far each score is from its claim",
        figure(
            "Mean distance of a score from what its notion demands, on a scale where an empty code has 0 and a perfect "
            "one 1: 0 is as claimed, 1 the opposite. Empty cells: the notion demands nothing there. A dark column is "
            "an experiment that few scores pass.",
            heat_table(table, names, headings, "Deviation from what is demanded", high=0.5),
        ),
        short="Deviations",
    )
    parts = [_experiment(found, name, metrics) for name in experiments]
    again = section("Reproduce it", tag("p", "Make this page again:"), command(made_by))
    about = "codes whose quality is known, through every score"
    return page("Metric lab", about, lead, [summary, *parts, again], made_by)


def _experiment(found: Lab, name: str, metrics: list[str]) -> Section:
    about, steps = EXPERIMENTS[name], found.steps[name]
    x = np.arange(len(steps), dtype=float)
    charts = []
    for start in range(0, len(metrics), _TOGETHER):
        some = metrics[start : start + _TOGETHER]
        curves = [
            Series(title(metric, short=True), x, found.shares(metric, name), tone, labels=steps)
            for tone, metric in enumerate(some)
        ]
        chart = line_chart(
            curves, about.title, x_label="step", y_label="share", markers=True, within=(0.0, 1.0),
            ends=(steps[0], steps[-1]), logarithmic=False,
        )  # fmt: skip
        charts.append(tag("div", chart, legend([curve.name for curve in curves])))
    demands = {metric: found.demanded(metric, name) for metric in metrics}
    words = {None: "free", True: "stays", False: "falls"}
    rows = [
        [
            title(metric, short=True),
            words[None if demand is None else bool(demand[-1] == 1)],
            *(float(value) for value in found.values[metric][name]),
            found.deviation(metric, name),
        ]
        for metric, demand in demands.items()
    ]
    columns = ["score", "should", *steps, "deviation"]
    caption = f"{about.about}. Curves are shares of the way from an empty to a perfect code."
    return section(
        about.title,
        figure(caption, tag("div", charts, class_="grid")),
        data_table(columns, rows, f"Values at each step: {about.title.lower()}"),
    )
