"""A recursion that learns: positions first, then the size."""

from dataclasses import replace

import numpy as np
import pytest
from boxes import SPACE, Boxes
from scipy.stats import spearmanr

from unbraid.engines import InlineEngine
from unbraid.selection import Population, Range
from unbraid.selection.recursion import Recursion, recurse

ROOT = Population(
    options={"net": "mlp:width=64", "latents": 4},
    ranges={
        "learning_rate": Range((4e-3,), 1e-3, 8e-3),
        "batch_size": Range((64,), 32, 128, whole=True),
        "beta": Range((3, 4, 6), 1, 20, whole=True),
    },
    score="udr",
    size=3,
    models=3,
    images=20_000,
    generations=4,
)
RECURSION = Recursion(
    root=ROOT,
    leaf=replace(ROOT, generations=2),
    final=replace(ROOT, score="mig", size=2, models=1, images=640, generations=1),
    leaf_runs=1,
    min_size=20,
    max_depth=1,
)


def correlations(values, factors):
    """Largest absolute rank correlation of each latent with one of the factors."""
    return [max(abs(spearmanr(column, factor).statistic) for factor in factors.T) for column in values.T]


def learned(seed, out):
    tree = recurse(RECURSION, Boxes(), out=out, engine=InlineEngine(), seed=seed, progress="none")
    factors = dict(zip(SPACE.names, SPACE.factors(np.arange(len(SPACE))).T, strict=True))
    root, *later = tree.store.entries
    places = np.stack([factors["x"], factors["y"]], axis=1)
    kept = tree.reduce(root, 0).indices
    right = [
        tree.root.udr >= 0.5,
        min(correlations(root.values, places)) >= 0.8,
        all(len(np.unique(column)) == 1 for column in places[kept].T),
    ]
    # On the reduced set only the size is left to learn; a latent that is active there follows it.
    for entry in later:
        right.append(max(correlations(entry.values, factors["size"][entry.indices, None])) >= 0.8)
    print(f"seed {seed}: {right}\n{tree.text()}")
    return all(right)


@pytest.mark.slow
def test_positions_are_learned_first_frozen_by_the_reduction_and_then_the_size_is_left(tmp_path):
    assert sum(learned(seed, tmp_path / str(seed)) for seed in range(3)) >= 2
