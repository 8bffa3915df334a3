"""The metric lab: codes whose quality is known, through every score (after Zaidi, Boilard, Gagnon & Carbonneau, 2020).

Eight factors are uniform on [0, 1] and cut into ten values; codes are functions of them. What a good score does along
each experiment follows from what it claims to measure, so every score can be held against its own claim.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from inspect import signature
from typing import Any

import numpy as np

from unbraid.errors import UsageError, unknown_name
from unbraid.metrics._registry import METRICS, Metric, choose
from unbraid.metrics._remember import remembering
from unbraid.metrics._score import Score, check_seed, generator

__all__ = ["EXPERIMENTS", "NOTIONS", "Experiment", "Lab", "lab"]

FACTORS, VALUES = 8, 10
QUICK = ("mig", "modularity", "mcc", "irs", "mig_sup", "jemmig", "dcimig", "r2", "med")
"""Scores that take seconds; the others take minutes each."""

Step = tuple[str, np.ndarray, np.ndarray]
"""What the step is called, codes ``[n, d]``, factors ``[n, K]``."""


@dataclass(frozen=True)
class Experiment:
    """A row of codes that get worse, or do not, in a known way."""

    title: str
    about: str
    steps: Callable[[np.ndarray, np.random.Generator], Iterator[Step]]
    """From factors in [0, 1] to the codes of each step."""
    demands: Mapping[str, str]
    """By notion: whether a score ``stays`` at what a perfect code gets, ``falls`` to what an empty one gets in even
    steps, or is ``free``."""


def _cut(factors: np.ndarray) -> np.ndarray:
    return np.minimum((factors * VALUES).astype(np.int64), VALUES - 1)


def _noise(v: np.ndarray, rng: np.random.Generator) -> Iterator[Step]:
    u = rng.random(v.shape)
    for a in (0, 0.2, 0.4, 0.6, 0.8, 1):
        yield f"{a:g}", (1 - a) * v + a * u, _cut(v)


def _mixing(v: np.ndarray, _: np.random.Generator) -> Iterator[Step]:
    for a in (0, 0.1, 0.2, 0.3, 0.4, 0.5):
        yield f"{a:g}", (1 - a) * v + a * np.roll(v, -1, axis=1), _cut(v)


def _bending(v: np.ndarray, _: np.random.Generator) -> Iterator[Step]:
    base, centre = 1000.0, 0.25
    for s in (0, 0.2, 0.4, 0.6, 0.8, 1):
        width = 2 * np.arctan(base ** (s - centre) / 2)
        yield f"{s:g}", base ** (centre - s) * np.tan(width * (v - 0.5)) + 0.5, _cut(v)


def _copies(v: np.ndarray, _: np.random.Generator) -> Iterator[Step]:
    for copies in (1, 2, 4):
        some = v[:, : FACTORS // copies]
        yield f"{copies}", np.tile(some, copies), _cut(some)


def _unseen(v: np.ndarray, _: np.random.Generator) -> Iterator[Step]:
    for known in (8, 4, 2):
        yield f"{known}", v, _cut(v[:, :known])


EXPERIMENTS = {
    "noise": Experiment(
        "Noise",
        "(1 − a) v + a u, u uniform: from the factors themselves to nothing",
        _noise,
        {"modularity": "falls", "compactness": "falls", "explicitness": "falls"},
    ),
    "mixing": Experiment(
        "Mixing",
        "(1 − a) v_i + a v_(i+1): from one factor per code to two in even parts",
        _mixing,
        {"modularity": "falls", "compactness": "falls", "explicitness": "free"},
    ),
    "bending": Experiment(
        "Bending",
        "a monotone curve of each factor, ever steeper at both ends: nothing is lost or mixed",
        _bending,
        {"modularity": "stays", "compactness": "stays", "explicitness": "stays"},
    ),
    "copies": Experiment(
        "Copies",
        "every factor in one, two and four codes",
        _copies,
        {"modularity": "stays", "compactness": "falls", "explicitness": "stays"},
    ),
    "unseen": Experiment(
        "Unseen factors",
        "eight codes, one per factor, of which eight, four and two factors are known",
        _unseen,
        {"modularity": "stays", "compactness": "stays", "explicitness": "stays"},
    ),
}

NOTIONS = {
    **dict.fromkeys(("mig", "sap", "disentanglement_score", "jemmig"), "compactness"),
    **dict.fromkeys(("explicitness", "r2", "downstream", "dci_es"), "explicitness"),
}
"""What a score claims to measure, where it is not modularity: that a code serves one factor."""


@dataclass(frozen=True)
class Lab:
    """What scores said of all experiments."""

    values: dict[str, dict[str, np.ndarray]]
    """By metric and experiment, one per step."""
    ceilings: dict[str, float]
    """What a perfect code gets: the ceiling of the score, or where it has none its value."""
    empty: dict[str, float]
    """What codes of noise get."""
    steps: dict[str, tuple[str, ...]]
    settings: dict[str, Any]

    def shares(self, metric: str, experiment: str) -> np.ndarray:
        """Values so that an empty code is 0 and a perfect one 1."""
        reach = self.ceilings[metric] - self.empty[metric]
        if abs(reach) < 1e-9:
            return np.full(len(self.steps[experiment]), np.nan)
        return (self.values[metric][experiment] - self.empty[metric]) / reach

    def demanded(self, metric: str, experiment: str) -> np.ndarray | None:
        """What the notion of the score demands of each step, as a share; ``None`` where it is silent."""
        demand = EXPERIMENTS[experiment].demands[NOTIONS.get(metric, "modularity")]
        steps = len(self.steps[experiment])
        return {"stays": np.ones(steps), "falls": np.linspace(1, 0, steps), "free": None}[demand]

    def deviation(self, metric: str, experiment: str) -> float:
        """Mean distance of the shares from what is demanded; ``nan`` where nothing is, or the score never moves."""
        demanded = self.demanded(metric, experiment)
        return float("nan") if demanded is None else float(np.abs(self.shares(metric, experiment) - demanded).mean())


def lab(
    metrics: str | Iterable[str] = QUICK,
    *,
    experiments: Iterable[str] = tuple(EXPERIMENTS),
    points: int = 20_000,
    seed: int = 0,
    options: Mapping[str, Mapping[str, Any]] | None = None,
    progress: Callable[[str], None] | None = None,
) -> Lab:
    """Every score on every step of every experiment; scores that bin codes use as many bins as factors have values.

    ``metrics`` are names of scores of codes and factors, own ones too, or ``"all"``. A score's deviation from what its
    notion demands is one number per experiment: 0 is perfect.

    >>> found = lab(["mig"], experiments=["noise"], points=2_000)
    >>> found.steps["noise"], bool(found.values["mig"]["noise"][0] > 0.9)
    (('0', '0.2', '0.4', '0.6', '0.8', '1'), True)
    """
    chosen = _chosen(metrics)
    wanted = list(dict.fromkeys(experiments))
    for name in wanted:
        if name not in EXPERIMENTS:
            raise unknown_name("experiment", name, EXPERIMENTS)
    if isinstance(points, bool) or not isinstance(points, int) or points < 100:
        raise UsageError(f"points must be a whole number from 100 on, got {points!r}")
    v = generator(check_seed(seed)).random((points, FACTORS))
    say = progress or (lambda _: None)
    values: dict[str, dict[str, np.ndarray]] = {entry.name: {} for entry in chosen}
    ceilings: dict[str, float] = {}
    empty: dict[str, float] = {}
    steps: dict[str, tuple[str, ...]] = {}
    for name in dict.fromkeys(["noise", *wanted]):  # its ends say what perfect and empty codes get
        made = list(EXPERIMENTS[name].steps(v, np.random.default_rng((seed, 1))))
        found: dict[str, list[Score]] = {entry.name: [] for entry in chosen}
        for word, codes, factors in made:
            say(f"{EXPERIMENTS[name].title.lower()} {word}")
            with remembering():
                for entry in chosen:
                    own = {**_bins(entry), **(options or {}).get(entry.name, {})}
                    found[entry.name].append(entry.score(codes, factors, seed=seed, options=own))
        if name == "noise":
            ceilings = {m: s[0].ceiling if np.isfinite(s[0].ceiling) else s[0].value for m, s in found.items()}
            empty = {m: s[-1].value for m, s in found.items()}
        if name in wanted:
            steps[name] = tuple(word for word, _, _ in made)
            for metric, scores in found.items():
                values[metric][name] = np.array([score.value for score in scores])
    return Lab(values, ceilings, empty, steps, {"points": points, "factors": FACTORS, "values": VALUES, "seed": seed})


def _chosen(metrics: str | Iterable[str]) -> list[Metric]:
    found = choose(metrics, ("sample", "train and test"))
    for entry in found:
        if entry.needs not in ("sample", "train and test"):
            raise UsageError(f"{entry.name} is no score of codes and factors, which the lab's codes are; leave it out")
    if not found:
        raise UsageError(f"metrics must name at least one score, such as {', '.join(METRICS)}")
    return found


def _bins(entry: Metric) -> dict[str, int]:
    return {"bins": VALUES} if "bins" in signature(entry.function).parameters else {}
