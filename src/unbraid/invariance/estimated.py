"""Theorem 8 of trained models: informations as estimated lower bounds, by classifiers trained afterwards."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from unbraid.errors import UsageError
from unbraid.invariance.bijective import as_bijective, join, outputs_of
from unbraid.invariance.nuisance import mi_lower_bound, train_reader
from unbraid.invariance.theorem import Information, Theorem8

__all__ = ["dependence_lower_bound", "estimated_information", "estimated_theorem8"]


def dependence_lower_bound(
    first: Tensor, second: Tensor, *, rows: Tensor | None = None, seed: int = 0, **options: Any
) -> float:
    """I(first; second) >= E_joint T - E_product e^T + 1, clipped at 0 (Nguyen, Wainwright & Jordan, 2010), in nats.

    T is the log ratio of a classifier trained on half of the rows to tell true pairs from shuffled ones; the bound is
    taken on the other half, by means that are right on average: only the chance of which rows were drawn can lift it
    above the truth. ``rows`` are numbers ``[n]``: pairs of the same number stay in one half.
    """
    if len(first) != len(second) or len(first) < 80:
        raise UsageError(f"pairs must be at least 80 rows of both, got {len(first)} and {len(second)}")
    generator = torch.Generator().manual_seed(seed)
    known, judged = _halves(torch.arange(len(first)) if rows is None else rows, generator)

    def pairs(rows: Tensor) -> tuple[Tensor, Tensor]:
        cycle = torch.randperm(len(rows), generator=generator)
        others = torch.empty_like(rows)
        others[cycle] = rows[cycle.roll(1)]  # nobody is paired with itself
        both = torch.cat([join(first[rows], second[rows]), join(first[rows], second[others])])
        return both, torch.cat([torch.ones(len(rows)), torch.zeros(len(rows))]).long()

    train, test = pairs(known), pairs(judged)
    reader = train_reader(*train, seed=seed, **options)
    with torch.no_grad():
        scores = reader(test[0]).double()
    ratio = scores[:, 1] - scores[:, 0]
    true, shuffled = ratio[test[1] == 1], ratio[test[1] == 0]
    return max(0.0, float(true.mean() - shuffled.exp().mean() + 1))


def estimated_information(
    net: Any, x: Tensor, labels: Tensor, *, seed: int = 0, classes: int | None = None, **options: Any
) -> Information:
    """Lower bounds of the informations of class, logits and nuisance; half of the samples train, half are judged.

    Samples that are the same, such as those a re-weighting drew twice, stay in one half. ``options`` are
    those of :func:`train_reader`. ``joint`` is the bound of I(y, z_s; z_n), y as its one-hot code.
    """
    flow = as_bijective(net, classes)
    z = outputs_of(flow, x)
    semantic, nuisance = flow.split(z)
    rows = _same(x)
    train, test = _halves(rows, torch.Generator().manual_seed(seed))
    known = int(labels.max()) + 1

    def told(values: Tensor) -> float:
        reader = train_reader(values[train], labels[train], classes=known, seed=seed, **options)
        return mi_lower_bound(reader, values[test], labels[test])

    one_hot = torch.nn.functional.one_hot(labels).to(z)
    return Information(
        y_s=told(semantic),
        y_n=told(nuisance),
        y_sn=told(z),
        s_n=dependence_lower_bound(semantic, nuisance, rows=rows, seed=seed, **options),
        joint=dependence_lower_bound(join(one_hot, semantic), nuisance, rows=rows, seed=seed, **options),
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

    All numbers are estimated lower bounds: a premise that seems to hold may fail for want of a better classifier.
    """
    found = (estimated_information(net, *data, seed=seed, classes=classes, **options) for data in (before, after))
    first, second = found
    return Theorem8(first, second, tolerance, estimated=True)


def _same(x: Tensor) -> Tensor:
    """A number for each sample, the same for samples that are: in order of their first appearance."""
    which = torch.unique(x.flatten(1), dim=0, return_inverse=True)[1].cpu()
    first = torch.full((int(which.max()) + 1,), len(x)).scatter_reduce(0, which, torch.arange(len(x)), "amin")
    return first.argsort().argsort()[which]


def _halves(rows: Tensor, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Positions of about half of the samples, drawn, and of the others; equal numbers never part."""
    place = torch.randperm(int(rows.max()) + 1, generator=generator).argsort()[rows]
    order = place.argsort(stable=True)
    middle = place[order[len(rows) // 2]]
    cut = int((place < middle).sum()) or int((place <= middle).sum())
    if cut == len(rows):
        raise UsageError(f"x must hold samples that differ, to train on and to judge by; all {cut} are the same")
    return order[:cut], order[cut:]
