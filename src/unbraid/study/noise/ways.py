"""Ways of training against corruptions, by the names of Rusak et al. (2020)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from unbraid.errors import UsageError
from unbraid.options import parse_name

__all__ = ["CLEAN", "LINF", "PUBLISHED", "VANILLA", "with_ways"]

VANILLA = "vanilla"
"""Trained on images as they are; where the others begin."""
CLEAN = "clean, longer"
"""From there as many steps more as the others take, without noise: what they are compared with."""
LINF = "Linf trained"

PUBLISHED: Mapping[str, Mapping[str, str]] = {
    "mnist-c": {
        VANILLA: "vanilla (Madry arch.)",
        "GNT 0.5": "GNT 0.5",
        "ANT1x1": "ANT1x1",
        LINF: "Madry Linf adv. tr.",
    },
    "mnist-adversarial": {VANILLA: "vanilla", "GNT 0.5": "GNT 0.5", "ANT1x1": "ANT1x1"},
    "noise-distance": {VANILLA: "vanilla RN50", "GNT 0.5": "GNT 0.5", "GNT mult": "GNT mult", "ANT1x1": "ANT1x1"},
}
"""The rows of published tables that ways of training stand beside."""


def with_ways(table: pl.DataFrame) -> pl.DataFrame:
    """A study's table with a column ``way``: how each run was trained, in the order of the study's settings.

    Where settings of one name differ (in other options, networks, steps), what differs stands behind it in brackets.
    """
    missing = [pl.lit(None, kind).alias(name) for name, kind in _OPTIONAL.items() if name not in table.columns]
    whole = table.with_columns(missing).sort("index", maintain_order=True)
    about = ["objective", "augment", *(name for name in ("strength", "net", "steps") if name in whole.columns)]
    about = [name for name in about if name in whole.columns]
    settings: dict[str, dict[tuple[Any, ...], None]] = {}
    rows = []
    other = [pl.col(one).alias(f"_{one}") for one in about]
    for augment, after, *values in whole.select("augment", "after", *other).iter_rows():
        name, key = way_of(augment, after), tuple(values)
        settings.setdefault(name, {})[key] = None
        rows.append((name, key))
    told = []
    for name, key in rows:
        several = list(settings[name])
        apart = [str(key[k]) for k in range(len(key)) if len({other[k] for other in several}) > 1]
        told.append(f"{name} ({', '.join(apart)})" if apart else name)
    return whole.with_columns(pl.Series("way", told, pl.String))


def way_of(augment: str | None, after: int | None) -> str:
    """How a run was trained, from what was done to its batches and the run it began from.

    >>> way_of(None, None), way_of(None, 0), way_of("ant:kernel=3,eps=5", 0), way_of("blur", 0)
    ('vanilla', 'clean, longer', 'ANT3x3', 'blur')
    """
    if not augment:
        return VANILLA if after is None else CLEAN
    parts = []
    for text in augment.split(" + "):
        try:
            name, options = parse_name(text)
        except UsageError:
            return augment
        parts.append(_name(name, options) or text)
    return " + ".join(sorted(parts, key=str.islower))  # a published name first


def _name(name: str, options: Mapping[str, Any]) -> str:
    if name == "gaussian-noise":
        return "GNT mult" if "sigmas" in options else f"GNT {float(options.get('sigma', 0.5)):g}"
    if name == "ant":
        size = int(options.get("kernel", 1))
        return f"ANT{size}x{size}" + (" w/o EP" if float(options.get("replay", 1)) == 0 else "")
    if name == "adversarial":
        return LINF if options.get("norm", "linf") == "linf" else "L2 trained"
    return {"speckle": "Speckle", "stylised": "stylised"}.get(name, "")


_OPTIONAL = {"augment": pl.String, "after": pl.Int64}
