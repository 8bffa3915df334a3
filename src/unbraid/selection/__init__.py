"""Populations that select by a score, and their recursion."""

from unbraid.selection.controller import evolve
from unbraid.selection.evolution import Best, Evolution, open_evolution
from unbraid.selection.hyperparameters import Range, default_ranges
from unbraid.selection.labelling import Labels, label_dataset
from unbraid.selection.population import Population
from unbraid.selection.recursion import Recursion, recurse
from unbraid.selection.reduction import CannotReduce, Reduction, reduce_dataset
from unbraid.selection.scoring import MemberScore
from unbraid.selection.surrogates import SurrogateStore, surrogate_mig
from unbraid.selection.tree import Tree, open_tree

__all__ = [
    "Best",
    "CannotReduce",
    "Evolution",
    "Labels",
    "MemberScore",
    "Population",
    "Range",
    "Recursion",
    "Reduction",
    "SurrogateStore",
    "Tree",
    "default_ranges",
    "evolve",
    "label_dataset",
    "open_evolution",
    "open_tree",
    "recurse",
    "reduce_dataset",
    "surrogate_mig",
]
