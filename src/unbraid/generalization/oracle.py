"""Is the read-out the bottleneck? The true factors in the place of codes (Schott et al., 2022, appendix A)."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from unbraid.data import Split, split
from unbraid.errors import UsageError
from unbraid.generalization.codes import Codes
from unbraid.generalization.drawing import draw, draw_split
from unbraid.generalization.evaluate import Answers, Asked
from unbraid.generalization.readouts import ReadoutKind, fit_trees, train_readout
from unbraid.generalization.recipes import Recipe, get_recipe
from unbraid.generalization.scores import check_prediction, space_of, targets

if TYPE_CHECKING:
    from collections.abc import Callable

    from unbraid.data import Dataset, FactorSpace

__all__ = ["WIDTH", "oracle_codes", "oracle_readout"]

WIDTH = 10
"""Length of the codes of the published representations."""


def oracle_codes(factors: np.ndarray, space: FactorSpace, *, flip: bool = False, width: int = WIDTH) -> np.ndarray:
    """Scaled factors, or their negatives, with zeros behind them: a perfect code ``[n, width]``."""
    rows = targets(factors, space)
    codes = np.zeros((len(rows), max(width, rows.shape[1])), dtype=np.float32)
    codes[:, : rows.shape[1]] = -rows if flip else rows
    return codes


def oracle_readout(
    data: Dataset,
    kind: Split | str = "extrapolation",
    *,
    flip: bool = False,
    readout: ReadoutKind = "mlp",
    recipe: str | Recipe = "paper",
    images: int | None = None,
    seed: int = 0,
    out: str | Path | None = None,
) -> Answers:
    """What a read-out makes of the true factors (``flip``: of their negatives) outside its training values.

    No image is looked at. Where this is near 1, a representation that is right up to order and sign loses nothing by
    its read-out. ``out`` keeps the read-out's run; without it, it is thrown away.
    """
    chosen = get_recipe(recipe)
    halves = kind if isinstance(kind, Split) else split(data, kind, seed)
    if halves.data is not data:
        raise UsageError(f"the split is of {halves.data.name!r}, not of {data.name!r}; make it with split(data, kind)")
    space = space_of(data)
    index = draw(len(halves.train), chosen.readout.images, 0)
    codes = Codes(oracle_codes(halves.train.factors(index), space, flip=flip), halves.train, index, space)
    with tempfile.TemporaryDirectory(prefix="unbraid-") as folder:
        place = Path(folder) / "readout" if out is None else Path(out)
        read: Callable[[np.ndarray], np.ndarray]
        if readout == "trees":
            read = fit_trees(codes, seed=seed)
        else:
            run = train_readout(codes, readout, chosen.readout, place, seed=seed)
            read = run.predict

        def ask(part: Dataset, positions: np.ndarray) -> Asked:
            factors = part.factors(positions)
            said = check_prediction(read(oracle_codes(factors, space, flip=flip)), len(positions), space)
            return Asked(said, factors, part.origin(positions))

        test, train, more = draw_split(halves, images, None, 0, seed)
        assert not len(more)
        return Answers(halves, ask(halves.test, test), ask(halves.train, train))
