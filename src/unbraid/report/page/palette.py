"""The colours of the page, light and dark, and the shades of heat maps with text that stays readable on them."""

from __future__ import annotations

__all__ = ["DARK", "LEVELS", "LIGHT", "SERIES", "contrast", "shade", "theme_css"]

LIGHT = {
    "page": "#f4f5f8",
    "paper": "#ffffff",
    "ink": "#1a2130",
    "quiet": "#535d6e",
    "line": "#d8dce4",
    "accent": "#0b5cad",
    "soft": "#e3eefa",
    "gap": "#fff4d6",
    "gap-ink": "#5e4200",
    "dead": "#a9b1bd",
    "s0": "#0b66b3",
    "s1": "#c24b00",
    "s2": "#00805c",
    "s3": "#b0508a",
    "s4": "#8a6500",
    "s5": "#5b4fc7",
    "s6": "#4d5663",
    "s7": "#007f8c",
}
DARK = {
    "page": "#0e1217",
    "paper": "#171c24",
    "ink": "#e7eaf0",
    "quiet": "#a6b0be",
    "line": "#313946",
    "accent": "#74b6ff",
    "soft": "#1c2d42",
    "gap": "#33290f",
    "gap-ink": "#f4d58a",
    "dead": "#5c6675",
    "s0": "#5eb0f5",
    "s1": "#ff9654",
    "s2": "#3fcf9f",
    "s3": "#ec95c8",
    "s4": "#e3b341",
    "s5": "#aa9fff",
    "s6": "#aab4c0",
    "s7": "#4fd1dc",
}
SERIES = 8
"""Colours told apart by colour-blind readers too; more series than that repeat them with dashes."""
LEVELS = 10
"""Steps of a heat map between nothing and most."""

_ENDS = {"light": ("#f4f6f9", "#0b4f94", "#a33a00"), "dark": ("#1d242e", "#8cc8ff", "#ffab73")}
"""Nothing, most, and least where values go both ways."""


def shade(value: float, low: float = 0.0, high: float = 1.0) -> str:
    """The class of a heat map's cell: ``h0`` to ``h10``, and ``n1`` to ``n10`` below zero.

    >>> shade(0.5), shade(-1.0, -1, 1), shade(float("nan"))
    ('h5', 'n10', 'hx')
    """
    if value != value:
        return "hx"
    if low < 0:
        level = round(LEVELS * min(1.0, abs(value) / max(high, -low)))
        return f"n{level}" if value < 0 and level else f"h{level}"
    span = high - low
    return f"h{round(LEVELS * min(1.0, max(0.0, (value - low) / span)))}" if span > 0 else "h0"


def contrast(first: str, second: str) -> float:
    """Contrast of two colours as the accessibility guidelines (WCAG 2) define it, 1 to 21.

    >>> round(contrast("#000000", "#ffffff"))
    21
    """
    lighter, darker = sorted((_luminance(first), _luminance(second)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def _channels(colour: str) -> list[float]:
    return [int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5)]


def _luminance(colour: str) -> float:
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in _channels(colour)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _mix(start: str, end: str, part: float) -> str:
    mixed = [a + (b - a) * part for a, b in zip(_channels(start), _channels(end), strict=True)]
    return "#" + "".join(f"{round(255 * channel):02x}" for channel in mixed)


def heat(theme: str) -> dict[str, tuple[str, str]]:
    """Background and text of each class of :func:`shade`. Black or white, one of them always has contrast 4.5."""
    nothing, most, least = _ENDS[theme]
    shades = {f"h{level}": _mix(nothing, most, level / LEVELS) for level in range(LEVELS + 1)}
    shades |= {f"n{level}": _mix(nothing, least, level / LEVELS) for level in range(1, LEVELS + 1)}
    return {
        name: (back, max("#000000", "#ffffff", key=lambda text: contrast(text, back))) for name, back in shades.items()
    }


def theme_css() -> str:
    """The style sheet's variables: by the reader's system, by the button of the page, and light on paper."""
    light, dark = _variables(LIGHT, "light"), _variables(DARK, "dark")
    cells = "".join(f".{name}{{background:var(--{name});color:var(--{name}t)}}" for name in heat("light"))
    return (
        f":root{{color-scheme:light;{light}}}"
        f"@media (prefers-color-scheme:dark){{:root:not([data-theme=light]){{color-scheme:dark;{dark}}}}}"
        f":root[data-theme=dark]{{color-scheme:dark;{dark}}}"
        f"@media print{{:root,:root[data-theme=dark],:root:not([data-theme=light]){{color-scheme:light;{light}}}}}"
        f"{cells}"
    )


def _variables(colours: dict[str, str], theme: str) -> str:
    plain = "".join(f"--{name}:{colour};" for name, colour in colours.items())
    return plain + "".join(f"--{name}:{back};--{name}t:{text};" for name, (back, text) in heat(theme).items())
