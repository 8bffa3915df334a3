"""Do blocks of codes hold blocks of factors, and no others."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from unbraid.errors import UsageError
from unbraid.metrics._kinds import targets
from unbraid.metrics._polynomial import check_degree, powers
from unbraid.metrics._registry import register
from unbraid.metrics._score import Score, check_arrays, check_kinds, check_seed, split
from unbraid.metrics.mcc import match_codes
from unbraid.metrics.r2 import shares_explained

__all__ = ["block_r2"]

Blocks = Sequence[Sequence[int]]


@register(
    "block_r2",
    range=(-math.inf, 1.0),
    title="Block R²",
    about="variance of blocks of factors explained by their blocks of codes",
    parts={"leak": "R² of the wrong blocks"},
    measured=True,
    usual=False,
)
def block_r2(
    codes: ArrayLike,
    factors: ArrayLike,
    *,
    blocks: Blocks | None = None,
    code_blocks: Blocks | None = None,
    degree: int = 1,
    test: tuple[ArrayLike, ArrayLike] | None = None,
    kinds: Sequence[str] | None = None,
    seed: int = 0,
) -> Score:
    """Mean over blocks of factors of the R², on the test part, from the block of codes that is assigned to each.

    ``blocks`` are columns of factors, ``code_blocks`` columns of codes, as ``[(0, 1), (2, 3)]``; without, every column
    is a block. Blocks go together by the best one-to-one assignment on the training part; a block of factors without
    one counts 0. A block's R² is the mean of its factors', by least squares on products of up to ``degree`` of its
    codes: theorems give blocks up to maps that need not be linear. ``parts["leak"]`` is the mean R² of the wrong blocks
    of codes, at least 0 each: with independent factors it should be 0, otherwise it has what their dependence explains.
    """
    given = check_arrays(codes, factors, measured=True)
    known = check_kinds(kinds, given[1])
    check_degree(degree)
    of_factors = _blocks(blocks, given[1].shape[1], "blocks")
    of_codes = _blocks(code_blocks, given[0].shape[1], "code_blocks")
    train, held_out = split(codes, factors, test=test, seed=seed, measured=True)
    values = [np.unique(np.concatenate([train[1][:, k], held_out[1][:, k]])) for k in range(len(known))]
    wanted, truth = (
        [targets(part[1][:, k], kind, values[k]) for k, kind in enumerate(known)] for part in (train, held_out)
    )
    fitted, judged = np.empty((2, len(of_codes), len(of_factors)))
    for row, columns in enumerate(of_codes):
        inputs = powers(train[0][:, columns], degree)
        queries = powers(held_out[0][:, columns], degree, like=train[0][:, columns])
        weights = np.linalg.lstsq(inputs, np.hstack(wanted), rcond=None)[0]
        for table, seen, asked in ((fitted, inputs, wanted), (judged, queries, truth)):
            per_factor = shares_explained(seen @ weights, asked)
            table[row] = [per_factor[list(block)].mean() for block in of_factors]
    matched, _ = match_codes(np.maximum(fitted, 0.0))
    right = np.array([judged[row, column] if row >= 0 else 0.0 for column, row in enumerate(matched)])
    wrong = np.ones(judged.shape, dtype=bool)
    wrong[matched[matched >= 0], np.flatnonzero(matched >= 0)] = False
    leak = float(np.maximum(judged[wrong], 0.0).mean()) if wrong.any() else 0.0
    return Score(
        "block_r2",
        float(right.mean()),
        1.0,
        {"leak": leak, "per_block": right, "code_block_of_block": matched, "table": judged},
        {
            "estimator": "least squares",
            "degree": degree,
            "blocks": [list(block) for block in of_factors],
            "code_blocks": [list(block) for block in of_codes],
            "kinds": list(known) if kinds is not None else None,
            "train": len(train[0]),
            "test": len(held_out[0]),
            "seed": check_seed(seed),
        },
    )


def _blocks(given: Blocks | None, columns: int, name: str) -> list[list[int]]:
    if given is None:
        return [[column] for column in range(columns)]
    found = [[int(column) for column in block] for block in given]
    flat = [column for block in found for column in block]
    if not found or not all(found) or len(set(flat)) < len(flat) or not set(flat) <= set(range(columns)):
        raise UsageError(f"{name} must be lists of different columns from 0 to {columns - 1}, got {given!r}")
    return found
