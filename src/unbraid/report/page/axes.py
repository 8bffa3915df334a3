"""Where numbers lie on a chart: scales, round ticks, and numbers as people write them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

__all__ = ["Scale", "label_ticks", "linear_ticks", "number", "without_dust"]


def number(value: float | None, digits: int = 3) -> str:
    """A number for people: as many digits as matter, thousands apart.

    >>> [number(v) for v in (0.12345, 12.345, 1234.5, 0.00012, 1.0, None)]
    ['0.123', '12.3', '1,234', '0.00012', '1', '-']
    """
    if value is None or math.isnan(value):
        return "-"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    size = abs(value)
    if size >= 1000:
        text = f"{value:,.0f}"
    elif size >= 100:
        text = f"{value:.0f}"
    elif size == 0 or size >= 0.001:
        places = max(0, digits - 1 - math.floor(math.log10(size))) if size >= 1 else digits
        text = f"{value:.{places}f}"
        text = text.rstrip("0").rstrip(".") if "." in text else text
    else:
        text = f"{value:.2g}"
    return text.replace("-", "−") if value < 0 else text


def without_dust(value: float) -> float:
    """A number whose last bits are what is left of rounding: nearer to zero than 1e-12 it is zero.

    >>> [without_dust(v) for v in (-2.2e-14, 0.1)]
    [0.0, 0.1]
    """
    return 0.0 if abs(value) < 1e-12 else value


def linear_ticks(low: float, high: float, count: int = 5) -> list[float]:
    """Round numbers between two bounds, about ``count`` of them.

    >>> linear_ticks(0, 0.93)
    [0.0, 0.2, 0.4, 0.6, 0.8]
    """
    span = high - low
    if not span > 0:
        return [low]
    rough = span / count
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= rough * 0.999)
    first = math.ceil(low / step - 1e-9)
    return [round(i * step, 12) for i in range(first, math.floor(high / step + 1e-9) + 1)]


def label_ticks(ticks: Sequence[float]) -> list[tuple[float, str]]:
    """Ticks and the words beside them, with so many digits that no two read the same.

    >>> label_ticks([122.0, 122.5]), label_ticks([0.0, 0.5])
    ([(122.0, '122.0'), (122.5, '122.5')], [(0.0, '0'), (0.5, '0.5')])
    """
    labels = [number(tick) for tick in ticks]
    if len(set(labels)) < len(labels):
        places = max(len(f"{tick:.12f}".rstrip("0").partition(".")[2]) for tick in ticks)
        labels = [f"{tick:,.{places}f}".replace("-", "−") for tick in ticks]
    return list(zip(ticks, labels, strict=True))


@dataclass(frozen=True)
class Scale:
    """From numbers to pixels, straight or by logarithm."""

    low: float
    high: float
    start: float
    end: float
    logarithmic: bool = False

    @classmethod
    def over(
        cls, values: Iterable[float], start: float, end: float, *, logarithmic: bool = False, pad: float = 0.0
    ) -> Scale:
        """A scale that holds all finite values, with a margin of ``pad`` spans; from 0 down it is never logarithmic."""
        found = np.asarray(list(values), dtype=float)
        found = found[np.isfinite(found)]
        low, high = (float(found.min()), float(found.max())) if len(found) else (0.0, 1.0)
        if logarithmic and low > 0:
            margin = (high / low) ** pad if high > low else 1.3
            return cls(low / margin, high * margin, start, end, True)
        margin = (high - low) * pad if high > low else max(abs(low) * 0.1, 0.5)
        return cls(low - margin, high + margin, start, end)

    def __call__(self, value: float) -> float:
        if self.logarithmic:
            part = math.log(value / self.low) / math.log(self.high / self.low)
        else:
            part = (value - self.low) / (self.high - self.low)
        return round(self.start + part * (self.end - self.start), 1)

    def ticks(self, count: int = 5, *, whole: bool = False) -> list[float]:
        """Numbers to write along the axis; ``whole`` leaves out fractions, for things that are counted."""
        if not self.logarithmic:
            found = linear_ticks(self.low, self.high, count)
            return [tick for tick in found if tick == round(tick)] if whole else found
        decades = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        for factors in ((1,), (1, 3), (1, 2, 5)):
            found = [f * 10.0**d for d in decades for f in factors if self.low <= f * 10.0**d <= self.high]
            if len(found) >= 3:
                return found[:: -(-len(found) // (count + 2))]
        return found or [self.low, self.high]
