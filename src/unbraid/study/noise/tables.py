"""What a study of noise training measured: accuracies under corruptions, noise distances, adversaries, by way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import polars as pl

from unbraid.corruptions import MNIST_C
from unbraid.errors import UsageError
from unbraid.robustness import published
from unbraid.study.noise.ways import PUBLISHED, with_ways

__all__ = ["NONE", "Trained", "beside_published", "measures_noise"]

NONE = "none"
"""The corruption that leaves images as they are."""
NOISES = tuple(name for name, entry in MNIST_C.items() if entry.category == "noise")


def measures_noise(table: pl.DataFrame) -> bool:
    """Whether a study compares ways of training under corruptions: some runs were augmented, or begin from others."""
    trained = {"augment", "after"} & set(table.columns)
    return len(table) > 0 and {"corruption", "corruption_accuracy"} <= set(table.columns) and bool(trained)


@dataclass(frozen=True)
class Trained:
    """The measured runs of a study of noise training on one data set; all accuracies in percent."""

    table: pl.DataFrame
    """The study's table, with ``way``."""

    @classmethod
    def of(cls, table: pl.DataFrame) -> dict[str, Trained]:
        """One for each data set of a study's table, and for each that it was measured on, where there are several."""
        if not measures_noise(table):
            raise UsageError(
                "no ways of training were asked about corruptions; add [measures.corruptions] to the study's file, and "
                "settings with augment or after"
            )
        whole = with_ways(table)
        if "on" not in whole.columns:
            whole = whole.with_columns(on=pl.lit(None, pl.String))
        several = whole.group_by("data").agg(pl.col("on").n_unique() > 1)["on"].any()
        found = {}
        for data, on in whole.select("data", "on").unique(maintain_order=True).iter_rows():
            part = whole.filter(pl.col("data") == data, pl.col("on").eq_missing(pl.lit(on, pl.String)))
            found[f"{data} on {on or 'its own'}" if several else data] = cls(part)
        return found

    @property
    def ways(self) -> list[str]:
        return self.table["way"].unique(maintain_order=True).to_list()

    @property
    def seeds(self) -> list[int]:
        return sorted(self.table["seed"].unique().to_list())

    def without(self, seeds: Sequence[int]) -> Trained:
        return Trained(self.table.filter(~pl.col("seed").is_in(list(seeds))))

    @cached_property
    def corrupted(self) -> pl.DataFrame:
        """Columns way, seed, corruption (``none`` first), accuracy: the mean over severities."""
        rows = self.table.drop_nulls("corruption_accuracy")
        return rows.group_by("way", "seed", "corruption", maintain_order=True).agg(
            accuracy=100 * pl.col("corruption_accuracy").mean()
        )

    @property
    def corruptions(self) -> list[str]:
        """All corruptions that were asked about, without ``none``."""
        return [name for name in self.corrupted["corruption"].unique(maintain_order=True) if name != NONE]

    @property
    def suite(self) -> list[str]:
        """Those of them that belong to MNIST-C: what means are over."""
        return [name for name in self.corruptions if name in MNIST_C]

    def accuracy(self, way: str, corruptions: Sequence[str]) -> float:
        """Mean accuracy over these corruptions and all seeds."""
        rows = self.corrupted.filter(pl.col("way") == way, pl.col("corruption").is_in(list(corruptions)))
        if not len(rows):
            raise UsageError(f"it needs runs of {way}")
        counts = rows.group_by("seed").len()["len"]
        if not corruptions or (counts < len(set(corruptions))).any():
            lacking = [name for name in corruptions if name not in set(rows["corruption"])] or ["all that is asked"]
            raise UsageError(f"it needs runs of {way} under {', '.join(lacking)}")
        return float(rows["accuracy"].mean())  # type: ignore[arg-type]

    def mean(self, way: str) -> float:
        """Mean accuracy over MNIST-C, all of it."""
        return self.accuracy(way, list(MNIST_C))

    def without_noise(self, way: str) -> float:
        """Mean accuracy over MNIST-C without shot and impulse noise."""
        return self.accuracy(way, [name for name in MNIST_C if name not in NOISES])

    def noise(self, way: str) -> float:
        """Mean accuracy under shot and impulse noise."""
        return self.accuracy(way, NOISES)

    def distance(self, way: str, direction: str) -> float:
        """Median distance of noise in this direction, mean over seeds."""
        return self._number("noise_distance", {"way": way, "direction": direction})

    def adversarial(self, way: str, norm: str) -> float:
        """Accuracy that is left to an adversary, in percent."""
        return 100 * self._number("adversarial_accuracy", {"way": way, "norm": norm})

    def _number(self, score: str, where: dict[str, str]) -> float:
        if where["way"] not in self.ways:
            raise UsageError(f"it needs runs of {where['way']}")
        if {score, *where} - set(self.table.columns):
            raise UsageError(f"it needs {score}, which was not measured")
        found = self.table.filter(*(pl.col(key) == value for key, value in where.items()))
        if not len(found) or found[score].null_count():
            raise UsageError(f"{score} of {', '.join(where.values())} is not known, or infinite")
        if "eps" in found.columns and found["eps"].n_unique() > 1:
            raise UsageError(
                f"{score} was measured at several eps: {', '.join(map(str, found['eps'].unique().sort()))}"
            )
        return float(found[score].mean())  # type: ignore[arg-type]


def beside_published(trained: Trained, kind: str) -> pl.DataFrame:
    """Columns way, score, mean, sd (n - 1, null for one seed), seeds, published; ``kind`` is a published table.

    ``mnist-c`` has a score ``clean``, ``mean``, ``without noise`` and one per corruption; ``noise-distance`` one per
    direction (published: ImageNet), ``mnist-adversarial`` one per norm.
    """
    rows = {"mnist-c": _corruption_rows, "noise-distance": _distance_rows, "mnist-adversarial": _attacked_rows}[kind]
    value = pl.col("value").fill_null(float("inf"))  # what a table leaves out is infinite: no noise changes the class
    means = (
        rows(trained)
        .group_by("way", "score", maintain_order=True)
        .agg(mean=value.mean(), sd=value.std(ddof=1).fill_nan(None), seeds=pl.len())
    )
    known = {}
    digits = trained.table["data"].unique().to_list() == ["mnist"]
    for way, model in PUBLISHED[kind].items() if digits else ():
        for score, corruption, number in published(kind, model).select("score", "corruption", "value").iter_rows():
            known[way, corruption or _SCORES.get(score, score)] = number
    told = [known.get(key) for key in means.select("way", "score").iter_rows()]
    return means.with_columns(pl.Series("published", told, pl.Float64))


_SCORES = {"top1": "mean"}


def _corruption_rows(trained: Trained) -> pl.DataFrame:
    single = trained.corrupted.with_columns(
        score=pl.when(pl.col("corruption") == NONE).then(pl.lit("clean")).otherwise("corruption"), value="accuracy"
    )
    suite = single.filter(pl.col("corruption").is_in(trained.suite if set(trained.suite) == set(MNIST_C) else []))
    calm = suite.filter(~pl.col("corruption").is_in(NOISES))
    means = [
        part.group_by("way", "seed", maintain_order=True).agg(pl.col("value").mean(), score=pl.lit(name).first())
        for name, part in (("mean", suite), ("without noise", calm))
    ]
    columns = ["way", "seed", "score", "value"]
    return pl.concat([part.select(columns) for part in (*means, single)])


def _distance_rows(trained: Trained) -> pl.DataFrame:
    return _rows(trained, "noise_distance", "direction", 1)


def _attacked_rows(trained: Trained) -> pl.DataFrame:
    return _rows(trained, "adversarial_accuracy", "norm", 100)


def _rows(trained: Trained, score: str, by: str, unit: float) -> pl.DataFrame:
    schema = {"way": pl.String, "seed": pl.Int64, "score": pl.String, "value": pl.Float64}
    if score not in trained.table.columns:
        return pl.DataFrame(schema=schema)
    rows = trained.table.filter(pl.col(by).is_not_null())
    if "eps" in rows.columns and rows["eps"].n_unique() > rows[by].n_unique():
        name = pl.concat_str([pl.col(by), pl.lit(" "), pl.col("eps").cast(pl.String)])
    else:
        name = pl.col(by)
    return rows.select("way", "seed", score=name, value=unit * pl.col(score)).cast(schema)  # type: ignore[arg-type]
