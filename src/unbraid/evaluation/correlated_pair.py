"""Whether a model braids factors that were correlated in training (Träuble et al., 2021), as a measure."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from unbraid.data import counter_rng
from unbraid.errors import UsageError
from unbraid.evaluation.base import Measure, Row, register
from unbraid.evaluation.models import encode_all
from unbraid.metrics import Score, dci, pair_entanglement, repair_pair

if TYPE_CHECKING:
    from unbraid.data import ImageDataset
    from unbraid.training import Run

__all__ = ["CorrelatedPair"]


@register("correlated-pair")
@dataclass(frozen=True)
class CorrelatedPair(Measure):
    """How far two factors share codes, beside all other pairs, and what is left of it after a repair with few labels.

    Importances of codes for factors are DCI's, on images of the whole grid, where no factor knows of another. Two
    factors are entangled as far as the threshold at which they share a group (the score ``unified``). The repair
    replaces the two codes that matter most for the pair by a linear fit of both factors. Which codes those are, and the
    fit, are told by a few labelled images alone, drawn as those of the data are.
    """

    title = "Entanglement of correlated factors"
    titles: ClassVar[Mapping[str, str]] = {
        "pair_entanglement": "entanglement of the pair",
        "other_entanglement": "median of other pairs",
        "repaired_pair": "the pair after repair",
        "repaired_others": "others after repair",
    }
    version = 2  # the repair sees its few labels alone
    needs = "a model of two latents or more, and data on a full grid with correlate= or a pair=FACTOR+FACTOR of it"
    pair: str = ""
    """Two factors joined by +; by default every pair that the data correlate."""
    labels: int = 100
    """Labelled images that the repair chooses codes and is fitted by; 0: no repair."""
    train: int = 10_000
    """Images that importances are fitted on."""
    test: int = 5000
    """Images that the fit is judged on, which importances do not depend on."""

    def __post_init__(self) -> None:
        if min(self.train, self.test) < 2:
            raise UsageError(f"train and test must be at least 2, got {self.train} and {self.test}")
        if self.labels and self.labels < 3:
            raise UsageError(f"labels must be at least 3 (two slopes and a constant), or 0, got {self.labels}")
        names = self.pair.split("+")
        if self.pair and not (len(names) == len(set(names)) == 2 and all(names)):
            raise UsageError(f"pair must be two factors joined by +, as in x+y, got {self.pair!r}")

    def pairs(self, data: ImageDataset) -> list[tuple[str, str]]:
        """The pairs of factors that are asked for, as far as the data have them."""
        found = [tuple(self.pair.split("+"))] if self.pair else list(getattr(data, "pairs", ()))
        return [(a, b) for a, b in found if {a, b} <= set(data.factor_names)]

    def applies(self, run: Run, data: ImageDataset) -> bool:
        latents = getattr(getattr(run, "objective", None), "latents", 2)
        return run.can("encode") and latents > 1 and data.space is not None and bool(self.pairs(data))

    def rows(self, run: Run, data: ImageDataset, seed: int) -> Iterator[Row]:
        space = data.need_space("entanglement of correlated factors")
        samples = []
        for number, count in enumerate((self.train, self.test)):
            rng = counter_rng(seed, number)
            index = space.index(space.sample(count, rng))
            samples.append((encode_all(run, data, index, rng), data.factors(index)))
        importance = _importance(samples, seed)
        for pair in self.pairs(data):
            places = (data.factor_names.index(pair[0]), data.factor_names.index(pair[1]))
            strength, others = pair_entanglement(importance, places)
            found: dict[str, Score | float] = {
                "pair_entanglement": Score("pair_entanglement", strength, parts={"importance": importance}),
                "other_entanglement": others,
            }
            if self.labels:
                rng = counter_rng(seed, 2)
                index = data.sample_index(self.labels, rng)
                labelled = encode_all(run, data, index, rng), data.factors(index)
                told = _told_by_few(*labelled, places, seed)
                if told.any():
                    repair = repair_pair(*labelled, told, places)
                    mended = _importance([(repair(codes), factors) for codes, factors in samples], seed)
                    left, others = pair_entanglement(mended, places)
                    parts = {"importance": mended, "codes": list(repair.codes)}
                    found["repaired_pair"] = Score("repaired_pair", left, parts=parts)
                else:  # constant codes: there is nothing to repair
                    left, others = math.nan, math.nan
                    found["repaired_pair"] = Score("repaired_pair", left)
                found["repaired_others"] = others
            yield {"pair": "+".join(pair)}, found


def _told_by_few(codes: np.ndarray, factors: np.ndarray, pair: tuple[int, int], seed: int) -> np.ndarray:
    """What labelled codes ``[n, d]`` mean for a pair of factors, ``[d, K]`` with zeros for all others."""
    columns = factors[:, list(pair)]
    if (np.ptp(columns, axis=0) == 0).any():
        raise UsageError(f"one of the factors {pair} does not vary among {len(codes)} labelled images; ask for more")
    found = np.zeros((codes.shape[1], factors.shape[1]))
    found[:, list(pair)] = _importance([(codes, columns), (codes, columns)], seed)
    return found


def _importance(samples: list[tuple[np.ndarray, np.ndarray]], seed: int) -> np.ndarray:
    train, test = samples
    found: np.ndarray = dci(*train, test=test, seed=seed).parts["importance"]
    return found
