"""Corruptions, noise and adversaries as measures of a finished run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from unbraid.corruptions import VERSION
from unbraid.errors import UsageError, unknown_name
from unbraid.evaluation import (
    Condition,
    Function,
    Measure,
    Measured,
    Row,
    Scores,
    SharedMeasure,
    class_tasks,
    has_classes,
    register,
    wilson,
)
from unbraid.metrics import Score
from unbraid.robustness._examples import Examples
from unbraid.robustness._scores import Scorer
from unbraid.robustness.corrupting import Plan, Told, ask, plan_of
from unbraid.robustness.settings import ADVERSARIES, DIRECTIONS, Adversary
from unbraid.robustness.tables import CLEAN, CorruptionTable, Spoiled, Wrong
from unbraid.robustness.trained import shown_in_training

if TYPE_CHECKING:
    from unbraid.data import ImageDataset
    from unbraid.training import Run

__all__ = ["Adversarial", "Corruptions", "NoiseDistances", "table_of"]

SIZES = (16, 512)


@register("corruptions")
@dataclass(frozen=True)
class Corruptions(SharedMeasure):
    """How often a model names the right class under corruptions (Hendrycks and Dietterich, 2019).

    The images as they are come first, with ``corruption`` none. Several runs are shown the same corrupted images.
    """

    title = "Accuracy under corruptions"
    version: ClassVar[int] = VERSION
    titles: ClassVar[Mapping[str, str]] = {"corruption_accuracy": "accuracy", "corruption_top5": "among five"}
    needs = "a model that names classes, and images of 16 to 512 pixels with these classes"
    suite: str = "mnist-c"
    """mnist-c, imagenet-c, imagenet-c-holdout, or names of corruptions with + between them."""
    severities: tuple[int, ...] = ()
    """Which severities; none given are all there are."""
    images: int = 1_000
    """At most so many images, drawn without repetition."""
    factor: str = ""
    """Factor whose values are the classes (otherwise what the run was trained for)."""

    def __post_init__(self) -> None:
        _check_images(self.images)
        plan_of(self.suite, self.severities or None)

    @property
    def plan(self) -> Plan:
        return plan_of(self.suite, self.severities or None)

    def made_of(self) -> Mapping[str, object]:
        own = {corruption.full_name: corruption.apply for _, corruption, _ in self.plan.entries}
        return {**super().made_of(), **own}

    def applies(self, run: Run, data: ImageDataset) -> bool:
        fits = data.has_pictures and data.shape[2] in (1, 3)
        return fits and all(SIZES[0] <= side <= SIZES[1] for side in data.shape[:2]) and _names(run, data, self.factor)

    def rows_of(
        self, runs: Sequence[Run], data: ImageDataset, seed: int, lacking: Callable[[Condition], Sequence[int]]
    ) -> Iterator[tuple[Condition, Mapping[int, Scores]]]:
        examples = Examples(data, self.images, seed)
        scorers = [Scorer(run, factor=self.factor) for run in runs]
        plan = self.plan
        for state, told in ask(scorers, examples, plan, lambda row: lacking(_condition(row)), self.factor):
            yield _condition(state), {place: _scores(one, seed) for place, one in told.items()}


@register("noise-distance")
@dataclass(frozen=True)
class NoiseDistances(Measure):
    """Median L2 of the smallest noise that changes a decision (Rusak et al., 2020)."""

    title = "Noise distance"
    titles: ClassVar[Mapping[str, str]] = {
        "noise_distance": "median L2",
        "misclassified": "wrong without noise",
        "unmoved": "never wrong",
    }
    needs = "a model that names classes, and images with these classes"
    directions: tuple[str, ...] = ("gaussian", "uniform")
    """Kinds of noise: gaussian, uniform, learned (by generators that are trained against the run; minutes)."""
    images: int = 1_000
    """At most so many images, drawn without repetition."""
    generators: int = 4
    """How many generators learned noise is the mean of."""
    steps: int = 1_000
    """Batches that each of them is trained on."""
    eps: float = 0.0
    """L2 norm of their noise in training, at which accuracies are told; 0 is that of normal noise of deviation 0.5."""
    kernel: int = 1
    """Size of their kernel: 1, or 3 for noise that hangs together over three pixels."""

    def __post_init__(self) -> None:
        _check_images(self.images)
        if not self.directions:
            raise UsageError(f"directions must name at least one of {', '.join(DIRECTIONS)}, got none")
        for name in self.directions:
            if name not in DIRECTIONS:
                raise unknown_name("direction of noise", name, DIRECTIONS)
        for name in ("generators", "steps"):
            if getattr(self, name) < 1:
                raise UsageError(f"{name} must be at least 1, got {getattr(self, name)}")
        if self.eps < 0:
            raise UsageError(f"eps must not be negative, got {self.eps}")
        if self.kernel not in (1, 3):
            raise UsageError(f"kernel must be 1 or 3, got {self.kernel}")

    def applies(self, run: Run, data: ImageDataset) -> bool:
        learns = "learned" in self.directions and isinstance(run, Function)
        return data.has_pictures and _names(run, data) and not learns

    def rows(self, run: Run, data: ImageDataset, seed: int) -> Iterator[Row]:
        for name in self.directions:
            yield {"direction": name}, partial(self._scores, run, data, name, seed)

    def _scores(self, run: Run, data: ImageDataset, direction: str, seed: int) -> Scores:
        from unbraid.robustness.learned import learned_noise_distance
        from unbraid.robustness.noise import noise_distance

        examples = Examples(data, self.images, seed)
        model = run.function if isinstance(run, Function) else run
        images, labels = examples.read(slice(None)), examples.labels(run)
        if direction != "learned":
            found = noise_distance(model, images, labels, direction, seed=seed)
            parts: dict[str, object] = {"distances": found.distances, "interval": np.array(found.interval)}
            parts |= {"accuracy": float((found.distances > self.eps).mean())} if self.eps else {}
            about = {"images": len(examples), "direction": direction, "seed": seed}
            score = Score("noise_distance", found.median, parts=parts, settings=about)
            return {"noise_distance": score, "misclassified": found.misclassified, "unmoved": found.unmoved}
        learned = learned_noise_distance(
            model,
            images,
            labels,
            eps=self.eps or None,
            kernel=self.kernel,
            generators=self.generators,
            steps=self.steps,
            seed=seed,
        )
        first = learned.found[0]
        each = {"medians": learned.medians, "sd": learned.sd, "unreached": np.array(learned.unreached)}
        if self.eps:
            each["accuracy"] = float(np.mean([(one.distances > self.eps).mean() for one in learned.found]))
        about = {"images": len(examples), "direction": direction, **learned.settings}
        score = Score("noise_distance", learned.mean, parts={"distances": first.distances, **each}, settings=about)
        unmoved = float(np.mean([one.unmoved for one in learned.found]))
        return {"noise_distance": score, "misclassified": first.misclassified, "unmoved": unmoved}


@register("adversarial")
@dataclass(frozen=True)
class Adversarial(Measure):
    """Share of images that are named right whatever an attack tries within a distance (Madry et al., 2018)."""

    title = "Adversarial accuracy"
    version: ClassVar[int] = 2
    titles: ClassVar[Mapping[str, str]] = {"adversarial_accuracy": "accuracy", "attacked_clean": "clean"}
    needs = "a model that names classes and that gradients flow through, and images with these classes"
    norm: str = "linf"
    """Which distance: linf (attacked by PGD), l2 (by DDN)."""
    eps: float = 0.1
    """How far images may be moved, in units of the range [0, 1] of pixels."""
    steps: int = 100
    """Steps of the attack."""
    step_size: float = 0.0
    """Length of a step of PGD; 0 is a tenth of eps."""
    gamma: float = 0.05
    """By which share spheres of DDN shrink and grow."""
    restarts: int = 1
    """How often PGD begins anew."""
    images: int = 1_000
    """At most so many images, drawn without repetition."""

    def __post_init__(self) -> None:
        _check_images(self.images)
        Adversary(
            self.norm, self.eps, ADVERSARIES.get(self.norm, ""), self.steps, self.step_size or None, self.gamma,
            self.restarts,
        )  # fmt: skip

    def applies(self, run: Run, data: ImageDataset) -> bool:
        differentiable = not isinstance(run, Function) or hasattr(run.function, "parameters")
        return differentiable and data.has_pictures and _names(run, data)

    def rows(self, run: Run, data: ImageDataset, seed: int) -> Iterator[Row]:
        yield {"norm": self.norm, "eps": self.eps}, partial(self._scores, run, data, seed)

    def _scores(self, run: Run, data: ImageDataset, seed: int) -> Scores:
        from unbraid.robustness.adversarial import adversarial_accuracy

        found = adversarial_accuracy(
            run.function if isinstance(run, Function) else run,
            data,
            self.norm,
            self.eps,
            steps=self.steps,
            step_size=self.step_size or None,
            gamma=self.gamma,
            restarts=self.restarts,
            images=self.images,
            seed=seed,
        )
        parts = {"distances": found.distances, "interval": np.array(found.interval)}
        score = Score("adversarial_accuracy", found.accuracy, 1.0, parts, found.settings)
        return {"adversarial_accuracy": score, "attacked_clean": float(found.clean.mean())}


def table_of(found: Measured, run: Run, data: ImageDataset, name: str = "") -> CorruptionTable:
    """The stored answer of the measure ``corruptions`` as a table."""
    asked = found.measure
    assert isinstance(asked, Corruptions)
    plan = asked.plan
    states = [Spoiled(CLEAN, CLEAN, 0), *plan.spoiled]
    rows = {(str(under["corruption"]), int(under["severity"])): scores for under, scores in found.rows}
    told: list[Told] = []
    for state in states:
        condition = _condition(state)
        score = rows[str(condition["corruption"]), state.severity]["corruption_accuracy"]
        assert isinstance(score, Score)
        count = int(score.settings["images"])
        five = score.parts.get("among_five")
        told.append(
            Told(
                _unpacked(score.parts["right"], count),
                None if five is None else _unpacked(five, count),
                tuple(
                    Wrong(state.corruption, state.severity, int(image), int(truth), int(guess), float(sure))
                    for image, truth, guess, sure in np.asarray(score.parts["worst"], dtype=float).reshape(-1, 4)
                ),
            )
        )
    fives = [one.among_five for one in told]
    worst = sorted((wrong for one in told for wrong in one.worst), key=lambda wrong: -wrong.confidence)
    return CorruptionTable(
        name or Scorer(run).name,
        data.name,
        plan.suite,
        plan.spoiled,
        np.array([one.right for one in told]),
        None if any(five is None for five in fives) else np.array(fives),
        tuple(worst),
        shown_in_training(run, plan),
        {"images": len(told[0].right)},
    )


def _condition(state: Spoiled) -> dict[str, str | int | float | bool]:
    if state.corruption == CLEAN:
        return {"corruption": "none", "severity": 0}
    return {"corruption": state.corruption, "severity": state.severity}


def _scores(told: Told, seed: int) -> Scores:
    """Shares, and which images they are of, a bit each."""
    n, right = len(told.right), int(told.right.sum())
    share = right / n
    parts: dict[str, object] = {
        "interval": np.array(wilson(right, n)),
        "standard_error": float(np.sqrt(share * (1 - share) / n)),
        "right": np.packbits(told.right),
        "worst": np.array([wrong[2:] for wrong in told.worst], dtype=float).reshape(-1, 4),
    }
    if told.among_five is not None:
        parts["among_five"] = np.packbits(told.among_five)
    settings = {"images": n, "interval": "Wilson, 95 %", "worst": "image, truth, guess, confidence", "seed": seed}
    scores: dict[str, Score | float] = {
        "corruption_accuracy": Score("corruption_accuracy", share, 1.0, parts, settings)
    }
    if told.among_five is not None:
        scores["corruption_top5"] = float(told.among_five.mean())
    return scores


def _unpacked(bits: object, count: int) -> np.ndarray:
    return np.unpackbits(np.asarray(bits, dtype=np.uint8), count=count).astype(bool)


def _names(run: Run, data: ImageDataset, factor: str = "") -> bool:
    """Whether a model names classes that the data know."""
    predicts = getattr(getattr(run, "objective", None), "predicts", "classes")
    return run.can("predict") and (predicts == "classes" or bool(class_tasks(run))) and has_classes(run, data, factor)


def _check_images(images: int) -> None:
    if images < 1:
        raise UsageError(f"images must be at least 1, got {images}")
