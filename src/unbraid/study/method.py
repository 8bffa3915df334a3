"""What a run of a study trains: its objective, on single images or on pairs."""

from __future__ import annotations

import dataclasses

from unbraid import objectives
from unbraid.errors import UsageError
from unbraid.options import Named
from unbraid.study.grid import RunSpec

__all__ = ["batch_size_of", "objective_of"]


def objective_of(spec: RunSpec) -> objectives.Objective:
    """The objective of a run; one on pairs is told how the study makes them, one on single images needs not know."""
    objective = objectives.make(spec.objective, dict(spec.options))
    if not spec.pairs or not _on_pairs(objective):
        return objective
    if "pairs" not in {field.name for field in dataclasses.fields(objective)}:
        raise UsageError(
            f"objective {spec.objective!r} has no option 'pairs', so {spec.data!r} cannot tell it how to make pairs; "
            "derive it from unbraid.objectives.pairs.PairObjective"
        )
    if "pairs" in spec.options:
        raise UsageError(f"pairs of {spec.objective!r} are given twice: as its option, and with the data {spec.data!r}")
    return objectives.make(spec.objective, {**spec.options, "pairs": spec.pairs})


def batch_size_of(spec: RunSpec, objective: objectives.Objective) -> int:
    """The study's batch size counts images; two of them are a pair."""
    if not _on_pairs(objective):
        return spec.batch_size
    if spec.batch_size % 2:
        raise UsageError(
            f"batch_size must be even for {spec.objective!r}, which trains on pairs; got {spec.batch_size}"
        )
    return spec.batch_size // 2


def _on_pairs(objective: objectives.Objective) -> bool:
    return Named.read(objective.needs).name in ("pairs", "sequences")
