"""Are factors that were correlated in training entangled more than others, and do few labels mend it?

The question of Träuble et al. (2021).
"""

from __future__ import annotations

import polars as pl

from unbraid.study.analysis._joined import measured_once
from unbraid.study.analysis._table import SETTING

__all__ = ["correlated_pair"]

_ASKED = ("pair_entanglement", "other_entanglement")
_REPAIRED = ("repaired_pair", "repaired_others")


def correlated_pair(table: pl.DataFrame, *, data: str | None = None) -> pl.DataFrame:
    """From the measure ``correlated-pair``: medians over seeds, a row per data set, pair of factors and setting.

    ``pair`` names the factors, ``entanglement`` is theirs and ``others`` the median of all other pairs; ``above`` is
    the share of ``runs`` whose pair is entangled more than its other pairs. ``repaired`` and ``repaired_others`` are
    the same after the repair, ``mended`` the share of runs in which that halved the pair's entanglement or more, of
    those that have some. Null is what there is nothing to tell of: ``others`` and ``above`` of data with two factors,
    ``mended`` of codes that are not entangled.
    """
    rows = measured_once(table, ["pair"], _ASKED, optional=_REPAIRED, measure="correlated-pair", data=data)
    rows = rows.drop_nulls("pair_entanglement")
    keys = ["data", "pair", *SETTING]
    found = rows.group_by(keys, maintain_order=True).agg(
        entanglement=pl.col("pair_entanglement").median(),
        others=pl.col("other_entanglement").median(),
        above=(pl.col("pair_entanglement") > pl.col("other_entanglement")).mean(),
        repaired=pl.col("repaired_pair").median(),
        repaired_others=pl.col("repaired_others").median(),
        mended=pl.when(pl.col("pair_entanglement") > 0)
        .then(pl.col("repaired_pair") <= pl.col("pair_entanglement") / 2)
        .mean(),
        runs=pl.len(),
    )
    return found.sort(keys, nulls_last=True, maintain_order=True)
