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
    factor_names: tuple[str, ...] = ()
    factor_ranges: tuple[tuple[float, float], ...] | None = None
    """Smallest and largest value of each factor that was measured; numbered values begin at 0."""
    factor_kinds: tuple[str, ...] = ()
    """``ordinal``, ``categorical`` or ``periodic``, for each factor; empty where a run does not tell."""

    @property
    def ranges(self) -> tuple[tuple[float, float], ...]:
        """Smallest and largest value of each factor.

        >>> Problem((8, 8, 1), 12, factor_sizes=(3, 4), factor_names=("x", "y")).ranges
        ((0.0, 2.0), (0.0, 3.0))
        """
        if self.factor_ranges is not None:
            return self.factor_ranges
        return tuple((0.0, float(size - 1)) for size in self.factor_sizes or ())
