"""Read a study file (TOML): every mistake is answered with the file, the key and the nearest right one.

A study file::

    data = ["sprites32", "rooms3d-32"]
    splits = ["random", "extrapolation"]  # if given: each of the data is trained on the training side of each of them
    seeds = 5                      # 0..4; or a list
    steps = 20000
    net = "conv"                   # or a list: one more axis (steps too)
    batch_size = 64
    watch = 500                    # if given: learning curves, a look at what the codes know every so many steps

    [objectives.beta-vae]          # no list: the published sweep
    [objectives.factor-vae]
    gamma = [10, 40, 100]          # a list: the strengths to sweep
    augment = ["blur"]             # but here all that is done to batches; several settings for a comparison
    penalties = ["hfs:weight=10"]  # and here all that is added to the loss
    discriminator_width = 256      # any other option, fixed
    net = "mlp"                    # its own network (or a list), steps and batch size instead of the study's
    steps = 5000
    [[objectives.slow-vae]]        # double brackets: several settings of one objective
    rate = [1, 6]
    [[objectives.slow-vae]]
    gamma = [1, 100]
    after = "slow-vae"             # fine-tuning: begins from the run of the first setting of this objective, same seed
    parts = ["encoder", "decoder"] # with the weights of these parts of its model; "net" unless told otherwise

    [options]                      # options of all objectives
    latents = 10

    [evaluation]                   # the usual measures: scores of codes, losses, UDR
    metrics = ["mig", "dci"]       # or "all"
    train = 2000

    [measures.accuracy]            # any other; without [evaluation] only these
    data = ["training", "rooms3d"] # on which data, if not the run's own: a column "on"
    [[measures.corruptions]]       # double brackets: one measure with several settings
    suite = "mnist-c"

A data set may say how objectives on pairs make their pairs: ``"sprites32 @ protocol=uni"``. ``batch_size`` counts
images: an objective on pairs gets half as many pairs, so that all see as much.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from unbraid import objectives
from unbraid.data import SPLITS, PairStream, entry, parse
from unbraid.errors import UsageError, unknown_name
from unbraid.evaluation import GroupMeasure, make, settings_of
from unbraid.options import Named, check_options, parse_name
from unbraid.paths import user_path
from unbraid.reading import parse_toml, read_text
from unbraid.study.grid import OWN, TRAINING, Evaluation, Setting, Study, added_words, split_data, usual_measures
from unbraid.study.values import a_table, a_text, check_keys, numbers, texts, whole

__all__ = ["parse_study", "read_study"]

MOST = 1_000_000
"""Runs of a study, and seeds: more would not end, and their list alone would fill the memory."""

LISTS = ("augment", "drop_at", "penalties")
"""Options that are lists; a list of values of any other one is a sweep."""

KEYS = (
    *("name", "data", "splits", "objectives", "seeds", "steps", "net", "batch_size", "precision", "options"),
    *("watch", "evaluation", "measures"),
)


def read_study(path_or_preset: str | Path, presets: Mapping[str, str] | None = None) -> Study:
    """A study from a TOML file or the name of a preset."""
    from unbraid.study.presets import PRESETS

    presets = PRESETS if presets is None else presets
    path = user_path(path_or_preset, "study file")
    if path.is_file():
        return parse_study(
            read_text(path, limit=1 << 20, remedy="a study file has a few lines"), str(path), default_name=path.stem
        )
    if str(path_or_preset) in presets:
        return parse_study(presets[str(path_or_preset)], f"preset {path_or_preset}", default_name=str(path_or_preset))
    if path.suffix == ".toml" or len(path.parts) > 1:
        raise UsageError(f"study file {path} does not exist; presets are {', '.join(presets)}")
    raise unknown_name("preset", str(path_or_preset), presets, "Or give the path of a study file (TOML)")


def parse_study(text: str, source: str, *, default_name: str = "study") -> Study:
    """A study from the text of its file; ``source`` names it in errors."""
    table = parse_toml(text, source)
    check_keys(table, KEYS, source, "")
    for key in ("data", "objectives", "steps"):
        if key not in table:
            raise UsageError(f"{source}: key {key!r} is missing; a study needs data, objectives and steps")
    common = a_table(table.get("options", {}), source, "options")
    for key, value in common.items():
        if isinstance(value, list) and key not in LISTS:
            raise UsageError(f"{source}: options.{key} is a list; sweep it under [objectives.NAME] instead")
    for key in OWN:
        if key in common and key in table:
            raise UsageError(f"{source}: {key} is given twice, for the study and under [options]; keep the first")
    settings = _placed(tuple(_settings(table["objectives"], common, source)), source)
    _check_own(table, settings, source)
    nets: tuple[str | None, ...] = (None,)
    if "net" in table:
        nets = texts(table["net"], source, "net")
        for net in nets:
            for name in {setting.objective for setting in settings if setting.net is None}:
                _make(name, {"net": net}, source, "net")
    return Study(
        name=a_text(table.get("name", default_name), source, "name"),
        data=_split(_data(table["data"], source), table.get("splits"), source),
        settings=settings,
        seeds=_seeds(table.get("seeds", 1), source),
        steps=numbers(table["steps"], source, "steps"),
        nets=nets,
        batch_size=whole(table.get("batch_size", 64), source, "batch_size"),
        precision=a_text(table.get("precision", "auto"), source, "precision"),
        watch=whole(table.get("watch", 0), source, "watch", least=0),
        measures=_measures(table, source),
        source=source,
    )


def _settings(given: Any, common: Mapping[str, Any], source: str) -> Iterable[Setting]:
    if isinstance(given, list):
        given = {a_text(name, source, "objectives"): {} for name in given}
    if not a_table(given, source, "objectives"):
        raise UsageError(f"{source}: objectives is empty; name at least one, such as [objectives.beta-vae]")
    for name, own in given.items():
        key = f"objectives.{name}"
        try:
            cls = objectives.get(name)
        except UsageError as error:
            raise UsageError(f"{source}: {key}: {error}") from error
        seen: set[tuple[object, ...]] = set()
        for given_options in own if isinstance(own, list) else [own]:
            for setting in _own_settings(cls, {**common, **a_table(given_options, source, key)}, source, key):
                lists = added_words(setting.options)
                told = (setting.parameter, setting.strength, setting.net, setting.steps, *lists.values())
                if told in seen:
                    raise UsageError(
                        f"{source}: {key} has two settings that the table could not tell apart ({setting.parameter} "
                        f"{setting.strength}); sweep what they differ in, a list of one value will do"
                    )
                seen.add(told)
                yield setting


def _own_settings(cls: type[objectives.Objective], options: dict[str, Any], source: str, key: str) -> Iterable[Setting]:
    """The settings of one table of an objective: its sweep, with every network that it names."""
    begin = options.pop("after", None)
    after: Any = None if begin is None else _After(a_text(begin, source, f"{key}.after"))
    if "parts" in options and after is None:
        raise UsageError(
            f"{source}: {key}.parts: of which run? Name the objective to begin from, too: after = {cls.name!r}"
        )
    parts = () if after is None else texts(options.pop("parts", ["net"]), source, f"{key}.parts")
    nets = texts(options.pop("net"), source, f"{key}.net") if "net" in options else (None,)
    steps, batch_size = (
        whole(options.pop(name), source, f"{key}.{name}") if name in options else None for name in OWN[1:]
    )
    for net in nets:
        if net is not None:
            _make(cls.name, {"net": net}, source, f"{key}.net")
        for setting in _sweep(cls, options, source, key):
            yield replace(setting, net=net, steps=steps, batch_size=batch_size, after=after, parts=parts)


class _After(str):
    """The objective whose first setting a run begins from, until its place is known."""


def _placed(settings: tuple[Setting, ...], source: str) -> tuple[Setting, ...]:
    """The settings with the places of those they begin from."""
    first = {setting.objective: place for place, setting in reversed(list(enumerate(settings)))}
    placed = []
    for place, setting in enumerate(settings):
        if isinstance(setting.after, _After):
            key = f"objectives.{setting.objective}.after"
            if setting.after not in first:
                raise UsageError(f"{source}: {key}: {unknown_name('objective of this study', setting.after, first)}")
            begin = first[setting.after]
            if begin == place or settings[begin].after is not None:
                raise UsageError(
                    f"{source}: {key} = {setting.after!r} is the first setting of that objective, which must begin by "
                    "itself; put one without after before it"
                )
            setting = replace(setting, after=begin)
        placed.append(setting)
    return tuple(placed)


def _check_own(table: Mapping[str, Any], settings: Iterable[Setting], source: str) -> None:
    """An axis of the study is no axis of an objective that has its own."""
    for setting in settings:
        for key in ("net", "steps"):
            axis = table.get(key)
            if getattr(setting, key) is not None and isinstance(axis, list) and len(axis) > 1:
                raise UsageError(
                    f"{source}: objectives.{setting.objective}.{key} is given, and {key} is a list for all objectives "
                    f"({axis}); give one {key} for all, or {key} under each objective"
                )


def _split(data: tuple[str, ...], given: Any, source: str) -> tuple[str, ...]:
    """Every data set on every split, the splits faster."""
    if given is None:
        return data
    kinds = texts(given, source, "splits")
    for kind in kinds:
        if kind not in SPLITS:
            raise UsageError(f"{source}: splits: {unknown_name('split', kind, SPLITS)}")
    crossed = []
    for text in data:
        name, pairs = split_data(text)
        if "split" in parse(name)[1]:
            raise UsageError(f"{source}: data: {name} names a split of its own; leave it out, or leave out splits")
        for kind in kinds:
            side = f"{name}{',' if ':' in name else ':'}split={kind}"
            crossed.append(f"{side} @ {pairs}" if pairs else side)
    return tuple(crossed)


def _sweep(cls: type[objectives.Objective], options: dict[str, Any], source: str, key: str) -> Iterable[Setting]:
    swept = {option: values for option, values in options.items() if isinstance(values, list) and option not in LISTS}
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
        made = objectives.make(name, dict(options))
        # What is made, and refused, when it is asked for.
        _ = made.augmentations, getattr(made, "active_penalties", ())
        return made
    except (UsageError, TypeError) as error:
        raise UsageError(f"{source}: {key}: {error}") from error


def _data(given: Any, source: str, key: str = "data", also: Iterable[str] = ()) -> tuple[str, ...]:
    names = texts(given, source, key)
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
        chosen += _usual(a_table(table.get("evaluation", {}), source, "evaluation"), source)
    usual = list(chosen)
    given = table.get("measures", {})
    entries: list[tuple[Named, dict[str, Any]]]
    if isinstance(given, list):
        entries = [(Named.read(a_text(text, source, "measures")), {}) for text in given]
    else:
        tables = a_table(given, source, "measures").items()
        several = [(name, one) for name, own in tables for one in (own if isinstance(own, list) else [own])]
        entries = [(Named(name), a_table(own, source, f"measures.{name}")) for name, own in several]
    for named, own in entries:
        key = f"measures.{named.name}"
        data = _data(own.pop("data"), source, f"{key}.data", also=(TRAINING,)) if "data" in own else ()
        seed = whole(own.pop("seed", 0), source, f"{key}.seed", least=0)
        try:
            entry = Evaluation(make(named, own), data, seed)
        except UsageError as error:
            raise UsageError(f"{source}: {key}: {error}") from error
        same = [other for other in chosen if other.measure.name == entry.measure.name]
        if entry in same or (same and (isinstance(entry.measure, GroupMeasure) or same[0] in usual)):
            raise UsageError(
                f"{source}: {key} is asked for twice; [evaluation] stands for disentanglement, losses and udr"
            )
        chosen.append(entry)
    return tuple(chosen)


def _usual(given: dict[str, Any], source: str) -> tuple[Evaluation, ...]:
    """The short form [evaluation]: settings of the usual measures in one table."""
    counts = ("train", "test", "points", "batches", "images", "seed")
    check_keys(given, ("preset", "metrics", "representations", "options", "downstream", *counts), source, "evaluation.")
    for key in counts:
        if key in given:
            whole(given[key], source, f"evaluation.{key}", least=0)
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
        return numbers(given, source, "seeds", least=0)
    return tuple(range(whole(given, source, "seeds", most=MOST)))
