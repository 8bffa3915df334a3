"""The rule of a split: some values of some factors, reserved for the test or for training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from unbraid.data.splits.value_sets import ValueSets
from unbraid.errors import UsageError, unknown_name
from unbraid.reading import read_json

__all__ = ["Rule", "read_rule"]

Reserved = Literal["train", "test"]
_WORDS: dict[str, Reserved] = {"test_only": "test", "train_only": "train"}
_FORM = 'write {"factor": {"test_only": [4, 5]}}'


@dataclass(frozen=True)
class Rule:
    """Values reserved for one side. A cell with none of them lies on the other: in the box of all other values."""

    reserved: Reserved
    sets: ValueSets
    names: tuple[str, ...]
    sizes: tuple[int, ...]

    def box(self) -> list[tuple[int, ...]]:
        """For every factor the values that are not reserved."""
        every = zip(self.names, self.sizes, strict=True)
        return [tuple(v for v in range(size) if v not in self.sets.get(name, ())) for name, size in every]

    def unseen(self) -> ValueSets:
        """Values that occur nowhere in the training part."""
        if self.reserved == "test":
            return self.sets
        if len(self.sets) > 1:
            return {}  # every value occurs beside a reserved one of another factor
        (name,) = self.sets
        return {name: self.box()[self.names.index(name)]}

    def words(self) -> str:
        """Such as ``test only: scale 4-5, x 2 7``."""
        return f"{self.reserved} only: {', '.join(f'{name} {_ranges(chosen)}' for name, chosen in self.sets.items())}"


def read_rule(given: Mapping[str, Any] | str | Path, names: Sequence[str], sizes: Sequence[int]) -> Rule:
    """The rule that a mapping, or a JSON file, states; every mistake in it is named."""
    if not isinstance(given, Mapping):
        given = _from_file(Path(given).expanduser())
    if not given:
        raise UsageError(f"a split needs values of at least one factor, got none; {_FORM}")
    sets: ValueSets = {}
    reserved: set[Reserved] = set()
    for name, entry in given.items():
        if name not in names:
            raise unknown_name("factor to split:", name, names)
        if not isinstance(entry, Mapping) or len(entry) != 1 or next(iter(entry)) not in _WORDS:
            raise UsageError(f"factor {name!r} of a split must say test_only or train_only, got {entry!r}; {_FORM}")
        ((word, values),) = entry.items()
        reserved.add(_WORDS[word])
        sets[name] = _values(name, word, values, sizes[list(names).index(name)])
    if len(reserved) > 1:
        raise UsageError("the factors of a split must all be test_only, or all train_only; got both")
    ordered = {name: sets[name] for name in names if name in sets}
    return Rule(reserved.pop(), ordered, tuple(names), tuple(sizes))


def _values(name: str, word: str, values: Any, size: int) -> tuple[int, ...]:
    chosen = range(size)[values] if isinstance(values, slice) else values
    if isinstance(chosen, str) or not isinstance(chosen, Sequence | range):
        chosen = [chosen]
    try:
        found = tuple(sorted({int(value) for value in chosen}))
    except (TypeError, ValueError) as error:
        raise UsageError(f"{word} of factor {name!r} must be a list of values, got {values!r}") from error
    if not found or found[0] < 0 or found[-1] >= size or len(found) == size:
        raise UsageError(f"{word} of factor {name!r} must be some, and not all, of 0..{size - 1}; got {values!r}")
    return found


def _from_file(path: Path) -> Mapping[str, Any]:
    try:
        return read_json(path, remedy=_FORM)
    except UsageError as error:
        raise UsageError(f"split={path}: no JSON file of value sets can be read there ({error})") from error


def _ranges(values: Sequence[int]) -> str:
    """``0-3 7`` for 0, 1, 2, 3 and 7."""
    runs: list[list[int]] = []
    for value in values:
        if runs and value == runs[-1][-1] + 1:
            runs[-1].append(value)
        else:
            runs.append([value])
    return " ".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)
