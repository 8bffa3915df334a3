"""Populations that select by a score, and their recursion."""

from unbraid.selection.claims import judge
from unbraid.selection.comparison import ARMS, compare, comparison_tables, found_factors
from unbraid.selection.controller import evolve
from unbraid.selection.evolution import Best, Evolution, open_evolution
from unbraid.selection.hyperparameters import Range, default_ranges, starting_from
from unbraid.selection.labelling import Labels, label_dataset
from unbraid.selection.population import Population
from unbraid.selection.recursion import Recursion, recurse
from unbraid.selection.recursion_presets import population_preset, recursion_preset
from unbraid.selection.reduction import CannotReduce, Cut, Interval, Reduction, cut_latent, reduce_dataset
from unbraid.selection.scoring import MemberScore
from unbraid.selection.surrogates import SurrogateStore, surrogate_mig
from unbraid.selection.tree import TREE, MetaEpoch, Tree, open_tree

__all__ = [
    "ARMS",
    "TREE",
    "Best",
    "CannotReduce",
    "Cut",
    "Evolution",
    "Interval",
    "Labels",
    "MemberScore",
    "MetaEpoch",
    "Population",
    "Range",
    "Recursion",
    "Reduction",
    "SurrogateStore",
    "Tree",
    "compare",
    "comparison_tables",
    "cut_latent",
    "default_ranges",
    "evolve",
    "found_factors",
    "judge",
    "label_dataset",
    "open_evolution",
    "open_tree",
    "population_preset",
    "recurse",
    "recursion_preset",
    "reduce_dataset",
    "starting_from",
    "surrogate_mig",
]
