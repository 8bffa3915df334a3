"""Matrices ready to run: a minute, some evenings on two cores, a cluster."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from unbraid.errors import UsageError, unknown_name
from unbraid.transfer.plan import Plan, with_twins
from unbraid.transfer.recipes import Budget
from unbraid.transfer.scenario import names

__all__ = ["PRESETS", "preset"]

_SINGLE = (
    "gaussian-noise", "speckle", "ant1x1", "ant3x3", "linf-training", "l2-training", "stylised", "binarised",
    "coordinates", "rotation-equivariant", "spatial-transformer", "beta-vae", "ada-gvae", "slow-vae", "pcl", "abs",
    "abs-bernoulli", "abs-exact", "slow-vae+verified", "ice", "more-data",
)  # fmt: skip
_COMBINED = (
    "gaussian-noise+binarised", "ant1x1+stylised", "linf-training+binarised", "abs+gaussian-noise",
    "slow-vae+gaussian-noise", "gaussian-noise+coordinates",
)  # fmt: skip
_ATTACKS = {"l0": {"images": 100}, "l2": {"images": 100}, "linf": {"images": 100}}


def _smoke() -> Plan:
    """Two minutes of one core: whether everything works; with one seed nothing is decided."""
    return Plan(
        "smoke",
        ("affine-digits",),
        with_twins(("gaussian-noise", "binarised")),
        ("iid", "noise", "gaussian-distance", "linf"),
        (0,),
        Budget(steps=400, batch_size=64),
        {"all": {"images": 100}, "linf": {"images": 20, "budget": "smoke"}},
    )


def _small() -> Plan:
    """Evenings of two cores: every bias on digits and rooms, three seeds, five where an outcome is published."""
    expected = ("vanilla", "gaussian-noise", "ant1x1", "linf-training", "binarised", "abs", "slow-vae")
    return Plan(
        "small",
        ("affine-digits", "rooms3d-32"),
        with_twins((*_SINGLE, *_COMBINED)),
        tuple(names()),
        (0, 1, 2),
        Budget(steps=4000),
        _ATTACKS,
        {name: tuple("01234") for name in expected},
    )


def _paper() -> Plan:
    """Published networks and budgets, for a cluster (Ray)."""
    return Plan(
        "paper",
        ("affine-digits", "rooms3d-32", "sprites32", "mnist"),
        with_twins((*_SINGLE, *_COMBINED)),
        tuple(names()),
        (0, 1, 2, 3, 4),
        Budget(steps=100_000, adversary=40, search=8000, iterations=50, blocks=8),
        {name: {"images": 1000, "budget": "full"} for name in ("l0", "l2", "linf")},
    )


PRESETS = {"smoke": _smoke, "small": _small, "paper": _paper}


def preset(
    name: str,
    *,
    domains: Sequence[str] = (),
    biases: Sequence[str] = (),
    scenarios: Sequence[str] = (),
    seeds: Sequence[int] = (),
    steps: int | None = None,
) -> Plan:
    """A preset by name, with other domains, biases, scenarios, seeds or steps of training where given.

    Twins are always there.
    """
    if name not in PRESETS:
        raise unknown_name("preset", name, PRESETS)
    plan = PRESETS[name]()
    if steps is not None and steps < 1:
        raise UsageError(f"steps must be at least 1, got {steps}")
    return Plan(
        plan.name,
        tuple(domains) or plan.domains,
        with_twins(biases) if biases else plan.biases,
        tuple(scenarios) or plan.scenarios,
        tuple(seeds) or plan.seeds,
        plan.budget if steps is None else replace(plan.budget, steps=steps),
        plan.settings,
        {} if seeds else {bias: own for bias, own in plan.only.items() if not biases or bias in with_twins(biases)},
    )
