"""Streams with a second batch beside the first: from all images, or from the few whose factors are known."""

from dataclasses import replace

import numpy as np

from unbraid.data.dataset import Dataset
from unbraid.data.purpose import Purpose
from unbraid.data.stream import Batch, IndependentStream, counter_rng, register_stream
from unbraid.errors import UsageError
from unbraid.labelling import Labels

__all__ = ["FewLabelsStream", "TwoBatchStream"]


@register_stream("two-batches")
class TwoBatchStream(IndependentStream):
    """Independent draws as ever, and as many again in ``partners``."""

    def __call__(self, step: int) -> Batch:
        rng = counter_rng(self.seed, step, Purpose.SECOND)
        index = self.dataset.sample_index(self.batch_size, rng)
        return replace(super().__call__(step), partners=self.dataset.images(index, rng))


@register_stream("few-labels")
class FewLabelsStream(IndependentStream):
    """Independent draws, and in ``partners`` as many from a fixed set of labelled images.

    ``partner_factors`` of a batch are the factor values ``[n, K]`` of its partners as a ``labeller`` tells them
    (:class:`unbraid.labelling.Labels`). Which images are labelled follows
    from ``label_seed`` alone, so that runs with other seeds share them; ``labelled`` holds their positions.
    """

    def __init__(
        self,
        dataset: Dataset,
        batch_size: int,
        seed: int,
        *,
        labels: int = 1000,
        label_seed: int = 0,
        labeller: str = "exact",
    ) -> None:
        super().__init__(dataset, batch_size, seed)
        if not dataset.has_factors or dataset.factor_sizes is None:
            raise UsageError(f"data set {dataset.name!r} has no known factors with numbered values to take labels from")
        if not 1 <= labels <= len(dataset):
            raise UsageError(f"labels must lie in 1..{len(dataset)}, the images of {dataset.name!r}; got {labels}")
        drawing = counter_rng(label_seed, 0, Purpose.LABELLED)
        # Where images are not drawn alike, the labelled ones are drawn as the others are, and some may come twice.
        self.labelled: np.ndarray = (
            drawing.choice(len(dataset), labels, replace=False)
            if dataset.uniform
            else dataset.sample_index(labels, drawing)
        )
        labelling = Labels(labeller, dataset.factor_sizes, label_seed)
        self.targets: np.ndarray = labelling.of(dataset.factors(self.labelled))

    def __call__(self, step: int) -> Batch:
        rng = counter_rng(self.seed, step, Purpose.SECOND)
        rows = rng.integers(len(self.labelled), size=self.batch_size)
        partners = self.dataset.images(self.labelled[rows], rng)
        return replace(super().__call__(step), partners=partners, partner_factors=self.targets[rows])
