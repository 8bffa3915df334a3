"""Studies of bijective classifiers: errors with and without the logits, beside the published ones, and verdicts.

A gain counts from about a quarter of the published one on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import polars as pl

from unbraid.errors import UsageError
from unbraid.evaluation import Verdict
from unbraid.invariance import PUBLISHED
from unbraid.sharing import markdown
from unbraid.study.analysis import Above, Alike, AtLeast, Condition, without_seeds
from unbraid.study.judged import Finding, findings_section

__all__ = ["Bijective", "invariance_sections", "judge_invariance", "measures_invariance"]

CE, ICE = "firevnet", "ice"
KNOWN, GAIN, SAME, KEPT = 90.0, 7.0, 1.5, 10.0
"""In points: what a nuisance classifier must reach after cross-entropy, how much iCE must raise its error, how far the
errors of the logits may differ, and how many more metamers must keep their class."""
SHOWN = {
    "logit_test_error": ("logit error, %", 100, 2),
    "nuisance_test_error": ("nuisance error, %", 100, 2),
    "logit_train_error": ("logit error on training images, %", 100, 2),
    "nuisance_train_error": ("nuisance error on training images, %", 100, 2),
    "nuisance_information": ("I(y; z_n) at least, nats", 1, 2),
    "metamer_as_logits": ("metamers that show the class of their logits, %", 100, 1),
    "metamer_as_donor": ("that of their donor, %", 100, 1),
    "bits_per_dimension": ("bits per dimension", 1, 2),
}
Way = tuple[str, float | None]
"""An objective with its strength."""
Judged = tuple[str, list[Condition]]


def measures_invariance(table: pl.DataFrame) -> bool:
    """Whether a study measured what bijective classifiers ignore."""
    return len(table) > 0 and {"nuisance_test_error", "metamer_as_logits"} <= set(table.columns)


@dataclass(frozen=True)
class Bijective:
    """The measured runs of a study on one data set; shares and errors in percent."""

    table: pl.DataFrame

    @classmethod
    def of(cls, table: pl.DataFrame) -> dict[str, Bijective]:
        """One for each data set that runs were trained on."""
        whole = table.drop_nulls("nuisance_test_error")
        return {data: cls(whole.filter(pl.col("data") == data)) for data in whole["data"].unique(maintain_order=True)}

    @property
    def seeds(self) -> list[int]:
        return sorted(self.table["seed"].unique().to_list())

    @property
    def ways(self) -> list[Way]:
        """Objectives with their strengths, in the order of the study."""
        return list(self.table.select("objective", "strength").unique(maintain_order=True).iter_rows())

    def without(self, seeds: Sequence[int]) -> Bijective:
        return Bijective(self.table.filter(~pl.col("seed").is_in(list(seeds))))

    def values(self, way: Way, score: str) -> np.ndarray:
        """One number per seed."""
        objective, strength = way
        rows = self.table.filter(
            pl.col("objective") == objective, pl.col("strength").eq_missing(pl.lit(strength, pl.Float64))
        )
        if not len(rows):
            raise UsageError(f"it needs runs of {titled(way)}")
        if rows["seed"].n_unique() < len(rows):
            raise UsageError(f"it needs one run of {titled(way)} per seed, and there are several that differ otherwise")
        if rows[score].null_count():
            raise UsageError(f"{SHOWN[score][0]} of {titled(way)} is not known for every seed")
        return rows.sort("seed")[score].to_numpy() * SHOWN[score][1]

    def mean(self, way: Way, score: str) -> float:
        return float(self.values(way, score).mean())


def titled(way: Way) -> str:
    """How tables name a way of training."""
    objective, strength = way
    return {CE: "CE", ICE: "iCE"}[objective] + ("" if strength is None else f", weight {strength:g}")


def judge_invariance(table: pl.DataFrame) -> list[Finding]:
    """What Jacobsen et al. (2019) conclude, for each data set of a study's table and each way of iCE training."""
    found = []
    for data, runs in Bijective.of(table).items():
        plain = next((way for way in runs.ways if way[0] == CE), (CE, None))
        found.append(Finding("a", data, *_TEXTS["a"], _judge(runs, partial(_known, ce=plain))))
        for way in (way for way in runs.ways if way[0] == ICE):
            for name, check in (("b", _emptied), ("c", _same), ("d", _kept)):
                text, rule = _TEXTS[name]
                told = _judge(runs, partial(check, ce=plain, ice=way))
                found.append(Finding(name, data, f"{text} ({titled(way)})", rule, told))
    return found


_TEXTS = {
    "a": (
        "After cross-entropy the outputs that are not logits still tell the class",
        f"a new nuisance classifier is right on more than {KNOWN:g} %",
    ),
    "b": (
        "iCE empties them",
        f"its error is {GAIN:g} points or more above that after cross-entropy, and the interval lies above 0",
    ),
    "c": ("at the same error of the logits", f"errors of the logits differ by less than {SAME:g} points"),
    "d": (
        "Metamers of iCE networks keep their class",
        f"{KEPT:g} points or more of the cross-class metamers above those of cross-entropy show the class of their "
        "logits to the proxy, and the interval lies above 0",
    ),
}


def _judge(runs: Bijective, check: Callable[[Bijective], Judged]) -> Verdict:
    try:
        return without_seeds(runs, runs.seeds, runs.without, check)
    except UsageError as error:
        return Verdict("cannot say", {}, str(error))


def _known(runs: Bijective, ce: Way) -> Judged:
    right = 100 - runs.mean(ce, "nuisance_test_error")
    return f"right on {right:.1f} %", [Above("accuracy", right, KNOWN, (0, 100))]


def _emptied(runs: Bijective, ce: Way, ice: Way) -> Judged:
    return _paired(runs, ce, ice, "nuisance_test_error", "nuisance error", AtLeast, GAIN)


def _same(runs: Bijective, ce: Way, ice: Way) -> Judged:
    return _paired(runs, ce, ice, "logit_test_error", "logit error", Alike, SAME)


def _kept(runs: Bijective, ce: Way, ice: Way) -> Judged:
    return _paired(runs, ce, ice, "metamer_as_logits", "metamers as their logits", AtLeast, KEPT)


def _paired(
    runs: Bijective,
    ce: Way,
    ice: Way,
    score: str,
    words: str,
    kind: type[Condition],
    limit: float,
) -> Judged:
    before, after = runs.mean(ce, score), runs.mean(ice, score)
    return f"{words}: CE {before:.2f} %, iCE {after:.2f} %", [kind("points", after - before, limit)]


def invariance_sections(table: pl.DataFrame) -> Iterator[str]:
    """Lines of Markdown about a study's table."""
    yield from findings_section(
        "Findings about invariance",
        "Jacobsen et al. (2019)",
        judge_invariance(table),
        "a gain that reaches its size counts if the interval lies above 0, and is none if the interval ends below it",
    )
    for data, runs in Bijective.of(table).items():
        yield from (
            "",
            f"## With and without the logits: {markdown(data)}",
            "",
            "Mean ± standard deviation over seeds (n − 1). A new nuisance classifier reads the class off all outputs "
            "but the logits; metamers have the logits of one image and the rest of another of another class, and a "
            "classifier of its own, on spheres their geometry, says what they show."
            + (" In brackets what is published, after 100 epochs of a larger network." if data == "mnist" else ""),
            "",
            "| | " + " | ".join(title for title, _, _ in SHOWN.values()) + " |",
            "|---|" + "---|" * len(SHOWN),
        )
        for way in runs.ways:
            cells = (_cell(runs, way, score, data == "mnist") for score in SHOWN)
            yield f"| {titled(way)} | " + " | ".join(cells) + " |"


def _cell(runs: Bijective, way: Way, score: str, beside: bool) -> str:
    values, digits = runs.values(way, score), SHOWN[score][2]
    spread = f" ± {values.std(ddof=1):.{digits}f}" if len(values) > 1 else ""
    known = _published(way[0], score) if beside else None
    return f"{values.mean():.{digits}f}{spread}" + ("" if known is None else f" [{known:.2f}]")


def _published(objective: str, score: str) -> float | None:
    name = {CE: "fiRevNet, cross-entropy", ICE: "fiRevNet, iCE"}[objective]
    (row,) = (one for one in PUBLISHED if one.model == name)
    value: float | None = getattr(row, score.removesuffix("_error"), None)
    return value
