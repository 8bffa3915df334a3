"""Trainers and scores for tests of populations: the same tasks as the real thing, in no time."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from unbraid.files import write_json
from unbraid.metrics import mig
from unbraid.reading import read_json
from unbraid.selection import Population, Range

RANGES = {
    "learning_rate": Range((1e-3, 3e-3), 1e-5, 1e-2),
    "batch_size": Range((16, 32), 8, 64, whole=True),
    "beta": Range((1, 4), 1, 10, whole=True),
}
TINY = Population(
    options={"net": "mlp:width=8,depth=1", "latents": 2},
    score="udr:images=50",
    size=3,
    models=2,
    images=96,
    generations=3,
    ranges=RANGES,
)
LONGER = replace(TINY, images=480, generations=2)

STEPS, RATE, START = 10, 0.02, 0.9


def descend(*, folder, start, member, generation, **_):
    """The toy of Jaderberg et al. (2017): maximise Q = 1.2 - |theta|^2 seeing the gradient of one coordinate only."""
    theta = [START, START] if start is None else read_json(Path(start) / "result.json")["theta"]
    for _step in range(STEPS):
        theta[member % 2] -= RATE * 2 * theta[member % 2]
    value = 1.2 - sum(x * x for x in theta)
    result = {"score": value, "steps": STEPS * (generation + 1), "runs": ["theta"], "theta": theta}
    out = Path(folder)
    out.mkdir(parents=True, exist_ok=True)
    write_json(out / "result.json", result)
    return result


def keep(*, folder, start, member, **_):
    """Weights and optimiser state that no training changes: those of the folder it goes on from. Scores 5, 4, ... 1."""
    out = Path(folder)
    (out / "model").mkdir(parents=True, exist_ok=True)
    for name in ("weights", "optimiser"):
        fresh = np.random.default_rng([member, len(name)]).bytes(64)
        (out / "model" / name).write_bytes(fresh if start is None else (Path(start) / "model" / name).read_bytes())
    result = {"score": 5.0 - member, "steps": 1, "runs": ["model"]}
    write_json(out / "result.json", result)
    return result


def crash_always(*, member, **arguments):
    """Member 0 never comes back."""
    if member == 0:
        raise MemoryError("no room")
    return descend(member=member, **arguments)


def crash_once(*, folder, **arguments):
    """Lose the first worker of member 0; everything else goes well."""
    out = Path(folder)
    out.mkdir(parents=True, exist_ok=True)
    if arguments["member"] == 0 and not (out / "crashed").exists():
        (out / "crashed").touch()
        raise MemoryError("no room")
    return descend(folder=folder, **arguments)


def constant(runs, *_, value=0.25, **__):
    """A score of its own."""
    return value + 0 * len(runs)


def nan_once(runs, *_, **__):
    """No number for the first member."""
    return float("nan") if "member-00" in str(runs[0].path) else 0.5


def broken(runs, *_, **__):
    raise RuntimeError(f"cannot score {len(runs)} models")


def random_labels(runs, data, *, seed):
    """MIG with labels that have nothing to do with the images."""
    rng = np.random.default_rng(seed)
    index = np.arange(len(data))
    return float(mig(runs[0].encode(data.images(index)), data.space.factors(rng.permutation(index))))
