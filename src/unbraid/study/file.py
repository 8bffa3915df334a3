"""Read a study file (TOML): every mistake is answered with the file, the key and the nearest right one.

A study file::

    data = ["sprites32", "rooms3d-32"]
    seeds = 5                      # 0..4; or a list
    steps = 20000
    net = "conv"                   # or a list: one more axis (steps too)
    batch_size = 64

    [objectives.beta-vae]          # no list: the published sweep
    [objectives.factor-vae]
    gamma = [10, 40, 100]          # a list: the strengths to sweep
    discriminator_width = 256      # any other option, fixed
    [[objectives.slow-vae]]        # double brackets: several settings of one objective
    rate = [1, 6]
    [[objectives.slow-vae]]
    gamma = [1, 100]

    [options]                      # options of all objectives
    latents = 10

    [evaluation]
    metrics = ["mig", "dci"]       # or "all"
    train = 2000

A data set may say how objectives on pairs make their pairs: ``"sprites32 @ protocol=uni"``. ``batch_size`` counts
images: an objective on pairs gets half as many pairs, so that all see as much.
"""

from __future__ import annotations

import dataclasses
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from unbraid import objectives
from unbraid.data import PairStream, entry, parse
from unbraid.errors import UsageError, unknown_name
from unbraid.metrics import METRICS
from unbraid.options import check_options, parse_name
from unbraid.study.grid import Evaluation, Setting, Study, split_data

__all__ = ["parse_study", "read_study"]

KEYS = ("name", "data", "objectives", "seeds", "steps", "net", "batch_size", "precision", "options", "evaluation")


def read_study(path_or_preset: str | Path) -> Study:
    """A study from a TOML file or the name of a preset."""
    from unbraid.study.presets import PRESETS

    path = Path(path_or_preset)
    if path.is_file():
        return parse_study(path.read_text(), str(path), default_name=path.stem)
    if str(path_or_preset) in PRESETS:
        return parse_study(PRESETS[str(path_or_preset)], f"preset {path_or_preset}", default_name=str(path_or_preset))
    if path.suffix == ".toml" or len(path.parts) > 1:
        raise UsageError(f"study file {path} does not exist; presets are {', '.join(PRESETS)}")
    raise unknown_name("preset", str(path_or_preset), PRESETS, "Or give the path of a study file (TOML)")


def parse_study(text: str, source: str, *, default_name: str = "study") -> Study:
    """A study from the text of its file; ``source`` names it in errors."""
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{source} is not readable as TOML: {error}") from error
    _check_keys(table, KEYS, source, "")
    for key in ("data", "objectives", "steps"):
        if key not in table:
            raise UsageError(f"{source}: key {key!r} is missing; a study needs data, objectives and steps")
    common = _table(table.get("options", {}), source, "options")
    for key, value in common.items():
        if isinstance(value, list):
            raise UsageError(f"{source}: options.{key} is a list; sweep it under [objectives.NAME] instead")
    settings = tuple(_settings(table["objectives"], common, source))
    nets: tuple[str | None, ...] = (None,)
    if "net" in table:
        nets = _texts(table["net"], source, "net")
        for net in nets:
            for name in {setting.objective for setting in settings}:
                _make(name, {"net": net}, source, "net")
    return Study(
        name=_text(table.get("name", default_name), source, "name"),
        data=_data(table["data"], source),
        settings=settings,
        seeds=_seeds(table.get("seeds", 1), source),
        steps=_numbers(table["steps"], source, "steps"),
        nets=nets,
        batch_size=_whole(table.get("batch_size", 64), source, "batch_size"),
        precision=_text(table.get("precision", "auto"), source, "precision"),
        evaluation=_evaluation(_table(table.get("evaluation", {}), source, "evaluation"), source),
        source=source,
    )


def _settings(given: Any, common: Mapping[str, Any], source: str) -> Iterable[Setting]:
    if isinstance(given, list):
        given = {_text(name, source, "objectives"): {} for name in given}
    if not _table(given, source, "objectives"):
        raise UsageError(f"{source}: objectives is empty; name at least one, such as [objectives.beta-vae]")
    for name, own in given.items():
        key = f"objectives.{name}"
        try:
            cls = objectives.get(name)
        except UsageError as error:
            raise UsageError(f"{source}: {key}: {error}") from error
        seen: set[tuple[str | None, float | None]] = set()
        for given_options in own if isinstance(own, list) else [own]:
            for setting in _sweep(cls, {**common, **_table(given_options, source, key)}, source, key):
                if (setting.parameter, setting.strength) in seen:
                    raise UsageError(
                        f"{source}: {key} has two settings that the table could not tell apart ({setting.parameter} "
                        f"{setting.strength}); sweep what they differ in, a list of one value will do"
                    )
                seen.add((setting.parameter, setting.strength))
                yield setting


def _sweep(cls: type[objectives.Objective], options: dict[str, Any], source: str, key: str) -> Iterable[Setting]:
    swept = {option: values for option, values in options.items() if isinstance(values, list)}
    if len(swept) > 1:
        raise UsageError(f"{source}: {key} has lists for {' and '.join(swept)}; one option can be swept")
    if not swept and cls.sweep is not None and cls.sweep[0] not in options:
        swept = {cls.sweep[0]: list(cls.sweep[1])}
    if not swept:
        parameter = cls.sweep[0] if cls.sweep else None
        objective = _make(cls.name, options, source, key)
        strength = None if parameter is None else float(getattr(objective, parameter))
        yield Setting(cls.name, options, parameter, strength)
    for parameter, values in swept.items():
        if not values or len(set(map(str, values))) < len(values):
            raise UsageError(f"{source}: {key}.{parameter} must be different values, at least one; got {values}")
        for value in values:
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise UsageError(f"{source}: {key}.{parameter} must be numbers, got {value!r}")
            chosen = {**options, parameter: value}
            _make(cls.name, chosen, source, f"{key}.{parameter}")
            yield Setting(cls.name, chosen, parameter, float(value))


def _make(name: str, options: Mapping[str, Any], source: str, key: str) -> objectives.Objective:
    try:
        return objectives.make(name, dict(options))
    except (UsageError, TypeError) as error:
        raise UsageError(f"{source}: {key}: {error}") from error


def _data(given: Any, source: str) -> tuple[str, ...]:
    names = _texts(given, source, "data")
    for text in names:
        where, pairs = split_data(text)
        name, _ = parse(where)
        try:
            check_options("pairs", PairStream, parse_name(f"pairs:{pairs}")[1], given=("dataset", "batch_size", "seed"))
        except UsageError as error:
            raise UsageError(f"{source}: data: {text}: {error}") from error
        if Path(name).exists():
            continue
        try:
            entry(name)
        except UsageError as error:
            raise UsageError(f"{source}: data: {error}") from error
    return names


def _evaluation(given: dict[str, Any], source: str) -> Evaluation:
    default = Evaluation()
    known = [field.name for field in dataclasses.fields(Evaluation)]
    _check_keys(given, (*known, "downstream"), source, "evaluation.")
    measurable = {name for name, metric in METRICS.items() if metric.needs != "models"}
    downstream = given.pop("downstream", None)
    if not isinstance(downstream, bool | None):
        raise UsageError(f"{source}: evaluation.downstream must be true or false, got {downstream!r}")
    metrics = given.pop("metrics", "all")
    chosen = set(measurable) if metrics == "all" else set(_texts(metrics, source, "evaluation.metrics", empty=True))
    for name in sorted(chosen - measurable):
        raise UsageError(f"{source}: evaluation.metrics: {unknown_name('metric', name, measurable)}")
    if downstream is not None:
        chosen = chosen | {"downstream"} if downstream else chosen - {"downstream"}
    representations = given.pop("representations", list(default.representations))
    for kind in _texts(representations, source, "evaluation.representations"):
        if kind not in ("mean", "sampled"):
            raise UsageError(
                f"{source}: evaluation.representations: {unknown_name('representation', kind, ('mean', 'sampled'))}"
            )
    options = _table(given.pop("options", {}), source, "evaluation.options")
    for name in options:
        if name not in chosen:
            raise UsageError(f"{source}: evaluation.options.{name} is for a metric that is not among the chosen ones")
    whole = {key: _whole(value, source, f"evaluation.{key}", least=0) for key, value in given.items()}
    return dataclasses.replace(
        default,
        metrics=tuple(name for name in METRICS if name in chosen),
        representations=tuple(representations),
        options=options,
        **whole,
    )


def _seeds(given: Any, source: str) -> tuple[int, ...]:
    if isinstance(given, list):
        return _numbers(given, source, "seeds", least=0)
    return tuple(range(_whole(given, source, "seeds")))


def _check_keys(table: Mapping[str, Any], known: Iterable[str], source: str, prefix: str) -> None:
    for key in table:
        if key not in known:
            raise UsageError(f"{source}: {prefix}{key}: {unknown_name('key', key, known)}")


def _table(value: Any, source: str, key: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise UsageError(f"{source}: {key} must be a table ([{key}]), got {value!r}")
    return dict(value)


def _text(value: Any, source: str, key: str) -> str:
    if not isinstance(value, str) or not value:
        raise UsageError(f"{source}: {key} must be text, got {value!r}")
    return value


def _texts(value: Any, source: str, key: str, *, empty: bool = False) -> tuple[str, ...]:
    values = [_text(item, source, key) for item in (value if isinstance(value, list) else [value])]
    if (not values and not empty) or len(set(values)) < len(values):
        raise UsageError(f"{source}: {key} must be different names, at least one; got {values}")
    return tuple(values)


def _whole(value: Any, source: str, key: str, *, least: int = 1) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise UsageError(f"{source}: {key} must be a whole number of at least {least}, got {value!r}")
    return value


def _numbers(value: Any, source: str, key: str, *, least: int = 1) -> tuple[int, ...]:
    values = [_whole(item, source, key, least=least) for item in (value if isinstance(value, list) else [value])]
    if not values or len(set(values)) < len(values):
        raise UsageError(f"{source}: {key} must be different numbers, at least one; got {values}")
    return tuple(values)
