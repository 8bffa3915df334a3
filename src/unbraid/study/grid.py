"""A study as a grid of runs: what each index means, whichever machine asks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from unbraid.errors import UsageError

__all__ = ["Evaluation", "RunSpec", "Setting", "Study", "parse_index", "split_data"]

Representation = Literal["mean", "sampled"]


@dataclass(frozen=True)
class Evaluation:
    """How finished runs are measured; the defaults are those of Locatello et al. (2019)."""

    metrics: tuple[str, ...] = ()
    """Scores by name (``"all"`` in a study file)."""
    representations: tuple[Representation, ...] = ("mean", "sampled")
    train: int = 10_000
    """Points that estimators are fitted on."""
    test: int = 5_000
    """Points that they are judged on."""
    points: int | None = None
    """Training groups of the two interventional scores and half as many again to test (otherwise train and test)."""
    batches: int = 1000
    """Further batches of training data over which the losses at the end of training are averaged."""
    images: int = 1000
    """Images on which UDR compares models."""
    seed: int = 0
    options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """More arguments of single scores: ``{"mig": {"bins": 40}}``."""


@dataclass(frozen=True)
class Setting:
    """An objective with one value of its swept option."""

    objective: str
    options: Mapping[str, Any]
    """All options given in the study file, the swept one included."""
    parameter: str | None = None
    strength: float | None = None


@dataclass(frozen=True)
class RunSpec:
    """All that decides one run."""

    index: int
    data: str
    objective: str
    options: Mapping[str, Any]
    parameter: str | None
    strength: float | None
    seed: int
    net: str | None
    steps: int
    batch_size: int
    precision: str = "auto"

    @property
    def data_set(self) -> str:
        """The data set alone, as :func:`unbraid.data.load` takes it."""
        return split_data(self.data)[0]

    @property
    def pairs(self) -> str:
        """How pairs are made of it, as the option ``pairs`` of objectives on pairs says it."""
        return split_data(self.data)[1]

    @property
    def group(self) -> tuple[Any, ...]:
        """What runs that differ in nothing but the seed have in common."""
        return (self.data, self.objective, self.parameter, self.strength, self.net, self.steps)


@dataclass(frozen=True)
class Study:
    """Axes and settings. The index counts seeds fastest, then settings, data sets, numbers of steps, networks.

    With one network and one number of steps this is the published numbering:
    ``((data set * settings) + setting) * seeds + seed``.
    """

    name: str
    data: tuple[str, ...]
    settings: tuple[Setting, ...]
    seeds: tuple[int, ...]
    steps: tuple[int, ...]
    nets: tuple[str | None, ...] = (None,)
    batch_size: int = 64
    precision: str = "auto"
    evaluation: Evaluation = field(default_factory=Evaluation)
    source: str = "study"
    """Where it was read from, for messages."""

    def __len__(self) -> int:
        return len(self.nets) * len(self.steps) * len(self.data) * len(self.settings) * len(self.seeds)

    def __getitem__(self, index: int) -> RunSpec:
        if not 0 <= index < len(self):
            raise IndexError(f"index {index} is outside 0..{len(self) - 1}")
        rest, seed = divmod(index, len(self.seeds))
        rest, setting_number = divmod(rest, len(self.settings))
        rest, data = divmod(rest, len(self.data))
        net_number, steps = divmod(rest, len(self.steps))
        setting, net = self.settings[setting_number], self.nets[net_number]
        return RunSpec(
            index,
            self.data[data],
            setting.objective,
            {**setting.options, **({} if net is None else {"net": net})},
            setting.parameter,
            setting.strength,
            self.seeds[seed],
            net,
            self.steps[steps],
            self.batch_size,
            self.precision,
        )

    def __iter__(self) -> Iterator[RunSpec]:
        return (self[index] for index in range(len(self)))

    def to_json(self) -> dict[str, Any]:
        """The record kept in the study's folder."""
        record = asdict(self)
        record.pop("source")
        return {"format": 1, **_plain(record)}

    @classmethod
    def from_json(cls, record: Mapping[str, Any], source: str) -> Study:
        """The study behind :meth:`to_json`."""
        entries = {key: value for key, value in record.items() if key != "format"}
        try:
            entries["settings"] = tuple(Setting(**entry) for entry in entries["settings"])
            evaluation = entries["evaluation"]
            for key in ("metrics", "representations"):
                evaluation[key] = tuple(evaluation[key])
            entries["evaluation"] = Evaluation(**evaluation)
            for key in ("data", "seeds", "steps", "nets"):
                entries[key] = tuple(entries[key])
            return cls(source=source, **entries)
        except (KeyError, TypeError) as error:
            raise UsageError(f"{source} is no record of a study ({error}): written by another version?") from error


def split_data(text: str) -> tuple[str, str]:
    """A data set and how pairs are made of it.

    >>> split_data("sprites32 @ protocol=uni"), split_data("pedestrians")
    (('sprites32', 'protocol=uni'), ('pedestrians', ''))
    """
    name, _, pairs = text.partition(" @ ")
    return name.strip(), pairs.strip()


def parse_index(text: str | None, size: int) -> range:
    """Indices from ``start:stop`` (either may be left out) or a single number.

    >>> parse_index("100:", 180), parse_index("7", 180)
    (range(100, 180), range(7, 8))
    """
    if text is None:
        return range(size)
    first, colon, last = text.partition(":")
    try:
        start = int(first) if first else 0
        stop = (int(last) if last else size) if colon else start + 1
    except ValueError as error:
        raise UsageError(f"index must be START:STOP or a number, got {text!r}") from error
    if not 0 <= start < stop <= size:
        raise UsageError(f"index {text!r} is outside this study's 0:{size}")
    return range(start, stop)


def _plain(thing: Any) -> Any:
    if isinstance(thing, Mapping):
        return {key: _plain(value) for key, value in thing.items()}
    if isinstance(thing, Sequence) and not isinstance(thing, str):
        return [_plain(value) for value in thing]
    return thing
