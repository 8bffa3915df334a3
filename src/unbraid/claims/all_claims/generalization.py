"""Schott et al. (2022): generalisation within the domain, by four splits of factor values. R² as a fraction."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from unbraid.claims.all_claims._reading import mean_over, of_seeds, pairs, rows
from unbraid.claims.claim import Tables, claim, printed
from unbraid.claims.conditions import X
from unbraid.claims.limits import at_least
from unbraid.claims.measured import Measured, Numbers, Pairs, Points, Values
from unbraid.claims.resampled import C
from unbraid.claims.rules import P, V
from unbraid.claims.sources import source
from unbraid.errors import UsageError

WORK = "Schott et al. 2022"
HARD = ("composition", "extrapolation")


def r2(tables: Tables, group: str, model: str, split: str) -> dict[int, float]:
    """R² of the test side by seed, of the selected strength where there are several."""
    return of_seeds(tables, group, "r2", part="scores", model=model, split=split, selected=True)


@claim(
    "generalization/systematic-splits-drop",
    source(WORK, "figure 4", "table 5", "table 6", "table 7", "table 8", "table 9"),
    "Near perfect on random splits, large drops elsewhere: dSprites-90 CNN 1.00, .53, .78, MLP .98, -.09, .44",
    groups=("gen-cnn", "gen-other"),
    cells={"gen-other": {"net": ("mlp",)}},
    rules={f"{model}, random minus {split}": P(0.05) for model in ("CNN", "MLP") for split in HARD},
    published=printed("R²", "dSprites-90, CNN", random=1.0, composition=0.53, extrapolation=0.78)
    + printed("R²", "dSprites-90, MLP", random=0.98, composition=-0.09, extrapolation=0.44),
    of_contrast={
        "CNN, random minus composition": 0.47,
        "CNN, random minus extrapolation": 0.22,
        "MLP, random minus composition": 1.07,
        "MLP, random minus extrapolation": 0.54,
    },
    known="CNN .946 / .166 / .541 with one seed",
    data="rendered",
)
def systematic_splits_drop(tables: Tables) -> Mapping[str, Measured]:
    return {
        f"{model}, random minus {split}": pairs(r2(tables, group, model, "random"), r2(tables, group, model, split))
        for model, group in (("CNN", "gen-cnn"), ("MLP", "gen-other"))
        for split in HARD
    }


@claim(
    "generalization/composition-hardest-on-dsprites",
    source(WORK, "table 5", "table 6"),
    "For most models composition is the hardest split of dSprites: CNN .53 against extrapolation .78",
    groups=("gen-cnn",),
    cells={"gen-cnn": {"split": ("random", *HARD)}},
    rules={"extrapolation minus composition": P(0.06)},
    published=printed("R²", "dSprites-90, CNN", composition=0.53, extrapolation=0.78),
    of_contrast={"extrapolation minus composition": 0.25},
    known=".541 against .166",
    data="rendered",
)
def composition_hardest(tables: Tables) -> Mapping[str, Measured]:
    return {
        "extrapolation minus composition": pairs(
            r2(tables, "gen-cnn", "CNN", "extrapolation"), r2(tables, "gen-cnn", "CNN", "composition")
        )
    }


@claim(
    "generalization/extrapolation-hardest-on-shapes3d",
    source(WORK, "table 7"),
    "On Shapes3D only extrapolation fails: CNN 1.00, 1.00, .97, .49",
    groups=("gen-rooms",),
    rules={"the harder of composition and interpolation minus extrapolation": P(0.12)},
    published=printed("R²", "Shapes3D, CNN", random=1.0, composition=1.0, interpolation=0.97, extrapolation=0.49),
    of_contrast={"the harder of composition and interpolation minus extrapolation": 0.48},
    known="nothing was measured before; rooms3d stands in for Shapes3D",
    data="stand-in",
)
def extrapolation_hardest(tables: Tables) -> Mapping[str, Measured]:
    composed, between, beyond = (
        r2(tables, "gen-rooms", "CNN", split) for split in ("composition", "interpolation", "extrapolation")
    )
    harder = {seed: min(composed[seed], between[seed]) for seed in composed}
    return {"the harder of composition and interpolation minus extrapolation": pairs(harder, beyond)}


@claim(
    "generalization/errors-in-ood-factor",
    source(WORK, "figure 5", "section 5.2"),
    "Errors sit in the factor that left the seen values, other factors stay near the level of the random split",
    groups=("gen-cnn",),
    cells={"gen-cnn": {"split": ("random", "extrapolation")}},
    rules={"seen minus unseen factor": P(0.08)},
    known=".686 / .527, .665 / .408, .551 / .274",
    data="rendered",
)
def errors_in_ood_factor(tables: Tables) -> Mapping[str, Measured]:
    where: dict[str, Any] = {"part": "modularity", "model": "CNN", "split": "extrapolation"}
    seen, unseen = (of_seeds(tables, "gen-cnn", column, **where) for column in ("id", "ood"))
    return {"seen minus unseen factor": pairs(seen, unseen)}


@claim(
    "generalization/towards-the-mean",
    source(WORK, "figure 6", "section 5.3"),
    "Predictions of unseen values are pulled to the training mean: few go beyond the truth",
    groups=("gen-cnn", "gen-other"),
    cells={
        "gen-cnn": {"split": ("random", "extrapolation")},
        "gen-other": {"net": ("mlp",), "split": ("extrapolation",)},
    },
    rules={"share not beyond the truth": V(0.75)},
    known=".91 of one run",
    data="rendered",
)
def towards_the_mean(tables: Tables) -> Mapping[str, Measured]:
    both = [
        rows(tables, group, part="towards", model=model, split="extrapolation")
        for group, model in (("gen-cnn", "CNN"), ("gen-other", "MLP"))
    ]
    pooled: dict[int, list[tuple[float, float]]] = {}
    for table in both:
        for seed, below, images in table.select("seed", "below", "images").iter_rows():
            pooled.setdefault(int(seed), []).append((below, images))
    if any(len(parts) < 2 for parts in pooled.values()):
        raise UsageError("both models need the same seeds on the extrapolation split")
    shares = {
        seed: float(np.average([below for below, _ in parts], weights=[images for _, images in parts]))
        for seed, parts in sorted(pooled.items())
    }
    return {"share not beyond the truth": Values(shares)}


@claim(
    "generalization/models-err-alike",
    source(WORK, "section 5.3"),
    "Models correlate with each other (.57 or more), not with the truth (-.48 or less)",
    groups=("gen-cnn", "gen-other"),
    cells={"gen-cnn": {"split": ("random", "extrapolation")}, "gen-other": {"split": ("extrapolation",)}},
    rules={"least of models minus most with the truth": P(0.2)},
    published=printed("correlation", "", models=0.57, truth=-0.48),
    of_contrast={"least of models minus most with the truth": 1.05},
    known="CNN-CNN .914, CNN-MLP .59, truth -.17 to .06",
    data="rendered",
)
def models_err_alike(tables: Tables) -> Mapping[str, Measured]:
    models = ("CNN", "MLP", "CoordConv")
    table = rows(tables, "gen-other", part="similarity", split="extrapolation").drop_nans("pooled")
    found: dict[int, tuple[float, float]] = {}
    for seed in table["first_seed"].drop_nulls().unique().sort():
        own = pl.col("first_seed") == seed
        alike = table.filter(
            own, pl.col("second_seed") == seed, pl.col("first").is_in(models), pl.col("second").is_in(models)
        ).filter(pl.col("first") != pl.col("second"))
        truth = table.filter(own, pl.col("first").is_in(models), pl.col("second") == "truth")
        if alike["first"].n_unique() < len(models) or truth["first"].n_unique() < len(models):
            raise UsageError(f"seed {seed} lacks one of {', '.join(models)} on the extrapolation split")
        found[int(seed)] = (float(alike["pooled"].min()), float(truth["pooled"].max()))  # type: ignore[arg-type]
    return {"least of models minus most with the truth": Pairs(found)}


@claim(
    "generalization/dci-predicts-readout",
    source(WORK, "section 5.4", "figure 7"),
    "More disentanglement goes with a better read-out: Spearman .67",
    groups=("gen-rep",),
    rules={"DCI and R² within splits": C(0.17)},
    published=printed("Spearman", "", all_data=0.67),
    of_contrast={"DCI and R² within splits": 0.67},
    known="nothing was measured before; three settings instead of 22 narrow the range",
    data="rendered",
)
def dci_predicts_readout(tables: Tables) -> Mapping[str, Measured]:
    table = rows(tables, "gen-rep", part="scores", kind="read-out")
    if table["dci"].is_null().any():
        raise UsageError("a run has no DCI")
    return {
        "DCI and R² within splits": Points(
            table["dci"].to_list(), table["r2"].to_list(), tuple(table["split"].to_list())
        )
    }


@claim(
    "generalization/supervised-not-beaten",
    source(WORK, "section 5.4", "table 6"),
    "Disentangled models with a read-out stay below supervised ones: composition and extrapolation .88 and .68",
    groups=("gen-other", "gen-rep"),
    cells={
        "gen-other": {"net": ("coordconv",)},
        "gen-rep": {"objective": ("slow-vae",), "split": HARD},
    },
    rules={"CoordConv minus SlowVAE": P(0.05)},
    published=printed("R²", "dSprites-90, mean of two splits", CoordConv=0.88, SlowVAE=0.68),
    of_contrast={"CoordConv minus SlowVAE": 0.20},
    known="nothing was measured before; the pair matters: the plain CNN has .66 there",
    data="rendered",
)
def supervised_not_beaten(tables: Tables) -> Mapping[str, Measured]:
    first = mean_over(*(r2(tables, "gen-other", "CoordConv", split) for split in HARD))
    second = mean_over(*(r2(tables, "gen-rep", "SlowVAE", split) for split in HARD))
    return {"CoordConv minus SlowVAE": pairs(first, second)}


@claim(
    "generalization/readout-not-the-bottleneck",
    source(WORK, "appendix A", "table 1"),
    "The read-out generalises from true factors: R² at least .997",
    groups=("gen-oracle",),
    rules={"true factors": X({"least R²": at_least(0.99)})},
    published=printed("R²", "", least=0.997),
    known=".999 and more in four cells, one seed",
    data="rendered",
)
def readout_not_the_bottleneck(tables: Tables) -> Mapping[str, Measured]:
    return {"true factors": Numbers({"least R²": float(tables["gen-oracle"]["r2"].to_numpy().min())})}
