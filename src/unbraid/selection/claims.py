"""The claims of Estermann, Marks & Yanik (2020) against a comparison, undecided where seeds cannot tell."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from unbraid.evaluation import Verdict, mean_interval, verdict

if TYPE_CHECKING:
    import polars

__all__ = ["Claim", "judge"]


@dataclass(frozen=True)
class Claim:
    """One of the paper's claims, and what a comparison says of it."""

    title: str
    verdict: Verdict


def judge(models: polars.DataFrame, found: polars.DataFrame) -> list[Claim]:
    """The paper's claims against the tables of a comparison.

    Ways are compared seed by seed; a difference decides if the 95 % t-interval of its mean over seeds leaves out 0.
    """
    last = int(models["leaf_runs"].max() or 0)  # type: ignore[arg-type]
    recursive, without = _of(models, "recursive", last), _of(models, "recursive", 0)
    labelled = _of(models, "pbt-s")
    return [
        _consistency(recursive, models, found),
        _spread(recursive, models),
        Claim(
            "Worth the recursion: the final model is better than the root's",
            _ahead(recursive, _of(models, "root"), "final model", "the root's"),
        ),
        Claim(
            f"Leaf-runs: selection by {last} leaf-run(s) is better than by none",
            _ahead(recursive, without, "selected by leaf-runs", "by none"),
        ),
        Claim(
            "1000 labels: better spent on selection (PBT-S) than on the loss",
            _ahead(labelled, _of(models, "few-labels"), "PBT-S", "loss"),
        ),
        Claim(
            "1000 labels: better spent on selection during training (PBT-S) than on selection among plain models",
            _ahead(labelled, _by_labels(models), "PBT-S", "plain models by 1000 labels"),
        ),
        Claim(
            "All labels are better for selection than 1000",
            _ahead(_of(models, "pbt-s-all"), labelled, "all labels", "1000 labels"),
        ),
        _which_score(models),
    ]


def _of(models: polars.DataFrame, arm: str, leaf_runs: int | None = None, column: str = "mig") -> dict[int, float]:
    """A column of an arm's selected models by seed; empty if the comparison has no such arm."""
    rows = models.filter((models["arm"] == arm) & models["selected"])
    if leaf_runs is not None:
        rows = rows.filter(rows["leaf_runs"] == leaf_runs)
    if column not in rows.columns:
        return {}
    return dict(rows.drop_nulls(column).select("seed", column).iter_rows())


def _by_labels(models: polars.DataFrame) -> dict[int, float]:
    """The MIG of those plain models that score best on 1000 labels, by seed."""
    if "mig_labels" not in models.columns:
        return {}
    plain = models.filter(models["arm"] == "plain").drop_nulls("mig_labels").sort("mig_labels", descending=True)
    return dict(plain.unique("seed", keep="first", maintain_order=True).select("seed", "mig").iter_rows())


def _ahead(first: dict[int, float], second: dict[int, float], mine: str, other: str) -> Verdict:
    """Whether the first is ahead, by the differences over the seeds that both have."""
    seeds = sorted(set(first) & set(second))
    if not seeds:
        return Verdict("cannot say", {}, f"this comparison lacks: {mine if not first else other}")
    change = np.array([first[seed] - second[seed] for seed in seeds])
    low, high = mean_interval(change)
    means = [np.mean([way[seed] for seed in seeds]) for way in (first, second)]
    sentence = (
        f"{mine} {means[0]:.3f}, {other} {means[1]:.3f}: mean change {change.mean():+z.3f} "
        f"[95 %: {low:+.3f} to {high:+.3f}] ({_signs(change)})"
    )
    holds = True if low > 0 else False if high < 0 else None
    return verdict(holds, sentence, change=change.mean(), low=low, high=high)


def _consistency(recursive: dict[int, float], models: polars.DataFrame, found: polars.DataFrame) -> Claim:
    scores = np.array(list(recursive.values()))
    median = float(np.median(models.filter(models["arm"] == "plain")["mig"].to_numpy()))
    above = int((scores > median).sum())
    # A plain model is above the median with probability one half: so many in a row must not be luck.
    holds = False if above < len(scores) else True if 0.5 ** len(scores) < 0.05 else None
    roots = found.filter((found["leaf_run"] == 0) & found["factor"].is_not_null())
    sets = {tuple(sorted(set(part["factor"]))) for _, part in roots.group_by("seed")}
    learned = " | ".join(", ".join(factors) for factors in sorted(sets)) or "nothing"
    sentence = (
        f"{above} of {len(scores)} recursive models are above the median plain model ({median:.3f}; chance gives all "
        f"with p = {0.5 ** len(scores):.3f}); lowest {scores.min():.3f}. Roots learned {learned}"
    )
    numbers = {"above": above, "models": len(scores), "median": median}
    return Claim("Consistency: every seed gives a good model", verdict(holds, sentence, **numbers))


def _spread(recursive: dict[int, float], models: polars.DataFrame) -> Claim:
    from scipy.stats import levene

    scores = np.array(list(recursive.values()))
    plain = models.filter(models["arm"] == "plain")["mig"].to_numpy()
    by_udr = np.array(list(_of(models, "plain").values()))
    varies = len(scores) > 2 and (np.ptp(scores) > 0 or np.ptp(plain) > 0)
    p = float(levene(scores, plain, center="median").pvalue) if varies else 1.0
    holds = None if p >= 0.05 else bool(scores.std() < plain.std())
    sentence = (
        f"standard deviation {scores.std():.3f} over seeds, plain models {plain.std():.3f} (Brown-Forsythe test: "
        f"p = {p:.3f}), plain models selected by UDR {by_udr.std():.3f}"
    )
    numbers = {"recursive": scores.std(), "plain": plain.std(), "p": p}
    return Claim("Spread: smaller than that of plain runs", verdict(holds, sentence, **numbers))


def _which_score(models: polars.DataFrame) -> Claim:
    """MIG or DCI to select by, both with all labels."""
    title = "MIG is the better score to select by: a higher MIG than after selection by DCI, and about equal DCI"
    judged = _ahead(_of(models, "pbt-s-all"), _of(models, "pbt-s-dci"), "MIG of runs selected by MIG", "by DCI")
    first, second = (_of(models, arm, column="dci") for arm in ("pbt-s-all", "pbt-s-dci"))
    seeds = sorted(set(first) & set(second))
    if judged.word == "cannot say" or not seeds:
        return Claim(title, judged)
    change = np.array([first[seed] - second[seed] for seed in seeds])
    low, high = mean_interval(change)
    sentence = f"{judged.sentence}; DCI {change.mean():+z.3f} [95 %: {low:+.3f} to {high:+.3f}]"
    word = "does not hold" if high < 0 else judged.word
    return Claim(title, Verdict(word, {**judged.numbers, "dci low": low, "dci high": high}, sentence))


def _signs(change: Iterable[float]) -> str:
    values = np.asarray(list(change))
    return f"better in {(values > 0).sum()}, equal in {(values == 0).sum()}, worse in {(values < 0).sum()} seeds"
