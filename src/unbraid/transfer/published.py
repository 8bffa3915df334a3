"""What Schott (2021, chapter 3) concludes from published results, each as a question to a measured matrix."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from unbraid.evaluation import Verdict
from unbraid.transfer.all_scenarios.corrupted import corruptions_of
from unbraid.transfer.domains import DOMAINS
from unbraid.transfer.matrix import Matrix
from unbraid.transfer.recipes import VANILLA, own_scenarios

if TYPE_CHECKING:
    import polars

__all__ = ["Outcome", "judge_published", "tell_published"]

CORRUPTED = ("noise", "blur", "weather", "digital")
SPLIT = ("composition", "interpolation", "extrapolation")
MOST = 0.5
"""From which share on it is most of an effect."""


@dataclass(frozen=True)
class Outcome:
    """A published outcome, the rule by which it counts as seen, and what was found here."""

    published: str
    rule: str
    verdict: Verdict


def judge_published(found: Matrix, table: polars.DataFrame | None = None) -> list[Outcome]:
    """Each published outcome beside what this matrix has; the table of cells tells about single corruptions."""
    words = [
        ("ABS is specific", "abs"),
        ("ANT is specific", "ant1x1"),
        ("ANT with correlated noise is specific", "ant3x3"),
        *((f"disentanglement is specific ({name})", name) for name in ("beta-vae", "ada-gvae", "slow-vae", "pcl")),
    ]
    told = [Outcome(text, "verdict: specific", _word(found, bias, "specific")) for text, bias in words]
    told.append(Outcome("L∞ training overfits", "verdict: overfitting", _word(found, "linf-training", "overfitting")))
    rules: list[tuple[str, str, Callable[[Matrix], Verdict]]] = [
        ("L∞ training lowers the L0 distance (4 against 9 pixels)", "l0 worse", lambda one: _worse(one, ("l0",))),
        ("L∞ training lowers accuracy under corruptions (75.6 against 86.9 %)", "mean of noise, blur, weather, digital "
         "lower, and one of them worse", lambda one: _worse(one, CORRUPTED)),
        ("thresholding alone gives most of the L∞ robustness", "effect of binarised on linf at least half of that of "
         "linf-training", _threshold),
        ("ANT and stylised images are orthogonal", "together: orthogonal",
         lambda one: _together(one, "ant1x1", "stylised", "orthogonal")),
        ("a Gaussian likelihood and analysis by synthesis, which rejects what it cannot draw, are symbiotic",
         "abs better than abs-exact on l0, l2 or distal, worse on none of them", _likelihood),
        ("searching codes of a SlowVAE anew does not help on the splits", "slow-vae+verified not better than slow-vae "
         "on any split", _splits),
    ]  # fmt: skip
    told += [Outcome(text, rule, ask(found)) for text, rule, ask in rules]
    told.append(Outcome("adversarially trained networks lose most under fog", "the change under fog is the lowest of "
                        "all corruptions", _fog(found.domain, table)))  # fmt: skip
    return told


def tell_published(outcomes: Sequence[Outcome]) -> str:
    """How many published outcomes hold here, and which.

    >>> one = Outcome("noise helps", "noise better", Verdict("holds", {}, "+3"))
    >>> tell_published([one, Outcome("colour helps", "colour better", Verdict("undecided", {}, "+1"))])
    '1 of 2 hold here: noise helps; undecided: colour helps.'
    """
    by_word: dict[str, list[str]] = {"holds": []}
    for one in outcomes:
        by_word.setdefault(one.verdict.word, []).append(one.published)
    held = by_word.pop("holds")
    parts = [f"{len(held)} of {len(outcomes)} hold here" + (f": {', '.join(held)}" if held else "")]
    parts += [f"{word}: {', '.join(texts)}" for word, texts in by_word.items()]
    return "; ".join(parts) + "."


def _word(found: Matrix, bias: str, wanted: str) -> Verdict:
    if bias not in found.verdicts:
        return Verdict("cannot say", {}, f"{bias} was not trained")
    judged = found.verdicts[bias]
    if judged.word in ("undecided", "cannot say"):
        return Verdict(judged.word, judged.numbers, judged.sentence)
    return Verdict("holds" if judged.word == wanted else "does not hold", judged.numbers, str(judged))


def _worse(found: Matrix, scenarios: tuple[str, ...]) -> Verdict:
    row = found.effects.get("linf-training", {})
    some = [row[one] for one in scenarios if one in row]
    if not some:
        return Verdict("cannot say", {}, f"linf-training was not asked {', '.join(scenarios)}")
    numbers = {one.scenario: one.mean for one in some}
    text = ", ".join(f"{np.mean(one.values):.3g} against {np.mean(one.twins):.3g} ({one.scenario})" for one in some)
    if any(one.word == "undecided" for one in some):
        return Verdict("undecided", numbers, f"too few seeds: {text}")
    lower = sum(one.mean for one in some) < 0 and any(one.word == "worse" for one in some)
    return Verdict("holds" if lower else "does not hold", numbers, text)


def _threshold(found: Matrix) -> Verdict:
    pair = [found.effects.get(bias, {}).get("linf") for bias in ("binarised", "linf-training")]
    if pair[0] is None or pair[1] is None:
        return Verdict("cannot say", {}, "binarised and linf-training were not both asked linf")
    alone, trained = pair[0], pair[1]
    numbers = {"binarised": alone.mean, "linf-training": trained.mean}
    text = f"median L∞ {alone.mean:+.3f} by the threshold, {trained.mean:+.3f} by training"
    if "undecided" in (alone.word, trained.word):
        return Verdict("undecided", numbers, f"too few seeds: {text}")
    return Verdict("holds" if alone.mean > 0 and alone.mean >= MOST * trained.mean else "does not hold", numbers, text)


def _together(found: Matrix, first: str, second: str, wanted: str) -> Verdict:
    judged = found.combinations.get((first, second))
    if judged is None:
        return Verdict("cannot say", {}, f"{first} with {second} was not trained")
    if judged.word in ("undecided", "cannot say"):
        return judged
    # Symbiotic is orthogonal and more.
    same = judged.word == wanted or (wanted, judged.word) == ("orthogonal", "symbiotic")
    return Verdict("holds" if same else "does not hold", judged.numbers, str(judged))


def _likelihood(found: Matrix) -> Verdict:
    """Plain analysis by synthesis against that with a Gaussian likelihood, which cannot stand alone."""
    with_it, without = (found.values.get(bias, {}) for bias in ("abs", "abs-exact"))
    asked = [one for one in own_scenarios("abs") if with_it.get(one) and without.get(one)]
    if not asked:
        return Verdict("cannot say", {}, "abs and abs-exact were not both trained")
    some = [found.effect(one, "abs", "abs-exact") for one in asked]
    numbers = {one.scenario: one.mean for one in some}
    text = ", ".join(f"{np.mean(one.values):.3g} against {np.mean(one.twins):.3g} ({one.scenario})" for one in some)
    words = {one.word for one in some}
    if "undecided" in words:
        return Verdict("undecided", numbers, f"too few seeds: {text}")
    return Verdict("holds" if "better" in words and "worse" not in words else "does not hold", numbers, text)


def _splits(found: Matrix) -> Verdict:
    row = found.effects.get("slow-vae+verified", {})
    some = [row[one] for one in SPLIT if one in row]
    if not some:
        return Verdict("cannot say", {}, "slow-vae+verified was not asked the splits")
    numbers = {one.scenario: one.mean for one in some}
    text = ", ".join(f"{one.scenario} {one.mean:+.3f} ({one.word})" for one in some)
    if any(one.word == "undecided" for one in some):
        return Verdict("undecided", numbers, f"too few seeds: {text}")
    helps = any(one.word == "better" for one in some)
    return Verdict("does not hold" if helps else "holds", numbers, text)


def _fog(domain: str, table: polars.DataFrame | None) -> Verdict:
    if table is None or domain not in DOMAINS:
        return Verdict("cannot say", {}, "the table of cells was not given")
    changes: dict[str, float] = {}
    for category in (*CORRUPTED, "strokes", "geometry"):
        each = {bias: _details(table, domain, bias, category) for bias in (VANILLA, "linf-training")}
        for name in dict.fromkeys(one.name for one, _ in corruptions_of(DOMAINS[domain], category)):
            both = [[row[name] for row in each[bias] if name in row] for bias in (VANILLA, "linf-training")]
            if all(both):
                changes[name] = float(np.mean(both[1]) - np.mean(both[0]))
    if "fog" not in changes:
        return Verdict("cannot say", {}, "linf-training was not asked weather")
    worst = sorted(changes, key=lambda name: changes[name])[:3]
    text = f"fog {100 * changes['fog']:+.0f} points; most is lost under " + ", ".join(
        f"{name} {100 * changes[name]:+.0f}" for name in worst
    )
    return Verdict("holds" if worst[0] == "fog" else "does not hold", changes, text)


def _details(table: polars.DataFrame, domain: str, bias: str, scenario: str) -> list[dict[str, float]]:
    rows = table.filter(domain=domain, bias=bias, scenario=scenario)
    return [json.loads(text) for text in rows["details"]]
