"""FactorVAE score (Kim & Mnih, 2018)."""

from functools import partial
from typing import Any

import numpy as np

from unbraid.errors import UsageError
from unbraid.metrics._encode import FactorData, Space
from unbraid.metrics._interventions import Groups, Ideal, Plan, Rows, Sampling, by_points, carry_out, draw_groups
from unbraid.metrics._registry import UNIT, register
from unbraid.metrics._score import Score, check_seed, generator

__all__ = ["factor_vae"]


def _plan(
    space: Space,
    sampling: Sampling,
    *,
    plain: int | None = None,
    min_std: float = 0.05,
    relative: bool = False,
    seed: int = 0,
) -> Plan:
    learn, check = sampling.groups
    alone = sampling.train if plain is None else plain
    groups = draw_groups(space, learn + check, sampling.batch, alone, generator(seed))
    score = partial(_score, groups=groups, space=space, train=learn, min_std=min_std, relative=relative, seed=seed)
    return Plan(np.concatenate([groups.plain, groups.index.reshape(-1)]), score)


@register(
    "factor_vae",
    needs="interventions",
    range=UNIT,
    title="FactorVAE score",
    short="FactorVAE",
    about="which factor does a group of images share, by the stillest code",
    plan=_plan,
)
def factor_vae(
    encode: Any,
    data: FactorData,
    *,
    batch: int = 64,
    train: int = 10_000,
    test: int = 5_000,
    plain: int = 10_000,
    min_std: float = 0.05,
    relative: bool = False,
    seed: int = 0,
) -> Score:
    """Accuracy of telling which factor a group of images shares from the code that varies least within it.

    One point: a factor, ``batch`` images that agree in it, a vote for the code with the smallest variance relative to
    its variance over ``plain`` independent images. Each code stands for the factor it was voted for most among
    ``train`` points; the score is the accuracy of that rule on ``test`` fresh ones. ``encode`` maps uint8 images to
    codes, or is a run. Codes with a standard deviation below ``min_std`` do not vote; if none is left the score is 0.

    Flaws: a random rotation of perfect codes still scores about 0.87; and ``min_std`` is absolute, so codes of
    small scale all drop out. ``relative=True`` takes it in units of the largest standard deviation.
    """
    if min(batch, plain) < 2 or min(train, test) < 1:
        raise UsageError(f"batch and plain must be at least 2, train and test 1, got {batch}, {plain}, {train}, {test}")
    sampling, options = Sampling(train, test, batch), {"plain": plain, "min_std": min_std, "relative": relative}
    return carry_out(_plan, encode, data, sampling, seed=seed, **options)


def _score(
    codes: Rows, groups: Groups, space: Space, *, train: int, min_std: float, relative: bool, seed: int
) -> Score:
    """The score from the codes of ``groups.plain`` and then ``groups.index``; ``train`` points make the rule."""
    value, votes, rule, active = _accuracy(codes, groups, len(space.sizes), train, min_std, relative)
    ideal = Ideal(space, np.concatenate([groups.plain, groups.index.reshape(-1)]))
    return Score(
        "factor_vae",
        value,
        _accuracy(ideal, groups, len(space.sizes), train, min_std, relative)[0],
        {"votes": votes, "factor_of_code": rule, "active": active},
        {
            "batch": groups.index.shape[1],
            "train": train,
            "test": len(groups.shared) - train,
            "plain": len(groups.plain),
            "min_std": min_std,
            "relative": relative,
            "seed": check_seed(seed),
        },
    )


def _accuracy(
    codes: Rows, groups: Groups, factors: int, train: int, min_std: float, relative: bool
) -> tuple[float, np.ndarray, np.ndarray, np.ndarray]:
    """Accuracy, training votes ``[d, K]``, factor of each code (-1 without votes), which codes may vote."""
    variance = codes[: len(groups.plain)].var(axis=0, ddof=1)
    threshold = min_std * np.sqrt(variance.max()) if relative else min_std
    active = (variance > 0) & (np.sqrt(variance) >= threshold)
    votes = np.zeros((len(variance), factors), dtype=np.int64)
    if not active.any():
        return 0.0, votes, np.full(len(votes), -1), active
    points, batch = groups.index.shape
    local = by_points(codes, len(groups.plain), points, batch, lambda rows: rows.var(axis=1, ddof=1))  # [points, d]
    winner = np.where(active, local / np.where(active, variance, 1), np.inf).argmin(axis=1)
    np.add.at(votes, (winner[:train], groups.shared[:train]), 1)
    rule = np.where(votes.sum(axis=1) > 0, votes.argmax(axis=1), -1)
    return float((rule[winner[train:]] == groups.shared[train:]).mean()), votes, rule, active
