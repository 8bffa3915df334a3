"""Schott (2021), chapter 3: which biases transfer to which ways of leaving the training domain."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from unbraid.claims.all_claims import abs as abs_claims
from unbraid.claims.all_claims._reading import of_seeds, pairs, rows
from unbraid.claims.all_claims.noise import ANT, PGD, attacked
from unbraid.claims.claim import Tables, claim, printed
from unbraid.claims.measured import Images, Measured, Values
from unbraid.claims.resampled import M
from unbraid.claims.rules import E, N, P, V
from unbraid.claims.sources import source
from unbraid.errors import UsageError

WORK = "Schott 2021"


@claim(
    "transfer/linf-overfits-l0",
    source(WORK, "section 3.1"),
    "Linf training worsens L0 robustness: median 4 against 9 pixels",
    groups=("abs-models", "abs-attacks", "mnist-pgd"),
    cells={"abs-attacks": {"norm": ("l0",), "model": ("pgd", "twin")}},
    rules={"twin / Linf trained": M(1.25)},
    published=printed("pixels", "MNIST (Schott et al. 2019, table 1)", CNN=9.0, Madry=4.0),
    of_contrast={"twin / Linf trained": 2.25},
    known="nothing was measured before",
    data="real",
)
def linf_overfits_l0(tables: Tables) -> Mapping[str, Measured]:
    return {"twin / Linf trained": abs_claims.ratio(tables, "twin", "pgd", "l0", ("pointwise", "salt-and-pepper"))}


def _corrupted(tables: Tables, model: str, column: str, times: float = 1.0) -> dict[int, float]:
    table = rows(tables, "abs-corruptions", model=model).filter(pl.col("corruption") != "none")
    return of_seeds({"abs-corruptions": table}, "abs-corruptions", column, times=times)


@claim(
    "transfer/abs-specific-on-corruptions",
    source(WORK, "section 3.1.1"),
    "ABS and CNN are alike on MNIST-C: 10 points ahead in one run, below a CNN with dropout in another",
    groups=("abs-corruptions", "abs-models"),
    rules={"ABS minus CNN": E(5)},
    known="nothing was measured before; the direction is reported",
    data="real",
    unit="points",
)
def abs_specific_on_corruptions(tables: Tables) -> Mapping[str, Measured]:
    return {"ABS minus CNN": pairs(*(_corrupted(tables, model, "accuracy", 100) for model in ("abs", "cnn")))}


@claim(
    "transfer/abs-unsure-on-corruptions",
    source(WORK, "section 3.1.1"),
    "ABS is unsure on MNIST-C (probability .2 or less for almost all digits), CNNs are sure and wrong",
    groups=("abs-corruptions", "abs-models"),
    rules={"share of digits at .2 or less": V(0.8)},
    known="nothing was measured before; an unpublished remark; the posterior is calibrated",
    data="real",
)
def abs_unsure_on_corruptions(tables: Tables) -> Mapping[str, Measured]:
    return {
        "share of digits at .2 or less": Values(_corrupted(tables, "abs", "unsure")),
        "CNN, share of errors above .5": Values(_corrupted(tables, "cnn", "sure_and_wrong")),
    }


@claim(
    "transfer/ant-specific",
    source(WORK, "section 3.1.3"),
    "The adversarial gain of noise training is small beside adversarial training: Linf 18.1 -> 28.6, adversarial 58.5",
    groups=("mnist-ant", "mnist-pgd"),
    cells={"mnist-ant": {"augment": (None, ANT)}},
    rules={"Linf trained minus ANT": P(5), "ANT minus vanilla": P(2)},
    published=printed("%", "ImageNet (Rusak et al. 2020, table 4)", vanilla=18.1, ANT=28.6, adversarial=58.5),
    of_contrast={"Linf trained minus ANT": 29.9, "ANT minus vanilla": 10.5},
    known="nothing was measured before; on MNIST 55.8 -> 76.3 is published, without a value of Linf training",
    data="real",
    unit="points",
    notes=("networks were trained against Linf adversaries by Adam, in noise by SGD; each kind beside its own twin",),
)
def ant_specific(tables: Tables) -> Mapping[str, Measured]:
    trained = attacked(tables, "mnist-pgd", PGD, "linf")
    ant, vanilla = (attacked(tables, "mnist-ant", way, "linf") for way in (ANT, None))
    # Only the seeds that both groups have: three of the five.
    common = sorted(set(trained) & set(ant))
    return {
        "Linf trained minus ANT": pairs(*({seed: one[seed] for seed in common} for one in (trained, ant))),
        "ANT minus vanilla": pairs(*({seed: one[seed] for seed in common} for one in (ant, vanilla))),
    }


@claim(
    "transfer/abs-inference-no-gain",
    source(WORK, "section 3.1.1"),
    "Inferring latents by descent through a SlowVAE decoder is no better than its encoder on the systematic splits",
    groups=("gen-abs", "gen-rep"),
    cells={"gen-rep": {"objective": ("slow-vae",), "split": ("composition", "extrapolation")}},
    rules={"composition": N(0.05), "extrapolation": N(0.05)},
    known="nothing was measured before; no number is printed",
    data="rendered",
)
def abs_inference_no_gain(tables: Tables) -> Mapping[str, Measured]:
    return {
        split: pairs(*(of_seeds(tables, "gen-abs", column, split=split) for column in ("descent", "encoder")))
        for split in ("composition", "extrapolation")
    }


@claim(
    "transfer/gaussian-likelihood-symbiotic",
    source(WORK, "section 3.2"),
    "The Gaussian likelihood makes ABS robust, a Bernoulli one much less",
    groups=("abs-models", "abs-bernoulli", "abs-attacks"),
    cells={"abs-attacks": {"norm": ("l2",), "model": ("abs",)}},
    rules={"Gaussian / Bernoulli": M(1.3)},
    known="nothing was measured before; an unpublished remark",
    data="real",
)
def gaussian_likelihood_symbiotic(tables: Tables) -> Mapping[str, Measured]:
    bernoulli = abs_claims.by_image(tables, "abs-bernoulli", "l2", group="abs-bernoulli")
    gaussian = abs_claims.by_image(tables, "abs", "l2")
    # The same images of both: fewer are attacked of the second.
    both = {seed: sorted(set(gaussian[seed]) & set(bernoulli[seed])) for seed in gaussian if seed in bernoulli}
    if not both or not all(both.values()):
        raise UsageError("no image was attacked with both likelihoods")
    first, second = (
        {seed: [found[seed][image] for image in images] for seed, images in both.items()}
        for found in (gaussian, bernoulli)
    )
    return {"Gaussian / Bernoulli": Images(first, second)}
