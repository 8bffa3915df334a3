"""Do the published conclusions show in a benchmark? Pure functions from its tables to verdicts with their numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import polars as pl

from unbraid.errors import UsageError
from unbraid.evaluation import Verdict
from unbraid.study.analysis import Above, Below, Condition, without_seeds
from unbraid.study.generalization.disentanglement import disentanglement_correlations
from unbraid.study.generalization.results import Benchmark
from unbraid.study.judged import Finding

__all__ = ["Finding", "Judged", "judge", "judge_findings", "shared", "split_means"]

SYSTEMATIC = ("composition", "interpolation", "extrapolation")
CORRELATION, PERCENT = (-1.0, 1.0), (0.0, 100.0)
"""What is possible of such numbers."""
FAILS = 0.1
"""So much lower must R² of the unseen factor be than that of the others for a model to fail there."""
Judged = tuple[str, list[Condition]]


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


def shared(means: Mapping[str, Mapping[str, float]], splits: Sequence[str]) -> dict[str, dict[str, float]]:
    """The means on these splits of the models that all of them have; other models would be compared with nothing."""
    names = [name for name in means[splits[0]] if all(name in means[split] for split in splits)]
    if not names:
        raise UsageError(f"no model has runs on all of {', '.join(splits)}")
    return {split: {name: means[split][name] for name in names} for split in splits}


def _drops(benchmark: Benchmark) -> Judged:
    means = split_means(benchmark)
    there = [split for split in SYSTEMATIC if split in means]
    if "random" not in means or not there:
        raise UsageError("it needs the random split and a systematic one")
    same = shared(means, ["random", *there])
    medians = {split: float(np.median(list(models.values()))) for split, models in same.items()}
    drop = medians["random"] - float(np.mean([medians[split] for split in there]))
    text = f"median R² over {_models(len(same['random']))}: " + ", ".join(f"{s} {r2:.2f}" for s, r2 in medians.items())
    return text, [Above("random", medians["random"], 0.8, (-np.inf, 1.0)), Above("mean drop", drop, 0.1)]


def _models(count: int) -> str:
    return f"{count} model" + "s" * (count != 1)


def _modular(benchmark: Benchmark) -> Judged:
    table = benchmark.modularity.filter(pl.col("split") == "extrapolation")
    random = split_means(benchmark).get("random")
    if not len(table) or random is None:
        raise UsageError("it needs the extrapolation and the random split")
    per = table.group_by("model", maintain_order=True).agg(pl.col("ood").mean(), pl.col("id").mean())
    per = per.filter(pl.col("model").is_in(list(random)))
    if not len(per):
        raise UsageError("no model has runs on both of random, extrapolation")
    ood, seen = (float(per[name].mean()) for name in ("ood", "id"))  # type: ignore[arg-type]
    reference = float(np.mean([random[model] for model in per["model"]]))
    text = (
        f"one factor unseen, {_models(len(per))}: R² of that factor {ood:.2f}, of all others {seen:.2f}, "
        f"random split {reference:.2f}"
    )
    # Of what is lost against the random split, the others may lose less than half of what the unseen factor loses.
    return text, [
        Above("others ahead by", seen - ood, FAILS),
        Above("nearer to random by", (seen - ood) - (reference - seen), 0),
    ]


def _alike(benchmark: Benchmark) -> Judged:
    towards = benchmark.towards.filter(pl.col("split") == "extrapolation", pl.col("kind") != "read-out")
    table = benchmark.modularity.filter(pl.col("split") == "extrapolation")
    if not len(towards) or not len(table):
        raise UsageError("it needs supervised models on the extrapolation split")
    ood, seen = (float(np.mean(table[name].to_numpy())) for name in ("ood", "id"))
    if seen - ood <= FAILS:
        raise UsageError(f"no failure to compare: R² of the unseen factor is {ood:.2f}, of all others {seen:.2f}")
    below, inside = (float(np.average(towards[name], weights=towards["images"])) for name in ("below", "inside"))
    means = _matrix(benchmark)
    models = [value for (a, b), value in means.items() if "truth" not in (a, b)]
    truth = [value for (a, b), value in means.items() if "truth" in (a, b) and a != b]
    if not models or not truth:
        raise UsageError("it needs two models whose predictions vary")
    between, with_truth = float(np.mean(models)), float(np.mean(truth))
    text = (
        f"R² of the unseen factor {ood:.2f}, of all others {seen:.2f}; {100 * below:.0f} % of predictions of an unseen "
        f"value do not go beyond it, {100 * inside:.0f} % lie in the seen range; correlation of two models "
        f"{min(models):.2f} to {max(models):.2f} (mean {between:.2f}), of a model with the truth {min(truth):.2f} to "
        f"{max(truth):.2f} (mean {with_truth:.2f})"
    )
    return text, [
        Above("others ahead by", seen - ood, FAILS),
        Above("percent", 100 * below, 80, PERCENT),
        Above("percent in the seen range", 100 * inside, 50, PERCENT),
        Above("alike", between, 0.3, CORRELATION),
        Above("more than truth", between - with_truth, 0.1, (-2.0, 2.0)),
    ]


def _matrix(benchmark: Benchmark) -> dict[tuple[str, str], float]:
    """Mean pooled correlation of every two different models, truth included, each pair once."""
    table = benchmark.similarity.filter(pl.col("first") <= pl.col("second"), pl.col("pooled").is_not_nan())
    rows = table.group_by("first", "second", maintain_order=True).agg(pl.col("pooled").mean())
    return {(a, b): value for a, b, value in rows.iter_rows() if a != b}


def _disentangled(benchmark: Benchmark) -> Judged:
    rows = benchmark.scores.filter(pl.col("kind") == "read-out").drop_nulls("dci").drop_nans("dci")
    splits = rows["split"].unique(maintain_order=True).to_list()
    counts = rows.group_by("model", maintain_order=True).agg(pl.col("split").n_unique())
    same = counts.filter(pl.col("split") == len(splits))["model"].to_list()
    if splits and not same:
        raise UsageError(f"no model with a read-out has runs on all of {', '.join(splits)}")
    kept = replace(benchmark, scores=rows.filter(pl.col("model").is_in(same)))
    found = {row["split"]: row for row in disentanglement_correlations(kept).iter_rows(named=True)}
    if "all" not in found:
        raise UsageError("it needs at least four runs with a read-out whose disentanglement was measured")
    whole = found.pop("all")
    text = f"{whole['runs']} runs of {_models(len(same))}: Spearman {whole['spearman']:.2f}, Pearson "
    text += f"{whole['pearson']:.2f}"
    each = ", ".join(f"{split} {row['spearman']:.2f}" for split, row in found.items())
    text += f"; Spearman by split: {each}" if each else ""
    conditions: list[Condition] = [Above("Spearman", whole["spearman"], 0, CORRELATION)]
    return f"{text} (published over all data: 0.67 and 0.63)", conditions


def _not_ahead(benchmark: Benchmark) -> Judged:
    kinds = dict(benchmark.chosen.select("model", "kind").unique().rows())
    means = split_means(benchmark)
    there = [split for split in SYSTEMATIC if split in means]
    same = shared(means, there) if there else {}
    leads = {}
    for split, models in same.items():
        codes = [r2 for model, r2 in models.items() if kinds[model] == "read-out"]
        others = [r2 for model, r2 in models.items() if kinds[model] != "read-out"]
        if codes and others:
            leads[split] = max(codes) - max(others)
    if not leads:
        raise UsageError("it needs read-outs and supervised models on the same systematic splits")
    text = f"best of {len(codes)} read-outs minus best of {len(others)} supervised: "
    text += ", ".join(f"{s} {lead:+.2f}" for s, lead in leads.items())
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
        "the unseen factor's R² is 0.1 below the others'; 80 % of predictions not beyond the truth, half in the seen "
        "range; models correlate by more than 0.3, and by 0.1 more than with the truth",
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
