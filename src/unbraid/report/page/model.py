"""What a trained model shows: reconstructions, walks along its latents, codes beside factors, scores."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from unbraid.data import ImageDataset, counter_rng
from unbraid.errors import UsageError
from unbraid.evaluation import ACTIVE
from unbraid.metrics import METRICS, Score, evaluate
from unbraid.report.page.folder import Folder, Gap
from unbraid.report.page.measures import StoredAnswer
from unbraid.report.page.predictions import Predicted, see_predictions
from unbraid.report.page.synthesis import Drawn, see_drawings
from unbraid.report.traversal import Traversal, traverse
from unbraid.sharing import last_name
from unbraid.training import CHECKPOINT, Run, WrongWeights, open_run

__all__ = ["QUICK", "Choices", "Look", "look"]

QUICK = ("mig", "dci", "sap", "modularity", "mcc", "gaussian_total_correlation")
"""Computed where no scores are stored and factors are known: a few seconds, and enough for every picture."""
SAMPLE, TRAIN, TEST = 1000, 3000, 1500
GROUPS = (500, 250)
WIDE = 64
"""Models with more latents than that (flows have one per pixel) are not walked through."""


@dataclass(frozen=True)
class Choices:
    """What the reader of the page asked for."""

    metrics: Literal["all"] | tuple[str, ...] | None = None
    """Scores to compute for the page; without, stored ones are shown, or :data:`QUICK` if there are none."""
    compute: bool = True
    """Whether scores may be computed."""
    data: str | None = None
    seed: int = 0


@dataclass
class Look:
    """One run with all that could be found out about it; ``None`` or empty is what does not apply or is missing."""

    folder: Folder
    dataset: ImageDataset | None = None
    decodes: bool = False
    kl: np.ndarray | None = None
    """Mean KL of each latent in nats."""
    spread: np.ndarray | None = None
    """Variance of each code, for models without a posterior."""
    codes: np.ndarray | None = None
    factors: np.ndarray | None = None
    originals: np.ndarray | None = None
    copies: np.ndarray | None = None
    shown: np.ndarray | None = None
    """Positions of the reconstructed images."""
    walks: Traversal | None = None
    scores: dict[str, Score] | None = None
    scores_from: str = ""
    reconstruction: float | None = None
    encodes: bool = True
    predicted: Sequence[Predicted] = ()
    """By task; what the model gives first comes first."""
    drawn: Drawn | None = None
    """What each class of an ABS run would draw."""

    @property
    def answers(self) -> tuple[StoredAnswer, ...]:
        """What lies there of measures on the data that the page looks at."""
        return tuple(one for one in self.folder.answers if last_name(one.data or self.folder.data) == self.data)

    @property
    def data(self) -> str:
        """The name of the data that the page looks at, without the folder they lie in."""
        return last_name(self.folder.data if self.dataset is None else self.dataset.name)

    @property
    def names(self) -> tuple[str, ...]:
        """The factors."""
        return self.dataset.factor_names if self.dataset is not None and self.dataset.factor_sizes else ()

    @property
    def active(self) -> np.ndarray | None:
        """Which latents carry something."""
        return None if self.kl is None else self.kl > ACTIVE

    def order(self, count: int) -> np.ndarray:
        """Latents, the most informative first."""
        weight = self.kl if self.kl is not None else self.spread
        return np.arange(count) if weight is None or len(weight) != count else np.argsort(-weight, kind="stable")


def look(folder: Folder, choices: Choices, say: Callable[[str], None] = lambda _: None) -> Look:
    """Open the model and let it show what it can; what fails becomes a gap and stops nothing else."""
    found = Look(folder)
    run = _open(found, choices)
    _use_stored(found, choices)
    if run is not None and found.dataset is not None:
        say(f"{folder.path}: looking at the model")
        found.encodes = run.can("encode")
        if run.can("predict"):
            _predict(found, run, found.dataset, choices)
        if run.can("infer"):
            _draw(found, run, found.dataset, choices)
        if found.encodes:
            _see(found, run, found.dataset, choices)
            _measure(found, run, found.dataset, choices, say)
    if found.encodes and found.scores is None and (found.dataset is None or found.names):
        why = "not computed, as asked (--no-scores)" if not choices.compute and run is not None else "none are stored"
        folder.gaps.append(Gap("scores", why, folder.evaluate))
    return found


def _use_stored(found: Look, choices: Choices) -> None:
    stored = found.folder.stored
    if stored is None:
        return
    if stored.data not in (None, found.data):  # numbers and factors of other data do not belong beside these pictures
        why = f"{stored.source} was measured on {stored.data}, and this page looks at {found.data}"
        found.folder.gaps.append(Gap("stored scores of these data", why))
        return
    stale = stored.step is not None and found.folder.step is not None and stored.step != found.folder.step
    kl, value = stored.summary.get("kl_per_latent"), stored.summary.get("reconstruction")
    if not stale and isinstance(kl, list) and all(isinstance(one, int | float) for one in kl):
        found.kl = np.array(kl, dtype=float)
    if not stale and isinstance(value, int | float):
        found.reconstruction = float(value)
    if choices.metrics is not None or not stored.scores:
        return
    found.scores = stored.scores
    found.scores_from = f"Read from {stored.source} ({stored.representation} codes)."
    if stale:
        found.folder.gaps.append(
            Gap(
                "scores of the model as it is now",
                f"{stored.source} was measured at step {stored.step}, the run is at step {found.folder.step}",
                found.folder.evaluate,
            )
        )


def _open(found: Look, choices: Choices) -> Run | None:
    folder = found.folder
    if not folder.info:
        return None
    try:
        run = open_run(folder.path)
        found.dataset = run.data(choices.data)
    except UsageError as error:
        remedy = f"{folder.report} --data NAME"
        folder.gaps.append(Gap("everything that needs the data", str(error), remedy))
        return None
    if not (folder.path / CHECKPOINT).exists():
        return None  # said already when the folder was read
    try:
        _ = run.model
    except WrongWeights:
        raise
    except UsageError as error:
        folder.gaps.append(Gap("pictures and codes", str(error), folder.train))
        return None
    return run


def _see(found: Look, run: Run, data: ImageDataset, choices: Choices) -> None:
    rng = counter_rng(choices.seed, 0)
    index = data.sample_index(min(SAMPLE, 4 * len(data)), rng)
    images = data.images(index, rng)
    try:
        told = run.describe(images, seed=choices.seed)
        codes = told["mean"] if "mean" in told else run.encode(images)
    except UsageError as error:
        found.folder.gaps.append(Gap("codes", str(error)))
        return
    if "kl_per_latent" in told and (found.kl is None or len(found.kl) != codes.shape[1]):
        found.kl = told["kl_per_latent"].mean(axis=0, dtype=np.float64)
    if "reconstruction" in told and found.reconstruction is None:
        found.reconstruction = float(told["reconstruction"].mean(dtype=np.float64))
    found.codes, found.spread = codes, codes.var(axis=0)
    if found.names:
        found.factors = data.factors(index)
    found.decodes = run.can("decode")
    if not found.decodes or not data.has_pictures:
        return
    first = np.unique(index, return_index=True)[1]
    chosen = np.sort(first)[:10]
    found.shown, found.originals = index[chosen], images[chosen]
    found.copies = run.decode(codes[chosen])
    if codes.shape[1] <= WIDE:
        found.walks = traverse(run, data, seed=choices.seed)


def _predict(found: Look, run: Run, data: ImageDataset, choices: Choices) -> None:
    try:
        found.predicted = see_predictions(run, data, choices.seed, found.answers)
    except UsageError as error:
        found.folder.gaps.append(Gap("predictions", str(error)))
        return
    if not found.predicted:
        why = f"{data.name} does not tell the truth to hold them against (classes, or the factors it was trained for)"
        found.folder.gaps.append(Gap("predictions", why, f"{found.folder.report} --data NAME"))


def _draw(found: Look, run: Run, data: ImageDataset, choices: Choices) -> None:
    try:
        found.drawn = see_drawings(run, data, choices.seed, found.predicted)
    except UsageError as error:
        found.folder.gaps.append(Gap("drawings", str(error)))


def _measure(found: Look, run: Run, data: ImageDataset, choices: Choices, say: Callable[[str], None]) -> None:
    if found.scores is not None or not choices.compute or not (choices.metrics or found.names):
        return
    metrics = choices.metrics or QUICK
    named = "all scores" if metrics == "all" else ", ".join(metrics)
    say(f"{found.folder.path}: computing {named} on {TRAIN + TEST if found.names else TRAIN:,} images")
    try:
        found.scores = evaluate(run, data, metrics, train=TRAIN, test=TEST, points=GROUPS, seed=choices.seed)
    except UsageError as error:
        found.folder.gaps.append(Gap("scores", str(error)))
        found.scores = {}
        return
    found.scores_from = _computed_from(found, found.scores)


def _computed_from(found: Look, names: Iterable[str]) -> str:
    """On how much the scores of the page were computed, and how to get better ones."""
    if not found.names:  # without a grid of factors nothing is learnt and judged
        return (
            f"Computed for this page on {TRAIN:,} images: quick and somewhat rough. "
            f"`{found.folder.evaluate}` measures with 10,000, all scores that need no grid of factors, and stores them."
        )
    interventions = any(METRICS[name].needs == "interventions" for name in names)
    return (
        f"Computed for this page on {TRAIN:,} images to learn from and {TEST:,} to judge on"
        f"{f', {GROUPS[0]} and {GROUPS[1]} groups' if interventions else ''}: quick and somewhat rough. "
        f"`{found.folder.evaluate}` measures with 10,000 and 5,000, all scores, and stores them."
    )
