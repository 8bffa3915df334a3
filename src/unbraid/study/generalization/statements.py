"""What the published tables say as statements that can be checked: medians, hardest splits, the order for the CNN."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

import numpy as np

from unbraid.data import SPLITS
from unbraid.errors import UsageError
from unbraid.generalization import published, published_models
from unbraid.study.analysis import Above, Below, Condition
from unbraid.study.generalization.augmentation import judge_augmentation
from unbraid.study.generalization.findings import PERCENT, Finding, Judged, judge, shared, split_means
from unbraid.study.generalization.models import STANDS_FOR
from unbraid.study.generalization.results import Benchmark

__all__ = ["hardest", "judge_statements", "published_means"]

TIE = 0.02
"""Published scores nearer than this are a tie."""
NEAR = 0.07
"""What is a tie in print must be this near here."""


def judge_statements(benchmark: Benchmark) -> list[Finding]:
    """The statements for each data set that has published numbers, its own or those of what it imitates.

    What was published of augmentation is asked of every data set on which a model was trained with and without it.
    """
    found = []
    for data in benchmark.data:
        theirs = STANDS_FOR.get(data)
        if theirs is None:
            continue
        for name, text, rule, check in _statements(published_means(theirs)):
            found.append(Finding(name, data, text, rule, judge(benchmark.on(data), check)))
    return found + judge_augmentation(benchmark)


def published_means(data: str) -> dict[str, dict[str, float]]:
    """The published R² as ``{split: {model: r2}}``, between 0 and 1."""
    return {s: {model: published(data, s, model).mean / 100 for model in published_models()} for s in SPLITS}


def hardest(means: Mapping[str, Mapping[str, float]]) -> dict[str, int]:
    """For how many of the models that all four splits have each split is the worst (a tie counts for each)."""
    same = _in_all(means)
    return {
        split: sum(same[split][model] <= min(same[other][model] for other in same) for model in same[split])
        for split in same
    }


def _best_on_random(means: Mapping[str, Mapping[str, float]]) -> tuple[int, int]:
    same = _in_all(means)
    best = sum(r2 >= max(same[other][model] for other in same) for model, r2 in same["random"].items())
    return best, len(same["random"])


def _in_all(means: Mapping[str, Mapping[str, float]]) -> dict[str, dict[str, float]]:
    if not set(SPLITS) <= set(means):
        raise UsageError(f"it needs all four splits, there are {', '.join(means)}")
    return shared(means, SPLITS)


def _statements(theirs: Mapping[str, Mapping[str, float]]) -> list[tuple[str, str, str, Callable[[Benchmark], Judged]]]:
    best, rows = _best_on_random(theirs)
    worst = hardest(theirs)
    first, second = sorted(worst, key=lambda split: -worst[split])[:2]
    return [
        (
            "random is best",
            f"Random is the best split (ties count) for {best} of {rows} published models",
            "for more than half of the models here",
            _random_is_best,
        ),
        (
            "hardest split",
            f"{first.capitalize()} is the worst split for {worst[first]} of {rows} published models"
            + (f", {second} for {worst[second]}" if worst[second] else ""),
            f"more models here have {first} as their worst than any other split",
            _hardest_is(first),
        ),
        (
            "order for the CNN",
            f"Published for the CNN: {_order_words({s: theirs[s]['CNN'] for s in SPLITS})}",
            f"the same order here; scores that tie in print (within {TIE:g}) are within {NEAR:g}",
            _order_of_the_cnn({s: theirs[s]["CNN"] for s in SPLITS}),
        ),
    ]


def _random_is_best(benchmark: Benchmark) -> Judged:
    means = split_means(benchmark)
    best, rows = _best_on_random(means)
    medians = " / ".join(f"{100 * np.median(list(models.values())):.1f}" for models in _in_all(means).values())
    text = f"{best} of {rows} models; their medians {medians} (random / composition / interpolation / extrapolation)"
    return text, [Above("percent", 100 * best / rows, 50, PERCENT, counted=True)]


def _hardest_is(expected: str) -> Callable[[Benchmark], Judged]:
    def check(benchmark: Benchmark) -> Judged:
        means = split_means(benchmark)
        worst = hardest(means)
        models = len(_in_all(means)["random"])
        text = f"of {models} models: " + ", ".join(f"{split} {worst[split]}" for split in SPLITS)
        lead = worst[expected] - max(count for split, count in worst.items() if split != expected)
        return text, [Above("lead in percent", 100 * lead / models, 0, (-100.0, 100.0), counted=True)]

    return check


def _order_of_the_cnn(theirs: Mapping[str, float]) -> Callable[[Benchmark], Judged]:
    def check(benchmark: Benchmark) -> Judged:
        means = split_means(benchmark)
        if any("CNN" not in means.get(split, {}) for split in SPLITS):
            raise UsageError("it needs the CNN on all four splits")
        mine: dict[str, float] = {split: means[split]["CNN"] for split in SPLITS}
        conditions: list[Condition] = []
        for above, below in pairwise(_ordered(theirs)):
            difference = mine[above] - mine[below]
            if abs(theirs[above] - theirs[below]) <= TIE:
                conditions.append(Below(f"{above} from {below}", abs(difference), NEAR))
            else:
                conditions.append(Above(f"{above} above {below}", difference, 0))
        return _order_words(mine), conditions

    return check


def _ordered(scores: Mapping[str, float]) -> Sequence[str]:
    return sorted(scores, key=lambda split: -scores[split])


def _order_words(scores: Mapping[str, float]) -> str:
    order = _ordered(scores)
    words = [f"{order[0]} {100 * scores[order[0]]:.1f}"]
    for above, below in pairwise(order):
        sign = "≈" if abs(scores[above] - scores[below]) <= TIE else ">"
        words.append(f"{sign} {below} {100 * scores[below]:.1f}")
    return " ".join(words)
