"""What every metric returns, and the checks every metric makes before it counts anything."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from unbraid.errors import UsageError, unknown_name

__all__ = [
    "KINDS",
    "Sample",
    "Score",
    "as_array",
    "check_arrays",
    "check_codes",
    "check_factors",
    "check_kinds",
    "check_seed",
    "check_values",
    "generator",
    "number_of",
    "number_to_json",
    "split",
]

KINDS = ("ordinal", "categorical", "periodic")
Sample = tuple[np.ndarray, np.ndarray]
"""Codes ``[n, d]`` and the factors ``[n, K]`` of the same images."""


@dataclass(frozen=True)
class Score:
    """A metric's answer: the value, what a perfect code would have got, and how both came about.

    >>> score = Score("mig", 0.42, 0.9)
    >>> score, float(score)
    (mig 0.42 of 0.90, 0.42)
    """

    name: str
    value: float
    ceiling: float = math.nan
    """What a perfect code reaches with these factors and settings; ``nan`` where perfection has no meaning."""
    parts: Mapping[str, Any] = field(default_factory=dict)
    """What the value was made of: per factor, per code, matrices ``[d, K]``."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Estimator, sample counts, seed and options: enough to compute the value again."""

    def __float__(self) -> float:
        return float(self.value)

    def __repr__(self) -> str:
        """The value, and what a perfect code gets; where an estimator favours other codes, the value can be above."""
        value, ceiling = f"{self.value:.2f}", f"{self.ceiling:.2f}"
        if math.isnan(self.ceiling):
            return f"{self.name} {value}"
        if math.isfinite(self.ceiling) and float(value) > float(ceiling):
            return f"{self.name} {value} (above the {ceiling} of a perfect code, which this estimator does not favour)"
        return f"{self.name} {value} of {ceiling}"

    def _repr_html_(self) -> str:
        return f"<code>{escape(repr(self))}</code>"

    def with_settings(self, **settings: Any) -> "Score":
        """The same score with more said about how it was computed."""
        return replace(self, settings={**self.settings, **settings})

    def without_settings(self, *names: str) -> "Score":
        """The same score with less said about how it was computed."""
        return replace(self, settings={key: value for key, value in self.settings.items() if key not in names})

    def to_json(self) -> dict[str, Any]:
        """Plain dictionaries, lists and numbers, ready for ``json.dump``; ``nan`` becomes ``None``, infinity a word."""
        return {
            "name": self.name,
            "value": _plain(self.value),
            "ceiling": _plain(self.ceiling),
            "parts": _plain(self.parts),
            "settings": _plain(self.settings),
        }

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> "Score":
        """The score behind :meth:`to_json`; lists of numbers among the parts become arrays again."""
        value, ceiling = (number_of(record[key]) for key in ("value", "ceiling"))
        parts = {key: _array(part) for key, part in record["parts"].items()}
        return cls(str(record["name"]), value, ceiling, parts, dict(record["settings"]))


def check_codes(codes: ArrayLike, *, name: str = "codes") -> np.ndarray:
    """Codes as finite float64 ``[n, d]`` with at least two rows; a constant column is allowed."""
    array = as_array(codes, name)
    if array.ndim != 2 or array.shape[1] == 0:
        raise UsageError(f"{name} must be [n, d], one row per image and one column per code, got shape {array.shape}")
    if array.dtype.kind not in "fiub":
        raise UsageError(f"{name} must be real numbers, got dtype {array.dtype}")
    if len(array) < 2:
        raise UsageError(f"{name} has {len(array)} row(s); a score needs at least two samples")
    array = array.astype(np.float64)
    low, high = array.min(axis=0), array.max(axis=0)  # NaN where a column has one
    if not np.isfinite([low, high]).all():
        bad = int(array.size - np.isfinite(array).sum())
        column = int((~np.isfinite(array)).any(axis=0).argmax())
        raise UsageError(
            f"{name} has {bad} of {array.size} entries that are NaN or infinite, the first in column {column}; "
            "drop those rows or look for a diverged model"
        )
    if (largest := max(high.max(), -low.min())) > 1e100:
        raise UsageError(f"{name} reaches {largest:.1e}; squares of it overflow, rescale the codes")
    reach = high - low
    if ((reach > 0) & (reach < 1e-100)).any():
        column = int(((reach > 0) & (reach < 1e-100)).argmax())
        raise UsageError(
            f"column {column} of {name} varies by {reach[column]:.1e} only; squares of it vanish, rescale the codes"
        )
    return array


def check_factors(
    factors: ArrayLike, *, name: str = "factors", constant: bool = False, measured: bool = False
) -> np.ndarray:
    """Factors as int64 ``[n, K]``, with ``measured`` float64 where they are floats.

    Unless ``constant``, every column must take at least two values.
    """
    array = as_array(factors, name)
    if array.ndim != 2 or array.shape[1] == 0:
        raise UsageError(f"{name} must be [n, K], one column per factor, got shape {array.shape}")
    if array.dtype.kind not in "fiub":
        raise UsageError(f"{name} must be numbers, got dtype {array.dtype}; number text by its values first")
    if array.dtype.kind == "f":
        bad = int(array.size - np.isfinite(array).sum())
        if bad:
            raise UsageError(f"{name} has {bad} of {array.size} entries that are NaN or infinite; drop those rows")
        if not measured and not (array == np.rint(array)).all():
            raise UsageError(f"{name} must be integers here (the index of each factor's value), got {array.dtype}")
    array = array.astype(np.float64 if measured and array.dtype.kind == "f" else np.int64)
    still = np.ptp(array, axis=0) == 0 if len(array) else np.zeros(array.shape[1], bool)
    if still.any() and not constant:
        column = int(still.argmax())
        raise UsageError(
            f"factor {column} (column {column} of {name}) takes the single value {array[0, column]} in all "
            f"{len(array)} samples; leave it out or draw samples in which it varies"
        )
    return array


def check_arrays(codes: ArrayLike, factors: ArrayLike, *, measured: bool = False) -> Sample:
    """Codes as finite float64 ``[n, d]`` and factors as int64 ``[n, K]``, or an error that says what is wrong.

    Every factor must take two values; constant codes pass, each metric says what they are worth. With ``measured``
    factors may be floats and stay what they are.
    """
    checked = check_codes(codes)
    labels = check_factors(factors, measured=measured)
    if len(checked) != len(labels):
        raise UsageError(f"codes and factors differ in length: {len(checked)} rows and {len(labels)} rows")
    return checked, labels


def check_kinds(kinds: Sequence[str] | None, factors: np.ndarray) -> tuple[str, ...]:
    """One kind per factor; without ``kinds`` all are ordinal, as in the literature."""
    if kinds is None:
        return ("ordinal",) * factors.shape[1]
    if isinstance(kinds, str) or len(kinds) != factors.shape[1]:
        raise UsageError(f"kinds must name one kind per factor, {factors.shape[1]} in all, got {kinds!r}")
    for kind in kinds:
        if kind not in KINDS:
            raise unknown_name("kind of factor", str(kind), KINDS)
    return tuple(kinds)


def check_values(factors: np.ndarray, most: int) -> None:
    """Refuse factors with more values than an estimator with one class per value can take, or one per sample."""
    for column in range(factors.shape[1]):
        values = len(np.unique(factors[:, column]))
        if values > most or values > max(len(factors) // 2, 2):
            raise UsageError(
                f"factor {column} takes {values} values in {len(factors)} samples; at most {most} and half as many as "
                "samples can be told apart: cut it into fewer bins or leave it out"
            )


def check_seed(seed: int) -> int:
    """A seed as every score takes it."""
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise UsageError(f"seed must be a whole number from 0 on, got {seed!r}")
    return int(seed)


def generator(seed: int) -> np.random.Generator:
    """The source of chance that belongs to a seed."""
    return np.random.default_rng(check_seed(seed))


def split(
    codes: ArrayLike,
    factors: ArrayLike,
    *,
    test: tuple[ArrayLike, ArrayLike] | None = None,
    seed: int = 0,
    measured: bool = False,
) -> tuple[Sample, Sample]:
    """Training and test sample for a score that fits something: ``test`` if given, else two to one by ``seed``."""
    codes, factors = check_arrays(codes, factors, measured=measured)
    if test is None:
        order = generator(seed).permutation(len(codes))
        held_out = max(len(codes) // 3, 1)
        train = codes[order[held_out:]], factors[order[held_out:]]
        rest = codes[order[:held_out]], factors[order[:held_out]]
    else:
        if len(test) != 2:
            raise UsageError(f"test must be a pair of codes and factors, got {len(test)} things")
        train = codes, factors
        truth = check_factors(test[1], name="test factors", constant=True, measured=measured)
        rest = check_codes(test[0], name="test codes"), truth
        for what, given, own in zip(("codes", "factors"), rest, train, strict=True):
            if given.shape[1] != own.shape[1]:
                raise UsageError(f"test {what} have {given.shape[1]} columns, the training {what} {own.shape[1]}")
        if len(rest[0]) != len(rest[1]):
            raise UsageError(f"test codes and factors differ in length: {len(rest[0])} rows and {len(rest[1])} rows")
    for column in range(factors.shape[1]):
        values, count = len(np.unique(factors[:, column])), len(train[0])
        counted = factors.dtype.kind != "f"  # a measured factor may differ in every sample
        if (counted and count < values) or np.ptp(train[1][:, column]) == 0:
            raise UsageError(
                f"{count} training samples are too few for factor {column} with its {values} values; give more samples"
            )
    return train, rest


def as_array(values: Any, name: str) -> np.ndarray:
    """Anything that holds numbers as a plain array: tensors of any kind, data frames, masked arrays."""
    if hasattr(values, "detach"):  # torch, which this package does not know
        values = values.detach().cpu()
        values = (values.float() if "bfloat16" in str(values.dtype) else values).numpy()
    elif hasattr(values, "to_numpy"):
        values = values.to_numpy()
    if isinstance(values, np.ma.MaskedArray):
        if np.ma.is_masked(values):
            hidden = int(np.ma.getmaskarray(values).sum())
            raise UsageError(f"{name} has {hidden} masked entries; drop those rows first")
        values = values.data
    array = np.asarray(values)
    if array.dtype != object:
        return array
    try:  # columns of whole and other numbers, or pandas' own integers
        numbers: np.ndarray | None = array.astype(np.float64)
    except (TypeError, ValueError):
        numbers = None
    if numbers is None or any(value is None for value in array.ravel()):
        raise UsageError(f"{name} has entries that are missing or no numbers; drop those rows first")
    whole = all(isinstance(value, int | np.integer) for value in array.ravel())
    return numbers.astype(np.int64) if whole else numbers


def _plain(thing: Any) -> Any:
    if isinstance(thing, Mapping):
        return {str(key): _plain(value) for key, value in thing.items()}
    if isinstance(thing, np.ndarray):
        return _plain(thing.tolist())
    if isinstance(thing, list | tuple):
        return [_plain(value) for value in thing]
    if isinstance(thing, np.generic):
        return _plain(thing.item())
    if isinstance(thing, Score):
        return thing.to_json()
    return number_to_json(thing) if isinstance(thing, float) else thing


def number_to_json(number: float) -> float | str | None:
    """A number as JSON can hold it: ``nan`` as null, infinity as ``"inf"`` or ``"-inf"``.

    >>> [number_to_json(number) for number in (0.5, math.inf, -math.inf, math.nan)]
    [0.5, 'inf', '-inf', None]
    """
    if math.isnan(number):
        return None
    return number if math.isfinite(number) else str(float(number))


def number_of(record: float | str | None) -> float:
    """The number behind :func:`number_to_json`."""
    return math.nan if record is None else float(record)


_INFINITE = ("inf", "-inf")


def _array(part: Any) -> Any:
    if isinstance(part, Mapping):
        return {key: _array(value) for key, value in part.items()}
    if isinstance(part, str):
        return float(part) if part in _INFINITE else part
    if isinstance(part, list) and part:
        try:
            array = np.array(_numbers(part))
        except ValueError:  # rows of different lengths stay a list
            return part
        return array if array.dtype.kind in "fiub" else part
    return part


def _numbers(part: list[Any]) -> list[Any]:
    """A list, or a list of lists, in which null and the words for infinity are numbers again."""
    found: list[Any] = []
    for entry in part:
        if isinstance(entry, list):
            found.append(_numbers(entry))
        else:
            found.append(number_of(entry) if entry is None or entry in _INFINITE else entry)
    return found
