"""A benchmark without training: models whose way of failing is known, asked about real splits."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from unbraid.data import SPLITS, load, split
from unbraid.generalization import Answers, SplitFacts, clamp, space_of, targets, write_predictions
from unbraid.generalization.drawing import draw_split
from unbraid.generalization.evaluate import Asked
from unbraid.study.generalization import Model, Trained

MODELS = (
    (Model("BetaVAE", "read-out", "BetaVAE"), 0.35),
    (Model("SlowVAE", "read-out", "SlowVAE"), 0.2),
    (Model("MLP", "supervised", "MLP"), 0.3),
    (Model("CNN", "supervised", "CNN"), 0.05),
    (Model("ResNet, small", "supervised"), 0.1),
)
"""With the standard deviation of their errors, in standard deviations of a factor."""


def toy_runs(folder: Path, data: str, *, seeds: int = 3, images: int = 800, kinds=SPLITS) -> list[Trained]:
    """Runs of models that stay inside the seen range, each with its own noise, and lose corners of compositions."""
    whole = load(data)
    space, runs = space_of(whole), []
    for kind in kinds:
        halves = split(whole, kind)
        facts = SplitFacts.of(halves)
        places = draw_split(halves, images, 400, 100, 0)
        sides = (halves.test, halves.train, halves.test)
        for number, (model, noise) in enumerate(MODELS):
            for seed in range(seeds):
                rng = np.random.default_rng((SPLITS.index(kind), number, seed))
                asked = []
                for where, side in zip(places, sides, strict=True):
                    factors = side.factors(where)
                    said = clamp(factors, space, halves.unseen)
                    if kind == "composition" and side is halves.test:
                        said = 0.5 + 0.3 * (targets(factors, space) - 0.5)
                    said = said + 0.3 * noise * rng.standard_normal(said.shape)
                    asked.append(Asked(said, factors, side.origin(where)))
                index = len(runs) + 1000 * (data != "mini-sprites")
                path = folder / f"{data}-{index}.parquet"
                write_predictions(path, Answers(facts, asked[0], asked[1], asked[2] if len(asked[2].image) else None))
                dci = None if model.kind == "supervised" else 0.9 - noise + 0.05 * rng.random()
                runs.append(Trained(index, data, kind, model, None, seed, path, dci))
    return runs
