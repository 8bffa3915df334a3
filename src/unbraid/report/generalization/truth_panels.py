"""Predicted against true values of a factor, with the seen range marked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from unbraid.generalization import Answers, one_unseen, targets
from unbraid.report.page.axes import Scale, label_ticks
from unbraid.report.page.markup import Html, tag
from unbraid.report.page.svg import label, svg

__all__ = ["Panel", "panels_of", "truth_panel"]

SIZE = (250, 206)
_LEFT, _RIGHT, _TOP, _BOTTOM = 36, 10, 28, 34
POINTS = 160
"""Points of each kind in a panel."""


@dataclass(frozen=True)
class Panel:
    """What a model said of one factor: images with seen values alone, and those in which this factor is unseen."""

    factor: str
    size: int
    unseen: tuple[int, ...]
    seen: tuple[np.ndarray, np.ndarray]
    """True and predicted, scaled to 0..1."""
    beyond: tuple[np.ndarray, np.ndarray]

    @property
    def spread(self) -> float:
        """Values of a factor are few: how wide their points are drawn, so that they do not hide each other."""
        return min(0.5 / max(self.size - 1, 1), 0.06)

    @property
    def bands(self) -> list[tuple[float, float]]:
        """The unseen values as stretches of the scaled axis, half a step to either side."""
        step = 1 / max(self.size - 1, 1)
        found: list[tuple[float, float]] = []
        for value in sorted(self.unseen):
            low, high = (value - 0.5) * step, (value + 0.5) * step
            if found and low <= found[-1][1] + 1e-9:
                found[-1] = (found[-1][0], high)
            else:
                found.append((low, high))
        return found


def panels_of(answers: Answers, seed: int = 0) -> list[Panel]:
    """A panel for every factor that training showed in part."""
    facts, space = answers.facts, answers.space
    rng = np.random.default_rng(seed)
    parts = [part for part in (answers.test, answers.one_ood) if part is not None]
    said, factors = (np.concatenate([getattr(part, name) for part in parts]) for name in ("predicted", "factors"))
    alone, truth = one_unseen(factors, space, facts.unseen), targets(factors, space)
    inside, inside_truth = answers.train.predicted, targets(answers.train.factors, space)
    panels = []
    for k, name in enumerate(space.names):
        if name not in facts.unseen:
            continue
        rows, trained = np.flatnonzero(alone == k), np.arange(len(inside))
        if not len(rows):
            continue
        rows, trained = (_some(which, rng) for which in (rows, trained))
        panels.append(
            Panel(
                name,
                space.sizes[k],
                tuple(facts.unseen[name]),
                (inside_truth[trained, k], inside[trained, k]),
                (truth[rows, k], said[rows, k]),
            )
        )
    return panels


def _some(rows: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return rows if len(rows) <= POINTS else np.sort(rng.choice(rows, POINTS, replace=False))


def truth_panel(panel: Panel, seed: int = 0) -> Html:
    """One factor; shaded is what training never showed, on the dashed line the model is right."""
    width, height = SIZE
    left, right, top, bottom = _LEFT, width - _RIGHT, _TOP, height - _BOTTOM
    x = Scale(-0.05, 1.05, left, right)
    said = np.concatenate([panel.seen[1], panel.beyond[1]])
    low, high = min(-0.1, float(np.quantile(said, 0.01))), max(1.1, float(np.quantile(said, 0.99)))
    low, high = max(low, -0.75), min(high, 1.75)
    y = Scale(low, high, bottom, top)
    body: list[Html] = [tag("text", panel.factor, x=0, y=14, class_="name"), label("predicted", right, 14, "end")]
    for start, end in panel.bands:
        a, b = x(max(start, -0.05)), x(min(end, 1.05))
        body.append(tag("rect", x=a, y=top, width=round(b - a, 1), height=bottom - top, class_="unseen-range"))
    for tick, word in label_ticks([0.0, 0.5, 1.0]):
        body.append(tag("path", d=f"M{left} {y(tick)}H{right}", class_="grid"))
        body += [label(word, left - 6, y(tick) + 4, "end"), label(word, x(tick), bottom + 15, "middle")]
    body.append(tag("path", d=f"M{x(max(0, low))} {y(max(0, low))}L{x(1)} {y(1)}", class_="guide"))
    rng = np.random.default_rng(seed)
    for (truth, found), kind in ((panel.seen, "dots tiny dim"), (panel.beyond, "dots tiny t1")):
        spread = panel.spread * (rng.random(len(truth)) - 0.5)
        dots = "".join(
            f"M{x(t + s)} {y(min(max(f, low), high))}h0" for t, s, f in zip(truth, spread, found, strict=True)
        )
        body.append(tag("path", d=dots, class_=kind))
    body.append(label("true", (left + right) / 2, height - 4, "middle"))
    far = float(np.mean(np.abs(panel.beyond[1] - panel.beyond[0])))
    near = float(np.mean(np.abs(panel.seen[1] - panel.seen[0])))
    about = f"{panel.factor}: predicted against true; mean error {near:.3f} at seen values, {far:.3f} at unseen ones"
    return svg(body, about, SIZE)


def panel_grid(panels: Sequence[Panel]) -> Html:
    """The panels of one model side by side."""
    return tag("div", [truth_panel(panel) for panel in panels], class_="grid splits")
