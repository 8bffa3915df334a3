"""Inputs with the same logits and another's nuisance: an attack without optimisation (Jacobsen et al., 2019)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from unbraid.errors import UsageError
from unbraid.invariance.bijective import Bijective, as_bijective, join, outputs_of, undone
from unbraid.invariance.definitions import Function, classes_of

__all__ = ["MetamerReport", "Metamers", "Path", "interpolate", "metamer_report", "metamers"]

BIJECTIVE = 1e-2
"""An inverse that misses inputs by more than this share of their largest value is none."""


@dataclass(frozen=True)
class Metamers:
    """Inputs whose logits are those of ``x`` and whose nuisance outputs are those of the donors."""

    x: Tensor
    logits: Tensor
    """``[n, classes]``, of the inputs they were made for."""
    donors: Tensor | None
    """Whose nuisance each has, ``[n]`` positions in the batch; ``None`` where donors were given as inputs."""
    residual: Tensor
    """Largest absolute difference of logits to those they should have, ``[n]``."""

    @property
    def classes(self) -> Tensor:
        """What the classifier says of them, and of the inputs they were made for."""
        return self.logits.argmax(1)


def metamers(
    net: Any,
    x: Tensor,
    donors: Tensor | None = None,
    *,
    labels: Tensor | None = None,
    cross_class: bool = True,
    seed: int = 0,
    classes: int | None = None,
) -> Metamers:
    """x_met = F^-1(z_s(x), z_n(donor)): every logit is that of x, and what the classifier ignores is the donor's.

    ``donors`` are positions in the batch (integers ``[n]``) or inputs of their own (as x); by default they are drawn,
    from another class where ``labels`` are given and ``cross_class`` holds, else any other one. If z_s and z_n were
    independent, metamers would follow the distribution of the data. ``net`` is anything :func:`as_bijective` takes.
    """
    flow = as_bijective(net, classes)
    z = outputs_of(flow, x)
    _check_inverse(flow, x, z)
    semantic, nuisance = flow.split(z)
    places: Tensor | None = None
    if donors is None:
        places = draw_donors(len(x), labels if cross_class else None, seed)
    elif donors.ndim == 1 and not donors.is_floating_point():
        places = _checked_places(donors, len(x), labels if cross_class else None)
    elif donors.shape != x.shape:
        raise UsageError(
            f"donors must be positions [n] or inputs {list(x.shape)} as x, got {donors.dtype} {list(donors.shape)}"
        )
    given = nuisance[places] if places is not None else flow.split(outputs_of(flow, donors))[1]  # type: ignore[arg-type]
    found = undone(flow, join(semantic, given))
    return Metamers(found, semantic, places, _residual(flow, found, semantic))


def draw_donors(n: int, labels: Tensor | None, seed: int) -> Tensor:
    """For each of n inputs the position of another one, of another class if ``labels`` are given."""
    generator = torch.Generator().manual_seed(seed)
    if n < 2:
        raise UsageError("a donor is another input of the batch: give at least two, or donors of your own")
    if labels is None:
        # A random cycle through all: everybody gives once and nobody to itself.
        order = torch.randperm(n, generator=generator)
        donors = torch.empty(n, dtype=torch.long)
        donors[order] = order.roll(1)
        return donors
    numbers = _labels(labels, n)
    if len(numbers.unique()) < 2:
        raise UsageError(f"all {n} inputs are of class {int(numbers[0])}: there is no donor of another class")
    donors = torch.empty(n, dtype=torch.long)
    for label in numbers.unique():
        takers, givers = numbers == label, torch.nonzero(numbers != label)[:, 0]
        donors[takers] = givers[torch.randint(len(givers), (int(takers.sum()),), generator=generator)]
    return donors


@dataclass(frozen=True)
class Path:
    """Inputs with the same logits on the way from x to its metamer."""

    x: Tensor
    """``[steps, n, ...]``."""
    t: Tensor
    """How far along each step is, from 0 (x itself) to 1 (the metamer)."""
    residual: Tensor
    """Largest absolute difference of logits along the way, ``[n]``."""


def interpolate(net: Any, x: Tensor, donors: Tensor, *, steps: int = 11, classes: int | None = None) -> Path:
    """z_n(t) = (1 - t) z_n(x) + t z_n(donor) at fixed logits: the pre-image of the logits of x, walked through."""
    if steps < 2:
        raise UsageError(f"steps must be at least 2, x and its metamer, got {steps}")
    if donors.shape != x.shape:
        raise UsageError(f"donors must be inputs {list(x.shape)} as x, got {list(donors.shape)}")
    flow = as_bijective(net, classes)
    semantic, own = flow.split(outputs_of(flow, x))
    other = flow.split(outputs_of(flow, donors))[1]
    t = torch.linspace(0, 1, steps, dtype=own.dtype)
    points = [undone(flow, join(semantic, torch.lerp(own, other, float(part)))) for part in t]
    gaps = torch.stack([_residual(flow, point, semantic) for point in points])
    return Path(torch.stack(points), t, gaps.amax(0))


@dataclass(frozen=True)
class MetamerReport:
    """What an attack by metamers achieved: shares of those that are numbers and keep their logits, NaN without any."""

    kept: float
    """Share whose logits are kept within the tolerance, of all."""
    count: int
    """How many that are; all the rest here is about them alone."""
    changed: float
    """Share whose true class, by the oracle, is not what the classifier says of them."""
    agreement: float
    """Share whose true class is what the classifier says of them: 1 where nothing that matters is ignored."""
    as_donor: float | None
    """Share whose true class is the donor's; ``None`` where donors were given as inputs."""
    distance: float
    """Median L2 distance to the input they were made for."""
    proxy: bool
    """Whether the oracle is only another classifier, which may err."""


def metamer_report(
    found: Metamers, x: Tensor, oracle: Function, *, proxy: bool = False, tolerance: float = 1e-4
) -> MetamerReport:
    """How metamers look to an oracle, a function to classes or scores; ``proxy`` marks one that is a classifier."""
    kept = (found.residual <= tolerance) & found.x.flatten(1).isfinite().all(1)
    rows = kept.nonzero()[:, 0]
    share = len(rows) / len(found.x)
    if not len(rows):
        nothing = float("nan")
        none = None if found.donors is None else nothing
        return MetamerReport(share, 0, nothing, nothing, none, nothing, proxy)
    made = found.x[rows]
    true = classes_of(oracle, made)
    agreement = _share(true == found.classes[rows].to(true.device))
    as_donor = None
    if found.donors is not None:
        as_donor = _share(true == classes_of(oracle, x[found.donors.to(rows.device)[rows]]))
    return MetamerReport(
        kept=share,
        count=len(rows),
        changed=1 - agreement,
        agreement=agreement,
        as_donor=as_donor,
        distance=float((made - x[rows]).flatten(1).norm(dim=1).median()),
        proxy=proxy,
    )


def _share(which: Tensor) -> float:
    return float(which.double().mean())


def _residual(flow: Bijective, x: Tensor, semantic: Tensor) -> Tensor:
    return (flow.split(outputs_of(flow, x))[0] - semantic).abs().amax(1)


def _check_inverse(flow: Bijective, x: Tensor, z: Tensor) -> None:
    error = float((undone(flow, z[:64]) - x[:64]).abs().max())
    if not error <= BIJECTIVE * (1 + float(x[:64].abs().max())):
        raise UsageError(
            f"this network is not bijective here: its inverse misses its inputs by up to {error:.3g}; try float64, "
            "bounded scales, or train it less far"
        )


def _checked_places(donors: Tensor, n: int, labels: Tensor | None) -> Tensor:
    if len(donors) != n or int(donors.min()) < 0 or int(donors.max()) >= n:
        raise UsageError(f"donors must be {n} positions in 0..{n - 1}, got {len(donors)} in {donors.tolist()[:8]}")
    if labels is not None:
        numbers = _labels(labels, n)
        same = torch.nonzero(numbers[donors] == numbers)[:, 0]
        if len(same):
            place = int(same[0])
            raise UsageError(
                f"the donor of input {place} is of its own class {int(numbers[place])}; choose others, or say "
                "cross_class=False"
            )
    return donors


def _labels(labels: Any, n: int) -> Tensor:
    numbers = torch.as_tensor(labels)
    if numbers.shape != (n,):
        raise UsageError(f"labels must be one class for each of {n} inputs, got {list(numbers.shape)}")
    return numbers.cpu()
