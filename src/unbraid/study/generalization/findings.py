"""Do the published conclusions show in a benchmark? Pure functions from its tables to verdicts with their numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import polars as pl

from unbraid.errors import UsageError
from unbraid.evaluation import Verdict
from unbraid.study.analysis import Above, Below, Condition, without_seeds
from unbraid.study.generalization.disentanglement import disentanglement_correlations
from unbraid.study.generalization.results import Benchmark

__all__ = ["Finding", "Judged", "judge", "judge_findings", "split_means"]

SYSTEMATIC = ("composition", "interpolation", "extrapolation")
Judged = tuple[str, list[Condition]]


@dataclass(frozen=True)
class Finding:
    """A published conclusion, the rule by which it counts as seen, and what a benchmark says of it."""

    name: str
    data: str
    text: str
    rule: str
    verdict: Verdict


def judge_findings(benchmark: Benchmark) -> list[Finding]:
    """The four findings of Schott et al. (2022), section 1, for each data set of a benchmark.

    A finding holds, or does not, if the 95 % interval over seeds of every number it rests on lies on one side of the
    rule's limit; else it is undecided. Where the benchmark lacks what a rule needs, the verdict cannot say.
    """
    return [
        Finding(name, data, text, rule, judge(benchmark.on(data), check))
        for data in benchmark.data
        for name, text, rule, check in _FINDINGS
    ]


def judge(benchmark: Benchmark, check: Callable[[Benchmark], Judged]) -> Verdict:
    """The verdict of a check over seeds."""
    try:
        return without_seeds(benchmark, benchmark.seeds, benchmark.without, check)
    except UsageError as error:
        return Verdict("cannot say", {}, str(error))


def split_means(benchmark: Benchmark) -> dict[str, dict[str, float]]:
    """Mean R² over seeds of each model, selected strengths alone: ``{split: {model: r2}}``."""
    rows = benchmark.chosen.group_by("split", "model", maintain_order=True).agg(pl.col("r2").mean())
    found: dict[str, dict[str, float]] = {}
    for split, model, r2 in rows.iter_rows():
        found.setdefault(split, {})[model] = r2
    return found


def _drops(benchmark: Benchmark) -> Judged:
    means = split_means(benchmark)
    there = [split for split in SYSTEMATIC if split in means]
    if "random" not in means or not there:
        raise UsageError("it needs the random split and a systematic one")
    medians = {split: float(np.median(list(models.values()))) for split, models in means.items()}
    drop = medians["random"] - float(np.mean([medians[split] for split in there]))
    text = "median R² over models: " + ", ".join(f"{split} {medians[split]:.2f}" for split in ("random", *there))
    return text, [Above("random", medians["random"], 0.8), Above("mean drop", drop, 0.1)]


def _modular(benchmark: Benchmark) -> Judged:
    table = benchmark.modularity.filter(pl.col("split") == "extrapolation")
    random = split_means(benchmark).get("random")
    if not len(table) or random is None:
        raise UsageError("it needs the extrapolation and the random split")
    per = table.group_by("model").agg(pl.col("ood").mean(), pl.col("id").mean())
    ood, seen = (float(per[name].mean()) for name in ("ood", "id"))  # type: ignore[arg-type]
    reference = float(np.mean([random[model] for model in per["model"] if model in random]))
    text = f"one factor unseen: R² of that factor {ood:.2f}, of all others {seen:.2f}, random split {reference:.2f}"
    # Of what is lost against the random split, the others may lose less than half of what the unseen factor loses.
    return text, [
        Above("others ahead by", seen - ood, 0.1),
        Above("nearer to random by", (seen - ood) - (reference - seen), 0),
    ]


def _alike(benchmark: Benchmark) -> Judged:
    towards = benchmark.towards.filter(pl.col("split") == "extrapolation", pl.col("kind") != "read-out")
    if not len(towards):
        raise UsageError("it needs supervised models on the extrapolation split")
    below = float(np.average(towards["below"], weights=towards["images"]))
    means = _matrix(benchmark)
    models = [value for (a, b), value in means.items() if "truth" not in (a, b)]
    truth = [value for (a, b), value in means.items() if "truth" in (a, b) and a != b]
    if not models or not truth:
        raise UsageError("it needs two models whose predictions vary")
    between, with_truth = float(np.mean(models)), float(np.mean(truth))
    text = (
        f"{100 * below:.0f} % of predictions of an unseen value do not go beyond it; correlation of two models "
        f"{min(models):.2f} to {max(models):.2f} (mean {between:.2f}), of a model with the truth {min(truth):.2f} to "
        f"{max(truth):.2f} (mean {with_truth:.2f})"
    )
    return text, [
        Above("percent", 100 * below, 80),
        Above("alike", between, 0.3),
        Above("more than truth", between - with_truth, 0),
    ]


def _matrix(benchmark: Benchmark) -> dict[tuple[str, str], float]:
    """Mean pooled correlation of every two different models, truth included, each pair once."""
    table = benchmark.similarity.filter(pl.col("first") <= pl.col("second"), pl.col("pooled").is_not_nan())
    rows = table.group_by("first", "second", maintain_order=True).agg(pl.col("pooled").mean())
    return {(a, b): value for a, b, value in rows.iter_rows() if a != b}


def _disentangled(benchmark: Benchmark) -> Judged:
    found = {row["split"]: row for row in disentanglement_correlations(benchmark).iter_rows(named=True)}
    if "all" not in found:
        raise UsageError("it needs at least four runs with a read-out whose disentanglement was measured")
    whole = found.pop("all")
    text = f"{whole['runs']} runs: Spearman {whole['spearman']:.2f}, Pearson {whole['pearson']:.2f}"
    each = ", ".join(f"{split} {row['spearman']:.2f}" for split, row in found.items())
    text += f"; Spearman by split: {each}" if each else ""
    return f"{text} (published over all data: 0.67 and 0.63)", [Above("Spearman", whole["spearman"], 0)]


def _not_ahead(benchmark: Benchmark) -> Judged:
    kinds = dict(benchmark.chosen.select("model", "kind").unique().rows())
    leads = {}
    for split, models in split_means(benchmark).items():
        codes = [r2 for model, r2 in models.items() if kinds[model] == "read-out"]
        others = [r2 for model, r2 in models.items() if kinds[model] != "read-out"]
        if split in SYSTEMATIC and codes and others:
            leads[split] = max(codes) - max(others)
    if not leads:
        raise UsageError("it needs read-outs and supervised models on a systematic split")
    text = "best read-out minus best supervised model: " + ", ".join(f"{s} {lead:+.2f}" for s, lead in leads.items())
    return text, [Below("mean lead", float(np.mean(list(leads.values()))), 0.05)]


_FINDINGS: tuple[tuple[str, str, str, Callable[[Benchmark], Judged]], ...] = (
    (
        "a",
        "Near-perfect on the random split, large drops on the systematic ones",
        "median over models above 0.8 on random, and 0.1 above the mean of the others",
        _drops,
    ),
    (
        "b",
        "Errors sit in the factor that left the seen values; the others stay predictable",
        "the others' R² is 0.1 above, and nearer to that of the random split",
        _modular,
    ),
    (
        "c",
        "All models fail alike, pulling predictions back into the seen range",
        "80 % not beyond the truth; models correlate by more than 0.3, and more than with the truth",
        _alike,
    ),
    (
        "d1",
        "More disentanglement goes with a better read-out",
        "rank correlation of DCI and R² over all runs with a read-out above 0",
        _disentangled,
    ),
    (
        "d2",
        "Disentanglement models do not beat supervised ones out of distribution",
        "the best read-out is at most 0.05 ahead of the best supervised model, mean of the systematic splits",
        _not_ahead,
    ),
)
