"""What networks and objectives may know of the data before there is a model."""

from dataclasses import dataclass

__all__ = ["Problem"]


@dataclass(frozen=True)
class Problem:
    """What an objective may know of the data before it builds its model."""

    shape: tuple[int, ...]
    """Height, width, channels of images; the length of vectors."""
    images: int
    """How many different images there are."""
    classes: int | None = None
    factor_sizes: tuple[int, ...] | None = None
