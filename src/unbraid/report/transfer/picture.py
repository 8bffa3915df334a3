"""The matrix as a figure, for papers: readable when it is as wide as a page's text."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from unbraid.errors import UsageError
from unbraid.files import save_figure
from unbraid.report.page.palette import LEVELS, LIGHT, heat
from unbraid.report.transfer.grouping import columns_of, rows_of
from unbraid.report.transfer.shown import REACH, absolute, cell_shade, shown, signed
from unbraid.transfer import Effect, Matrix, get_scenario, own_scenarios, twin_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw_matrix"]

VANILLA = "vanilla"
WIDTH = 7.0
"""Inches of a figure across both columns of a paper; more scenarios than fit make it wider."""
CELL, ROW, GAP, MARGIN = (0.22, 0.36), 0.2, 0.07, 0.06
"""Inches: least and largest width of a cell, height of a row, room between groups, around everything."""
KEY = (0.82, 1.12)
"""Height of the legend with its samples in two columns, and in one where the figure is narrow."""
LETTER = 0.061
"""Width of a letter of a name, about."""
LONG = 21
"""Letters from which on the name of two biases at once takes two lines."""
SHORT = 8
"""Letters up to which a name has its twin beside it, not below."""
STYLE = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans", "Verdana", "Arial", "Helvetica"],
    "svg.fonttype": "none",
    "svg.hashsalt": "unbraid",
    "pdf.fonttype": 42,
}
"""Letters stay letters in SVG and PDF: they can be searched, copied and set in another font."""
INK, QUIET, LINE = LIGHT["ink"], LIGHT["quiet"], LIGHT["dead"]


def draw_matrix(found: Matrix, *paths: Path) -> None:
    """Save the heat map of a matrix, to every path, by its ending: PNG, SVG, PDF.

    Colours are those of the page: a full cell is better or worse, a small one undecided, an empty one unchanged. Own
    scenarios are framed, the verdict stands at the row's end, vanilla's own numbers in the first row.
    """
    import matplotlib
    from matplotlib.figure import Figure

    if not any(found.effects.values()):
        raise UsageError(f"the matrix of {found.domain} has no cell yet: nothing to draw")
    with matplotlib.rc_context(STYLE):
        plan = _Places(found)
        figure = Figure(figsize=(plan.width, plan.height), facecolor="white")
        axis = figure.add_axes((0, 0, 1, 1))
        axis.set(xlim=(0, plan.width), ylim=(plan.height, 0))
        axis.axis("off")
        _heads(axis, found, plan)
        _rows(axis, found, plan)
        _legend(axis, plan)
        for path in paths:
            told: dict[str, Any] = {"Title": f"Differences to the vanilla twin on {found.domain}"}
            told |= {"Date": None} if path.suffix == ".svg" else {}
            save_figure(figure, path, dpi=220, metadata=told)


class _Places:
    """Where everything stands, in inches from the upper left corner."""

    def __init__(self, found: Matrix) -> None:
        self.groups, self.kinds = columns_of(found), rows_of(found)
        columns = [one for _, members in self.groups for one in members]
        names = [line for name in found.effects for line in _label(name).split("\n")]
        words = [one.word for one in found.verdicts.values()]
        self.left = MARGIN + LETTER * max(len(name) for name in (*names, "architecture")) + 0.06
        right = LETTER * max(map(len, words)) + 0.1 + MARGIN
        gaps = GAP * (len(self.groups) - 1)
        room = (WIDTH - self.left - right - gaps) / len(columns)
        self.cell = min(CELL[1], max(CELL[0], room))
        self.columns: dict[str, float] = {}
        self.end = self.left
        for _, members in self.groups:
            for one in members:
                self.columns[one] = self.end
                self.end += self.cell
            self.end += GAP
        self.end -= GAP
        self.width = max(4.4, self.end + right)
        self.heads = {title: self._head(title, self.cell * len(members)) for title, members in self.groups}
        self.line = MARGIN + (0.29 if any("\n" in head for head in self.heads.values()) else 0.19)
        self.top = self.line + 0.03 + LETTER * max(len(get_scenario(one).title) for one in columns) + 0.04
        self.rows: dict[str, float] = {}
        self.titles: dict[str, float] = {}
        below = self.top
        if VANILLA in found.values:
            self.rows[VANILLA] = below
            below += ROW
        for title, members in self.kinds:
            self.titles[title] = below
            below += 0.9 * ROW
            for bias in members:
                self.rows[bias] = below
                below += ROW
        self.legend = below + 0.12
        self.columns_of_key = 2 if self.width >= 5.6 else 1
        self.height = self.legend + KEY[2 - self.columns_of_key]

    @staticmethod
    def _head(title: str, wide: float) -> str:
        """The name of a group on two lines where its columns are few, and none where it is longer than they are."""
        told = title if LETTER * len(title) < wide + GAP else title.replace(" ", "\n")
        return told if LETTER * max(map(len, told.split("\n"))) < wide + 3 * GAP else ""


def _heads(axis: Axes, found: Matrix, plan: _Places) -> None:
    """Groups of scenarios with their titles, and in the corner what this is about."""
    for title, members in plan.groups:
        start, end = plan.columns[members[0]], plan.columns[members[-1]] + plan.cell
        if title:
            axis.text((start + end) / 2, plan.line - 0.04, plan.heads[title], ha="center", va="bottom", fontsize=6.8,
                      color=INK, fontweight="bold", linespacing=1.0)  # fmt: skip
            axis.plot([start + 0.01, end - 0.01], [plan.line] * 2, color=LINE, lw=0.7)
        for one in members:
            axis.text(plan.columns[one] + plan.cell / 2, plan.top - 0.03, get_scenario(one).title, rotation=90,
                      ha="center", va="bottom", fontsize=6.8, color=INK)  # fmt: skip
    counts = {len(effect.seeds) for row in found.effects.values() for effect in row.values()}
    seeds = f"{'up to ' if len(counts) > 1 else ''}{max(counts)} seed{'s' if max(counts) != 1 else ''}"
    axis.text(MARGIN, MARGIN + 0.09, found.domain, va="center", fontsize=8, fontweight="bold", color=INK)
    about = f"differences to\nthe vanilla twin,\n{seeds}"
    axis.text(MARGIN, MARGIN + 0.24, about, va="top", fontsize=6.5, color=QUIET, linespacing=1.35)


def _rows(axis: Axes, found: Matrix, plan: _Places) -> None:
    for title, above in plan.titles.items():
        axis.plot([MARGIN, plan.end], [above + 0.24 * ROW] * 2, color=LINE, lw=0.5)
        axis.text(MARGIN, above + 0.58 * ROW, title, va="center", fontsize=6.3, fontweight="bold", color=QUIET)
    for bias, above in plan.rows.items():
        middle = above + ROW / 2
        size = 6 if "\n" in _label(bias) else 6.8
        axis.text(plan.left - 0.05, middle, _label(bias), ha="right", va="center", fontsize=size, color=INK,
                  linespacing=0.95)  # fmt: skip
        if bias == VANILLA:
            for one, across in plan.columns.items():
                if by_seed := found.values[VANILLA].get(one):
                    axis.text(across + plan.cell / 2, middle, absolute(one, by_seed)[0], ha="center", va="center",
                              fontsize=6, color=QUIET)  # fmt: skip
            axis.text(plan.end + 0.07, middle, "own numbers", va="center", fontsize=6.3, color=QUIET)
            continue
        own = own_scenarios(bias)
        for one, across in plan.columns.items():
            if effect := found.effects[bias].get(one):
                _cell(axis, across, above, plan.cell, effect, own=one in own)
        word = found.verdicts[bias].word
        axis.text(plan.end + 0.07, middle, word, va="center", fontsize=6.8,
                  color=QUIET if word in ("undecided", "cannot say") else INK)  # fmt: skip


def _cell(axis: Axes, across: float, above: float, wide: float, effect: Effect, *, own: bool) -> None:
    kind = cell_shade(effect)
    ink = QUIET if effect.word == "unchanged" else heat("light")[kind][1]
    _box(axis, across, above, wide, kind, word=effect.word, own=own, holm=effect.survives)
    text = signed(shown(effect)[0])
    axis.text(across + wide / 2, above + ROW / 2, text, ha="center", va="center_baseline",
              fontsize=6 if len(text) < 4 else 5.3, color=ink)  # fmt: skip


def _box(axis: Axes, across: float, above: float, wide: float, kind: str, *, word: str, own: bool, holm: bool) -> None:
    from matplotlib.patches import Polygon, Rectangle

    colours = heat("light")
    nothing, fill = colours["h0"][0], colours[kind][0]
    axis.add_patch(Rectangle((across + 0.008, above + 0.008), wide - 0.016, ROW - 0.016, fc=nothing, ec="none"))
    inset = 0.042 if word == "undecided" else 0.008
    place, size = (across + 0.008 + inset / 6, above + inset), (wide - 0.016 - inset / 3, ROW - 2 * inset)
    axis.add_patch(Rectangle(place, *size, fc=fill, ec="none"))
    if holm:
        corner = [(across + wide - 0.008, above + 0.008 + step * 0.055) for step in (0, 1)]
        axis.add_patch(Polygon([*corner, (across + wide - 0.063, above + 0.008)], fc=INK, ec="none"))
    if own:
        axis.add_patch(
            Rectangle((across + 0.012, above + 0.012), wide - 0.024, ROW - 0.024, fill=False, lw=0.9, ec=INK)
        )


def _legend(axis: Axes, plan: _Places) -> None:
    """What colours, sizes, frames and corners mean."""
    from matplotlib.patches import Rectangle

    above, colours, wide = plan.legend, heat("light"), 0.075
    kinds = [f"n{level}" for level in range(LEVELS, 0, -1)] + [f"h{level}" for level in range(LEVELS + 1)]
    start = MARGIN
    for k, kind in enumerate(kinds):
        axis.add_patch(Rectangle((start + k * wide, above + 0.16), wide + 0.002, 0.14, fc=colours[kind][0], ec="none"))
    end = start + len(kinds) * wide
    small: dict[str, Any] = {"fontsize": 6.3, "color": INK, "va": "center"}
    axis.text(start, above + 0.08, "worse", **small)
    axis.text(end, above + 0.08, "better", ha="right", **small)
    for place, side, text in (
        (start, "left", f"−{REACH:.0f}"),
        ((start + end) / 2, "center", "0"),
        (end, "right", f"+{REACH:.0f}"),
    ):
        axis.text(place, above + 0.37, text, ha=side, **small)
    about = "points of accuracy, R², shares;\n% of the twin's distance"
    axis.text(start, above + 0.57, about, **(small | {"color": QUIET}), linespacing=1.3)
    samples = [
        ("h4", "better", False, False, "better or worse"),
        ("h4", "undecided", False, False, "undecided: too few seeds"),
        ("h0", "unchanged", False, False, "unchanged"),
        ("h0", "unchanged", True, False, "what the bias was made for"),
        ("h4", "better", False, True, "survives Holm's correction"),
    ]
    per, step = (3, 0.225) if plan.columns_of_key == 2 else (len(samples), ROW + 0.01)
    for k, (kind, word, own, holm, text) in enumerate(samples):
        column, row = divmod(k, per)
        place, line = end + 0.35 + 2.0 * column, above + 0.02 + step * row
        _box(axis, place, line, 0.235, kind, word=word, own=own, holm=holm)
        axis.text(place + 0.31, line + ROW / 2, text, **small)


def _label(bias: str) -> str:
    """The name at the left of a row; two lines where two are long, and the twin where it is not vanilla."""
    twin = VANILLA if bias == VANILLA else twin_of(bias)
    if twin != VANILLA:
        between = "\n" if len(bias) > SHORT else " "
        return f"{bias}{between}(vs. {twin})"
    return bias.replace("+", "\n+", 1) if len(bias) >= LONG else bias
