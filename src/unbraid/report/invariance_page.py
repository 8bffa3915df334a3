"""The page about what bijective classifiers ignore: errors, information, metamers and the ways to them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from unbraid.invariance import PUBLISHED
from unbraid.report.page.axes import number
from unbraid.report.page.charts import Bar, Series, bars, legend, scatter
from unbraid.report.page.markup import Section, command, figure, fragment, note, section, tag
from unbraid.report.page.pictures import class_map, image_rows
from unbraid.report.page.shell import page
from unbraid.report.page.tables import data_table

if TYPE_CHECKING:
    from unbraid.data import Dataset
    from unbraid.evaluation import Scores
    from unbraid.invariance import Pictures, Plane

__all__ = ["Looked", "invariance_report"]

DIGITS = "mnist"
"""The data that the published table is of."""


@dataclass(frozen=True)
class Looked:
    """What the page shows of one run."""

    name: str
    objective: str
    """Title of how it was trained; runs that share it share a colour."""
    scores: Scores
    """Of the measure ``invariance``."""
    pictures: Pictures | None = None
    planes: Mapping[str, Plane] = field(default_factory=dict)

    def __getitem__(self, score: str) -> float:
        return float(self.scores[score])


def invariance_report(
    runs: Sequence[Looked],
    data: Dataset,
    *,
    notes: Sequence[str] = (),
    made_by: str = "unbraid.report.invariance_report",
) -> str:
    """The page as the text of an HTML file."""
    published = data.name.partition(":")[0] == DIGITS
    first = runs[0]
    numbers = [
        ("runs", str(len(runs)), ", ".join(dict.fromkeys(one.objective for one in runs))),
        ("error by logits", _range([100 * one["logit_test_error"] for one in runs], " %"), data.name),
        (
            "error without them",
            _range([100 * one["nuisance_test_error"] for one in runs], " %"),
            f"{number(100 * first['chance_error'])} % by chance",
        ),
        ("largest change of a logit", _range([max(one["metamer_residual"] for one in runs)], ""), "over all metamers"),
    ]
    items = [tag("li", tag("span", name), tag("b", value), tag("small", extra)) for name, value, extra in numbers]
    parts = [_errors(runs, published), _information(runs), _metamers(runs)]
    if any(one.pictures for one in runs):
        parts.append(_ways(runs))
    if any(one.planes for one in runs):
        parts.append(_planes(runs))
    again = section("Reproduce it", tag("p", "Make this page again:"), command(made_by))
    lead = [tag("ul", items, class_="tiles"), *(note(text, kind="info") for text in notes)]
    about = "the class in outputs that classifiers do not look at"
    return page(f"What is ignored of {data.name}", about, lead, [*parts, again], made_by)


def _errors(runs: Sequence[Looked], published: bool) -> Section:
    columns = ["run", "trained by", "logits, test %", "logits, training %", "nuisance, test %", "nuisance, training %"]
    rows: list[list[object]] = [
        [
            one.name,
            one.objective,
            *(
                100 * one[f"{part}_{side}_error"] if f"{part}_{side}_error" in one.scores else None
                for part in ("logit", "nuisance")
                for side in ("test", "train")
            ),
        ]
        for one in runs
    ]
    series = [
        Series(
            name,
            np.array([100 * one["logit_test_error"] for one in runs if one.objective == name]),
            np.array([100 * one["nuisance_test_error"] for one in runs if one.objective == name]),
            tone,
        )
        for tone, name in enumerate(_kinds(runs))
    ]
    names = list(_kinds(runs))
    beside: object = None
    if published:
        known = [row for row in PUBLISHED if row.nuisance_test is not None]
        for row in known:
            at = np.array([row.logit_test], dtype=float), np.array([row.nuisance_test], dtype=float)
            series.append(Series(f"published {row.model}", *at, len(names)))
            names.append(f"published: {row.model}")
        beside = figure(
            "Published for MNIST (Jacobsen et al., 2019, table 2), errors in %. Their networks are larger (3 stages of "
            "16 blocks with 128 channels) and were trained for 100 epochs; that the nuisance error of iCE is larger on "
            "training data is theirs and not explained. 27.7 % is still far from the 90 % of no information.",
            data_table(
                ["published", *columns[2:]],
                [
                    [row.model, row.logit_test, row.logit_train, row.nuisance_test, row.nuisance_train]
                    for row in PUBLISHED
                ],
                "Published errors",
            ),
        )
    told = "; ".join(f"{one.name}: {number(100 * one['nuisance_test_error'])} %" for one in runs)
    points = fragment(
        legend(names),
        figure(
            "Each point is a run, or a published result.",
            scatter(
                series,
                "Error of either",
                x_label="by the logits, %",
                y_label="by all else, %",
                about=f"By all else: {told}",
            ),
        ),
    )
    return section(
        "The class without the logits",
        figure(_ERRORS, data_table(columns, rows, "Errors by logits and by nuisance outputs")),
        beside,
        points if len(runs) > 1 or published else None,
        short="Errors",
    )


def _information(runs: Sequence[Looked]) -> Section:
    top = max(one["label_entropy"] for one in runs)
    charts = [
        bars(
            [
                Bar("H(y)", one["label_entropy"], None),
                Bar("I(y; z_s) ≥", one["logit_information"], 0),
                Bar("I(y; z_n) ≥", one["nuisance_information"], 1),
            ],
            one.name,
            x_label="nats",
            top=top,
        )
        for one in runs
    ]
    return section("Information in nats", figure(_INFORMATION, tag("div", charts, class_="grid")), short="Information")


def _metamers(runs: Sequence[Looked]) -> Section:
    by = "the proxy" if any(one["metamer_by_proxy"] for one in runs) else "the oracle"
    columns = ["run", "same logits %", "show the logits' class %", "show the donor's %"]
    columns += [f"error of {by} %", "logits change by", "bits per dim.", "inverse error"]
    keys = ("metamer_kept", "metamer_as_logits", "metamer_as_donor", "proxy_test_error")
    rows = [
        [
            one.name,
            *(100 * one[key] for key in keys),
            *(one[key] for key in ("metamer_residual", "bits_per_dimension", "inverse_error")),
        ]
        for one in runs
    ]
    told = _METAMERS + (_PROXY if by == "the proxy" else " Geometry says what a metamer shows: its nearer sphere.")
    shown = [
        fragment(
            tag("h3", one.name),
            image_rows(
                [one.pictures.sources, one.pictures.metamers, one.pictures.donors],
                ["gives the logits", "metamer", "gives all else"],
                f"Metamers of {one.name}",
            ),
        )
        for one in runs
        if one.pictures
    ]
    return section("Metamers", figure(told, data_table(columns, rows, "Metamers"), shown))


def _ways(runs: Sequence[Looked]) -> Section:
    shown = []
    for one in runs:
        if one.pictures is None:
            continue
        count = one.pictures.paths.shape[1]
        labels = [f"t = {number(t, 2)}" for t in one.pictures.t]
        rows = [*one.pictures.paths, one.pictures.donors[:count]]
        grid = image_rows(rows, [*labels, "target"], f"Ways to metamers of {one.name}", apart=True)
        shown.append(tag("div", tag("h3", one.name), grid))
    return section("At constant logits", figure(_WAYS, tag("div", shown, class_="versus")), short="Interpolation")


def _planes(runs: Sequence[Looked]) -> Section:
    shown = []
    for one in runs:
        charts = []
        for title, plane in one.planes.items():
            for name, stats in plane.stats.items():
                classes = plane.semantic if name == "semantic" else plane.nuisance
                assert classes is not None
                by = "logits" if name == "semantic" else "nuisance classifier"
                charts.append(
                    class_map(
                        classes.numpy(),
                        float(plane.axis[-1]),
                        plane.radii,
                        plane.points.numpy(),
                        f"{title}, by {by}",
                        f"{100 * stats.outer_called_inner:.1f} % of the outer circle called inner",
                    )
                )
        if charts:
            shown.append(fragment(tag("h3", one.name), tag("div", charts, class_="grid splits")))
    return section("Decisions in planes", figure(_PLANES, shown), short="Planes")


def _kinds(runs: Sequence[Looked]) -> dict[str, None]:
    return dict.fromkeys(one.objective for one in runs)


def _range(values: Sequence[float], unit: str) -> str:
    low, high = number(min(values), 2), number(max(values), 2)
    return f"{low}{unit}" if low == high else f"{low} to {high}{unit}"


_ERRORS = (
    "Errors in %. The logits are a few outputs of a one-to-one map; a new classifier was trained on all others "
    "after the network had been frozen. Where that one is right, too, the class is in what the network ignores: other "
    "inputs have the same logits and show something else."
)
_INFORMATION = (
    "H(y) is all there is to know of the class. The bars below are lower bounds: entropy minus the cross-entropy of "
    "the logits themselves, and of the classifier that was trained on all other outputs. A weak or overconfident "
    "classifier makes a bound loose."
)
_METAMERS = (
    "A metamer has exactly the logits of one image and all else from another one of another class: no search, one pass "
    "back through the network. It should show the class of its logits; where it shows that of the donor, the network "
    "ignores what matters."
)
_PROXY = (
    " What a metamer shows is said by a proxy, a classifier that was trained on the same data and may itself err; "
    "pictures are clipped to bytes for it, and for the eye."
)
_WAYS = (
    "From an image (t = 0) to its metamer (t = 1) at constant logits, downwards; underneath the image that gives all "
    "else. Under an ideal network only style changes."
)
_PLANES = (
    "Blue is called inner, orange outer. The plane through the origin and two random points looks right; that through "
    "a point and its metamer on the outer sphere has a sector of the outer circle with the logits of the inner sphere."
)
