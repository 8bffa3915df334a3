"""As many images of every class in every batch."""

import itertools

import numpy as np

from unbraid.data.dataset import Dataset
from unbraid.data.stream import Batch, counter_rng, register_stream
from unbraid.errors import UsageError, unknown_name

__all__ = ["ByClassStream"]


@register_stream("by-class")
class ByClassStream:
    """``batch_size`` independent draws from each class, class after class.

    Classes are the data set's own, or the values of ``factor``.
    """

    def __init__(self, dataset: Dataset, batch_size: int, seed: int, *, factor: str = "") -> None:
        if batch_size < 1:
            raise UsageError(f"batch_size must be at least 1, got {batch_size}")
        self.dataset, self.batch_size, self.seed = dataset, batch_size, seed
        everything = np.arange(len(dataset))
        if factor:
            if factor in dataset.factor_names and dataset.factor_sizes is None:
                raise UsageError(f"factor {factor!r} was measured and has no classes")
            if factor not in dataset.factor_names or dataset.factor_sizes is None:
                raise unknown_name(f"factor of {dataset.name!r}:", factor, dataset.factor_names)
            place = dataset.factor_names.index(factor)
            labels, classes = dataset.factors(everything)[:, place].astype(np.int64), dataset.factor_sizes[place]
        elif dataset.has_labels:
            labels, classes = dataset.labels(everything), len(dataset.classes)
        else:
            raise UsageError(f"data set {dataset.name!r} has no classes; name a factor whose values are some")
        order = np.argsort(labels, kind="stable")
        ends = np.searchsorted(labels[order], np.arange(classes + 1))
        self.members = [order[first:last] for first, last in itertools.pairwise(ends)]
        empty = [number for number, rows in enumerate(self.members) if not len(rows)]
        if empty:
            raise UsageError(f"data set {dataset.name!r} has no image of class {empty[0]}; every class needs some")

    def __call__(self, step: int) -> Batch:
        rng = counter_rng(self.seed, step)
        index = np.concatenate([rows[rng.integers(len(rows), size=self.batch_size)] for rows in self.members])
        labels = np.repeat(np.arange(len(self.members)), self.batch_size)
        factors = self.dataset.factors(index) if self.dataset.has_factors else None
        return Batch(self.dataset.images(index, rng), index, factors, labels)
