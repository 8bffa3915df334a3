"""The picture of a split inside a page: for every two factors, how much of each cell is trained on."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from unbraid.data import Split
from unbraid.report.page.markup import Html, tag
from unbraid.report.page.pictures import png
from unbraid.report.page.svg import label, svg

__all__ = ["seen_colours", "split_factors", "split_panels"]

_DARK, _PALE, _NEVER = (27, 106, 140), (216, 232, 238), (240, 168, 132)
_MANY, _MOST = 200, 5


def seen_colours(shares: np.ndarray) -> np.ndarray:
    """RGB of shares ``[h, w]``: one colour for what training never shows, pale to dark for the rest."""
    dark, pale, never = (np.array(colour, dtype=float) for colour in (_DARK, _PALE, _NEVER))
    found = pale + (dark - pale) * shares[..., None]
    return np.where(shares[..., None] > 0, found, never).round().astype(np.uint8)


def split_factors(splits: Sequence[Split]) -> list[str]:
    """The factors that any of these splits of one data set divides, as many as there is room for."""
    first = splits[0]
    divided = [name for one in splits if one.rule is not None for name in one.rule.sets]
    names = [
        name
        for name, size in zip(first.cells.names, first.cells.sizes, strict=True)
        if 1 < size <= _MANY and (name in divided or not divided)
    ]
    return names[:_MOST]


def split_panels(split: Split, names: Sequence[str]) -> Html:
    """A panel for every two of these factors, values from left to right and from the bottom up."""
    panel, gap, left, top = 46, 6, 66, 24
    across = len(names) - 1
    width, height = max(left + across * (panel + gap), 240), top + across * (panel + gap) + 16
    train, test = len(split.train), len(split.test)
    body: list[Html] = [tag("text", split.kind, x=0, y=14, class_="name")]
    body.append(label(f"{train / (train + test):.0%} to train on", width, 14, "end"))
    for row in range(across):
        y = top + row * (panel + gap)
        body.append(label(_short(names[row + 1]), left - 6, y + panel / 2 + 4, "end"))
        for column in range(row + 1):
            shares = np.flipud(split.seen(names[row + 1], names[column]))
            place = {"x": left + column * (panel + gap), "y": y, "width": panel, "height": panel}
            body.append(
                tag("image", href=png(seen_colours(shares)), preserveAspectRatio="none", class_="pixels", **place)
            )
    for column in range(across):
        at = left + column * (panel + gap) + panel / 2
        body.append(label(_short(names[column]), at, height - 3, "middle"))
    rule = f"seed {split.seed}" if split.rule is None else split.rule.words()
    about = f"{split.kind}: {train:,} images to train on, {test:,} to test; {rule}"
    return svg(body, about, (width, height))


def _short(name: str) -> str:
    """Names of factors as far as there is room: ``floor_hue`` is ``floor``, ``orientation`` is ``orient.``."""
    first = name if len(name) <= 7 else name.replace("_", " ").split()[0]
    return first if len(first) <= 7 else f"{first[:6]}."
