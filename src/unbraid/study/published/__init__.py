"""Published numbers as tables, to stand beside measured ones (Locatello et al., 2019; Klindt et al., 2021)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files

import polars as pl

from unbraid.data import entry
from unbraid.errors import UsageError, unknown_name

__all__ = ["TABLES", "Published", "compare", "imitated", "load"]


@dataclass(frozen=True)
class Published:
    """What a table holds and where it was printed."""

    about: str
    value: str | None
    """The column with the published number, if the table is one of results."""
    source: str


_PAPER = (
    "Locatello et al., Challenging common assumptions in the unsupervised learning of disentangled representations, "
    "ICML 2019"
)

_SLOW = (
    "Klindt et al., Towards nonlinear disentanglement in natural data with temporal sparse coding, ICLR 2021; rows of "
    "beta-vae, ada-ml-vae and those on pairs `loc` copied there from Locatello et al., ICML 2020"
)

TABLES: dict[str, Published] = {
    "variance_explained": Published("percent of each score's variance that the choices explain", "explained", _PAPER),
    "transfer_trials": Published("percent of trials in which a transferred setting wins", "percent", _PAPER),
    "sweep": Published("regularisation strengths of the six objectives", None, _PAPER),
    "slow_comparison": Published("scores of methods on pairs, 10 runs each, tables 1, 2 and 14 to 22", None, _SLOW),
    "slow_sources": Published("mean correlation with mixed autoregressive sources, table 5", None, _SLOW),
}
"""Tables by name. Correlations that the paper shows only as coloured figures are not among them."""


def load(name: str) -> pl.DataFrame:
    """A published table by name.

    >>> load("transfer_trials").row(0)
    ('same', 'same', 80.7)
    """
    if name not in TABLES:
        raise unknown_name("published table", name, TABLES)
    text = files(__package__).joinpath(f"{name}.csv").read_bytes()
    numbers = dict.fromkeys(("explained", "percent", "spread", "strength", "mcc"), pl.Float64())
    return pl.read_csv(text, schema_overrides={key: kind for key, kind in numbers.items() if key.encode() in text})


def compare(
    measured: pl.DataFrame, published: pl.DataFrame | str, *, data: Mapping[str, str] | None = None
) -> pl.DataFrame:
    """A measured table and a published one side by side: their keys, ``measured``, ``published``, ``difference``.

    Every measured row stays; ``published`` is null where nothing was printed. ``data`` says which published data set a
    measured one is held against if their names differ: ``{"sprites32": "dsprites"}``. Other columns of the measured
    table, such as the chance level, come along.
    """
    if isinstance(published, str):
        published = load(published)
    values = [table.value for table in TABLES.values() if table.value]
    value = next((name for name in values if name in published.columns and name in measured.columns), None)
    if value is None:
        raise UsageError(
            f"the tables share no column of results ({' or '.join(values)}); measured has {measured.columns}, "
            f"published {published.columns}"
        )
    keys = [name for name in published.columns if name in measured.columns and name != value]
    beside = measured
    if data:
        for name in data:
            if name not in set(measured["data"]):
                raise unknown_name("measured data set", name, map(str, measured["data"].unique()))
        beside = measured.with_columns(_key=pl.col("data").replace(dict(data)))
        keys_left = ["_key" if key == "data" else key for key in keys]
    else:
        keys_left = keys
    joined = beside.join(
        published.select(*keys, pl.col(value).alias("published")),
        left_on=keys_left,
        right_on=keys,
        how="left",
        maintain_order="left",
    )
    if joined["published"].null_count() == len(joined):
        raise UsageError(
            f"no measured row has a published one: measured are {sorted(map(str, measured['data'].unique()))}, "
            f"published are {sorted(map(str, published['data'].unique()))}; say which stands for which, "
            "such as data={'sprites32': 'dsprites'}"
        )
    others = [name for name in measured.columns if name not in (*keys, value)]
    difference = pl.col(value) - pl.col("published")
    return joined.select(*keys, pl.col(value).alias("measured"), "published", difference.alias("difference"), *others)


def imitated(measured: pl.DataFrame, published: pl.DataFrame) -> dict[str, str]:
    """Which published data set each measured one imitates, by what its card says; ``data`` for :func:`compare`."""
    known, found = set(published["data"].to_list()), {}
    for name in measured["data"].unique(maintain_order=True).to_list():
        if name in known:
            continue
        try:
            told = re.match(r"\w+", entry(re.split(r"[:@ ]", name)[0]).card.stands_in_for)
        except UsageError:  # data of one's own
            continue
        if told and told.group().lower() in known:
            found[name] = told.group().lower()
    return found
