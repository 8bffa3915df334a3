"""The smallest recursion that goes through all stages: a few dozen steps per population on toy images.

Encodings differ after that, nothing is learned.
"""

import dataclasses

from boxes import Boxes

from unbraid.engines import InlineEngine
from unbraid.selection import Population, Range
from unbraid.selection.recursion import Recursion, recurse


def ranges(rate=3e-3, **more):
    found = {"learning_rate": Range((rate,), rate / 2, rate * 2), "batch_size": Range((16,), 8, 32, whole=True)}
    return {**found, **more}


SMALL = Population(
    objective="beta-vae",
    options={"net": "mlp:width=16", "latents": 2},
    ranges=ranges(beta=Range((1,), 1, 2, whole=True)),
    score="udr",
    size=2,
    models=2,
    images=160,
    generations=2,
)
TINY = Recursion(
    root=SMALL,
    leaf=dataclasses.replace(SMALL, generations=1),
    final=dataclasses.replace(SMALL, score="mig", models=1),
    leaf_runs=2,
    min_size=6,
    udr_floor=0.0,
    kl_threshold=0.0,
    max_depth=2,
    least_images=48,
    prefer="largest",
)
"""Everything counts as learned, so that all stages are gone through."""


def run(recursion, out, engine=None, seed=2):
    with engine or InlineEngine() as pool:
        return recurse(recursion, Boxes(), out=out, engine=pool, seed=seed, progress="none")
