"""A study as a grid of runs: what each index means, whichever machine asks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

from unbraid.errors import UsageError
from unbraid.evaluation import Measure, make, settings_of
from unbraid.reading import check_form

__all__ = [
    "TRAINING",
    "Evaluation",
    "RunSpec",
    "Setting",
    "Study",
    "added_words",
    "parse_index",
    "split_data",
    "usual_measures",
]

TRAINING = "training"
"""The word for the data a run was trained on, where a measure names data."""


@dataclass(frozen=True)
class Evaluation:
    """One of the measures that every finished run of a study is asked."""

    measure: Measure
    data: tuple[str, ...] = ()
    """Data sets to measure on, ``training`` for the run's own; none named is the run's own alone."""
    seed: int = 0

    def to_json(self) -> dict[str, Any]:
        settings = settings_of(self.measure)
        return {"measure": self.measure.name, "settings": settings, "data": list(self.data), "seed": self.seed}

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Evaluation:
        return cls(make(record["measure"], record["settings"]), tuple(record["data"]), int(record["seed"]))


def usual_measures(
    *, batches: int | None = None, images: int | None = None, seed: int = 0, **disentanglement: Any
) -> tuple[Evaluation, ...]:
    """Scores of codes, losses at the end of training and UDR: what a study measures unless told otherwise.

    Without settings, as Locatello et al. (2019) did.
    """
    measures = (
        make("disentanglement", disentanglement),
        make("losses", {} if batches is None else {"batches": batches}),
        make("udr", {} if images is None else {"images": images}),
    )
    return tuple(Evaluation(measure, seed=seed) for measure in measures)


OWN = ("net", "steps", "batch_size")
"""What an objective may have of its own instead of the study's."""


@dataclass(frozen=True)
class Setting:
    """An objective with one value of its swept option, and what it has of its own instead of the study's."""

    objective: str
    options: Mapping[str, Any]
    """All options given in the study file, the swept one included."""
    parameter: str | None = None
    strength: float | None = None
    net: str | None = None
    steps: int | None = None
    batch_size: int | None = None
    after: int | None = None
    """The number of the setting whose run on the same data, with the same seed, a run begins from."""
    parts: tuple[str, ...] = ()
    """Which parts of that run's model it takes."""

    def to_json(self) -> dict[str, Any]:
        own = {key: value for key in OWN if (value := getattr(self, key)) is not None}
        own |= {} if self.after is None else {"after": self.after, "parts": list(self.parts)}
        asked = {"objective": self.objective, "options": _plain(self.options)}
        return {**asked, "parameter": self.parameter, "strength": self.strength, **own}


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
    after: int | None = None
    """The index of the run it begins from."""
    parts: tuple[str, ...] = ()

    @property
    def data_set(self) -> str:
        """The data set alone, as :func:`unbraid.data.load` takes it."""
        return split_data(self.data)[0]

    @property
    def pairs(self) -> str:
        """How pairs are made of it, as the option ``pairs`` of objectives on pairs says it."""
        return split_data(self.data)[1]

    @property
    def method(self) -> str:
        """What was trained, in words: the objective with its strength and its network, where they were chosen."""
        strength = "" if self.parameter is None else f" {self.parameter} {self.strength:g}"
        added = "".join(f", {words}" for words in added_words(self.options).values() if words)
        return f"{self.objective}{strength}{'' if self.net is None else f' ({self.net})'}{added}"

    @property
    def group(self) -> tuple[Any, ...]:
        """What runs that differ in nothing but the seed have in common."""
        added = added_words(self.options).values()
        return (self.data, self.objective, self.parameter, self.strength, self.net, self.steps, *added)


_FORM = {
    "name": str,
    "data": [str],
    "settings": [
        {
            "objective": str,
            "options": dict,
            "parameter?": str | None,
            "strength?": int | float | None,
            "net?": str,
            "steps?": int,
            "batch_size?": int,
            "after?": int,
            "parts?": [str],
        }
    ],
    "seeds": [int],
    "steps": [int],
    "nets?": [str | None],
    "batch_size?": int,
    "watch?": int,
    "precision?": str,
    "measures?": [dict],
    "evaluation?": dict,
}


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
    watch: int = 0
    """Steps between two looks at what codes know while they learn; 0 for none. Runs do not depend on it."""
    measures: tuple[Evaluation, ...] = field(default_factory=usual_measures)
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
        setting = self.settings[setting_number]
        net = setting.net or self.nets[net_number]
        return RunSpec(
            index,
            self.data[data],
            setting.objective,
            {**setting.options, **({} if net is None else {"net": net})},
            setting.parameter,
            setting.strength,
            self.seeds[seed],
            net,
            setting.steps or self.steps[steps],
            setting.batch_size or self.batch_size,
            self.precision,
            None if setting.after is None else index - (setting_number - setting.after) * len(self.seeds),
            setting.parts,
        )

    def each(self, key: Literal["net", "steps", "batch_size"]) -> list[Any]:
        """The different values of this key among the runs; ``None`` for a network that is the objective's own."""
        axis = {"net": self.nets, "steps": self.steps, "batch_size": (self.batch_size,)}[key]
        given = [getattr(setting, key) for setting in self.settings]
        return list(dict.fromkeys(value for own in given for value in (axis if own is None else (own,))))

    def __iter__(self) -> Iterator[RunSpec]:
        return (self[index] for index in range(len(self)))

    def to_json(self) -> dict[str, Any]:
        """The record kept in the study's folder."""
        record = asdict(replace(self, measures=(), settings=()))
        record.pop("source")
        if not self.watch:
            record.pop("watch")
        settings = [setting.to_json() for setting in self.settings]
        measures = [entry.to_json() for entry in self.measures]
        return {"format": 2, **_plain(record), "settings": settings, "measures": measures}

    @classmethod
    def from_json(cls, record: Mapping[str, Any], source: str) -> Study:
        """The study behind :meth:`to_json`, also as version 0.1 wrote it."""
        check_form(record, _FORM, source, remedy="written by another version, or edited?")
        entries = {key: value for key, value in record.items() if key != "format"}
        try:
            entries["settings"] = tuple(_setting(entry, entries.get("nets")) for entry in entries["settings"])
            if "evaluation" in entries:  # format 1
                entries["measures"] = usual_measures(**entries.pop("evaluation"))
            else:
                entries["measures"] = tuple(Evaluation.from_json(entry) for entry in entries["measures"])
            for key in ("data", "seeds", "steps", "nets"):
                entries[key] = tuple(entries[key])
            return cls(source=source, **entries)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise UsageError(f"{source} is no record of a study ({error}): written by another version?") from error


def _setting(record: Mapping[str, Any], nets: Sequence[str | None] | None) -> Setting:
    """A setting from its record.

    Once a network among the options was its own, unless the study named one for all: that one was trained.
    """
    options = dict(record["options"])
    earlier = options.pop("net", None)
    own = {"net": earlier} if earlier is not None and not any(nets or ()) else {}
    return Setting(**{**own, **record, "options": options, "parts": tuple(record.get("parts", ()))})


def split_data(text: str) -> tuple[str, str]:
    """A data set and how pairs are made of it.

    >>> split_data("sprites32 @ protocol=uni"), split_data("pedestrians")
    (('sprites32', 'protocol=uni'), ('pedestrians', ''))
    """
    name, _, pairs = text.partition(" @ ")
    return name.strip(), pairs.strip()


def added_words(options: Mapping[str, Any]) -> dict[str, str]:
    """What is done to training batches and added to the loss, each in a word; empty if nothing is.

    >>> added_words({"augment": ["blur", "shear:degrees=5"]})
    {'augment': 'blur + shear:degrees=5', 'penalties': ''}
    """
    return {key: " + ".join(map(str, options.get(key, ()))) for key in ("augment", "penalties")}


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
