"""Ask classifiers about corrupted images: every image is corrupted once, whatever the number of models."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from unbraid.corruptions import SUITES, Corruption, corrupt, find
from unbraid.errors import UsageError
from unbraid.robustness._ahead import ahead
from unbraid.robustness._examples import Examples
from unbraid.robustness._scores import Scorer, check_width, confidences
from unbraid.robustness.tables import CLEAN, CorruptionTable, Spoiled, Wrong

if TYPE_CHECKING:
    from unbraid.data import Dataset
    from unbraid.training import Run

    Predict = Run | Callable[[np.ndarray], Any]
    Data = Dataset | tuple[np.ndarray, np.ndarray]

__all__ = ["Plan", "corruption_table", "corruption_tables", "plan_of"]

BATCH = 256
"""Images that are corrupted at a time."""
WORST = 16
"""Wrong answers that are kept of each corruption and severity."""
MANY = 10
"""So many classes make it worth asking for the five highest scores."""


@dataclass(frozen=True)
class Plan:
    """Which corruptions in which severities, each by a name of its own."""

    suite: str
    entries: tuple[tuple[str, Corruption, int], ...]

    @property
    def spoiled(self) -> tuple[Spoiled, ...]:
        return tuple(Spoiled(name, corruption.category, severity) for name, corruption, severity in self.entries)


@dataclass(frozen=True)
class Told:
    """What a model said of all images in one state."""

    right: np.ndarray
    among_five: np.ndarray | None
    worst: tuple[Wrong, ...]


def corruption_table(
    predict: Predict,
    data: Data,
    suite: str | Sequence[str] = "mnist-c",
    severities: Sequence[int] | None = None,
    *,
    images: int | None = None,
    trained_on: Sequence[str] = (),
    factor: str = "",
    seed: int = 0,
    name: str = "",
) -> CorruptionTable:
    """How often a classifier is right under corruptions (Hendrycks & Dietterich, 2019; Mu & Gilmer, 2019).

    ``predict`` is a run that names classes, a torch module on floats ``[n, c, h, w]`` in [0, 1], or any function from
    uint8 images ``[n, h, w, c]`` to scores ``[n, classes]``. ``data`` is a data set with classes, or a pair of uint8
    images and classes; with ``factor`` the values of that factor are the classes. ``suite`` is ``mnist-c``,
    ``imagenet-c``, ``imagenet-c-holdout``, or names of corruptions; ``severities`` are all there are unless given.
    ``images`` bounds how many are looked at, drawn by ``seed``. Corruptions in ``trained_on`` are marked.
    """
    label = name or Scorer(predict).name
    marks = {label: tuple(trained_on)}
    return corruption_tables(
        {label: predict}, data, suite, severities, images=images, trained_on=marks, factor=factor, seed=seed
    )[label]


def corruption_tables(
    models: Mapping[str, Predict],
    data: Data,
    suite: str | Sequence[str] = "mnist-c",
    severities: Sequence[int] | None = None,
    *,
    images: int | None = None,
    trained_on: Mapping[str, Sequence[str]] | None = None,
    factor: str = "",
    seed: int = 0,
    progress: Callable[[str], None] | None = None,
) -> dict[str, CorruptionTable]:
    """The same for several classifiers by name: images are corrupted once, while others are being looked at."""
    plan = plan_of(suite, severities)
    marks = {name: _marks(plan, words) for name, words in (trained_on or {}).items()}
    examples = Examples(data, images, seed)
    scorers = [Scorer(predict, name, factor) for name, predict in models.items()]
    told: list[list[Told]] = [[] for _ in scorers]
    everyone = range(len(scorers))
    for state, answers in ask(scorers, examples, plan, lambda _: everyone, factor):
        if progress is not None:
            progress(state.corruption if state.corruption == CLEAN else f"{state.corruption} {state.severity}")
        for place, answer in answers.items():
            told[place].append(answer)
    return {
        scorer.name: gather(scorer.name, examples, plan, answers, marks.get(scorer.name, frozenset()), seed)
        for scorer, answers in zip(scorers, told, strict=True)
    }


def plan_of(suite: str | Sequence[str], severities: Sequence[int] | None = None) -> Plan:
    """The corruptions of a suite or list of names, and their severities."""
    words = [suite] if isinstance(suite, str) else list(suite)
    words = [word.strip() for text in words for word in str(text).replace("+", ",").split(",") if word.strip()]
    chosen: dict[str, Corruption] = {}
    for word in words:
        for corruption in SUITES[word].values() if word in SUITES else [find(word)]:
            chosen[corruption.full_name] = corruption
    if not chosen:
        raise UsageError(f"suite {suite!r} names no corruption; give {', '.join(SUITES)}, or names such as fog,snow")
    plain = [corruption.name for corruption in chosen.values()]
    entries = [
        (full if plain.count(corruption.name) > 1 else corruption.name, corruption, severity)
        for full, corruption in chosen.items()
        for severity in _severities(corruption, severities)
    ]
    return Plan("+".join(words), tuple(entries))


def ask(
    scorers: Sequence[Scorer],
    examples: Examples,
    plan: Plan,
    lacking: Callable[[Spoiled], Sequence[int]],
    factor: str = "",
) -> Iterator[tuple[Spoiled, dict[int, Told]]]:
    """What models say of the clean images and of each state, one after the other.

    ``lacking`` says which of the models are to be asked about a state; where none is, nothing is computed.
    """
    states = [Spoiled(CLEAN, CLEAN, 0), *plan.spoiled]
    spoils: list[tuple[Corruption | None, int]] = [(None, 0), *((corruption, s) for _, corruption, s in plan.entries)]
    asked = [list(lacking(state)) for state in states]
    labels = {place: examples.labels(scorers[place].run, factor) for place in sorted({p for a in asked for p in a})}
    parts = [slice(start, start + BATCH) for start in range(0, len(examples), BATCH)]
    tasks = (
        partial(_spoiled, examples, part, corruption, severity)
        for (corruption, severity), places in zip(spoils, asked, strict=True)
        if places
        for part in parts
    )
    batches = ahead(tasks)
    try:
        for state, places in zip(states, asked, strict=True):
            counts = {place: _Count(scorers[place], examples, labels[place], state) for place in places}
            for part in parts if places else ():
                images = next(batches)
                for count in counts.values():
                    count.add(images, part)
            yield state, {place: count.told() for place, count in counts.items()}
    finally:
        batches.close()  # type: ignore[attr-defined]


def gather(
    name: str, examples: Examples, plan: Plan, told: Sequence[Told], trained_on: frozenset[str], seed: int
) -> CorruptionTable:
    """What a model said of the clean images and then of every state, as one table."""
    fives = [one.among_five for one in told]
    worst = sorted((wrong for one in told for wrong in one.worst), key=lambda wrong: -wrong.confidence)
    return CorruptionTable(
        name,
        examples.name,
        plan.suite,
        plan.spoiled,
        np.array([one.right for one in told]),
        None if any(five is None for five in fives) else np.array(fives),
        tuple(worst),
        trained_on,
        {"images": len(examples), "seed": seed},
    )


class _Count:
    """The answers of a model about one state, batch by batch."""

    def __init__(self, scorer: Scorer, examples: Examples, labels: np.ndarray, state: Spoiled) -> None:
        self.scorer, self.examples, self.labels, self.state = scorer, examples, labels, state
        self.right = np.zeros(len(labels), bool)
        self.five: np.ndarray | None = None
        self.worst: list[Wrong] = []

    def add(self, images: np.ndarray, part: slice) -> None:
        truth = self.labels[part]
        scores = self.scorer(images)
        check_width(self.labels, scores, self.scorer.name, self.examples.name)
        guess = scores.argmax(axis=1)
        self.right[part] = guess == truth
        if scores.shape[1] >= MANY:
            if self.five is None:
                self.five = np.zeros(len(self.labels), bool)
            self.five[part] = _among(scores, truth, 5)
        wrong = np.flatnonzero(guess != truth)
        sure = confidences(scores[wrong])[np.arange(len(wrong)), guess[wrong]]
        index = self.examples.index[part]
        for place, confidence in sorted(zip(wrong, sure, strict=True), key=lambda pair: -pair[1])[:WORST]:
            about = (int(index[place]), int(truth[place]), int(guess[place]), float(confidence))
            self.worst.append(Wrong(self.state.corruption, self.state.severity, *about))

    def told(self) -> Told:
        worst = sorted(self.worst, key=lambda wrong: (-wrong.confidence, wrong.image))[:WORST]
        return Told(self.right, self.five, tuple(worst))


def _among(scores: np.ndarray, truth: np.ndarray, count: int) -> np.ndarray:
    """Whether the true class is among the highest; of equal scores, the first are the higher as in argmax."""
    order = np.argsort(-scores, axis=1, kind="stable")[:, :count]
    found: np.ndarray = (order == truth[:, None]).any(axis=1)
    return found


def _spoiled(examples: Examples, part: slice, corruption: Corruption | None, severity: int) -> np.ndarray:
    images = examples.read(part)
    if corruption is None:
        return images
    return corrupt(images, corruption, severity, examples.seed, indices=examples.index[part])


def _severities(corruption: Corruption, wanted: Sequence[int] | None) -> tuple[int, ...]:
    if wanted is None:
        return corruption.severities
    for severity in wanted:
        if isinstance(severity, bool) or severity not in corruption.severities:
            have = ", ".join(map(str, corruption.severities))
            one = "one setting, severity 1" if len(corruption.severities) == 1 else f"the severities {have}"
            raise UsageError(f"severities: {corruption.full_name} has {one}, got {severity!r}")
    if not wanted:
        raise UsageError("severities is empty; leave it out for all there are")
    return tuple(dict.fromkeys(int(severity) for severity in wanted))


def _marks(plan: Plan, words: Sequence[str]) -> frozenset[str]:
    """The corruptions of the plan that these words name; other ones are known, but not asked about."""
    full = {find(word).full_name for word in words}
    return frozenset(name for name, corruption, _ in plan.entries if corruption.full_name in full or name in words)
