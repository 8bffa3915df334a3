"""What independence cross-entropy does to redundant coordinates: the smallest experiment in which it shows."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from unbraid.errors import UsageError
from unbraid.invariance.bijective import as_bijective, outputs_of
from unbraid.invariance.metameric import metamer_report, metamers
from unbraid.invariance.nuisance import train_nuisance
from unbraid.invariance.toy import SIZE, redundant_gaussians, redundant_oracle
from unbraid.objectives import make
from unbraid.options import seed_list
from unbraid.progress import ProgressKind
from unbraid.training import train

__all__ = ["TOY_WAYS", "ToyResult", "toy_experiment"]

_NET = {"net": "fc:width=32,zero=true", "optimizer": "adam"}
_ICE = {**_NET, "nuisance_width": 64}
TOY_WAYS: dict[str, tuple[str, dict[str, Any]]] = {
    "CE": ("firevnet", _NET),
    # Nothing else bounds what is paid: without the cap the nuisance outputs grow until the game explodes.
    "iCE without likelihood": ("ice", {**_ICE, "w_nuisance": 1.0, "w_mle": 0.0, "cap": True}),
    # 0.1 nats summed over the nuisances are 0.1 d ln 2 bits per dimension.
    "iCE": ("ice", {**_ICE, "w_mle": 0.1 * SIZE * math.log(2)}),
}
"""Objectives and their options, by how tables name them."""


@dataclass(frozen=True)
class ToyResult:
    """One network: what its logits and a new nuisance classifier know, and what its metamers are."""

    way: str
    seed: int
    logit_accuracy: float
    nuisance_accuracy: float
    nuisance_information: float
    """At least so many nats of the log 2 that the class has."""
    metamer_agreement: float
    """Share of cross-class metamers whose true class is the one of their logits."""

    def row(self) -> dict[str, Any]:
        return asdict(self)


def toy_experiment(
    out: Path, *, seeds: int | Sequence[int] = 3, steps: int = 3000, progress: ProgressKind = "auto"
) -> Iterator[ToyResult]:
    """Train every way with every seed on :func:`redundant_gaussians`, and judge each by 10,000 new points.

    The published toy has fresh samples in every batch; here batches are drawn from 200,000 of them. Runs are kept in
    ``out``, and the same call goes on where it stopped.
    """
    if steps < 1:
        raise UsageError(f"steps must be at least 1, got {steps}")
    chosen_seeds = seed_list(seeds)
    data = redundant_gaussians(200_000, seed=0)
    (known, classes), (x, labels) = _points(20_000, 100), _points(10_000, 200)
    for way, (objective, options) in TOY_WAYS.items():
        for seed in chosen_seeds:
            chosen = make(objective, options)
            folder = out / f"{way.replace(' ', '-')}-{seed}"
            run = train(
                chosen, data, out=folder, steps=steps, batch_size=256, seed=seed, precision="fp32", progress=progress
            )
            if not run.finished:
                raise KeyboardInterrupt  # what is trained stays, and the same call goes on with it
            flow = as_bijective(run)
            logits = flow.split(outputs_of(flow, x))[0]
            left = train_nuisance(
                run, known, classes, x, labels, width=64, depth=2, steps=steps, batch_size=256, seed=seed
            )
            seen = metamer_report(metamers(run, x, labels=labels, seed=seed), x, redundant_oracle)
            yield ToyResult(
                way,
                seed,
                float((logits.argmax(1) == labels).double().mean()),
                1 - left.test_error,
                left.information,
                float(seen.agreement),
            )


def _points(n: int, seed: int) -> tuple[Tensor, Tensor]:
    data = redundant_gaussians(n, seed=seed)
    return torch.tensor(data.images(np.arange(n))), torch.tensor(data.labels())
