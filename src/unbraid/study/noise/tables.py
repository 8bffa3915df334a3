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
    """Whether a study's table has accuracies under corruptions."""
    return len(table) > 0 and {"corruption", "corruption_accuracy"} <= set(table.columns)


@dataclass(frozen=True)
class Trained:
    """The measured runs of a study of noise training on one data set; all accuracies in percent."""

    table: pl.DataFrame
    """The study's table, with ``way``."""

    @classmethod
    def of(cls, table: pl.DataFrame) -> dict[str, Trained]:
        """One for each data set of a study's table."""
        if not measures_noise(table):
            raise UsageError("no run was asked about corruptions; add [measures.corruptions] to the study's file")
        whole = with_ways(table)
        names = whole["data"].unique(maintain_order=True).to_list()
        return {name: cls(whole.filter(pl.col("data") == name)) for name in names}

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
        if way not in self.ways or len(rows) < len(corruptions):
            lacking = [name for name in corruptions if name not in self.corruptions] if way in self.ways else []
            raise UsageError(f"it needs runs of {way}" + (f" under {', '.join(lacking)}" if lacking else ""))
        return float(rows["accuracy"].mean())  # type: ignore[arg-type]

    def mean(self, way: str) -> float:
        """Mean accuracy over MNIST-C."""
        return self.accuracy(way, self.suite)

    def without_noise(self, way: str) -> float:
        """Mean accuracy over MNIST-C without shot and impulse noise."""
        return self.accuracy(way, [name for name in self.suite if name not in NOISES])

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
        return float(found[score].mean())  # type: ignore[arg-type]


def beside_published(trained: Trained, kind: str) -> pl.DataFrame:
    """Columns way, score, mean, sd (n - 1, null for one seed), seeds, published; ``kind`` is a published table.

    ``mnist-c`` has a score ``clean``, ``mean``, ``without noise`` and one per corruption; ``noise-distance`` one per
    direction (published: ImageNet), ``mnist-adversarial`` one per norm.
    """
    rows = {"mnist-c": _corruption_rows, "noise-distance": _distance_rows, "mnist-adversarial": _attacked_rows}[kind]
    found = rows(trained).drop_nulls("value")
    value = pl.col("value")
    means = found.group_by("way", "score", maintain_order=True).agg(
        mean=value.mean(), sd=value.std(ddof=1), seeds=pl.len()
    )
    known = {}
    for way, model in PUBLISHED[kind].items():
        for score, corruption, number in published(kind, model).select("score", "corruption", "value").iter_rows():
            known[way, corruption or _SCORES.get(score, score)] = number
    told = [known.get(key) for key in means.select("way", "score").iter_rows()]
    return means.with_columns(pl.Series("published", told, pl.Float64))


_SCORES = {"top1": "mean"}


def _corruption_rows(trained: Trained) -> pl.DataFrame:
    single = trained.corrupted.with_columns(
        score=pl.when(pl.col("corruption") == NONE).then(pl.lit("clean")).otherwise("corruption"), value="accuracy"
    )
    suite = single.filter(pl.col("corruption").is_in(trained.suite))
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
    return rows.select("way", "seed", score=by, value=unit * pl.col(score)).cast(schema)  # type: ignore[arg-type]
