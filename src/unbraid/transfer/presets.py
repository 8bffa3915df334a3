"""Matrices ready to run: two minutes, an evening on two cores, a cluster."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

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
    "gaussian-noise+binarised", "ant1x1+stylised", "abs+gaussian-noise", "slow-vae+gaussian-noise",
    "slow-vae+verified", "gaussian-noise+linf-training",
)  # fmt: skip
_ATTACKED = ("l0", "l2", "linf")
_ROOMS = (
    "gaussian-noise", "ant1x1", "linf-training", "stylised", "coordinates", "beta-vae", "slow-vae", "pcl", "abs",
)  # fmt: skip
"""What is trained on rooms in a small matrix."""


def _smoke() -> Plan:
    """Two minutes of one core: whether everything works; with one seed nothing is decided."""
    return Plan(
        "smoke",
        ("affine-digits",),
        with_twins(("gaussian-noise", "binarised")),
        ("iid", "noise", "gaussian-distance", "linf"),
        (0,),
        Budget(steps=400, rate=2e-3, drop=0.7),
        {"all": {"images": 100}, "linf": {"images": 20, "budget": "smoke"}},
    )


def _small() -> Plan:
    """An evening of two cores: every bias on digits, nine on rooms, three seeds."""
    everything = with_twins((*_SINGLE, *_COMBINED))
    images = {"iid": 1000, "identity": 1000, "gaussian-distance": 100, "few-labels": 500, "confidence": 100}
    images |= dict.fromkeys(("composition", "interpolation", "extrapolation"), 1000)
    images |= dict.fromkeys(("noise", "blur", "weather", "digital", "strokes", "geometry"), 200)
    settings: dict[str, dict[str, Any]] = {name: {"images": count} for name, count in images.items()}
    settings |= {name: {"images": 40, "budget": "light"} for name in _ATTACKED}
    settings["few-labels"]["steps"] = 200
    settings["distal"] = {"images": 20, "steps": 50}
    settings["invariance"] = {"images": 20, "steps": 100}
    settings["metamers"] = {"images": 20}
    budget = Budget(steps=1500, warmup=0.6, rate=2e-3, encoder_rate=1e-3, drop=0.7)
    budget = replace(budget, drawing=4.0, anneal=0.05, search=200, iterations=5)
    budget = replace(budget, encoding=4.0, latents=20, autoencoder="broadcast", weighed=True)
    return Plan(
        "small",
        ("affine-digits", "rooms3d-32"),
        everything,
        tuple(names()),
        (0, 1, 2),
        budget,
        settings,
        absent={"rooms3d-32": tuple(name for name in everything if name not in with_twins(_ROOMS))},
        unsplit=("linf-training", "l2-training", *(name for name in _COMBINED if not name.startswith("slow-vae"))),
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
        {name: {"images": 1000, "budget": "full"} for name in _ATTACKED},
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
        {} if biases else {domain: found for domain, found in plan.absent.items() if not domains or domain in domains},
        tuple(bias for bias in plan.unsplit if not biases or bias in with_twins(biases)),
    )
