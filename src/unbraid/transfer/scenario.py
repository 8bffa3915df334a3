"""What a scenario is: one way of leaving the training domain, as a measure with one number per model."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, TypeVar

import numpy as np

from unbraid.errors import UsageError
from unbraid.evaluation import Measure, Row, Scores
from unbraid.metrics import Score
from unbraid.options import Named, check_options
from unbraid.registry import Registry, import_modules
from unbraid.transfer.domains import RANDOM, Domain, domain_of
from unbraid.transfer.subjects import Subject, subject_of

if TYPE_CHECKING:
    from unbraid.data import Dataset
    from unbraid.training import Run

__all__ = ["READOUT", "STEP", "VALUE", "Asked", "Scenario", "get", "make", "names", "register"]

STEP = 0.0075
"""Seconds of one core that a step of training takes, about, of the vanilla network on 64 digits."""
READOUT = 15.0
"""The same of one read-out of codes, which every run of an encoder has, and another one where labels are few."""
READING_VERSIONS = {"readout": 2, "verified": 3, "exact": 2}
"""Raised where what is built on a run answers otherwise than before: numbers of all scenarios are then asked anew."""
VALUE = "value"
"""The name of the number that a scenario is about; others beside it are details."""
Unit = Literal["accuracy", "R²", "distance", "share"]


@dataclass(frozen=True)
class Asked:
    """The images of one question, with their classes: the same for every model of a matrix."""

    subject: Subject
    data: Dataset
    domain: Domain
    seed: int

    def images(self, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """At most so many positions, drawn by the seed, with their images and classes."""
        from unbraid.robustness import Examples

        examples = Examples(self.data, count, self.seed)
        return examples.index, examples.read(slice(None)), self.subject.labels(self.data, examples.index)


@dataclass(frozen=True)
class Scenario(Measure):
    """A frozen dataclass whose fields are its settings; :meth:`numbers` gives the ``value``, larger is better.

    >>> from unbraid.transfer import Scenario, register_scenario
    >>> @register_scenario("mirrored")
    ... @dataclass(frozen=True)
    ... class Mirrored(Scenario):
    ...     '''Images as a mirror shows them.'''
    ...     images: int = 100
    ...     def numbers(self, asked):
    ...         _, images, labels = asked.images(self.images)
    ...         return {"value": (asked.subject.scores(images[:, :, ::-1]).argmax(1) == labels).mean()}
    """

    training: ClassVar[str] = RANDOM
    """The split that models are trained on to be asked this."""
    unit: ClassVar[Unit] = "accuracy"
    interest: ClassVar[float] = 0.01
    """The smallest effect of interest: a point of accuracy or R2; of distances a share of the twin's."""
    wants: ClassVar[tuple[str, ...]] = ("scores",)
    """What a model must have: scores, factors, gradients, a bijection, training (a run that can be trained again)."""
    cost: ClassVar[float] = 0.0002
    """Seconds of one core that an image takes, about, of the vanilla network on digits."""

    reading: str = ""
    """What is built on a run before it is asked."""

    def reads(self) -> Mapping[str, Any]:
        return {"reading": READING_VERSIONS[self.reading]} if self.reading in READING_VERSIONS else {}

    def suited(self, objective: str) -> Self:
        """The same question as it is put to models of an objective; most ask all alike."""
        return self

    @property
    def relative(self) -> bool:
        return self.unit == "distance"

    def seconds(self, asking: float = 1.0, training: float = 1.0) -> float:
        """Expected time on one core of a model whose asking and training take so many times as long as vanilla's."""
        return asking * self.cost * getattr(self, "images", 1)

    def chance(self, classes: int) -> float:
        """What a model that knows nothing gets."""
        return 1 / classes if self.unit == "accuracy" else 0.0

    def ceiling(self, shape: tuple[int, ...]) -> float:
        """The most that there is."""
        return 1.0

    def on(self, domain: Domain) -> str:
        """The name of the data that models are asked on."""
        return domain.data(self.training, "test")

    def missing(self, subject: Subject, domain: Domain) -> str:
        """What this model or this domain lacks, in words; empty if nothing."""
        if "factors" in self.wants and not subject.has_factors:
            return "a model that tells factors"
        if "gradients" in self.wants and not subject.has_gradient:
            return "a model that gradients flow through"
        if "training" in self.wants and subject.source is None:
            return "a run, which can be trained again"
        if self.training != RANDOM and self.training not in domain.splits:
            return "a complete grid of factors"
        return ""

    def numbers(self, asked: Asked) -> Scores:
        """The ``value``, and details by name."""
        raise UsageError(f"scenario {self.name!r} asks nothing: define numbers(asked)")

    def rows(self, run: Run, data: Dataset, seed: int) -> Iterator[Row]:
        yield {}, lambda: self.ask(subject_of(run, data, self.reading), data, seed)

    def ask(self, subject: Subject, data: Dataset, seed: int = 0) -> Scores:
        """The numbers of a model on these data."""
        objective = "" if subject.source is None else subject.source.objective.name
        found = dict(self.suited(objective).numbers(Asked(subject, data, domain_of(data), seed)))
        if VALUE not in found:
            raise UsageError(f"scenario {self.name!r} must give a number 'value', got {', '.join(found) or 'nothing'}")
        plain = {name: score if isinstance(score, Score) else float(score) for name, score in found.items()}
        return {VALUE: plain.pop(VALUE), **plain}


_SCENARIOS: Registry[type[Scenario]] = Registry(
    "scenario",
    first=("iid", "composition", "interpolation", "extrapolation", "identity", "noise", "blur", "weather", "digital",
           "strokes", "geometry", "gaussian-distance", "l0", "l2", "linf", "distal", "invariance", "metamers",
           "confidence", "few-labels"),
)  # fmt: skip
Class = TypeVar("Class", bound=type[Scenario])


def register(name: str) -> Callable[[Class], Class]:
    """Class decorator: make a scenario known by name to matrix, cards, command and page."""

    def add(cls: Class) -> Class:
        if not (isinstance(cls, type) and issubclass(cls, Scenario) and dataclasses.is_dataclass(cls)):
            raise UsageError(
                f"scenario {name!r} must be a dataclass derived from unbraid.transfer.Scenario: put "
                "@dataclass(frozen=True) under the decorator"
            )
        _SCENARIOS.add(name, cls)
        cls.name = name
        cls.title = cls.__dict__.get("title") or name.replace("-", " ").capitalize()
        return cls

    return add


def names() -> list[str]:
    """All registered scenarios, in the order in which matrices show them."""
    import_modules("unbraid.transfer.all_scenarios")
    return list(_SCENARIOS)


def get(name: str) -> type[Scenario]:
    """The class of a registered scenario."""
    import_modules("unbraid.transfer.all_scenarios")
    return _SCENARIOS[name]


def make(scenario: str | Scenario, **settings: Any) -> Scenario:
    """A scenario from its name; settings behind a colon: ``noise:images=200``."""
    if isinstance(scenario, Scenario):
        return scenario
    named = Named.read(scenario)
    cls = get(named.name)
    known = {field.name for field in dataclasses.fields(cls)}
    given = {**{key: value for key, value in settings.items() if key in known}, **named.options}
    return cls(**check_options(f"scenario {cls.name!r}", cls, given))
