"""Tables of climbs from noise, by what they followed."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars

__all__ = ["climbs_by_way"]


def climbs_by_way(climbs: polars.DataFrame) -> list[tuple[str, polars.DataFrame]]:
    """The parts of a table of climbs, each with what to add to the model's name: those along the probability first.

    >>> import polars
    >>> table = polars.DataFrame({"along": ["probability", "score", "score"], "steps": [0, 7, 9]})
    >>> [(words, part["steps"].to_list()) for words, part in climbs_by_way(table)]
    [('', [0]), (', along its score', [7, 9])]
    """
    if "along" not in climbs.columns:
        return [("", climbs)]
    parts = climbs.sort("along", maintain_order=True).partition_by("along", as_dict=True, maintain_order=True)
    return [("" if way == "probability" else f", along its {way}", part) for (way,), part in parts.items()]
