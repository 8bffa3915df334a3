"""What Zietlow et al. (2021) say of a perturbed data set, against trials of it: undecided where seeds cannot tell."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from unbraid.evaluation import Verdict, mean_interval, verdict

if TYPE_CHECKING:
    import polars

__all__ = ["STILL", "ManipulationClaim", "judge_manipulation"]

STILL = 0.1
"""A change of MIG below this is none."""


@dataclass(frozen=True)
class ManipulationClaim:
    """A published claim about one model on one data set, and what trials say of it."""

    data: str
    model: str
    title: str
    verdict: Verdict


def judge_manipulation(rows: polars.DataFrame) -> list[ManipulationClaim]:
    """The claims of tables 4.2 to 4.5 against the trials of :func:`manipulation_trials`.

    Models of equal seed on two versions of a data set begin alike, so they are compared pair by pair: a change of MIG
    decides if its 95 % interval over seeds lies on one side. Of VAEs the MIG falls on the perturbed set, further than
    in noise of the same size; of PCL it changes by less than 0.1. Where the pattern found nothing to exploit (its gap
    never became positive: the entangled models did not gain), nothing can be said of the fall.
    """
    found = []
    for (data, model), cell in rows.group_by(["data", "model"], maintain_order=True):
        by = {name: _by_seed(cell, name) for name in ("original", "perturbed", "noise")}
        gap = float(cell["gap"].max()) if "gap" in cell.columns and cell["gap"].count() else None  # type: ignore[arg-type]
        if model == "pcl":
            claims = [("MIG stays on the perturbed set", _stays(by["original"], by["perturbed"]))]
        else:
            claims = [
                ("MIG falls on the perturbed set", _falls(by["original"], by["perturbed"], "original", gap)),
                ("MIG falls further than in noise", _falls(by["noise"], by["perturbed"], "noise", gap)),
            ]
        found += [ManipulationClaim(str(data), str(model), title, judged) for title, judged in claims]
    return found


def _by_seed(cell: polars.DataFrame, variant: str) -> dict[int, float]:
    return dict(cell.filter(cell["variant"] == variant).drop_nulls("mig").select("seed", "mig").iter_rows())


def _pairs(first: dict[int, float], second: dict[int, float], name: str) -> tuple[str, np.ndarray]:
    """The numbers in words, and the differences over the seeds that both have."""
    seeds = sorted(set(first) & set(second))
    change = np.array([first[seed] - second[seed] for seed in seeds])
    if not seeds:
        return "", change
    low, high = mean_interval(change)
    means = [np.mean([each[seed] for seed in seeds]) for each in (first, second)]
    words = f"{name} {means[0]:.3f}, perturbed {means[1]:.3f}: difference {change.mean():+.3f} "
    return f"{words}[95 %: {low:+.3f} to {high:+.3f}] over {len(seeds)} seeds", change


def _falls(before: dict[int, float], after: dict[int, float], name: str, gap: float | None) -> Verdict:
    text, change = _pairs(before, after, name)
    if not len(change):
        return Verdict("cannot say", {}, f"no seed has both {name} and perturbed")
    if gap is not None and gap <= 0:
        return Verdict("cannot say", {"gap": gap}, f"{text}; but the pattern's gap of {gap:.2f} nats exploits nothing")
    if gap is None:
        text += "; the pattern's gap is not known"
    low, high = mean_interval(change)
    holds = True if low > 0 else False if high < 0 else None
    return verdict(holds, text, difference=change.mean(), low=low, high=high)


def _stays(before: dict[int, float], after: dict[int, float]) -> Verdict:
    text, change = _pairs(before, after, "original")
    if not len(change):
        return Verdict("cannot say", {}, "no seed has both original and perturbed")
    low, high = mean_interval(change)
    holds = True if low > -STILL and high < STILL else False if low > STILL or high < -STILL else None
    return verdict(holds, text, difference=change.mean(), low=low, high=high)
