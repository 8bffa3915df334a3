"""Effects as they are shown: points of accuracy, R2 and shares, percent of the twin's distance."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

import numpy as np

from unbraid.report.page.palette import shade
from unbraid.transfer import Effect, get_scenario, scenarios

__all__ = ["REACH", "absolute", "cell_shade", "decided", "in_words", "shown", "signed", "with_titles"]

REACH = 30.0
"""Points, or percent of a distance, from which on a cell is as dark as can be."""
_NAMES = ("gaussian-distance",)
"""Scenarios that are called after somebody."""


def shown(effect: Effect | None) -> tuple[float, float]:
    """The effect and its standard error: in points, or in percent of the twin's mean distance."""
    if effect is None or not effect.seeds:
        return math.nan, math.nan
    twin = abs(float(np.mean(effect.twins)))
    scale = 100 / max(twin, 1e-12) if get_scenario(effect.scenario).unit == "distance" else 100.0
    return scale * effect.mean, scale * effect.error


def decided(effect: Effect) -> bool:
    """Whether it is better or worse."""
    return effect.word in ("better", "worse")


def cell_shade(effect: Effect) -> str:
    """The shade of a cell (:func:`unbraid.report.page.palette.shade`): none where nothing changes."""
    return "h0" if effect.word == "unchanged" else shade(shown(effect)[0], -REACH, REACH)


def in_words(bias: str, twin: str, effect: Effect) -> str:
    """All that is known of a cell, line by line."""
    scenario = get_scenario(effect.scenario)
    mean, error = shown(effect)
    unit = f"% of the twin's {scenario.unit}" if scenario.unit == "distance" else "points"
    seeds = f"seed{'s' if len(effect.seeds) > 1 else ''} {', '.join(map(str, effect.seeds))}"
    lines = [f"{bias} · {scenario.title}: {effect.word}", f"{_fine(mean)} {unit} against {twin}"]
    if not math.isnan(error):
        lines.append(f"from {_fine(mean - 2 * error)} to {_fine(mean + 2 * error)} (two standard errors)")
    lines.append(f"{_each(effect.values)} against {_each(effect.twins)} ({seeds})")
    if not math.isnan(effect.p):
        kept = ", survives" if effect.survives else ""
        lines.append(f"p {effect.p:.2g}, after Holm {effect.adjusted:.2g}{kept}")
    return "\n".join(lines)


def absolute(scenario: str, by_seed: Mapping[int, float]) -> tuple[str, str]:
    """A model's own number, short (percent, or a distance) and in words."""
    known = get_scenario(scenario)
    mean = float(np.mean(list(by_seed.values())))
    short = f"{mean:.2g}".removeprefix("0") or "0" if known.unit == "distance" else f"{100 * mean:.0f}"
    seeds = ", ".join(str(seed) for seed in sorted(by_seed))
    each = _each([value for _, value in sorted(by_seed.items())])
    return short, f"{known.title}: {mean:.3g} {known.unit}\n{each} (seed{'s' if len(by_seed) > 1 else ''} {seeds})"


def signed(value: float) -> str:
    """Whole points with their sign; what rounds to zero has none.

    >>> signed(2.6), signed(-0.4), signed(-3.0)
    ('+3', '0', '−3')
    """
    return "0" if abs(value) < 0.5 else f"{value:+.0f}".replace("-", "−")


def with_titles(sentence: str) -> str:
    """A sentence in which scenarios have the names that the heads of the matrix have.

    >>> with_titles("better on its own l2, few-labels, worse on linf; linf-training")
    'better on its own L2, few labels, worse on L∞; linf-training'
    """
    for name in scenarios():
        title = get_scenario(name).title
        if title == name.replace("-", " ").capitalize() and len(name) > 2 and name not in _NAMES:
            title = title.lower()
        if title != name:
            sentence = re.sub(rf"(?<![\w+-]){re.escape(name)}(?![\w+-])", title, sentence)
    return sentence


def _fine(value: float) -> str:
    return f"{round(value, 1) + 0.0:+.1f}".replace("-", "−")


def _each(values: tuple[float, ...] | list[float]) -> str:
    return ", ".join(f"{value:.3g}" for value in values)
