"""Tables and pictures of the theory's experiments."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from unbraid.errors import unknown_name
from unbraid.evaluation import title
from unbraid.files import save_figure
from unbraid.sharing import markdown

if TYPE_CHECKING:
    import polars

__all__ = ["STUDIES", "draw_trials", "summarise_trials", "trial_table"]

_INK, _QUIET = "#1f2430", "#6b7280"
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#999999", "#1f2430")


VIOLIN = 8
"""From so many trials on their density is drawn behind the dots."""


@dataclass(frozen=True)
class _View:
    """How an experiment is read: what tells its cells apart, and which numbers they hold."""

    cells: tuple[str, ...]
    values: tuple[str, ...]
    panels: tuple[str, ...]
    """The numbers that are drawn, a panel each."""
    discard: str = ""
    """A column that says which trials do not count; their numbers are left out, and the counts show how many."""


STUDIES = {
    "orthogonality": _View(
        ("data", "model"), ("distance", "contrast", "ds", "ds_literal", "active"), ("distance", "ds")
    ),
    "degeneracy": _View(("ratio",), ("distance", "ds", "ds_literal", "degenerate"), ("distance", "ds")),
    "polarised": _View(("data", "latents"), ("polarised_share", "kl_error", "active"), ("polarised_share", "kl_error")),
    "images": _View(
        ("data", "model"), ("distance", "contrast", "ds", "ds_literal", "active", "degenerate"), ("distance", "ds")
    ),
    "agreement": _View(("data", "stopped"), ("distance", "ds", "mig", "active"), ("distance", "ds")),
    "manipulation": _View(
        ("data", "model", "variant"), ("mig", "dci", "factor_vae", "sap", "active", "gap"), ("mig", "dci")
    ),
    "strength": _View(
        ("data", "model", "strength"),
        ("mig", "dci", "factor_vae", "sap", "pruned", "gap"),
        ("mig", "dci", "factor_vae", "sap"),
        discard="pruned",
    ),
}
_WORDS = {
    "distance": "distance to orthogonality",
    "ds": "disentanglement score",
    "ds_literal": "disentanglement score as published",
    "contrast": "mechanism contrast (nats)",
    "degenerate": "share of degenerate Jacobians",
    "polarised_share": "share of training in the polarised regime",
    "kl_error": "error of the simplified KL at the end",
    "gap": "gap of the pattern (nats)",
    "pruned": "share with fewer active latents than factors",
}
"""What the numbers of these experiments are called; scores and measures have their own titles."""


def _title(value: str) -> str:
    return _WORDS.get(value) or title(value)


def summarise_trials(study: str, rows: polars.DataFrame) -> polars.DataFrame:
    """One row per cell: how many trials, and mean, standard deviation and count of every number that is there."""
    import polars

    view = _view(study)
    columns = [polars.len().alias("trials")]
    for value in view.values:
        # Trials of an earlier version lack what came later.
        number = (polars.col(value) if value in rows.columns else polars.lit(None)).cast(polars.Float64)
        if view.discard and value != view.discard:
            number = number.filter(~polars.col(view.discard))
        columns += [
            number.mean().alias(value),
            number.std().alias(f"{value}_sd"),
            number.count().alias(f"{value}_count"),
        ]
    return rows.group_by(view.cells, maintain_order=True).agg(columns)


def trial_table(study: str, rows: polars.DataFrame) -> str:
    """Markdown: mean ± standard deviation over seeds; a number in brackets says how many trials had one."""
    view = _view(study)
    lines = [
        "| " + " | ".join([*view.cells, "trials", *(_title(value) for value in view.values)]) + " |",
        "|" + "---|" * (len(view.cells) + 1 + len(view.values)),
    ]
    for row in summarise_trials(study, rows).iter_rows(named=True):
        cells = [markdown(row[cell]) for cell in view.cells] + [str(row["trials"])]
        for value in view.values:
            count = row[f"{value}_count"]
            if not count:
                cells.append("–")
                continue
            spread = row[f"{value}_sd"]
            text = f"{row[value]:.3f}" + ("" if spread is None else f" ± {spread:.3f}")
            cells.append(text if count == row["trials"] else f"{text} ({count})")
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def draw_trials(study: str, rows: polars.DataFrame, path: Path) -> None:
    """A dot per trial and a bar at the mean of each cell; a panel for each number."""
    from matplotlib.figure import Figure

    view = _view(study)
    summary = summarise_trials(study, rows)
    short = _short_names(summary["data"]) if "data" in view.cells else {}
    labels = [_label(short.get(row[c], row[c]) for c in view.cells) for row in summary.iter_rows(named=True)]
    hues = list(dict.fromkeys(summary[view.cells[-1]].to_list()))
    figure = Figure(figsize=(max(4.0, 0.7 * len(labels)) + 0.6, 2.9 * len(view.panels)), layout="constrained")
    for axis, value in zip(figure.subplots(len(view.panels), 1, squeeze=False)[:, 0], view.panels, strict=True):
        for place, row in enumerate(summary.iter_rows(named=True)):
            cell = rows
            for name in view.cells:
                cell = cell.filter(cell[name] == row[name])
            if view.discard:
                cell = cell.filter(~cell[view.discard])
            found = cell[value].drop_nulls().to_numpy() if value in cell.columns else np.zeros(0)
            colour = _COLOURS[hues.index(row[view.cells[-1]]) % len(_COLOURS)]
            spots = place + np.linspace(-0.15, 0.15, len(found)) if len(found) > 1 else [place] * len(found)
            axis.plot(spots, found, "o", color=colour, markersize=4.5, alpha=0.75, markeredgewidth=0)
            if len(found) >= VIOLIN and np.ptp(found) > 0:
                for body in axis.violinplot([found], [place], widths=0.8, showextrema=False)["bodies"]:
                    body.set(facecolor=colour, alpha=0.15)
            if len(found):
                axis.plot([place - 0.28, place + 0.28], [found.mean()] * 2, color=colour, linewidth=2)
        axis.set_xticks(range(len(labels)), labels, fontsize=7)
        axis.set_xlim(-0.6, len(labels) - 0.4)
        axis.set_ylim(bottom=min(0, axis.get_ylim()[0]))
        axis.set_title(_title(value), fontsize=9, loc="left", color=_INK)
        axis.spines[["top", "right"]].set_visible(False)
        axis.tick_params(colors=_INK, labelsize=7)
        axis.grid(axis="y", color=_QUIET, alpha=0.2, linewidth=0.6)
    save_figure(figure, path, dpi=150)


def _short_names(names: Iterable[str]) -> dict[Any, str]:
    """Data sets without their options, where these are not needed to tell them apart."""
    full = set(names)
    short = {name: name.partition(":")[0] for name in full}
    return short if len(set(short.values())) == len(full) else {}


def _label(parts: Iterable[Any]) -> str:
    """Several lines: the options of a data set stand below its name."""
    return re.sub("[:,]", "\n", "\n".join(map(str, parts)))


def _view(study: str) -> _View:
    if study not in STUDIES:
        raise unknown_name("study", study, STUDIES)
    return STUDIES[study]
