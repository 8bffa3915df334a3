"""Curves by factor: what is predicted for each true value, and how errors grow with a gap in what was seen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from unbraid.data import Dataset, FactorSpace, Split, split
from unbraid.errors import UsageError, unknown_name
from unbraid.generalization.analyses import Unseen
from unbraid.generalization.scores import check_prediction, space_of, targets

if TYPE_CHECKING:
    import polars

__all__ = ["gap_curve", "gap_splits", "gap_values", "predicted_by_value"]

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


def predicted_by_value(
    prediction: np.ndarray,
    factors: np.ndarray,
    space: FactorSpace,
    unseen: Unseen,
    quantiles: Sequence[float] = QUANTILES,
) -> polars.DataFrame:
    """What a model says for each true value of a factor: mean and quantiles of the scaled predictions.

    One row per factor and value. Only images whose other factors all have seen values are looked at, so give
    predictions of both sides of a split. ``seen`` tells the values that training showed; ``true`` is the scaled value,
    which a perfect model predicts. Factors without an order and with two values are left out, as in the paper.
    """
    import polars

    rows = np.asarray(factors)
    truth = targets(rows, space)
    said = check_prediction(prediction, len(truth), space)
    beyond = np.stack([np.isin(rows[:, k], list(unseen.get(name, ()))) for k, name in enumerate(space.names)], axis=1)
    found = []
    for k in ordered(space):
        others = ~np.delete(beyond, k, axis=1).any(axis=1)
        for value in np.unique(rows[others, k]):
            chosen = said[others & (rows[:, k] == value), k]
            at = np.quantile(chosen, quantiles)
            seen = value not in unseen.get(space.names[k], ())
            scaled = float(value / (space.sizes[k] - 1))
            found.append((space.names[k], int(value), scaled, seen, float(chosen.mean()), *map(float, at), len(chosen)))
    names = [f"q{100 * q:g}" for q in quantiles]
    schema = ["factor", "value", "true", "seen", "mean", *names, "images"]
    return polars.DataFrame(found, schema=schema, orient="row")


def ordered(space: FactorSpace) -> list[int]:
    """Columns of the factors that have an order and more than two values: those that can be left on a grid."""
    return [k for k, kind in enumerate(space.kinds) if kind != "categorical" and space.sizes[k] > 2]


def gap_values(size: int, width: int) -> list[int]:
    """The values in the middle of a range that a gap of a width keeps from training; both ends always stay.

    >>> gap_values(10, 1), gap_values(10, 2), gap_values(10, 3)
    ([4], [4, 5], [3, 4, 5])
    """
    if not 1 <= width <= size - 2:
        raise UsageError(f"width must lie between 1 and {size - 2}, so that both ends are seen, got {width}")
    first = (size - width) // 2
    return list(range(first, first + width))


def gap_splits(data: Dataset, factor: str, widths: Sequence[int] | None = None) -> dict[int, Split]:
    """Splits that keep ever more values in the middle of one factor's range from training, by the width of the gap.

    Without ``widths``: 1, 2, 4, ... up to all but both ends. Train a model on each one's ``train`` and give what it
    says of ``test`` to :func:`gap_curve`.

    >>> from unbraid.data import MiniSprites
    >>> {width: halves.unseen for width, halves in gap_splits(MiniSprites(), "x", [1, 4]).items()}
    {1: {'x': (3,)}, 4: {'x': (2, 3, 4, 5)}}
    """
    size = space_of(data).sizes[_column(space_of(data), factor)]
    chosen = _doubling(size - 2) if widths is None else list(widths)
    return {width: split(data, {factor: {"test_only": gap_values(size, width)}}) for width in chosen}


def gap_curve(
    answers: Mapping[int, tuple[np.ndarray, np.ndarray]], space: FactorSpace, factor: str
) -> polars.DataFrame:
    """How errors of a factor grow with the gap: predictions and factors of held-out images, by the width of the gap.

    One row per width: ``squared_error`` and ``r2`` of this factor over the values in the gap, ``middle`` the squared
    error of those farthest from what was seen, ``steps`` the mean absolute error in steps of the grid, ``clamp`` the
    squared error of a model that says the nearest seen value, ``others`` the mean squared error of the other factors.
    """
    import polars

    k, rows = _column(space, factor), []
    size = space.sizes[k]
    for width, (prediction, factors) in sorted(answers.items()):
        values = np.asarray(gap_values(size, width))
        truth = targets(factors, space)
        said = check_prediction(prediction, len(truth), space)
        held = np.asarray(factors)[:, k]
        wrong = ~np.isin(held, values)
        if wrong.any():
            raise UsageError(
                f"a gap of {width} in {factor!r} holds the values {values.tolist()}, and the factors of its answers "
                f"have a {held[wrong][0]}; give those of gap_splits(data, {factor!r})[{width}].test"
            )
        distance = np.minimum(held - values[0], values[-1] - held) + 1
        errors = np.square(said - truth)
        rest = np.delete(errors, k, axis=1)
        rows.append(
            (
                width,
                float(errors[:, k].mean()),
                float(1 - errors[:, k].mean() * 12 * (size - 1) / (size + 1)),
                float(errors[distance == distance.max(), k].mean()),
                float(np.sqrt(errors[:, k]).mean() * (size - 1)),
                float(np.square(distance / (size - 1)).mean()),
                float(rest.mean()) if rest.size else float("nan"),
                len(held),
            )
        )
    schema = ["width", "squared_error", "r2", "middle", "steps", "clamp", "others", "images"]
    return polars.DataFrame(rows, schema=schema, orient="row")


def _column(space: FactorSpace, factor: str) -> int:
    if factor not in space.names:
        raise unknown_name("factor", factor, space.names)
    k = space.names.index(factor)
    if k not in ordered(space):
        known = ", ".join(space.names[j] for j in ordered(space)) or "none"
        raise UsageError(f"factor {factor!r} has no middle: {space.sizes[k]} values, {space.kinds[k]}; others: {known}")
    return k


def _doubling(most: int) -> list[int]:
    """1, 2, 4, ... and the largest."""
    found = [2**k for k in range(most.bit_length()) if 2**k < most]
    return [*found, most]
