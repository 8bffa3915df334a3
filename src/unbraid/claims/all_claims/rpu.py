"""Estermann, Marks & Yanik (2020): what recursive populations of VAEs (rPU-VAE) were said to do.

The source prints no scores, only distributions; differences are in MIG.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from unbraid.claims.all_claims._reading import of_seeds, pairs, rows
from unbraid.claims.claim import Tables, claim
from unbraid.claims.measured import Measured, Share, Spread
from unbraid.claims.resampled import S
from unbraid.claims.rules import F, P
from unbraid.claims.sources import source
from unbraid.errors import UsageError

WORK = "Estermann et al. 2020"
GROUP = "rpu-compare"
GROUPS = (GROUP,)


def _arm(tables: Tables, arm: str, column: str = "mig", **where: Any) -> dict[int, float]:
    """A number of an arm's selected models by seed."""
    return of_seeds(tables, GROUP, column, part="models", arm=arm, selected=True, **where)


def _recursive(tables: Tables, *, leaf_runs: bool = True) -> dict[int, float]:
    found = rows(tables, GROUP, part="models", arm="recursive")
    last = int(found["leaf_runs"].max()) if leaf_runs else 0  # type: ignore[arg-type]
    return _arm(tables, "recursive", leaf_runs=last)


@claim(
    "rpu/mig-as-eval",
    source(WORK, "figure 1a", "section 3.1"),
    "Selecting by MIG gives a higher MIG than selecting by DCI, at about equal DCI",
    groups=("rpu-eval", GROUP),
    rules={"MIG": P(0.02)},
    known="nothing was measured before",
    data="rendered",
)
def mig_as_eval(tables: Tables) -> Mapping[str, Measured]:
    def by(score: str, column: str) -> dict[int, float]:
        return of_seeds(tables, "rpu-eval", column, score=score)

    return {name.upper(): pairs(by("mig", name), by("dci", name)) for name in ("mig", "dci")}


@claim(
    "rpu/thousand-labels",
    source(WORK, "figure 1b", "section 3.2"),
    "1,000 labels are better spent on selection in a population than in the loss or on picking a trained model",
    groups=GROUPS,
    rules={"against the loss": P(0.02), "against picking": P(0.02)},
    known="against the loss -.013, standard error .041",
    data="rendered",
)
def thousand_labels(tables: Tables) -> Mapping[str, Measured]:
    plain = rows(tables, GROUP, part="models", arm="plain").drop_nulls("mig_labels")
    if not len(plain):
        raise UsageError("no plain model was scored on 1,000 labels")
    best = plain.sort("mig_labels", descending=True).unique("seed", keep="first", maintain_order=True)
    picked = {int(seed): float(mig) for seed, mig in best.select("seed", "mig").iter_rows()}
    population = _arm(tables, "pbt-s")
    return {
        "against the loss": pairs(population, _arm(tables, "few-labels")),
        "against picking": pairs(population, picked),
    }


def _found(tables: Tables) -> dict[int, tuple[set[str], set[str]]]:
    """Factors of active latents by seed: of the root, and of metaEpochs below it."""
    found = rows(tables, GROUP, part="found")
    told: dict[int, tuple[set[str], set[str]]] = {}
    for seed in found["seed"].unique().sort():
        own = found.filter((pl.col("seed") == seed) & pl.col("factor").is_not_null())
        root = pl.col("leaf_run") == 0
        told[int(seed)] = (set(own.filter(root)["factor"]), set(own.filter(~root)["factor"]))
    return told


@claim(
    "rpu/root-learns-position",
    source(WORK, "figure 2", "section 4.1"),
    "The population on the whole data set learns x and y only, in every seed",
    groups=GROUPS,
    rules={"seeds": F(0.5)},
    known="5 of 5; in 3 of them one position sits on two latents",
    data="rendered",
)
def root_learns_position(tables: Tables) -> Mapping[str, Measured]:
    found = _found(tables)
    return {"seeds": Share(sum(root == {"x", "y"} for root, _ in found.values()), len(found))}


@claim(
    "rpu/recursion-beats-pbt-u",
    source(WORK, "section 4.1", "figure 4"),
    "The recursion's model is better than the population's that it starts from",
    groups=GROUPS,
    rules={"final minus root": P(0.05)},
    known="nothing was measured before",
    data="rendered",
)
def recursion_beats_root(tables: Tables) -> Mapping[str, Measured]:
    return {"final minus root": pairs(_recursive(tables), of_seeds(tables, GROUP, "mig", part="root"))}


@claim(
    "rpu/recursion-beats-plain",
    source(WORK, "figure 4"),
    "rPU-VAE has the best mean scores among unsupervised methods",
    groups=GROUPS,
    rules={"final minus plain by UDR": P(0.05)},
    known=".244 against .204, standard error .071: inconclusive; the source compares six objectives",
    data="rendered",
)
def recursion_beats_plain(tables: Tables) -> Mapping[str, Measured]:
    return {"final minus plain by UDR": pairs(_recursive(tables), _arm(tables, "plain"))}


@claim(
    "rpu/spread-smaller",
    source(WORK, "figure 4", "figure 5"),
    "The spread of its scores over seeds is drastically smaller",
    groups=GROUPS,
    rules={"sd of final / sd of plain": S(0.5)},
    known=".115 / .102",
    data="rendered",
)
def spread_smaller(tables: Tables) -> Mapping[str, Measured]:
    plain = rows(tables, GROUP, part="models", arm="plain")
    others = {int(seed): part["mig"].to_list() for (seed,), part in plain.group_by(["seed"])}
    return {"sd of final / sd of plain": Spread(_recursive(tables), others)}


@claim(
    "rpu/leaf-runs-help",
    source(WORK, "figure 6"),
    "Scores rise with leaf-runs, most from none to one",
    groups=GROUPS,
    rules={"one minus none": P(0.02)},
    known="+.000, standard error .003: not reproduced; two of five seeds had no leaf",
    data="rendered",
)
def leaf_runs_help(tables: Tables) -> Mapping[str, Measured]:
    return {"one minus none": pairs(_arm(tables, "recursive", leaf_runs=1), _recursive(tables, leaf_runs=False))}


@claim(
    "rpu/metaepochs-find-new-factors",
    source(WORK, "figure 5"),
    "Each metaEpoch learns factors that the former ones did not",
    groups=GROUPS,
    rules={"seeds": F(0.5)},
    known="2 of 5 (scale)",
    data="rendered",
)
def metaepochs_find_new_factors(tables: Tables) -> Mapping[str, Measured]:
    found = _found(tables)
    return {"seeds": Share(sum(bool(below - root) for root, below in found.values()), len(found))}
