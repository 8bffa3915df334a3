"""Which representation to put to the test: the one whose codes come apart best on its training images."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from unbraid.data import Dataset, Wrapper
from unbraid.errors import UsageError
from unbraid.evaluation import Disentanglement, group_runs, measure
from unbraid.generalization.recipes import ESTIMATORS, Recipe, Selection, get_recipe
from unbraid.generalization.trained import split_of
from unbraid.metrics import Score

if TYPE_CHECKING:
    import polars

    from unbraid.training import Run

__all__ = ["MANY", "Selected", "dci_on_train", "few_valued", "select_by_dci"]

MANY = 100
"""A factor with more values than this is no class that trees could tell: it is left out of DCI."""


@dataclass(frozen=True)
class Selected:
    """The setting that was chosen, all of its seeds, and what it was chosen by."""

    runs: tuple[Run, ...]
    """The runs of the best setting, which differ in the seed alone."""
    dci: float
    """Mean over their seeds."""
    table: polars.DataFrame
    """One row for each run: ``run``, ``setting`` (a number), ``seed``, ``dci``, ``chosen``."""
    about: dict[str, Any]
    """The estimator by name, how many codes it saw, and the factors it was asked about."""


class _FewValued(Wrapper):
    """A data set without some of its factors."""

    def __init__(self, base: Dataset, columns: Sequence[int]) -> None:
        super().__init__(base)
        self.columns, self.space = list(columns), None

    @property
    def factor_names(self) -> tuple[str, ...]:
        return tuple(self.base.factor_names[k] for k in self.columns)

    @property
    def factor_sizes(self) -> tuple[int, ...] | None:
        sizes = self.base.factor_sizes
        return None if sizes is None else tuple(sizes[k] for k in self.columns)

    @property
    def factor_kinds(self) -> tuple:
        return tuple(self.base.factor_kinds[k] for k in self.columns)

    def factors(self, index: Any) -> np.ndarray:
        return self.base.factors(index)[:, self.columns]


def few_valued(data: Dataset, most: int = MANY) -> Dataset:
    """A data set without the factors that have more values than ``most``, such as the identity of a thousand persons.

    The data set itself where none has.
    """
    sizes = data.factor_sizes
    if sizes is None or all(size <= most for size in sizes):
        return data
    columns = [k for k, size in enumerate(sizes) if size <= most]
    if not columns:
        raise UsageError(f"every factor of {data.name!r} has more than {most} values; DCI needs classes")
    return _FewValued(data, columns)


def dci_on_train(
    run: Run, data: Dataset | None = None, selection: Selection | str | Recipe = "paper", *, seed: int = 0
) -> Score:
    """DCI disentanglement of a run's mean codes on the training side of its split, kept with the run's scores.

    ``selection`` says by which estimator and how many codes, or the recipe whose it is; the score's settings name them.
    """
    chosen = selection if isinstance(selection, Selection) else get_recipe(selection).selection
    train = few_valued(split_of(run, run.data() if data is None else data).train)
    asked = Disentanglement(
        metrics=("dci",),
        representations=("mean",),
        train=chosen.train,
        test=chosen.test,
        options={"dci": dict(ESTIMATORS[chosen.estimator])},
    )
    found = measure(run, train, asked, seed=seed)
    if not found:
        raise UsageError(f"{run.path} cannot be selected by DCI: it needs {asked.lacks(run, train)}")
    score = found["disentanglement"].scores()["dci"]
    assert isinstance(score, Score)
    named = {"estimator_name": chosen.estimator, "factors": list(train.factor_names)}
    return Score(score.name, score.value, score.ceiling, score.parts, {**score.settings, **named})


def select_by_dci(
    runs: Sequence[Run],
    data: Dataset | None = None,
    selection: Selection | str | Recipe = "paper",
    *,
    seed: int = 0,
) -> Selected:
    """The best hyperparameters of a kind of representation: those of the highest mean DCI over seeds (train side only).

    ``runs`` may differ in hyperparameters and seeds; they must have been trained on the same split. No test image is
    looked at.
    """
    import polars

    if not runs:
        raise UsageError("runs must hold at least one run")
    kinds = sorted({str(run.info["objective"]["name"]) for run in runs})
    if len(kinds) > 1:
        raise UsageError(f"runs must be of one objective, got {', '.join(kinds)}; select among each for itself")
    hashes = {(run.info["data"].get("split") or {}).get("hash") for run in runs}
    if len(hashes) > 1:
        raise UsageError(f"runs must be trained on the same split, got {len(hashes)} different ones")
    chosen = selection if isinstance(selection, Selection) else get_recipe(selection).selection
    scores = [dci_on_train(run, data, chosen, seed=seed) for run in runs]
    groups = group_runs(runs)
    means = [float(np.mean([scores[place].value for place in group])) for group in groups]
    best = int(np.argmax(means))
    rows = [
        (runs[place].path.name, number, int(runs[place].info["seed"]), scores[place].value, number == best)
        for number, group in enumerate(groups)
        for place in group
    ]
    about = {
        "estimator": chosen.estimator,
        "train": chosen.train,
        "test": chosen.test,
        "factors": scores[0].settings["factors"],
        "options": runs[groups[best][0]].info["objective"]["options"],
    }
    table = polars.DataFrame(rows, schema=["run", "setting", "seed", "dci", "chosen"], orient="row")
    return Selected(tuple(runs[place] for place in groups[best]), means[best], table, about)
