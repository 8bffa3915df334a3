"""A population: its settings, its members, and what one round of selection makes of them.

Population based training (Jaderberg et al., 2017) as Estermann, Marks & Yanik (2020) use it for VAEs: in synchronous
generations every member trains on equally many images and is scored; then the worst take over weights and
hyperparameters of the best and explore. All of it here is plain bookkeeping, without training or files.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, Literal

from unbraid import objectives
from unbraid.data import Purpose, counter_rng
from unbraid.errors import UsageError
from unbraid.selection.exploit import ExploitName, best_first, replacements
from unbraid.selection.hyperparameters import FACTORS, Hyperparameters, Range, default_ranges, draw, explore

__all__ = ["Member", "Population", "Replacement", "Result", "Weights", "converged", "founders", "select", "survivors"]

Weights = tuple[int, int]
"""Generation and member in whose folder weights lie."""


@dataclass(frozen=True)
class Population:
    """How a population is trained and selected. The default numbers are those of the paper for labels."""

    objective: str = "beta-tcvae"
    """What every member minimises."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Options of the objective that stay fixed, such as the network."""
    score: str = "mig"
    """What decides: mig, dci, udr, or module:function; see :mod:`unbraid.selection.scoring`."""
    size: int = 56
    """Members at the start."""
    models: int = 1
    """Models per member: equal hyperparameters and batches, different initial weights. UDR needs at least two."""
    images: int | None = None
    """Images every model sees per generation (otherwise as many as the data set has)."""
    generations: int = 28
    """Generations at most."""
    halving: int = 1
    """After the first generation only one in so many members goes on."""
    exploit: ExploitName = "truncation"
    """Who takes over whom: truncation, tournament or t-test."""
    fraction: float = 0.2
    """Share of members that truncation replaces, rounded up."""
    factors: tuple[float, ...] = FACTORS
    """What explore multiplies hyperparameters by."""
    resample: float = 0.0
    """Probability that explore draws a hyperparameter anew instead."""
    ranges: Mapping[str, Range] | None = None
    """What is searched (otherwise learning rate, batch size and the objective's strength)."""
    patience: int | None = None
    """Stop when the best score has changed by less than ``threshold`` for so many generations in a row."""
    threshold: float = 0.005
    retries: int = 10
    """How often a member that diverges tries again with other random numbers before it scores 0."""
    together: Literal["auto", "stacked", "sequential"] = "auto"
    """How the models of a member train: see :func:`unbraid.training.train_together`."""
    precision: str = "auto"
    trainer: str = "unbraid.selection.members:train_member"
    """The function that trains and scores one member for one generation."""

    def __post_init__(self) -> None:
        for name, least in (("size", 1), ("models", 1), ("generations", 1), ("halving", 1), ("retries", 0)):
            if getattr(self, name) < least:
                raise UsageError(f"{name} must be at least {least}, got {getattr(self, name)}")
        if self.size > 1_000_000:
            raise UsageError(f"size must be at most 1,000,000, got {self.size}")
        if not 0 < self.fraction <= 0.5:
            raise UsageError(f"fraction must lie above 0 and be at most 0.5, got {self.fraction}")
        if self.size // self.halving < 1:
            raise UsageError(f"halving {self.halving} leaves none of {self.size} members")
        if self.score.partition(":")[0] == "udr" and self.models < 2:
            raise UsageError(f"UDR compares the models of a member: models must be at least 2, got {self.models}")
        for name, value in (("images", self.images), ("patience", self.patience)):
            if value is not None and value < 1:
                raise UsageError(f"{name} must be at least 1, got {value}")

    @cached_property
    def searched(self) -> Mapping[str, Range]:
        """The hyperparameters that differ between members."""
        return default_ranges(objectives.get(self.objective)) if self.ranges is None else self.ranges

    def make_objective(self, values: Mapping[str, float]) -> objectives.Objective:
        """The objective with a member's hyperparameters."""
        own = {name: value for name, value in values.items() if name != "batch_size"}
        return objectives.make(self.objective, {**self.options, **own})


@dataclass(frozen=True)
class Member:
    """One member between two generations."""

    id: int
    hyperparameters: Hyperparameters
    weights: Weights | None = None
    """Where it goes on from; ``None`` before its first successful generation."""
    steps: int = 0
    """Training steps behind these weights."""
    scores: tuple[float, ...] = ()
    """Scores of all generations behind these weights, its own and its donors'."""
    schedule: tuple[Hyperparameters, ...] = ()
    """Hyperparameters of the same generations."""


@dataclass(frozen=True)
class Result:
    """What became of a member in one generation."""

    member: int
    hyperparameters: Hyperparameters
    score: float
    per_model: tuple[float, ...] = ()
    start: Weights | None = None
    """The weights it began with."""
    steps: int = 0
    """Training steps behind its weights at the end."""
    runs: tuple[str, ...] = ()
    """Its models' run folders, relative to the member's; none if it diverged until the end."""
    retries: int = 0
    error: str | None = None
    """Why the score is 0, if something went wrong."""
    diverged: bool = False


@dataclass(frozen=True)
class Replacement:
    """One member taken over by another after a generation."""

    loser: int
    winner: int
    old: Hyperparameters
    """The loser's hyperparameters before ..."""
    new: Hyperparameters
    """... and after: the winner's, explored."""
    loser_score: float
    winner_score: float


def founders(population: Population, seed: int) -> list[Member]:
    """The members of the first generation."""
    return [
        Member(number, draw(population.searched, counter_rng(seed, number, Purpose.FOUND)))
        for number in range(population.size)
    ]


def survivors(population: Population, results: Sequence[Result], generation: int) -> list[int]:
    """Who goes on after a generation: all, but after the first only the best ``size // halving``, in order of id."""
    if generation > 0 or population.halving == 1:
        return [result.member for result in results]
    order = best_first([result.score for result in results])
    return sorted(results[position].member for position in order[: population.size // population.halving])


def select(
    population: Population, members: Sequence[Member], generation: int, seed: int
) -> tuple[list[Member], list[Replacement]]:
    """Exploit and explore, once: the members of the next generation, and who was taken over by whom."""
    rng = counter_rng(seed, generation, Purpose.SELECT)
    pairs = replacements(population.exploit, [member.scores for member in members], rng, fraction=population.fraction)
    after, log = list(members), []
    for loser, winner in pairs:
        old, donor = members[loser], members[winner]
        new = explore(
            donor.hyperparameters,
            population.searched,
            rng,
            factors=population.factors,
            resample=population.resample,
        )
        after[loser] = replace(donor, id=old.id, hyperparameters=new)
        log.append(Replacement(old.id, donor.id, old.hyperparameters, new, old.scores[-1], donor.scores[-1]))
    return after, log


def grown(member: Member, result: Result, generation: int) -> Member:
    """A member after a generation; one that failed keeps the weights it began with."""
    known = replace(
        member,
        scores=(*member.scores, result.score),
        schedule=(*member.schedule, result.hyperparameters),
    )
    return replace(known, weights=(generation, member.id), steps=result.steps) if result.runs else known


def converged(best: Sequence[float], threshold: float = 0.005, patience: int = 6) -> bool:
    """Whether the best score changed by less than ``threshold`` in each of the last ``patience`` generations.

    >>> best = [0.5, 0.6, 0.61, 0.612, 0.613, 0.613, 0.614, 0.614]
    >>> converged(best), converged([*best, 0.614]), converged([*best, 0.624])
    (False, True, False)
    """
    changes = [abs(after - before) for before, after in pairwise(best)]
    return len(changes) >= patience and all(change < threshold for change in changes[-patience:])
