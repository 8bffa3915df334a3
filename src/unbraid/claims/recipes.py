"""The recipe of a training with all that nobody wrote down: options left alone, inside names with options, too.

Two recipes are the same if every option has the same value, whether it was told or left as it is; and a default that
changed makes another recipe, although nobody's file changed.
"""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from unbraid.data import entry, get_stream, parse
from unbraid.errors import UsageError
from unbraid.nets import get as get_net
from unbraid.nets import names as nets
from unbraid.nets.predictors import get as get_predictor
from unbraid.nets.predictors import names as predictors
from unbraid.objectives import augment, default_options, make, options_of, penalties
from unbraid.options import Named
from unbraid.study import batch_size_of, objective_of

if TYPE_CHECKING:
    from unbraid.study import Evaluation, RunSpec

__all__ = ["asked_of_runs", "defaults", "difference", "recipe_hash", "told", "training_recipe"]

_GIVEN = ("shape", "latents", "heads", "outputs", "generator", "dataset", "batch_size", "seed")
"""What networks and streams are given, not asked."""


def training_recipe(
    spec: RunSpec, before: Mapping[str, Any] | None = None, trained: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """All that decides a training, every option resolved; ``before`` is the recipe of the run it begins from.

    ``trained`` are the options that a run folder says it was trained with, in the place of those that its study would
    ask for today: a default may have changed since.
    """
    objective = objective_of(spec)
    options = options_of(objective) if trained is None else {**default_options(objective), **trained}
    stream = Named.read(make(spec.objective, options).needs)
    return {
        "objective": spec.objective,
        **{key: _option(key, value) for key, value in options.items()},
        "stream": {"kind": stream.name, **defaults(get_stream(stream.name)), **stream.options},
        "data": _data(spec.data_set),
        "seed": spec.seed,
        "steps": spec.steps,
        "batch_size": batch_size_of(spec, objective),
        "precision": spec.precision,
        "parts": list(spec.parts),
        "after": before,
    }


def asked_of_runs(evaluations: Sequence[Evaluation]) -> list[Any]:
    """What runs are asked, with the versions of what answers: another version gives other numbers."""
    return [{**one.to_json(), "version": one.measure.version} for one in evaluations]


def recipe_hash(recipe: Mapping[str, Any]) -> str:
    """Equal for equal recipes, in whatever order their options stand."""
    return hashlib.sha256(json.dumps(recipe, sort_keys=True, default=str).encode()).hexdigest()


def difference(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    """The options in which two recipes differ, by dotted names, with both values.

    >>> difference({"steps": 3, "data": {"name": "a", "size": 8}}, {"steps": 4, "data": {"name": "a", "size": 8}})
    {'steps': (3, 4)}
    """
    one, other = _flat(first), _flat(second)
    return {key: (one.get(key), other.get(key)) for key in {**one, **other} if one.get(key) != other.get(key)}


def told(differences: Mapping[str, tuple[Any, Any]], shown: int = 4) -> str:
    """Differences in words; of many the first, and how many more.

    >>> told({"steps": (3, 4)})
    'steps 3 here, 4 there'
    """
    words = [f"{key} {here!r} here, {there!r} there" for key, (here, there) in differences.items()]
    return "; ".join([*words[:shown], *([f"{len(words) - shown} more"] if len(words) > shown else [])])


def defaults(function: Callable[..., Any]) -> dict[str, Any]:
    """The defaults of a function or a class, but of what it is given and not asked.

    >>> defaults(lambda shape, width=4: None)
    {'width': 4}
    """
    return {
        name: one.default
        for name, one in inspect.signature(function).parameters.items()
        if one.default is not inspect.Parameter.empty and name not in _GIVEN
    }


def _flat(recipe: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in recipe.items():
        flat |= _flat(value, f"{prefix}{key}.") if isinstance(value, Mapping) else {prefix + key: value}
    return flat


def _option(key: str, value: Any) -> Any:
    """An option of an objective; one that is a name with options of its own has all of them."""
    if key == "net" and isinstance(value, str):
        return _net(value)
    if key in ("augment", "penalties"):
        room = augment if key == "augment" else penalties
        return {str(place): _made(room.make(text)) for place, text in enumerate(value or ())}
    return value


def _made(thing: Any) -> dict[str, Any]:
    return {"name": thing.name, **{key: _plain(value) for key, value in vars(thing).items()}}


@lru_cache(maxsize=256)
def _net(text: str) -> dict[str, Any]:
    """A network, and those inside it."""
    named = Named.read(text)
    builders: list[Callable[..., Any]] = [get_net(named.name)] if named.name in nets() else []
    builders += [get_predictor(named.name)] if named.name in predictors() else []
    options: dict[str, Any] = {}
    for builder in builders:
        options |= defaults(builder)
    options |= named.options
    inner = options.get("net")
    return {"name": named.name, **options, **({"net": _net(inner)} if isinstance(inner, str) else {})}


@lru_cache(maxsize=256)
def _data(text: str) -> dict[str, Any]:
    """A data set with its options; one that is a file has those it was given."""
    name, options = parse(text)
    try:
        known = entry(name)
    except UsageError:
        return {"name": name, **options}
    return {"name": known.name, **defaults(known.load), **{key: _plain(value) for key, value in options.items()}}


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else str(value) if isinstance(value, slice) else value
