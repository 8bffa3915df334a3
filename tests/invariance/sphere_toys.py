"""A small bijective classifier of small spheres, trained in a second."""

from functools import cache

import numpy as np
import torch

from unbraid.data import load, make_stream
from unbraid.nets.bijections import FiRevNet
from unbraid.objectives import FiRevNetObjective
from unbraid.training import Loop, problem_of

SIZE, RADII = 30, (1.0, 10.0)


def points(n, seed=0, d=SIZE):
    data = load("spheres", d=d, images=n, seed=seed)
    return torch.tensor(data.images(np.arange(n))), torch.tensor(data.labels())


@cache
def trained(steps=150, rate=1e-3, width=32, d=SIZE, images=20_000, seed=0) -> FiRevNet:
    data = load("spheres", d=d, images=images)
    objective = FiRevNetObjective(net=f"fc:width={width}", optimizer="adam", learning_rate=rate)
    model = objective.build(problem_of(data), torch.Generator().manual_seed(seed))
    loop = Loop(objective, model, make_stream(objective.needs, data, 128, seed), seed, torch.device("cpu"), "fp32")
    for _ in range(steps):
        loop.advance()
    return model.net.eval().requires_grad_(False)
