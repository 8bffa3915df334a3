"""Does augmentation help beyond the training images? Models on augmented batches beside the same ones without."""

from __future__ import annotations

import math

import polars as pl

from unbraid.errors import UsageError
from unbraid.study.analysis import Below, Condition
from unbraid.study.generalization.findings import Finding, Judged, judge
from unbraid.study.generalization.results import Benchmark

__all__ = ["augmentation_effects", "judge_augmentation"]

NONE = "none"
"""What the row of a model without augmentation says."""
UNCHANGED = 0.07
"""A mean that moves by less has not changed."""

_SCHEMA = {
    "data": pl.String,
    "split": pl.String,
    "model": pl.String,
    "augment": pl.String,
    "mean": pl.Float64,
    "sd": pl.Float64,
    "seeds": pl.Int64,
    "change": pl.Float64,
}


def augmentation_effects(benchmark: Benchmark) -> pl.DataFrame:
    """R² over seeds of every model that was trained both with and without augmentation, by data set and split.

    A row per augmentation, ``none`` first: ``mean``, ``sd`` (n - 1, null for one seed), ``seeds``, and ``change``, the
    mean less that without.
    """
    plain = pl.col("model").str.strip_suffix(pl.concat_str(pl.lit(", "), pl.col("augment")))
    rows = benchmark.chosen.with_columns(
        pl.coalesce(plain, "model").alias("model"), pl.col("augment").fill_null(NONE).alias("augment")
    )
    keys = ["data", "split", "model"]
    means = rows.group_by(*keys, "augment", maintain_order=True).agg(
        mean=pl.col("r2").mean(), sd=pl.col("r2").std(ddof=1), seeds=pl.len()
    )
    without = means.filter(pl.col("augment") == NONE).select(*keys, pl.col("mean").alias("plain"))
    compared = means.join(without, on=keys, maintain_order="left").filter(pl.len().over(keys) > 1)
    ordered = compared.sort(pl.col("augment") != NONE, maintain_order=True)  # within each model, once grouped
    grouped = pl.concat([group for _, group in ordered.group_by(keys, maintain_order=True)] or [ordered])
    return grouped.with_columns(change=pl.col("mean") - pl.col("plain")).select(*_SCHEMA).cast(_SCHEMA)  # type: ignore[arg-type]


def judge_augmentation(benchmark: Benchmark) -> list[Finding]:
    """What Schott et al. (2022, appendix) say of augmentation, for each data set on which it was tried."""
    return [
        Finding(name, data, text, rule, judge(benchmark.on(data), check))
        for data in benchmark.data
        if len(_extrapolated(benchmark.on(data)))
        for name, text, rule, check in (
            (
                "augmentation, mean",
                "Published: erasing, noise, shear and blur leave the CNN's mean extrapolation as it is",
                f"with each augmentation the mean of R² is within {UNCHANGED:g} of that without",
                _mean_stays,
            ),
            (
                "augmentation, spread",
                "Published: seeds differ less with augmentation, on some of four data sets",
                "standard deviation over seeds: the mean of the augmentations is below that without",
                _spread_shrinks,
            ),
        )
    ]


def _extrapolated(benchmark: Benchmark) -> pl.DataFrame:
    """The effects on extrapolation of one model: the CNN, or the first that there is."""
    table = augmentation_effects(benchmark).filter(pl.col("split") == "extrapolation")
    names = table["model"].unique(maintain_order=True).to_list()
    return table.filter(pl.col("model") == ("CNN" if "CNN" in names else names[0])) if names else table


def _told(benchmark: Benchmark) -> tuple[str, pl.DataFrame, pl.DataFrame]:
    table = _extrapolated(benchmark)
    without, augmented = table.filter(pl.col("augment") == NONE), table.filter(pl.col("augment") != NONE)
    if not len(augmented):
        raise UsageError("it needs a model with and without augmentation on the extrapolation split")
    said = [
        f"{name} {mean:.2f}" + ("" if sd is None else f" ± {sd:.3f}")
        for name, mean, sd in table.select("augment", "mean", "sd").rows()
    ]
    return f"R² of {table['model'][0]}: {', '.join(said)}", without, augmented


def _mean_stays(benchmark: Benchmark) -> Judged:
    text, _, augmented = _told(benchmark)
    conditions: list[Condition] = [
        Below(f"{name} moves it by", abs(change), UNCHANGED, (0.0, math.inf))
        for name, change in augmented.select("augment", "change").sort("augment").rows()
    ]
    return text, conditions


def _spread_shrinks(benchmark: Benchmark) -> Judged:
    text, without, augmented = _told(benchmark)
    if without["sd"][0] is None or augmented["sd"].null_count():
        raise UsageError("it needs two seeds or more of every row")
    difference = float(augmented["sd"].mean()) - float(without["sd"][0])  # type: ignore[arg-type]
    return text, [Below("spread changes by", difference, 0)]
