"""Where training ended: the losses on the batches that would have come next, as a measure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from unbraid.errors import UsageError
from unbraid.evaluation.base import Measure, Row, register
from unbraid.evaluation.models import Function

if TYPE_CHECKING:
    from unbraid.data import ImageDataset
    from unbraid.training import Run

__all__ = ["Losses", "losses_after_training"]


@register("losses")
@dataclass(frozen=True)
class Losses(Measure):
    """Means of the losses over the batches that would have come next."""

    title = "Losses at the end of training"
    titles: ClassVar[Mapping[str, str]] = {
        "reconstruction": "Reconstruction",
        "kl": "KL",
        "elbo": "ELBO",
        "loss": "Loss",
        "penalty": "Penalty",
        "regularizer": "Regulariser",
    }
    needs = "a run on the batches that its objective asks for, whose next ones are known"
    batches: int = 1000
    """Over how many; 0 switches it off."""

    def __post_init__(self) -> None:
        if self.batches < 0:
            raise UsageError(f"batches must not be negative, got {self.batches}")

    def applies(self, run: Run, data: ImageDataset) -> bool:
        return not isinstance(run, Function) and run.info.get("stream") != "own"

    def rows(self, run: Run, data: ImageDataset, seed: int) -> Iterator[Row]:
        if self.batches:
            yield {}, losses_after_training(run, data, batches=self.batches)


def losses_after_training(run: Run, data: ImageDataset, *, batches: int) -> dict[str, float]:
    """Means of the losses over the batches that would have come next, without learning from them.

    ``regularizer`` is everything that is added to the reconstruction loss, ``elbo`` is -(reconstruction + kl), neither
    of them weighed.
    """
    if batches < 1:
        raise UsageError(f"batches must be at least 1, got {batches}")
    first = int(run.info["step"])
    seen: dict[str, list[float]] = defaultdict(list)
    for terms in _terms(run, data, range(first, first + batches)):
        for name, value in terms.items():
            seen[name].append(value)
    means = {name: float(np.mean(values)) for name, values in seen.items()}
    if "reconstruction" in means:
        means["regularizer"] = means["loss"] - means.get("weighed_reconstruction", means["reconstruction"])
        if "kl" in means:
            means["elbo"] = -(means["reconstruction"] + means["kl"])
    return means


def _terms(run: Run, data: ImageDataset, steps: range) -> Iterator[dict[str, float]]:
    """What the model's loss consists of at each of these steps."""
    from unbraid.data import make_stream
    from unbraid.training import Loop

    seed = int(run.info["seed"])
    stream = make_stream(run.objective.needs, data, int(run.info["batch_size"]), seed)
    loop = Loop(run.objective, run.model, stream, seed, run.device, precision="fp32")
    for step in steps:
        yield loop.terms_at(step).get(loop.headline, {})  # a game may leave a player out of some steps
