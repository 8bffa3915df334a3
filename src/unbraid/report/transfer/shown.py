"""Effects as they are shown: points of accuracy, R2 and shares, percent of the twin's distance."""

from __future__ import annotations

import math

import numpy as np

from unbraid.transfer import Effect, get_scenario

__all__ = ["REACH", "in_words", "shown", "signed"]

REACH = 30.0
"""Points, or percent of a distance, from which on a cell is as dark as can be."""


def shown(effect: Effect | None) -> tuple[float, float]:
    """The effect and its standard error: in points, or in percent of the twin's mean distance."""
    if effect is None or not effect.seeds:
        return math.nan, math.nan
    twin = abs(float(np.mean(effect.twins)))
    scale = 100 / max(twin, 1e-12) if get_scenario(effect.scenario).unit == "distance" else 100.0
    return scale * effect.mean, scale * effect.error


def in_words(bias: str, twin: str, effect: Effect) -> str:
    """All that is known of a cell, line by line."""
    scenario = get_scenario(effect.scenario)
    mean, error = shown(effect)
    unit = f"% of the twin's {scenario.unit}" if scenario.unit == "distance" else "points"
    around = "" if math.isnan(error) else f" ± {error:.1f}"
    lines = [
        f"{bias} · {scenario.title}: {effect.word}",
        f"{mean:+.1f}{around} {unit} against {twin}",
        f"{np.mean(effect.values):.3g} against {np.mean(effect.twins):.3g}, {len(effect.seeds)} seed"
        f"{'s' if len(effect.seeds) > 1 else ''}: {', '.join(f'{value:.3g}' for value in effect.values)}",
    ]
    if not math.isnan(effect.error):
        half = 100 * 2 * effect.error / max(abs(effect.mean), 1e-12)
        lines.append(
            f"two standard errors are {half:.0f} % of the effect; p {effect.p:.2g}, Holm {effect.adjusted:.2g}"
        )
    return "\n".join(lines)


def signed(value: float) -> str:
    """Whole points with their sign; what rounds to zero has none.

    >>> signed(2.6), signed(-0.4), signed(-3.0)
    ('+3', '0', '−3')
    """
    return "0" if abs(value) < 0.5 else f"{value:+.0f}".replace("-", "−")
