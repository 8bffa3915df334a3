"""Many runs at once: engines that carry out tasks on one machine or many, and populations that select by a score."""

from unbraid.selection.cluster import RayEngine
from unbraid.selection.controller import evolve
from unbraid.selection.engine import Engine, Outcome, Task, make_engine
from unbraid.selection.evolution import Best, Evolution, open_evolution
from unbraid.selection.hyperparameters import Range, default_ranges
from unbraid.selection.inline import InlineEngine
from unbraid.selection.population import Population
from unbraid.selection.processes import ProcessEngine
from unbraid.selection.scoring import Verdict
from unbraid.selection.source import Part

__all__ = [
    "Best",
    "Engine",
    "Evolution",
    "InlineEngine",
    "Outcome",
    "Part",
    "Population",
    "ProcessEngine",
    "Range",
    "RayEngine",
    "Task",
    "Verdict",
    "default_ranges",
    "evolve",
    "make_engine",
    "open_evolution",
]
