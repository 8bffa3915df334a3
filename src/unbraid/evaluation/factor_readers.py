"""How well each factor can be told from images: by a read-out on codes, or by what a model itself predicts."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

import numpy as np

from unbraid.data import counter_rng
from unbraid.errors import UsageError
from unbraid.evaluation.predictions import CHUNK, Predictions, class_tasks, predict_classes, predict_factors
from unbraid.evaluation.regression import factor_variances
from unbraid.metrics import factor_columns

if TYPE_CHECKING:
    from unbraid.data import Dataset
    from unbraid.training import Run

__all__ = ["CodeReader", "FactorReader", "PredictionReader"]

Predict = Callable[[np.ndarray], np.ndarray]


class FactorReader(Protocol):
    """Asked about the same images again and again, each time shown differently."""

    names: tuple[str, ...]
    """The factors it tells."""
    unit: str
    """What its scores are: ``R²`` or ``accuracy``."""
    guess: np.ndarray
    """What guessing gets, ``[K]``."""

    def scores(self, shown: Dataset) -> np.ndarray:
        """How well each factor is told from images of this data set, ``[K]``."""


class CodeReader:
    """R² of a read-out from codes to factors, fitted once on clean images.

    Factors are columns as in :func:`unbraid.metrics.r2`: an ordinal one its value, a periodic one the cosine and sine
    of its angle, a categorical one its indicators. Where there are classes and no factors, the class is the factor.
    """

    unit = "R²"

    def __init__(self, run: Run, data: Dataset, train: int, images: int, readout: str, seed: int) -> None:
        self.run, self.data, self.readout, self.seed = run, data, readout, seed
        drawn = counter_rng(seed, 0).permutation(len(data))[: train + images]
        count = min(train, len(drawn) * train // (train + images))  # of small data sets the same share
        if count < 2 or len(drawn) - count < 2:
            raise UsageError(f"{data.name!r} has {len(data)} images; a read-out and its test need at least two each")
        self._fitted_on, self.index = np.sort(drawn[:count]), np.sort(drawn[count:])
        known = self._factors(self._fitted_on)
        self._kept = [k for k in range(known.shape[1]) if np.ptp(known[:, k]) > 0]
        self._kinds = data.factor_kinds if data.has_factors else ("categorical",)
        self.names = tuple((data.factor_names or ("class",))[k] for k in self._kept)
        self.guess = np.zeros(len(self.names))

    def scores(self, shown: Dataset) -> np.ndarray:
        said = np.split(self._read(self._codes(shown, self.index)), self._ends[:-1], axis=1)
        truth = np.split(self._columns(self.index), self._ends[:-1], axis=1)
        found = []
        for predicted, columns in zip(said, truth, strict=True):
            total = ((columns - columns.mean(axis=0)) ** 2).sum()
            found.append(1 - ((columns - predicted) ** 2).sum() / total if total > 0 else np.nan)
        return np.array(found)

    def _codes(self, shown: Dataset, index: np.ndarray) -> np.ndarray:
        parts = [index[start : start + CHUNK] for start in range(0, len(index), CHUNK)]
        # The same draws for every way of showing them: what a data set draws itself is no difference.
        each = (shown.images(part, counter_rng(self.seed, 1 + number)) for number, part in enumerate(parts))
        return np.concatenate([self.run.encode(images) for images in each]).astype(np.float64)

    def _factors(self, index: np.ndarray) -> np.ndarray:
        return self.data.factors(index) if self.data.has_factors else self.data.labels(index)[:, None]

    @cached_property
    def _values(self) -> list[np.ndarray]:
        both = self._factors(np.concatenate([self._fitted_on, self.index]))
        return [np.unique(both[:, k]) for k in self._kept]

    def _columns(self, index: np.ndarray) -> np.ndarray:
        """What is to be told of these images, ``[n, m]``: the columns of all factors side by side."""
        factors = self._factors(index)
        pairs = zip(self._kept, self._values, strict=True)
        return np.hstack([factor_columns(factors[:, k], self._kinds[k], values) for k, values in pairs])

    @cached_property
    def _ends(self) -> np.ndarray:
        factors = self._factors(self._fitted_on[:1])
        pairs = zip(self._kept, self._values, strict=True)
        return np.cumsum([factor_columns(factors[:, k], self._kinds[k], values).shape[1] for k, values in pairs])

    @cached_property
    def _read(self) -> Predict:
        codes, columns = self._codes(self.data, self._fitted_on), self._columns(self._fitted_on)
        return (_least_squares if self.readout == "linear" else _trees)(codes, columns)


def _least_squares(codes: np.ndarray, columns: np.ndarray) -> Predict:
    centre, spread = codes.mean(axis=0), codes.std(axis=0)
    live = spread > 1e-9 * np.maximum(np.abs(centre), 1e-30)

    def inputs(rows: np.ndarray) -> np.ndarray:
        return np.column_stack([((rows - centre) / np.where(live, spread, 1))[:, live], np.ones(len(rows))])

    weights = np.linalg.lstsq(inputs(codes), columns, rcond=None)[0]
    return lambda rows: np.asarray(inputs(rows) @ weights)


def _trees(codes: np.ndarray, columns: np.ndarray) -> Predict:
    """Gradient-boosted regression trees, one ensemble per column: they read what is bent, and never beyond the data."""
    from sklearn.ensemble import HistGradientBoostingRegressor

    fitted = [
        HistGradientBoostingRegressor(early_stopping=False, random_state=0).fit(codes, column) for column in columns.T
    ]
    return lambda rows: np.stack([one.predict(rows) for one in fitted], axis=1)


class PredictionReader:
    """How well a model's own predictions tell its factors: R² of a regressor, accuracy for each set of classes."""

    def __init__(self, run: Run, data: Dataset, images: int, seed: int) -> None:
        self.run, self.data, self.images, self.seed = run, data, images, seed
        self._regresses = getattr(getattr(run, "objective", None), "predicts", "") == "factors"
        if self._regresses:
            self.unit, self.names = "R²", tuple(data.factor_names)
            self.guess = np.zeros(len(self.names))
            return
        self.unit, self._tasks = "accuracy", [task.factor for task in class_tasks(run)] or [""]
        self.names = tuple(factor or "class" for factor in self._tasks)
        truths = [self._classes(data, factor).truth for factor in self._tasks]
        self.guess = np.array([np.bincount(truth).max() / len(truth) for truth in truths])

    def scores(self, shown: Dataset) -> np.ndarray:
        if self._regresses:
            found = predict_factors(self.run, shown, images=self.images, seed=self.seed)
            errors, variances = found.squared_error.mean(axis=0), factor_variances(self.run, self.data)
            return 1 - np.divide(errors, variances, out=np.full(len(errors), np.nan), where=variances > 0)
        answers = [self._classes(shown, factor) for factor in self._tasks]
        return np.array([(one.outputs.argmax(axis=1) == one.truth).mean() for one in answers])

    def _classes(self, shown: Dataset, factor: str) -> Predictions:
        return predict_classes(self.run, shown, images=self.images, seed=self.seed, factor=factor)
