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

    [evaluation]                   # the usual measures: scores of codes, losses, UDR
    metrics = ["mig", "dci"]       # or "all"
    train = 2000

    [measures.accuracy]            # any other; without [evaluation] only these
    data = ["training", "rooms3d"] # on which data, if not the run's own: a column "on"

A data set may say how objectives on pairs make their pairs: ``"sprites32 @ protocol=uni"``. ``batch_size`` counts
images: an objective on pairs gets half as many pairs, so that all see as much.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from unbraid import objectives
from unbraid.data import PairStream, entry, parse
from unbraid.errors import UsageError, unknown_name
from unbraid.evaluation import make, settings_of
from unbraid.options import Named, check_options, parse_name
from unbraid.paths import user_path
from unbraid.reading import parse_toml, read_text
from unbraid.study.grid import TRAINING, Evaluation, Setting, Study, split_data, usual_measures

__all__ = ["parse_study", "read_study"]

MOST = 1_000_000
"""Runs of a study, and seeds: more would not end, and their list alone would fill the memory."""

KEYS = (
    *("name", "data", "objectives", "seeds", "steps", "net", "batch_size", "precision", "options"),
    *("evaluation", "measures"),
)


def read_study(path_or_preset: str | Path) -> Study:
    """A study from a TOML file or the name of a preset."""
    from unbraid.study.presets import PRESETS

    path = user_path(path_or_preset, "study file")
    if path.is_file():
        return parse_study(
            read_text(path, limit=1 << 20, remedy="a study file has a few lines"), str(path), default_name=path.stem
        )
    if str(path_or_preset) in PRESETS:
        return parse_study(PRESETS[str(path_or_preset)], f"preset {path_or_preset}", default_name=str(path_or_preset))
    if path.suffix == ".toml" or len(path.parts) > 1:
        raise UsageError(f"study file {path} does not exist; presets are {', '.join(PRESETS)}")
    raise unknown_name("preset", str(path_or_preset), PRESETS, "Or give the path of a study file (TOML)")


def parse_study(text: str, source: str, *, default_name: str = "study") -> Study:
    """A study from the text of its file; ``source`` names it in errors."""
    table = parse_toml(text, source)
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
        measures=_measures(table, source),
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


def _data(given: Any, source: str, key: str = "data", also: Iterable[str] = ()) -> tuple[str, ...]:
    names = _texts(given, source, key)
    for text in (name for name in names if name not in also):
        where, pairs = split_data(text)
        name, _ = parse(where)
        try:
            check_options("pairs", PairStream, parse_name(f"pairs:{pairs}")[1], given=("dataset", "batch_size", "seed"))
        except UsageError as error:
            raise UsageError(f"{source}: {key}: {text}: {error}") from error
        if Path(name).exists():
            continue
        try:
            entry(name)
        except UsageError as error:
            raise UsageError(f"{source}: {key}: {error}") from error
    return names


def _measures(table: Mapping[str, Any], source: str) -> tuple[Evaluation, ...]:
    """What is asked of every run: the usual with the settings of [evaluation], those named under measures, or both."""
    chosen: list[Evaluation] = []
    if "evaluation" in table or "measures" not in table:
        chosen += _usual(_table(table.get("evaluation", {}), source, "evaluation"), source)
    given = table.get("measures", {})
    entries: list[tuple[Named, dict[str, Any]]]
    if isinstance(given, list):
        entries = [(Named.read(_text(text, source, "measures")), {}) for text in given]
    else:
        tables = _table(given, source, "measures").items()
        entries = [(Named(name), _table(own, source, f"measures.{name}")) for name, own in tables]
    for named, own in entries:
        key = f"measures.{named.name}"
        data = _data(own.pop("data"), source, f"{key}.data", also=(TRAINING,)) if "data" in own else ()
        seed = _whole(own.pop("seed", 0), source, f"{key}.seed", least=0)
        try:
            entry = Evaluation(make(named, own), data, seed)
        except UsageError as error:
            raise UsageError(f"{source}: {key}: {error}") from error
        if entry.measure.name in {other.measure.name for other in chosen}:
            raise UsageError(
                f"{source}: {key} is asked for twice; [evaluation] stands for disentanglement, losses and udr"
            )
        chosen.append(entry)
    return tuple(chosen)


def _usual(given: dict[str, Any], source: str) -> tuple[Evaluation, ...]:
    """The short form [evaluation]: settings of the usual measures in one table."""
    numbers = ("train", "test", "points", "batches", "images", "seed")
    _check_keys(given, ("metrics", "representations", "options", "downstream", *numbers), source, "evaluation.")
    for key in numbers:
        if key in given:
            _whole(given[key], source, f"evaluation.{key}", least=0)
    downstream = given.pop("downstream", None)
    if not isinstance(downstream, bool | None):
        raise UsageError(f"{source}: evaluation.downstream must be true or false, got {downstream!r}")
    try:
        if downstream is not None:
            metrics = settings_of(make("disentanglement", {"metrics": given.get("metrics", "all")}))["metrics"]
            given["metrics"] = [*(set(metrics) - {"downstream"}), *(["downstream"] if downstream else [])]
        return usual_measures(**given)
    except UsageError as error:
        raise UsageError(f"{source}: evaluation: {error}") from error


def _seeds(given: Any, source: str) -> tuple[int, ...]:
    if isinstance(given, list):
        return _numbers(given, source, "seeds", least=0)
    return tuple(range(_whole(given, source, "seeds", most=MOST)))


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


def _whole(value: Any, source: str, key: str, *, least: int = 1, most: int = 2**63 - 1) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise UsageError(f"{source}: {key} must be a whole number of at least {least}, got {value!r}")
    if value > most:
        raise UsageError(f"{source}: {key} must be at most {most:,}, got {value:,}")
    return value


def _numbers(value: Any, source: str, key: str, *, least: int = 1) -> tuple[int, ...]:
    values = [_whole(item, source, key, least=least) for item in (value if isinstance(value, list) else [value])]
    if not values or len(set(values)) < len(values):
        raise UsageError(f"{source}: {key} must be different numbers, at least one; got {values}")
    return tuple(values)
