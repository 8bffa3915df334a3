"""What all analyses share: the columns they ask for, the rows they take, rank correlations with gaps in the data."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import numpy as np
import polars as pl

from unbraid.errors import UsageError
from unbraid.metrics import METRICS as REGISTERED
from unbraid.study.table import condition_columns

__all__ = [
    "IDENTITY",
    "METRICS",
    "SCORED",
    "SETTING",
    "choose_data",
    "conditions_of",
    "correlate",
    "counted_once",
    "metrics_of",
    "on_one_data_set",
    "require",
    "rows_of",
    "spearman",
    "tasks_of",
]

METRICS = ("beta_vae", "factor_vae", "mig", "dci_disentanglement", "modularity", "sap")
"""The six scores of the study."""
IDENTITY = ("data", "objective", "strength_name", "strength", "seed", "representation")
"""What says which run and which of its codes a row is about."""
SETTING = ("objective", "strength_name", "strength")
"""What is chosen when a model is chosen; the seed is luck."""

_TRAINING = ("reconstruction", "kl", "elbo", "loss", "regularizer")
_AGAIN = "`unbraid study run FILE --out FOLDER --reevaluate` (nothing is trained anew)"
SCORED = "the metrics of [measures.disentanglement] (or of [evaluation], where the file has that)"
"""Where a study's file asks for scores of codes."""
_TASK = re.compile(r"(lr|gbt)_(\d+|efficiency)")


def metrics_of(table: pl.DataFrame, *, own: bool = True) -> tuple[str, ...]:
    """Those of the study's six scores that the table has, and registered ``own`` ones, such as a plugin's."""
    homes = {name: entry.function.__module__ for name, entry in REGISTERED.items()}
    plugged = [name for name, home in homes.items() if not home.startswith("unbraid.")] if own else []
    return tuple(metric for metric in (*METRICS, *plugged) if metric in table.columns)


_TWINS = (("beta-vae", 1.0), ("beta-tcvae", 1.0))
"""Settings that are one and the same model, the plain VAE, trained alike from the same seed."""


def counted_once(table: pl.DataFrame) -> pl.DataFrame:
    """The table without rows that repeat a run of another setting: beta-TCVAE at beta 1 is beta-VAE at beta 1.

    Counted twice, such runs would be too good evidence of everything. A row goes only where its twin is there.
    """
    require(table, ("data", "objective", "strength", "seed"))
    first, *others = _TWINS
    known = ("representation", "steps", "net", "augment", "penalties")
    keys = ["data", "seed", *(name for name in known if name in table.columns)]
    there = table.filter(_is(first)).select(keys).unique()
    again = table.filter(pl.any_horizontal([_is(other) for other in others])).join(
        there, on=keys, how="semi", nulls_equal=True
    )
    return table.join(again.select(*keys, "objective", "strength"), on=[*keys, "objective", "strength"], how="anti")


def _is(setting: tuple[str, float]) -> pl.Expr:
    return (pl.col("objective") == setting[0]) & (pl.col("strength") == setting[1])


def tasks_of(table: pl.DataFrame) -> tuple[str, ...]:
    """The downstream columns of the table: accuracy by learner and number of labels, then efficiency."""
    found = [column for column in table.columns if _TASK.fullmatch(column)]
    if not found:
        raise UsageError(
            "the table has no downstream columns (lr_100, gbt_100, lr_efficiency, ...); "
            f"add 'downstream' to {SCORED} and run {_AGAIN}"
        )
    return tuple(sorted(found, key=_task_order))


def require(table: pl.DataFrame, columns: Iterable[str]) -> None:
    """An error that names the first missing column and what to run, unless the table has them all."""
    for column in columns:
        if column in table.columns:
            continue
        if column == "representation":
            remedy = f"no codes were scored; add [measures.disentanglement] to the study's file and run {_AGAIN}"
        elif column in IDENTITY:
            remedy = "this is no table of a study; make one with `unbraid study run FILE`"
        elif column in _TRAINING:
            remedy = f"add [measures.losses] to the study's file, unless it has [evaluation], and run {_AGAIN}"
        elif column == "udr":
            remedy = f"add [measures.udr] to the study's file, unless it has [evaluation], and run {_AGAIN}"
        elif _TASK.fullmatch(column):
            remedy = f"add 'downstream' to {SCORED} and run {_AGAIN}"
        else:
            remedy = f"add it to {SCORED} and run {_AGAIN}, or ask for other columns"
        raise UsageError(f"the table has no column {column!r}: {remedy}")


def rows_of(
    table: pl.DataFrame,
    columns: Sequence[str],
    *,
    representation: str | None = "mean",
    data: str | None = None,
    also: Sequence[str] = (),
) -> pl.DataFrame:
    """A row per run and representation (of one data set, if named) with these columns as finite floats or null.

    ``also`` are further columns, taken as they are. Where another measure looked closer (at ``level`` 1, 2, 3, say) the
    table has several rows of a run, which count once here; a column that differs between them is refused.
    """
    asked = list(dict.fromkeys(columns))
    require(table, (*IDENTITY, *asked))
    found = on_one_data_set(table).drop_nulls("representation")
    if representation is not None:
        found = found.filter(pl.col("representation") == representation)
        if not len(found):
            had = table["representation"].unique().sort().to_list()
            raise UsageError(f"the table has no row of representation {representation!r}; it has {had}")
    found = found if data is None else choose_data(found, data)
    numbers = pl.col(*asked).cast(pl.Float64)
    # Null is what polars skips; NaN and infinity would spread into every mean and rank.
    found = found.with_columns(pl.when(numbers.is_finite()).then(numbers).otherwise(None))
    runs = [*(("index",) if "index" in table.columns else ()), *IDENTITY]
    for column in asked:
        _check_one_value(found, runs, column)
    rows = found.group_by(runs, maintain_order=True).agg(pl.col(*also, *asked).drop_nulls().first())
    _check_unique(rows)
    return rows.select(*IDENTITY, *also, *asked)


def _check_one_value(found: pl.DataFrame, runs: Sequence[str], column: str) -> None:
    """An error that names the condition if a run has several values of a column."""
    known = found.drop_nulls(column)
    several = known.filter(pl.col(column).n_unique().over(runs) > 1)
    if not len(several):
        return
    one = next(group for _, group in several.group_by(runs, maintain_order=True))
    conditions = [
        name for name in (conditions_of(one) if "status" in one.columns else one.columns) if name not in (*runs, column)
    ]
    differing = [name for name in conditions if one[name].n_unique() > 1]
    under = f"under several conditions ({', '.join(differing)})" if differing else "several times"
    remedy = f"; keep one: table.filter(pl.col({differing[0]!r}) == ...)" if differing else ""
    raise UsageError(f"{column!r} was measured {under} for one run ({_run_words(one)}){remedy}")


def on_one_data_set(table: pl.DataFrame) -> pl.DataFrame:
    """Where measures named data sets: the rows about runs on their own data, or on the only other one."""
    if "on" not in table.columns:
        return table
    own = table.filter(pl.col("on").is_null() | (pl.col("on") == "training"))
    if len(own):
        return own
    if table["on"].n_unique() > 1:
        raise UsageError(
            f"the table has scores on {', '.join(table['on'].unique().sort())}; "
            "keep one of them: table.filter(pl.col('on') == ...)"
        )
    return table


def choose_data(table: pl.DataFrame, data: str) -> pl.DataFrame:
    """The rows of one data set, or an error that lists those there are."""
    found = table.filter(pl.col("data") == data)
    if not len(found):
        had = ", ".join(map(str, table["data"].unique().sort()))
        raise UsageError(f"the table has no row of data set {data!r}; it has {had}")
    return found


def _check_unique(rows: pl.DataFrame) -> None:
    """An error if two rows claim to be the same run: a table over several networks, steps, augmentations, penalties."""
    twice = rows.filter(rows.select(IDENTITY).is_duplicated())
    if len(twice):
        raise UsageError(
            f"the table has several rows for one run ({_run_words(twice)}); if it spans several networks, numbers of "
            "steps, augmentations or penalties, keep one of them: table.filter(pl.col('steps') == ...)"
        )


def conditions_of(table: pl.DataFrame) -> list[str]:
    """The columns that say what a row was measured under; of a table that is not a study's own, the representation."""
    if {"batch_size", "status"} <= set(table.columns):
        return condition_columns(table)
    return ["representation"] if "representation" in table.columns else []


def _run_words(rows: pl.DataFrame) -> str:
    """What the first row is about."""
    return ", ".join(f"{key} {value}" for key, value in zip(IDENTITY, rows.select(IDENTITY).row(0), strict=True))


def spearman(left: np.ndarray, right: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rank correlation of every column of ``left [n, a]`` with every one of ``right [n, b]``, and the rows behind it.

    Rows in which either is NaN are left out pair by pair. Fewer than three rows or a constant column give NaN.
    """
    known_left, known_right = ~np.isnan(left), ~np.isnan(right)
    counts = known_left.T.astype(int) @ known_right
    result = np.full(counts.shape, np.nan)
    # Pairs that miss the same rows are ranked and correlated together: one product when nothing is missing.
    patterns: dict[bytes, list[tuple[int, int]]] = {}
    for i, j in np.ndindex(*counts.shape):
        patterns.setdefault((known_left[:, i] & known_right[:, j]).tobytes(), []).append((i, j))
    for key, pairs in patterns.items():
        rows = np.frombuffer(key, dtype=bool)
        if rows.sum() < 3:
            continue
        first, second = np.array(pairs).T
        a, b = _standard_ranks(left[rows]), _standard_ranks(right[rows])
        result[first, second] = (a[:, first] * b[:, second]).mean(axis=0)
    return np.clip(result, -1, 1), counts


def correlate(
    rows: pl.DataFrame, left: Sequence[str], right: Sequence[str], names: tuple[str, str], by: Sequence[str] = ("data",)
) -> pl.DataFrame:
    """Rank correlations within each group as a long table: ``by``, the two names, ``correlation``, ``runs``."""
    parts = []
    for keys, group in rows.group_by(by, maintain_order=True):
        first = group.select(left).to_numpy().astype(float)
        second = group.select(right).to_numpy().astype(float)
        values, counts = spearman(first, second)
        parts.append(
            pl.DataFrame(
                {
                    **{name: [key] * values.size for name, key in zip(by, keys, strict=True)},
                    names[0]: np.repeat(left, len(right)),
                    names[1]: np.tile(right, len(left)),
                    "correlation": values.ravel(),
                    "runs": counts.ravel(),
                }
            )
        )
    return pl.concat(parts).with_columns(pl.col("correlation").fill_nan(None))


def _standard_ranks(columns: np.ndarray) -> np.ndarray:
    """Ranks of each column with mean 0 and variance 1; NaN for a constant one."""
    from scipy.stats import rankdata

    ranks = rankdata(columns, axis=0) - (len(columns) + 1) / 2
    spread = np.sqrt((ranks**2).mean(axis=0))
    spread[spread == 0] = np.nan
    return ranks / spread


def _task_order(column: str) -> tuple[int, int, int]:
    learner, what = column.split("_")
    place = ("lr", "gbt").index(learner)
    return (1, place, 0) if what == "efficiency" else (0, place, int(what))
