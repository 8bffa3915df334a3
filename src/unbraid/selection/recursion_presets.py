"""Recursions: ``smoke`` to see that it works, ``small`` and ``rooms`` for two cores, ``paper`` for a cluster."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from unbraid.errors import unknown_name
from unbraid.selection.hyperparameters import Range
from unbraid.selection.population import Population
from unbraid.selection.recursion import Recursion

__all__ = ["PRESETS", "population_preset", "recursion_preset"]

PRESETS = {
    "smoke": "sprites16:shape=0,orientation=::8,x=::4,y=::4",
    "small": "sprites16:orientation=::2,x=::4,y=::4",
    "rooms": "rooms3d:size=16,floor_hue=:5,wall_hue=:5,object_hue=:5,orientation=::2",
    "paper": "dsprites",
}
"""The data set of each preset."""
REFERENCE_GENERATIONS = 28


def recursion_preset(name: str) -> tuple[Recursion, str]:
    """A preset's recursion and data set.

    ``smoke`` takes a minute of one core and shows every stage, trained too little to learn much. ``small`` takes
    about eight: dSprites' geometry at 16 x 16 on 8 x 8 places, fully connected networks, three models per member.
    ``rooms`` takes about half an hour: three hues, orientation and size of an object can be found, one after the other,
    by populations of eight and three leaf-runs. Half of the circle of hues is a line, which one latent can follow.
    ``paper`` has the published sizes, network and objective; one seed costs as much as one or two hundred runs of the
    large study.

    Images of 16 x 16 carry fewer nats per factor than those of 64 x 64: the small presets call a latent active from
    0.5 and 0.7 nats on, and search strengths up to 8; ``rooms`` weighs the reconstruction as at 64 x 64 instead and has
    the published 1 nat. Their sets are small too, so the largest reduced set comes first.
    """
    if name not in PRESETS:
        raise unknown_name("preset", name, PRESETS)
    if name == "paper":
        published: dict[str, Any] = {"objective": "beta-tcvae-sampled", "options": {"net": "conv-bn", "latents": 10}}
        sizes = Recursion()
        recursion = replace(sizes, root=replace(sizes.root, **published), final=replace(sizes.final, **published))
        return recursion, PRESETS[name]
    ranges = {
        "learning_rate": Range((1e-3, 2e-3, 4e-3), 1e-4, 1e-2),
        "batch_size": Range((64, 128, 256), 32, 512, whole=True),
        "beta": Range((1, 2, 3, 4, 6, 8), 1, 50, whole=True),
    }
    options = {"net": "mlp:width=128", "latents": 6}
    common = Population(options=options, ranges=ranges)
    if name == "smoke":
        root = replace(common, score="udr", size=3, models=2, images=20_000, generations=4, patience=2)
        return (
            Recursion(
                root=root,
                leaf=replace(root, generations=2),
                final=replace(common, size=3, images=20_000, generations=4),
                leaf_runs=1,
                min_size=20,
                kl_threshold=0.5,
                max_depth=2,
                least_images=10_000,
                prefer="largest",
            ),
            PRESETS[name],
        )
    if name == "rooms":
        searched = {
            "batch_size": Range((32, 64, 128), 16, 256, whole=True),
            "beta": Range((1, 2, 4, 6, 8, 12, 16), 1, 100, whole=True),
        }
        common = Population(
            options={"net": "mlp:width=128", "latents": 8, "reference_size": 64}, ranges={**ranges, **searched}
        )
        root = replace(common, score="udr", size=8, models=3, images=40_000, generations=6, patience=3)
        return (
            Recursion(
                root=root,
                leaf=replace(root, generations=5),
                final=replace(common, size=8, images=40_000, generations=8),
                leaf_runs=3,
                min_size=24,
                max_depth=3,
                least_images=15_000,
                prefer="largest",
            ),
            PRESETS[name],
        )
    root = replace(common, score="udr", size=4, models=3, images=50_000, generations=6, patience=3)
    return (
        Recursion(
            root=root,
            leaf=replace(root, generations=5),
            final=replace(common, size=5, images=50_000, generations=8),
            leaf_runs=1,
            min_size=60,
            kl_threshold=0.7,
            max_depth=3,
            least_images=15_000,
            prefer="largest",
        ),
        PRESETS[name],
    )


def population_preset(name: str, score: str) -> tuple[Population, str]:
    """A preset's population without recursion, and its data set.

    Selected by UDR it is the recursion's root, by any other score its final population. The published reference
    that is selected by true labels (PBT-S) has 28 generations instead of the 17 at the end of a recursion.

    >>> population, data = population_preset("paper", "mig:labels=1000")
    >>> population.size, population.halving, population.generations, data
    (56, 2, 28, 'dsprites')
    """
    recursion, data = recursion_preset(name)
    if score.partition(":")[0] == "udr":
        return replace(recursion.root, score=score), data
    length = REFERENCE_GENERATIONS if name == "paper" else recursion.final.generations
    return replace(recursion.final, score=score, generations=length), data
