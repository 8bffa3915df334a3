"""What a measure is: a question to a trained model. Importing this module does not import torch."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from unbraid.errors import UsageError
from unbraid.metrics import Score
from unbraid.options import Named, check_options, parse_value
from unbraid.registry import Registry, import_everywhere

if TYPE_CHECKING:
    import numpy as np

    from unbraid.data import ImageDataset
    from unbraid.training import Run

__all__ = [
    "Condition",
    "GroupMeasure",
    "Measure",
    "Row",
    "Scores",
    "SharedMeasure",
    "get",
    "make",
    "names",
    "read_measures",
    "register",
    "say",
    "settings_of",
]

Condition = Mapping[str, str | int | float | bool]
"""Under what something was measured: ``{"corruption": "fog", "severity": 3}``."""
Scores = Mapping[str, Score | float]
Row = tuple[Condition, Scores | Callable[[], Scores]]

RESERVED = ("data", "name", "on", "seed", "title", "version")
"""What a study says of any measure, so that no setting can be called so."""


@dataclass(frozen=True)
class Measure:
    """A frozen dataclass whose fields are its settings: a study's keys, the command's ``name:key=value``, the record.

    ``run`` is a :class:`~unbraid.training.Run`, or stands for a function from images to arrays; then it can encode and
    predict, and nothing else. A measure looks at ``run`` and ``data`` alone, and takes all chance from ``seed``.
    """

    name: ClassVar[str] = ""
    title: ClassVar[str] = ""
    titles: ClassVar[Mapping[str, str]] = {}
    """What the numbers it gives are called in headings, where it is not the name and no metric says so."""
    needs: ClassVar[str] = ""
    """What it asks for in words, for the message to those who do not have it: ``a model that predicts``."""
    version: ClassVar[int] = 1
    """Raise it when the same settings give another answer than before: stored answers are then computed anew."""
    beside: ClassVar[tuple[str, ...]] = ()
    """Endings of files that ``rows`` leaves with the answer (``.parquet``): without them it is computed anew."""

    def applies(self, run: Run, data: ImageDataset) -> bool:
        """Whether it makes sense for this model on these data."""
        return True

    def lacks(self, run: Run, data: ImageDataset) -> str:
        """What this model on these data would need, in words, where it does not apply."""
        return self.needs or "what its applies(run, data) asks for"

    def version_on(self, data: ImageDataset) -> int:
        """The version on these data, for a change that gives another answer on some data only."""
        return self.version

    def made_of(self) -> Mapping[str, Any]:
        """Classes and functions that compute it, by name: the source of own ones is a part of what was asked."""
        return {self.name: type(self)}

    def reads(self) -> Mapping[str, Any]:
        """What else the answer rests on, by name, as plain values: the weights of another run that it names."""
        return {}

    def rows(self, run: Run, data: ImageDataset, seed: int) -> Iterator[Row]:
        """Yield a condition and what was measured under it, by name.

        Every row is stored as it comes. A costly one may be a function of nothing that gives the scores: it is called
        only if the row is not stored yet, so that a measure killed half-way goes on where it was.
        """
        raise UsageError(f"measure {self.name!r} does not measure anything: define rows(run, data, seed)")


@dataclass(frozen=True)
class GroupMeasure(Measure):
    """A measure that compares runs with each other: those that differ in the seed alone.

    Each run leaves what the comparison needs of it; comparing is done by whoever has them all.
    """

    def share(self, run: Run, data: ImageDataset, seed: int) -> dict[str, np.ndarray]:
        """What the comparison needs of one run, stored with it."""
        raise UsageError(f"measure {self.name!r} keeps nothing of a run: define share(run, data, seed)")

    def compare(self, shares: Sequence[Mapping[str, np.ndarray]], seed: int) -> list[Scores]:
        """The scores of each of the runs, at least two, in their order."""
        raise UsageError(f"measure {self.name!r} does not compare: define compare(shares, seed)")


@dataclass(frozen=True)
class SharedMeasure(Measure):
    """A measure that makes something costly of the data and shows it to several runs: corrupted images.

    Each run is measured as if it were alone; see :func:`unbraid.evaluation.measure_together`.
    """

    def rows_of(
        self, runs: Sequence[Run], data: ImageDataset, seed: int, lacking: Callable[[Condition], Sequence[int]]
    ) -> Iterator[tuple[Condition, Mapping[int, Scores]]]:
        """Yield each condition with the scores of the runs that lack it, by position; ``lacking`` says which those are.

        A condition that no run lacks is yielded too, without scores.
        """
        raise UsageError(f"measure {self.name!r} does not measure anything: define rows_of(runs, data, seed, lacking)")

    def rows(self, run: Run, data: ImageDataset, seed: int) -> Iterator[Row]:
        for condition, found in self.rows_of([run], data, seed, lambda _: [0]):
            yield condition, found[0]


_MEASURES: Registry[type[Measure]] = Registry("measure")
Class = TypeVar("Class", bound=type[Measure])


def register(name: str) -> Callable[[Class], Class]:
    """Class decorator: make a measure known by name to the command line and to studies."""

    def add(cls: Class) -> Class:
        if not (isinstance(cls, type) and issubclass(cls, Measure) and dataclasses.is_dataclass(cls)):
            raise UsageError(
                f"measure {name!r} must be a dataclass derived from unbraid.evaluation.Measure: put "
                "@dataclass(frozen=True) under @register"
            )
        for field in dataclasses.fields(cls):
            if field.name in RESERVED:
                raise UsageError(f"measure {name!r} has a setting {field.name!r}, a word of its own in study files")
        cls.name = name
        cls.title = cls.__dict__.get("title") or name.replace("-", " ").replace("_", " ").capitalize()
        _MEASURES.add(name, cls)
        return cls

    return add


def names() -> list[str]:
    """All registered measures."""
    import_everywhere("measure")
    return _MEASURES.names()


def get(name: str) -> type[Measure]:
    """The class of a registered measure."""
    if name not in _MEASURES:
        import_everywhere("measure")
    return _MEASURES[name]


def make(measure: str | Named | Measure, settings: Mapping[str, Any] | None = None) -> Measure:
    """A measure from its name and settings; ``disentanglement:train=500,metrics=mig+dci`` has them inside.

    Where a setting is a tuple, ``+`` stands between its words.
    """
    if isinstance(measure, Measure):
        return measure
    named = Named.read(measure)
    cls = get(named.name)
    given = {**named.options, **(settings or {})}
    lists = {field.name for field in dataclasses.fields(cls) if str(field.type).startswith("tuple")}
    words = {field.name for field in dataclasses.fields(cls) if "str" in str(field.type)}
    given = {key: _as_list(value, key in words) if key in lists else value for key, value in given.items()}
    found = check_options(f"measure {cls.name!r}", cls, given)
    return cls(**{key: tuple(value) if key in lists else value for key, value in found.items()})


def read_measures(text: str) -> list[Named]:
    """Several measures as the command line names them, settings behind each.

    >>> [entry.name for entry in read_measures("disentanglement:train=500,test=200,losses")]
    ['disentanglement', 'losses']
    """
    parts: list[str] = []
    for part in filter(None, (word.strip() for word in text.split(","))):
        if "=" in part and ":" not in part.partition("=")[0] and parts:
            parts[-1] += f"{',' if ':' in parts[-1] else ':'}{part}"
        else:
            parts.append(part)
    if not parts:
        raise UsageError(f"measures must be names separated by commas, got {text!r}; known: {', '.join(names())}")
    return [Named.read(part) for part in parts]


def settings_of(measure: Measure) -> dict[str, Any]:
    """The settings as plain values, as they stand in the stored answer.

    A field that takes no part in comparisons is none: what it stands for is in the others. One that came later says by
    ``metadata={"usual": ...}`` what it was before, and is left out then, so that earlier answers stay valid.
    """
    settings = {}
    for field in dataclasses.fields(measure):
        value = _plain(getattr(measure, field.name))
        if field.compare and not ("usual" in field.metadata and value == _plain(field.metadata["usual"])):
            settings[field.name] = value
    return settings


_LISTENER: ContextVar[Callable[[str], None] | None] = ContextVar("listener", default=None)


def say(text: str) -> None:
    """Tell whoever waits for a measure what it is doing; costs nothing when nobody does."""
    listener = _LISTENER.get()
    if listener is not None:
        listener(text)


def _as_list(value: Any, words: bool) -> Any:
    if isinstance(value, str):
        return value.split("+") if words else [parse_value(word) for word in value.split("+")]
    return list(value) if isinstance(value, list | tuple) else [value]


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    return value
