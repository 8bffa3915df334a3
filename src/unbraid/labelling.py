"""How the factors of labelled images become labels: exact, binned, noisy, permuted or some of them.

Labels as people give them are coarse, wrong, arbitrarily numbered or incomplete (Locatello et al., 2020, few labels). A
labeller is a rule, and what it draws follows from the seed of the labels alone, so that a stream of labelled images and
an objective that learns from it agree without asking each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from unbraid.errors import UsageError, unknown_name
from unbraid.options import parse_name

__all__ = ["LABELLERS", "Labels"]

LABELLERS: dict[str, dict[str, Any]] = {
    "exact": {},
    "binned": {"bins": 5},
    "noisy": {"p": 0.1},
    "permuted": {},
    "partial": {"factors": 2},
}
"""Labellers by name, with their options."""


@dataclass(frozen=True)
class Labels:
    """A labeller for factors of these sizes: ``noisy:p=0.1``, ``binned:bins=5``, ``permuted``, ``partial:factors=2``.

    ``binned`` cuts every factor of more values into so many bins, ``min(floor(v / (size / bins)), bins - 1)``;
    ``noisy`` draws each label anew with probability ``p``, uniformly, so that ``p (1 - 1/size)`` of them are wrong;
    ``permuted`` numbers the values of each factor in another order; ``partial`` knows some of the factors only, which
    are drawn, in an order that is drawn.

    >>> Labels("binned:bins=5", (6, 3)).of(np.array([[0, 2], [1, 0], [5, 1]])).tolist()
    [[0, 2], [0, 0], [4, 1]]
    """

    labeller: str
    factor_sizes: Sequence[int]
    seed: int = 0

    def __post_init__(self) -> None:
        name, options = self._read()
        if name not in LABELLERS:
            raise unknown_name("labeller", name, LABELLERS)
        for option in options:
            if option not in LABELLERS[name]:
                raise unknown_name(f"option of labeller {name!r}:", option, LABELLERS[name])
        given = {**LABELLERS[name], **options}
        if name == "noisy" and not (isinstance(given["p"], int | float) and 0 <= given["p"] <= 1):
            raise UsageError(f"p of labeller 'noisy' must lie in [0, 1], got {given['p']!r}")
        if name == "binned" and not (isinstance(given["bins"], int) and given["bins"] >= 2):
            raise UsageError(f"bins of labeller 'binned' must be a whole number from 2 on, got {given['bins']!r}")
        most = len(self.factor_sizes)
        if name == "partial" and not (isinstance(given["factors"], int) and 1 <= given["factors"] <= most):
            raise UsageError(f"factors of labeller 'partial' must lie in 1..{most}, got {given['factors']!r}")

    @property
    def columns(self) -> tuple[int, ...]:
        """Which factors are labelled, in the order of the labels."""
        name, options = self._read()
        every = tuple(range(len(self.factor_sizes)))
        if name != "partial":
            return every
        count = int({**LABELLERS[name], **options}["factors"])
        return tuple(int(k) for k in self._rng(0).permutation(len(every))[:count])

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many values each label has."""
        name, options = self._read()
        sizes = [int(self.factor_sizes[k]) for k in self.columns]
        most = int({**LABELLERS[name], **options}["bins"]) if name == "binned" else None
        return tuple(size if most is None else min(size, most) for size in sizes)

    def of(self, factors: np.ndarray) -> np.ndarray:
        """Labels ``[n, k]`` of factor rows ``[n, K]``; the same rows get the same labels, noise and all."""
        name, options = self._read()
        given = {**LABELLERS[name], **options}
        labels = np.asarray(factors, dtype=np.int64)[:, list(self.columns)]
        if name == "binned":
            bins = int(given["bins"])
            for column, size in enumerate(self.factor_sizes):
                if size > bins:
                    labels[:, column] = np.minimum(labels[:, column] * bins // size, bins - 1)
        elif name == "noisy":
            rng = self._rng(1)
            wrong = rng.random(labels.shape) < given["p"]
            labels = np.where(wrong, rng.integers(0, self.sizes, size=labels.shape), labels)
        elif name == "permuted":
            rng = self._rng(2)
            for column, size in enumerate(self.sizes):
                labels[:, column] = rng.permutation(size)[labels[:, column]]
        return labels

    def _read(self) -> tuple[str, dict[str, Any]]:
        name, options = parse_name(self.labeller)
        return name, options

    def _rng(self, what: int) -> np.random.Generator:
        return np.random.default_rng(np.random.SeedSequence((self.seed, 0x1ABE1, what)))
