"""Digits trained with noise, with learned noise, and against adversaries, each from the clean network of its seed."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import polars as pl

from unbraid.claims.group import Recipe, fresh
from unbraid.claims.studies import StudyGroup

__all__ = ["ADVERSARIAL", "LEARNED", "NOISE"]

_TEST = 'data = ["mnist:split=test"]\n'


_SGD = 'optimizer = "sgd"\nlearning_rate = [0.02]\n'
_ADAM = "learning_rate = [1e-3]\n"
"""Of networks trained against adversaries, which SGD does not teach, and of their twins."""


def _file(steps: int, ways: Sequence[str], asked: str, tuner: str = _SGD) -> dict[str, str]:
    """A study: the clean network first, then fine-tuning from it, in every way by the same optimiser."""
    tuned = "".join(
        f'[[objectives.classifier]]\nafter = "classifier"\n{tuner}' + (f'augment = ["{way}"]\n' if way else "")
        for way in ways
    )
    head = f'data = ["mnist"]\nsteps = {steps}\nnet = "small-cnn"\nbatch_size = 100\n'
    drop = f"[options]\ndrop_at = [{max(1, steps * 5 // 6)}]\n"
    return {"study": f"{head}{drop}[[objectives.classifier]]\nlearning_rate = 1e-3\n{tuned}{asked}"}


def _corruptions(images: int, suite: str = "mnist-c") -> str:
    return f'[measures.corruptions]\nsuite = "{suite}"\nimages = {images}\n{_TEST}'


def _noise(images: int, steps: int = 0) -> str:
    learned = (
        f'directions = ["gaussian", "learned"]\nsteps = {steps}\ngenerators = 2\n'
        if steps
        else 'directions = ["gaussian"]\n'
    )
    return f"[measures.noise-distance]\n{learned}images = {images}\neps = 5\n{_TEST}"


def _attacks(images: int, steps: int, *more: float) -> str:
    asked = [("l2", 1.5), *(("linf", eps) for eps in (0.1, *more))]
    return "".join(
        f'[[measures.adversarial]]\nnorm = "{norm}"\neps = {eps}\n'
        + (f"step_size = {eps / 10:g}\n" if norm == "linf" else "")
        + f"steps = {steps}\nimages = {images}\n{_TEST}"
        for norm, eps in asked
    )


GNT = tuple(f"gaussian-noise:sigma={sigma:g}" for sigma in (0.1, 0.25, 0.5, 0.75, 1.0))
ANT = ("ant:kernel=1,eps=5", "ant:kernel=1,eps=5,replay=0")
PGD = "adversarial:norm=linf,radius=0.3,steps=7,share=1"
_FEW = "shot_noise+impulse_noise+brightness+fog"


def _clean(least: float, vanilla_only: bool = True) -> Callable[[pl.DataFrame], list[str]]:
    def gate(table: pl.DataFrame) -> list[str]:
        rows = table.filter(pl.col("corruption") == "none", pl.col("corruption_accuracy") < least)
        rows = rows.filter(pl.col("augment").is_null()) if vanilla_only else rows
        return [
            f"{augment or 'vanilla'} of seed {seed} names {100 * share:.1f} % of clean digits, below {100 * least:g} %"
            for augment, seed, share in rows.select("augment", "seed", "corruption_accuracy").rows()
        ]

    return gate


def _robust(table: pl.DataFrame) -> list[str]:
    trained = table.filter(pl.col("augment").str.starts_with("adversarial"))  # of every scale
    clean = trained.filter(pl.col("corruption") == "none", pl.col("corruption_accuracy") < 0.9)
    weak = trained.filter((pl.col("norm") == "linf") & (pl.col("eps") == 0.3) & (pl.col("adversarial_accuracy") < 0.5))
    found = _clean(0.94)(table)
    found += [
        f"Linf trained of seed {s} names {100 * a:.1f} % of clean digits, below 90 %"
        for s, a in clean.select("seed", "corruption_accuracy").rows()
    ]
    return found + [
        f"Linf trained of seed {s} names {100 * a:.1f} % under PGD at .3, below 50 %"
        for s, a in weak.select("seed", "adversarial_accuracy").rows()
    ]


_SMOKE = "MNIST, 3 steps"
_SMALL = "MNIST, a small CNN, 2,400 steps (4 of 500 epochs) and as many of fine-tuning"
_PAPER = "MNIST, 120,000 steps (500 epochs of batches of 100 would be 300,000)"

NOISE = StudyGroup(
    "mnist-noise",
    "networks trained in normal noise",
    {
        "smoke": Recipe(
            _SMOKE, _file(3, ("", *GNT), _corruptions(20, _FEW) + _attacks(10, 2)), fresh(1), 1, ("mnist",)
        ),
        "small": Recipe(
            _SMALL,
            _file(2400, ("", *GNT), _corruptions(2500) + _noise(500) + _attacks(300, 40)),
            fresh(5),
            80,
            ("mnist",),
            steps=2400,
        ),
        "paper": Recipe(
            _PAPER,
            _file(120_000, ("", *GNT), _corruptions(10_000) + _noise(1000) + _attacks(1000, 100)),
            fresh(5),
            35 * 120,
            ("mnist",),
            steps=120_000,
            unit="GPU",
        ),
    },
    gate=_clean(0.94),
)

LEARNED = StudyGroup(
    "mnist-ant",
    "networks trained in learned noise",
    {
        "smoke": Recipe(
            _SMOKE,
            _file(3, ("", GNT[2], *ANT), _corruptions(20, _FEW) + _noise(20, 2) + _attacks(10, 2)),
            fresh(1),
            1,
            ("mnist",),
        ),
        "small": Recipe(
            _SMALL,
            _file(2400, ("", GNT[2], *ANT), _corruptions(2500) + _noise(500, 250) + _attacks(300, 40)),
            fresh(5),
            90,
            ("mnist",),
            steps=2400,
        ),
        "paper": Recipe(
            _PAPER,
            _file(120_000, ("", GNT[2], *ANT), _corruptions(10_000) + _noise(1000, 1000) + _attacks(1000, 100)),
            fresh(5),
            25 * 180,
            ("mnist",),
            steps=120_000,
            unit="GPU",
        ),
    },
    gate=_clean(0.94),
)

ADVERSARIAL = StudyGroup(
    "mnist-pgd",
    "networks trained against Linf adversaries, and their twins",
    {
        "smoke": Recipe(
            _SMOKE, _file(3, ("", PGD), _corruptions(20, _FEW) + _attacks(10, 2, 0.3), _ADAM), fresh(1), 0.7, ("mnist",)
        ),
        "small": Recipe(
            _SMALL,
            _file(2400, ("", PGD), _corruptions(2500) + _attacks(300, 40, 0.3), _ADAM),
            fresh(3),
            60,
            ("mnist",),
            steps=2400,
        ),
        "paper": Recipe(
            _PAPER,
            _file(
                120_000,
                ("", PGD.replace("steps=7", "steps=40")),
                _corruptions(10_000) + _attacks(1000, 100, 0.3),
                _ADAM,
            ),
            fresh(3),
            9 * 600,
            ("mnist",),
            steps=120_000,
            unit="GPU",
        ),
    },
    gate=_robust,
)
