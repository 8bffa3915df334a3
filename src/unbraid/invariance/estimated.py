"""Theorem 8 of trained models: informations as lower bounds by classifiers trained afterwards."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from unbraid.errors import UsageError
from unbraid.invariance.bijective import as_bijective, join, outputs_of
from unbraid.invariance.nuisance import mi_lower_bound, train_reader
from unbraid.invariance.theorem import Information, Theorem8

__all__ = ["dependence_lower_bound", "estimated_information", "estimated_theorem8"]


def dependence_lower_bound(first: Tensor, second: Tensor, *, seed: int = 0, **options: Any) -> float:
    """I(first; second) >= E_joint T - log E_product e^T, clipped at 0 (Donsker & Varadhan, 1975), in nats.

    T is the log ratio of a classifier trained on half of the rows to tell true pairs from shuffled ones; the bound is
    taken on the other half.
    """
    if len(first) != len(second) or len(first) < 80:
        raise UsageError(f"pairs must be at least 80 rows of both, got {len(first)} and {len(second)}")
    generator = torch.Generator().manual_seed(seed)
    half = len(first) // 2
    order = torch.randperm(len(first), generator=generator)

    def pairs(rows: Tensor) -> tuple[Tensor, Tensor]:
        others = rows[torch.randperm(len(rows), generator=generator)]
        both = torch.cat([join(first[rows], second[rows]), join(first[rows], second[others])])
        return both, torch.cat([torch.ones(len(rows)), torch.zeros(len(rows))]).long()

    train, test = pairs(order[:half]), pairs(order[half:])
    reader = train_reader(*train, seed=seed, **options)
    with torch.no_grad():
        scores = reader(test[0]).double()
    ratio = scores[:, 1] - scores[:, 0]
    true, shuffled = ratio[test[1] == 1], ratio[test[1] == 0]
    return max(0.0, float(true.mean() - (shuffled.logsumexp(0) - math.log(len(shuffled)))))


def estimated_information(
    net: Any, x: Tensor, labels: Tensor, *, seed: int = 0, classes: int | None = None, **options: Any
) -> Information:
    """Lower bounds of the informations of class, logits and nuisance; half of the samples train, half are judged.

    ``options`` are those of :func:`train_reader`. ``joint`` is the bound of I(y, z_s; z_n), y as its one-hot code.
    """
    flow = as_bijective(net, classes)
    z = outputs_of(flow, x)
    semantic, nuisance = flow.split(z)
    half = len(x) // 2
    order = torch.randperm(len(x), generator=torch.Generator().manual_seed(seed))
    train, test = order[:half], order[half:]

    def told(values: Tensor) -> float:
        reader = train_reader(values[train], labels[train], seed=seed, **options)
        return mi_lower_bound(reader, values[test], labels[test])

    one_hot = torch.nn.functional.one_hot(labels).to(z)
    return Information(
        y_s=told(semantic),
        y_n=told(nuisance),
        y_sn=told(z),
        s_n=dependence_lower_bound(semantic, nuisance, seed=seed, **options),
        joint=dependence_lower_bound(join(one_hot, semantic), nuisance, seed=seed, **options),
    )


def estimated_theorem8(
    net: Any,
    before: tuple[Tensor, Tensor],
    after: tuple[Tensor, Tensor],
    *,
    tolerance: float = 0.05,
    seed: int = 0,
    classes: int | None = None,
    **options: Any,
) -> Theorem8:
    """The theorem for a trained model, from inputs and classes before and after a shift.

    All numbers are lower bounds: a premise that seems to hold may fail for want of a better classifier.
    """
    found = (estimated_information(net, *data, seed=seed, classes=classes, **options) for data in (before, after))
    first, second = found
    return Theorem8(first, second, tolerance, estimated=True)
