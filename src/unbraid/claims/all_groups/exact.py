"""Closed forms and descents: what needs no training data is the same at every scale."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from unbraid.claims.cells import CellGroup, Work
from unbraid.claims.group import Recipe

__all__ = ["EXACT", "joint_tables"]

_HERE = "unbraid.claims.all_groups.exact"
ALPHA = float(np.sin(np.pi / 8) ** 2)
"""Weight of the Householder matrix that turns the plane by 45 degrees and mirrors it."""


def impossibility(place: Path) -> list[dict[str, Any]]:
    """A bijection that keeps the uniform law and mixes both coordinates; a decoder behind its inverse stays."""
    from unbraid.data import load
    from unbraid.metrics import mig
    from unbraid.objectives import BetaVAE
    from unbraid.theory import bijection, binned_sources, check, entangle, sample_marginals
    from unbraid.training import train

    f = bijection(2, matrix="householder", alpha=ALPHA, marginals="uniform", seed=0)
    sources = sample_marginals(f, 10_000, 0)
    factors = binned_sources(f, sources)
    found = check(f, sources)
    data = load("blobs16")
    objective = BetaVAE(net="mlp:width=16", latents=2)
    run = train(objective, data, steps=5, seed=0, out=place / "decoder", progress="none")
    images = data.images(np.arange(64))
    codes = run.encode(images)
    twin = entangle(run, f=bijection(2, matrix="householder", alpha=ALPHA, marginals="normal", seed=0))
    change = np.abs(run.decode(codes).astype(int) - twin.decode(twin.encode(images)).astype(int)).max()
    return [
        {
            "mig_before": float(mig(sources, factors)),
            "mig_after": float(mig(f(sources), factors)),
            "involution_error": float(np.abs(f(f(sources)) - sources).max()),
            "inverse_error": found.inverse_error,
            "ks_p_value": float(found.p_values.min()),
            "smallest_derivative": found.smallest_derivative,
            "pixel_change": float(change),
        }
    ]


def rotation() -> list[dict[str, Any]]:
    """What turning two sparse steps by 45 degrees costs, and two normal ones."""
    from unbraid.theory import rotation_energy

    return [{"alpha": alpha, "energy": float(rotation_energy(np.pi / 4, alpha))} for alpha in (0.5, 1.0, 2.0)]


def theorems() -> list[dict[str, Any]]:
    """Twenty descents to the bound of theorem 1, 200 bases against that of theorem 2, and the worked example."""
    from unbraid.theory import (
        WORKED_EXAMPLE,
        best_noise_loss,
        minimise_noise_loss,
        orthogonal_noise_loss,
        theorem1_bound,
        theorem2_bound,
        theorem2_objective,
    )

    rng = np.random.default_rng(0)
    above, cosine = 0.0, 0.0
    for seed in range(20):
        jacobians = rng.standard_normal((2, 5, 3))
        found = minimise_noise_loss(jacobians, 4.0, seed=seed)
        above = max(above, abs(found.value - theorem1_bound(jacobians, 4.0)))
        cosine = max(cosine, found.cosine)
    root = rng.standard_normal((4, 4))
    covariance = root @ root.T
    bound = theorem2_bound(covariance, 4)
    bases = [np.linalg.qr(rng.standard_normal((4, 4)))[0] for _ in range(200)]
    better = sum(theorem2_objective(basis, covariance) < bound - 1e-9 for basis in bases)
    turn = np.sqrt(0.5) * np.array([[1.0, -1.0], [1.0, 1.0]])
    return [
        {
            "above_bound": above,
            "cosine": cosine,
            "better_bases": float(better),
            "example": best_noise_loss(WORKED_EXAMPLE),
            "example_turned": best_noise_loss(WORKED_EXAMPLE @ turn.T),
            "example_best": orthogonal_noise_loss(WORKED_EXAMPLE),
        }
    ]


def misaligned(points: int = 20_000) -> list[dict[str, Any]]:
    """The rule that ignores the last coordinate, on samples and after inner points moved out along it."""
    import torch

    from unbraid.data import Spheres
    from unbraid.invariance import misaligned_rule, shift_last_coordinate, sphere_oracle

    rows = []
    for dimensions, radii in ((100, (1.0, 10.0)), (500, (1.0, 1.3))):
        data = Spheres(d=dimensions, radius=radii[1], images=points, seed=100)
        x = torch.as_tensor(data.images(np.arange(points))).double()
        labels = torch.as_tensor(data.labels())
        rule, oracle = misaligned_rule(radii), sphere_oracle(radii)
        inner = labels == 0
        moved = x.clone()
        moved[inner] = shift_last_coordinate(x[inner], radii[1])
        before = float((rule(x) == labels).double().mean())
        after = float((rule(moved) == oracle(moved)).double().mean())
        rows.append({"d": dimensions, "before": before, "after": after})
    return rows


def joint_tables() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Tables p(y, z_s, z_n) before and after a shift."""

    def table(chance: Mapping[tuple[int, int], float], y: Any) -> np.ndarray:
        p = np.zeros((2, 2, 2))
        for (s, n), weight in chance.items():
            p[y(s, n), s, n] += weight
        return p

    even = {(s, n): 0.25 for s in range(2) for n in range(2)}

    def weighted(one: float) -> dict[tuple[int, int], float]:
        return {(s, n): 0.5 * (one if n else 1 - one) for s in range(2) for n in range(2)}

    both = np.zeros((2, 2, 2))
    both[0, 0, 0] = both[1, 1, 1] = 0.5
    loose = np.zeros((2, 2, 2))
    for y in range(2):
        loose[y, :, y] = 0.25
    return {
        "a: all equal, logits randomised": (both, loose),
        "b: logits know, nuisance reweighted": (
            table(even, lambda s, _: s),
            table(weighted(0.8), lambda s, _: s),
        ),
        "c: XOR": (table(even, lambda s, n: s ^ n), table(even, lambda s, n: s ^ n)),
        "d: XOR of a rare nuisance made even": (
            table(weighted(0.1), lambda s, n: s ^ n),
            table(weighted(0.5), lambda s, n: s ^ n),
        ),
    }


def theorem_8() -> list[dict[str, Any]]:
    """Premise, conclusion and what is missing of the theorem, for every pair of tables."""
    from unbraid.invariance import theorem8

    rows = []
    for name, (before, after) in joint_tables().items():
        found = theorem8(before, after)
        rows.append(
            {
                "table": name,
                "premise": found.premise,
                "joint": not found.missing,
                "before": found.before.y_s,
                "after": found.after.y_s,
                "nuisance_before": found.before.y_n,
                "nuisance_after": found.after.y_n,
            }
        )
    return rows


def _work(_: Mapping[str, Any], __: Sequence[int]) -> list[Work]:
    return [
        Work(
            name,
            {"question": name},
            function=f"{_HERE}:{name.replace('-', '_')}",
            trains=name == "impossibility",
        )
        for name in ("impossibility", "rotation", "theorems", "misaligned", "theorem-8")
    ]


_RECIPE = Recipe("closed forms and descents, no training", {"version": 1}, (), 2.0)

EXACT = CellGroup(
    "exact",
    "closed forms and descents",
    {"smoke": _RECIPE, "small": _RECIPE, "paper": _RECIPE},
    work=_work,
)
