"""What a model said of a split, as a Parquet file: all analyses run on it, without the model, data set or split."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from unbraid.errors import UsageError
from unbraid.files import save_columns
from unbraid.generalization.evaluate import Answers, Asked
from unbraid.generalization.facts import SplitFacts
from unbraid.generalization.scores import check_prediction
from unbraid.paths import user_path
from unbraid.reading import check_form, read_columns, understood

if TYPE_CHECKING:
    import polars

    from unbraid.data import FactorSpace, Split

__all__ = ["SIDES", "Predictions", "read_predictions", "write_predictions"]

SIDES = ("test", "train", "one-ood")
"""``test`` are images drawn evenly from the test side, ``train`` from the training side; ``one-ood`` are more images of
the test side in which one factor alone has an unseen value, where too few of them are among the first."""
_ANEW = "measure the run anew (unbraid evaluate RUN --measures generalization --again)"


@dataclass(frozen=True, eq=False)
class Predictions:
    """What a model said of images on both sides of a split, one row an image."""

    split: SplitFacts
    side: np.ndarray
    """One of :data:`SIDES` for each row, ``[n]``."""
    image: np.ndarray
    """Position in the whole data set, ``[n]``."""
    factors: np.ndarray
    """The truth: integers ``[n, K]``."""
    predicted: np.ndarray
    """Scaled factors ``[n, K]``, see :func:`unbraid.generalization.targets`."""
    about: Mapping[str, Any] = field(default_factory=dict)
    """What else is known, as JSON holds it: run, step, read-out, recipe."""

    def __post_init__(self) -> None:
        count = len(self.side)
        check_prediction(self.predicted, count, self.space)
        if self.image.shape != (count,):
            raise UsageError(f"image must be [{count}], one position per row, got {list(self.image.shape)}")
        if self.factors.shape != self.predicted.shape:
            raise UsageError(f"factors must be {list(self.predicted.shape)}, got {list(self.factors.shape)}")
        self.space.index(self.factors)  # refuses fractions and values outside the grid
        for name in sorted(set(self.side.tolist()) - set(SIDES)):
            raise UsageError(f"side must be one of {', '.join(SIDES)}, got {name!r}")

    @property
    def space(self) -> FactorSpace:
        return self.split.space

    @classmethod
    def of(cls, answers: Answers, about: Mapping[str, Any] | None = None) -> Predictions:
        """What :func:`unbraid.generalization.evaluate` returns."""
        parts = {"test": answers.test, "train": answers.train, "one-ood": answers.one_ood}
        there = {name: part for name, part in parts.items() if part is not None and len(part.image)}
        return cls(
            answers.facts,
            np.concatenate([np.full(len(part.image), name) for name, part in there.items()]),
            np.concatenate([part.image for part in there.values()]),
            np.concatenate([part.factors for part in there.values()]),
            np.concatenate([part.predicted for part in there.values()]),
            dict(about or {}),
        )

    def answers(self, split: Split | None = None) -> Answers:
        """With every score and analysis; a ``split`` that is given must be the one that was asked about."""
        if split is not None and split.hash != self.split.hash:
            raise UsageError(
                f"split is {split.kind!r} of {split.data.name!r} ({split.hash}), and the predictions are of "
                f"{self.split.kind!r} of {self.split.data!r} ({self.split.hash}); make the same one"
            )
        test, train, more = (self._part(name) for name in SIDES)
        return Answers(self.split if split is None else split, test, train, more if len(more.image) else None)

    def columns(self) -> dict[str, np.ndarray]:
        """``side`` and ``image``, then ``true NAME`` and ``predicted NAME`` for each factor: what the file holds."""
        found = {"side": self.side.astype(str), "image": self.image.astype(np.int64)}
        for k, name in enumerate(self.space.names):
            found[f"true {name}"] = self.factors[:, k].astype(np.int64)
            found[f"predicted {name}"] = self.predicted[:, k].astype(np.float64)
        return found

    def table(self) -> polars.DataFrame:
        """The :meth:`columns` as a data frame."""
        import polars

        return polars.DataFrame(self.columns())

    def _part(self, side: str) -> Asked:
        chosen = self.side == side
        return Asked(self.predicted[chosen], self.factors[chosen], self.image[chosen])


def write_predictions(
    path: str | Path, predictions: Predictions | Answers, about: Mapping[str, Any] | None = None
) -> Path:
    """Write predictions to a Parquet file; ``about`` is added to what they say of themselves."""
    place = user_path(path, "predictions")
    if place.suffix != ".parquet":
        raise UsageError(f"path must end in .parquet, got {place}")
    found = predictions if isinstance(predictions, Predictions) else Predictions.of(predictions)
    said = {"predictions": 1, "split": found.split.to_json(), "about": {**found.about, **(about or {})}}
    save_columns(found.columns(), place, said)
    return place


def read_predictions(path: str | Path, *, remedy: str = _ANEW) -> Predictions:
    """What :func:`write_predictions` wrote. Numbers and words are read, nothing is run.

    ``remedy`` is what the message about a damaged file tells to do.
    """
    place = user_path(path, "predictions")
    columns, said = read_columns(place, remedy=remedy)
    with understood(place, remedy):
        if said.get("predictions") != 1:
            raise UsageError(f"{place} holds no predictions of a split as this version writes them; {remedy}")
        check_form(said, {"split": dict, "about": dict}, place, remedy=remedy)
        split = SplitFacts.from_json(said["split"], place, remedy=remedy)
        true, predicted = ([f"{word} {name}" for name in split.space.names] for word in ("true", "predicted"))
        if missing := [name for name in ("side", "image", *true, *predicted) if name not in columns]:
            raise UsageError(f"{place} has no column {missing[0]!r}; {remedy}")
        try:
            return Predictions(
                split,
                columns["side"],
                columns["image"],
                np.stack([columns[name] for name in true], axis=1),
                np.stack([columns[name] for name in predicted], axis=1),
                said["about"],
            )
        except UsageError as error:
            raise UsageError(f"{place}: {error}; {remedy}") from error
