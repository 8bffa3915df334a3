"""How well factors are predicted: R² by the variance of the whole grid (Schott et al., 2022, section 3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from unbraid.data import FactorSpace
from unbraid.errors import UsageError

if TYPE_CHECKING:
    import polars

    from unbraid.data import Dataset

__all__ = ["Scores", "check_prediction", "grid_mean", "grid_variance", "r2", "space_of", "targets"]


@dataclass(frozen=True)
class Scores:
    """R² and squared error of every factor over some images, and their means."""

    factors: tuple[str, ...]
    r2: np.ndarray
    """``[K]``; 1 is perfect, nothing bounds it below."""
    squared_error: np.ndarray
    """``[K]``, of factors scaled to [0, 1]."""
    images: int

    @property
    def mean(self) -> float:
        """Unweighted mean of R² over all factors, also those that no split touches."""
        return float(self.r2.mean())

    @property
    def mean_squared_error(self) -> float:
        return float(self.squared_error.mean())

    def table(self) -> polars.DataFrame:
        """One row per factor."""
        import polars

        columns = {"factor": list(self.factors), "r2": self.r2, "squared_error": self.squared_error}
        return polars.DataFrame(columns).with_columns(images=polars.lit(self.images))


def space_of(data: Dataset) -> FactorSpace:
    """Names, sizes and kinds of the factors of a data set, whether it holds every combination of them or not."""
    if data.space is not None:
        return data.space
    if data.factor_sizes is None:
        raise UsageError(
            f"factors of {data.name!r} must be counted values for generalisation, "
            + ("these are measured ones; bin them first" if data.has_factors else "it has none")
        )
    return FactorSpace(data.factor_names, data.factor_sizes, data.factor_kinds)


def targets(factors: np.ndarray, space: FactorSpace) -> np.ndarray:
    """Factor values as models predict them: the first value 0, the last 1, evenly spaced between; float64 ``[n, K]``.

    Categories are scaled by their number in the same way, as in the paper. A factor of one value stays 0.

    >>> targets([[0, 0], [2, 3]], FactorSpace(("shape", "x"), (3, 4), ("categorical", "ordinal")))
    array([[0., 0.],
           [1., 1.]])
    """
    rows = np.asarray(factors)
    space.index(rows)  # refuses wrong widths, fractions and values outside the grid
    return rows / np.maximum(np.array(space.sizes) - 1, 1)


def grid_mean(space: FactorSpace) -> np.ndarray:
    """Mean of every target over the whole grid."""
    return np.where(np.array(space.sizes) > 1, 0.5, 0.0)


def grid_variance(space: FactorSpace) -> np.ndarray:
    """Population variance of every target over the whole grid: (n + 1) / (12 (n - 1)) for n evenly spaced values.

    >>> grid_variance(FactorSpace(("shape", "x"), (3, 10), ("categorical", "ordinal"))).round(6)
    array([0.166667, 0.101852])
    """
    sizes = np.array(space.sizes, dtype=float)
    if (sizes < 2).any():
        name = space.names[int((sizes < 2).argmax())]
        raise UsageError(f"factor {name!r} has one value alone, so there is nothing to predict; leave it out")
    return (sizes + 1) / (12 * (sizes - 1))


def r2(prediction: np.ndarray, factors: np.ndarray, space: FactorSpace) -> Scores:
    """R² of predictions ``[n, K]`` of scaled factors (:func:`targets`) against integer factor values ``[n, K]``.

    1 - squared error / variance for each factor. The variance is that of the **whole grid**, also where the images are
    the test side of a split: the score of a model does not depend on how varied the images are that it is asked about.
    """
    truth = targets(factors, space)
    found = check_prediction(prediction, len(truth), space)
    if not len(truth):
        raise UsageError("factors hold no row: R2 of nothing is not defined")
    errors = np.square(found - truth).mean(axis=0)
    return Scores(space.names, 1 - errors / grid_variance(space), errors, len(truth))


def check_prediction(prediction: np.ndarray, count: int, space: FactorSpace) -> np.ndarray:
    """Predictions as float64 ``[n, K]``; an error that names the factor where they cannot be meant."""
    found = np.asarray(prediction)
    if found.dtype.kind not in "fiu":
        raise UsageError(f"prediction must be numbers [n, {len(space.names)}], got {found.dtype}")
    if found.shape != (count, len(space.names)):
        raise UsageError(
            f"prediction must be [{count}, {len(space.names)}], a column per factor ({', '.join(space.names)}), "
            f"got {list(found.shape)}"
        )
    found = found.astype(np.float64)
    wrong = ~np.isfinite(found)
    if wrong.any():
        name, row = space.names[int(wrong.any(axis=0).argmax())], int(wrong.any(axis=1).argmax())
        raise UsageError(f"prediction of factor {name!r} holds {int(wrong.sum())} NaN or infinity, first in row {row}")
    _refuse_steps(found, space)
    return found


def _refuse_steps(found: np.ndarray, space: FactorSpace) -> None:
    """Predictions that run over 0..n-1 where 0..1 is meant."""
    if len(found) < 20:
        return
    low, high = np.quantile(found, [0.25, 0.75], axis=0)
    sizes = np.array(space.sizes)
    # Half of all predictions beyond twice the range on either side: no model that learnt scaled targets does that.
    steps = (sizes > 5) & (high > 3) & (high < sizes) & (low >= 0)
    if steps.any():
        k = int(steps.argmax())
        raise UsageError(
            f"prediction of factor {space.names[k]!r} runs up to {found[:, k].max():.3g}; targets are scaled to 0..1: "
            f"divide values 0..{sizes[k] - 1} by {sizes[k] - 1} (unbraid.generalization.targets does it)"
        )
