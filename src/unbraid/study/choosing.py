"""From a search to a study: every objective with its own best setting, by a stated rule, on seeds of its own."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import polars as pl

from unbraid.errors import UsageError, unknown_name
from unbraid.metrics import METRICS
from unbraid.study.analysis._table import conditions_of, require
from unbraid.study.grid import Evaluation, Setting, Study, added_words

__all__ = ["LOWEST", "best_settings", "chosen_study"]

LOWEST = ("reconstruction", "kl", "loss", "regularizer", "mean_squared_error")
"""Scores of which less is better, beside registered ones that say so of themselves; of all others more is."""

_KEYS = ("objective", "strength_name", "strength", "net", "steps", "augment", "penalties")


def best_settings(table: pl.DataFrame, by: str) -> pl.DataFrame:
    """Settings of each objective, best first: ``mean_rank`` over data sets of their mean ``by`` over seeds, ``mean``.

    Ranks count within an objective and a data set, 1 is best, ties share. Of an objective with several networks or
    augmentations each is a setting. Where codes were scored under several representations the mean codes count.
    """
    rows = _scored(table, by)
    if not len(rows):
        raise UsageError(f"no run of the table has a number {by!r} to choose by; measure it first")
    lowest = by in LOWEST or (by in METRICS and not METRICS[by].higher_is_better)
    keys = [name for name in _KEYS if name in rows.columns]
    means = rows.group_by("data", *keys, maintain_order=True).agg(pl.col(by).mean().alias("mean"))
    rank = pl.col("mean").rank("average", descending=not lowest).over("data", "objective")
    summary = means.with_columns(rank=rank).group_by(keys, maintain_order=True)
    found = summary.agg(mean_rank=pl.col("rank").mean(), mean=pl.col("mean").mean(), data_sets=pl.len())
    whole = found.with_columns(most=pl.col("data_sets").max().over("objective"))
    if len(short := whole.filter(pl.col("data_sets") < pl.col("most"))):
        one = short.row(0, named=True)
        raise UsageError(
            f"{_told(one['objective'], one['strength_name'], one['strength'])} was measured on {one['data_sets']} of "
            f"{one['most']} data sets: finish the search first (unbraid study status)"
        )
    order = {"objective": False, "mean_rank": False, "mean": not lowest}
    return found.sort(list(order), descending=list(order.values()), maintain_order=True)


def chosen_study(
    study: Study,
    table: pl.DataFrame,
    *,
    by: str,
    seeds: int = 5,
    steps: int | None = None,
    keep: Collection[str] = (),
    also: Sequence[str] = (),
) -> str:
    """The file (TOML) of a study that compares objectives, each in the setting that was best in a search.

    ``study`` and ``table`` are the search's. Seeds are counted from 0, those of the search left out, so that nothing is
    compared on runs it was chosen by. Objectives of ``keep`` stay in all their settings; of all others every setting
    must have been measured on every data set with every seed. ``also`` are further data sets to compare on.
    """
    for name in keep:
        if name not in {setting.objective for setting in study.settings}:
            raise unknown_name("objective of this study", name, {setting.objective for setting in study.settings})
    if seeds < 1:
        raise UsageError(f"seeds must be at least 1, got {seeds}")
    if steps is not None and steps < 1:
        raise UsageError(f"steps must be at least 1, got {steps}; left out, they are the search's")
    if any(setting.after is not None for setting in study.settings):
        raise UsageError("settings that begin from other runs cannot be chosen from")
    if len(study.nets) > 1 or len(study.steps) > 1:
        raise UsageError("a search over several networks or numbers of steps for all has no one best: give one of each")
    _check_finished(study, table, by, keep)
    best = best_settings(table, by)
    first = {row["objective"]: row for row in reversed(best.rows(named=True))}
    fresh = [seed for seed in range(seeds + len(study.seeds)) if seed not in study.seeds][:seeds]
    lines = [
        f"# Chosen from the search {study.name!r}: of each objective the setting with the best mean rank of {by} over",
        f"# {len(study.data)} data sets, over seeds {', '.join(map(str, study.seeds))}, which are not used again.",
        f"name = {_toml(f'{study.name}-chosen')}",
        f"data = {_toml((*study.data, *also))}",
        f"seeds = {_toml(fresh)}",
        f"steps = {_toml(study.steps[0] if steps is None else steps)}",
        *([f"net = {_toml(study.nets[0])}"] if study.nets[0] else []),
        f"batch_size = {study.batch_size}",
        f"precision = {_toml(study.precision)}",
    ]
    for setting in study.settings:
        row = first.get(setting.objective)
        if setting.objective in keep or (row is not None and _is(study, setting, row)):
            told = "" if row is None or not _is(study, setting, row) else _comment(by, row)
            lines += ["", f"[[objectives.{setting.objective}]]", *_options(setting, told)]
    for entry in study.measures:
        lines += ["", f"[[measures.{entry.measure.name}]]", *_measure(entry)]
    return "\n".join(lines) + "\n"


def _scored(table: pl.DataFrame, by: str) -> pl.DataFrame:
    """The rows that have the score; of several representations the mean codes."""
    require(table, ("data", "objective", by))
    rows = table.drop_nulls(by)
    if "representation" in conditions_of(rows) and rows["representation"].n_unique() > 1:
        rows = rows.filter(pl.col("representation") == "mean")
    return rows


def _check_finished(study: Study, table: pl.DataFrame, by: str, keep: Collection[str]) -> None:
    """An error unless every setting to choose from has the score on every data set with every seed."""
    rows = _scored(table, by)
    for name in dict.fromkeys(setting.objective for setting in study.settings if setting.objective not in keep):
        if name in set(table["objective"]) and name not in set(rows["objective"]):
            raise UsageError(f"{name} has no {by!r}: measure it, or --keep {name}")
    found = rows.rows(named=True)
    for setting in study.settings:
        if setting.objective in keep:
            continue
        own = [row for row in found if row["objective"] == setting.objective and _is(study, setting, row)]
        for data in study.data:
            done = len({row["seed"] for row in own if row["data"] == data} & set(study.seeds))
            if done < len(study.seeds):
                raise UsageError(
                    f"{_told(setting.objective, setting.parameter, setting.strength)} has {by!r} for {done} of "
                    f"{len(study.seeds)} seeds on {data!r}: finish the search first (unbraid study status)"
                )


def _told(objective: str, parameter: str | None, strength: float | None) -> str:
    return objective if strength is None else f"{objective} {parameter} {strength:g}"


def _is(study: Study, setting: Setting, row: Mapping[str, Any]) -> bool:
    own = {"strength_name": setting.parameter, "strength": setting.strength}
    own |= {"net": setting.net or study.nets[0], "steps": setting.steps or study.steps[0]}
    own |= {name: words or None for name, words in added_words(setting.options).items()}
    return all(row[key] == value for key, value in own.items() if key in row)


def _comment(by: str, row: Mapping[str, Any]) -> str:
    return f"  # {by} {row['mean']:.4g}, mean rank {row['mean_rank']:g}"


def _options(setting: Setting, told: str) -> list[str]:
    own = {key: getattr(setting, key) for key in ("net", "steps", "batch_size") if getattr(setting, key) is not None}
    lines = [f"{key} = {_toml(value)}" for key, value in {**setting.options, **own}.items() if key != setting.parameter]
    if setting.parameter is None:
        return lines
    # A list of one value: the table goes on to name it.
    return [f"{setting.parameter} = {_toml([setting.options.get(setting.parameter, setting.strength)])}{told}", *lines]


def _measure(entry: Evaluation) -> list[str]:
    record = entry.to_json()
    settings = {key: value for key, value in record["settings"].items() if value is not None}
    settings |= ({"data": record["data"]} if record["data"] else {}) | ({"seed": entry.seed} if entry.seed else {})
    return [f"{key} = {_toml(value)}" for key, value in settings.items()]


def _toml(value: Any) -> str:
    """A value as TOML writes it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key} = {_toml(one)}" for key, one in value.items()) + "}"
    if isinstance(value, Sequence):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return repr(value)
