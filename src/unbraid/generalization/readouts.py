"""Factors read off a frozen representation: a small network on its codes, trained by the one loop, or trees."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from unbraid.data import Split
from unbraid.errors import UsageError, unknown_name
from unbraid.evaluation import say
from unbraid.generalization.codes import FOLDER, Codes, encoded, state_of
from unbraid.generalization.recipes import Recipe, Training, get_recipe
from unbraid.generalization.scores import space_of, targets
from unbraid.generalization.trained import split_of

if TYPE_CHECKING:
    from unbraid.data import Dataset
    from unbraid.progress import ProgressKind
    from unbraid.training import Run

__all__ = ["READOUTS", "Readout", "ReadoutKind", "fit_readout", "fit_trees", "train_readout"]

ReadoutKind = Literal["mlp", "linear", "trees"]
READOUTS: tuple[ReadoutKind, ...] = ("mlp", "linear", "trees")
"""``mlp`` is the network of the paper (``readout`` among predictors), ``linear`` one layer, ``trees`` boosted ones."""
NETS = {"mlp": "readout", "linear": "linear"}


@dataclass(frozen=True)
class Readout:
    """A predictor of factors: a read-out on the mean codes of an encoder that stays as it is."""

    encoder: Run
    split: Split
    kind: ReadoutKind
    training: Training
    recipe: str
    steps: int
    """Updates of the network; trees have none."""
    run: Run | None
    """The read-out's own run, inside the encoder's; trees have none."""
    read: Callable[[np.ndarray], np.ndarray]
    """From codes ``[n, d]`` to scaled factors ``[n, K]``."""

    def predict(self, images: np.ndarray, *, batch_size: int = 256) -> np.ndarray:
        """Scaled factors ``[n, K]`` of uint8 images."""
        return self.read(self.encoder.encode(images, batch_size=batch_size))

    __call__ = predict

    def about(self) -> dict[str, Any]:
        """What is recorded beside its numbers."""
        return {"readout": self.kind, "readout_recipe": self.recipe, "readout_steps": self.steps}


def fit_readout(
    run: Run,
    data: Dataset | Split | None = None,
    kind: ReadoutKind = "mlp",
    recipe: str | Recipe = "paper",
    *,
    seed: int = 0,
    progress: ProgressKind = "none",
) -> Readout:
    """Train a read-out on the codes of a run's training images; what was trained before is read from its folder.

    ``data`` is the split that the run was trained on, a side of it or the whole data set; by default what the run's
    record names. Codes are computed once for all read-outs. A network lies in ``RUN/readouts``, a run like any other:
    killed, it goes on where it was when the same is asked again. Trees are fitted to the stored codes whenever they are
    asked for. Another split than the run's own is refused.
    """
    if kind not in READOUTS:
        raise unknown_name("kind of read-out", kind, READOUTS)
    chosen = get_recipe(recipe)
    if not run.can("encode"):
        raise UsageError(f"{run.path} does not encode: {run.objective.name} has no codes to read factors off")
    own = run.data() if data is None else data
    split = split_of(run, own.train if isinstance(own, Split) else own)
    space, training = space_of(split.data), chosen.readout
    if kind == "trees":
        trees = fit_trees(encoded(run, split, training.images, space), seed=seed)
        return Readout(run, split, kind, training, chosen.name, 0, None, trees)
    out = run.path / FOLDER / _name(kind, chosen, seed, state_of(run, split))
    fitted = _finished(out)
    if fitted is None:
        codes = encoded(run, split, training.images, space)
        fitted = train_readout(codes, kind, training, out, seed=seed, progress=progress)
    return Readout(run, split, kind, training, chosen.name, int(fitted.info["step"]), fitted, fitted.predict)


def train_readout(
    codes: Codes,
    kind: ReadoutKind,
    training: Training,
    out: Path,
    *,
    seed: int = 0,
    progress: ProgressKind = "none",
) -> Run:
    """Train a network from codes to factors into a run folder of its own, or go on with it."""
    from unbraid.training import train

    steps = training.steps_on(len(codes))
    say(f"training the read-out for {steps:,} steps")
    run = train(
        "regressor",
        codes,
        out=out,
        steps=steps,
        seed=seed,
        batch_size=training.batch_size,
        # Layers this small gain nothing from bfloat16: casting takes longer than multiplying.
        precision="fp32",
        log_every=100,
        progress=progress,
        net=NETS[kind],
        learning_rate=training.learning_rate,
    )
    if not run.finished:
        raise KeyboardInterrupt(f"the read-out in {out} was stopped; the same call goes on with it")
    return run


def fit_trees(codes: Codes, *, seed: int = 0) -> Callable[[np.ndarray], np.ndarray]:
    """Gradient-boosted regression trees, one ensemble for each factor: scikit-learn's, 100 stages of 31 leaves."""
    from sklearn.ensemble import HistGradientBoostingRegressor

    truth = targets(codes.factors(np.arange(len(codes))), codes.grid_space)
    fitted = []
    for k, name in enumerate(codes.factor_names):
        say(f"fitting trees for {name}")
        model = HistGradientBoostingRegressor(early_stopping=False, random_state=seed)
        fitted.append(model.fit(codes.codes, truth[:, k]))
    return lambda rows: np.stack([model.predict(rows) for model in fitted], axis=1)


def _finished(folder: Path) -> Run | None:
    """The read-out in a folder, if it was trained to its end."""
    from unbraid.training import INFO, open_run

    run = open_run(folder) if (folder / INFO).exists() else None
    return run if run is not None and run.finished else None


def _name(kind: str, recipe: Recipe, seed: int, state: str) -> str:
    """A folder that the same weights, images and training always mean, and others never do."""
    text = json.dumps([recipe.to_json()["readout"], seed, state], sort_keys=True)
    return f"{kind}-{recipe.name}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"
