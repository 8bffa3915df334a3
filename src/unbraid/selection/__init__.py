"""Populations that select by a score, and their recursion.

Names are imported when first used: what a score is called can be looked up without torch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from unbraid.lazy import lazily

if TYPE_CHECKING:
    from unbraid.selection.claims import judge as judge
    from unbraid.selection.comparison import ARMS as ARMS
    from unbraid.selection.comparison import compare as compare
    from unbraid.selection.comparison import comparison_tables as comparison_tables
    from unbraid.selection.comparison import found_factors as found_factors
    from unbraid.selection.controller import evolve as evolve
    from unbraid.selection.evolution import Best as Best
    from unbraid.selection.evolution import Evolution as Evolution
    from unbraid.selection.evolution import open_evolution as open_evolution
    from unbraid.selection.hyperparameters import Range as Range
    from unbraid.selection.hyperparameters import default_ranges as default_ranges
    from unbraid.selection.hyperparameters import starting_from as starting_from
    from unbraid.selection.labelling import Labels as Labels
    from unbraid.selection.labelling import label_dataset as label_dataset
    from unbraid.selection.population import Population as Population
    from unbraid.selection.recursion import Recursion as Recursion
    from unbraid.selection.recursion import recurse as recurse
    from unbraid.selection.recursion_presets import population_preset as population_preset
    from unbraid.selection.recursion_presets import recursion_preset as recursion_preset
    from unbraid.selection.reduction import CannotReduce as CannotReduce
    from unbraid.selection.reduction import Cut as Cut
    from unbraid.selection.reduction import Interval as Interval
    from unbraid.selection.reduction import Reduction as Reduction
    from unbraid.selection.reduction import cut_latent as cut_latent
    from unbraid.selection.reduction import reduce_dataset as reduce_dataset
    from unbraid.selection.scoring import MemberScore as MemberScore
    from unbraid.selection.scoring import find_score as find_score
    from unbraid.selection.surrogates import SurrogateStore as SurrogateStore
    from unbraid.selection.surrogates import surrogate_mig as surrogate_mig
    from unbraid.selection.tree import TREE as TREE
    from unbraid.selection.tree import MetaEpoch as MetaEpoch
    from unbraid.selection.tree import Tree as Tree
    from unbraid.selection.tree import open_tree as open_tree

_HOMES = {
    "judge": "claims",
    "ARMS": "comparison",
    "compare": "comparison",
    "comparison_tables": "comparison",
    "found_factors": "comparison",
    "evolve": "controller",
    "Best": "evolution",
    "Evolution": "evolution",
    "open_evolution": "evolution",
    "Range": "hyperparameters",
    "default_ranges": "hyperparameters",
    "starting_from": "hyperparameters",
    "Labels": "labelling",
    "label_dataset": "labelling",
    "Population": "population",
    "Recursion": "recursion",
    "recurse": "recursion",
    "population_preset": "recursion_presets",
    "recursion_preset": "recursion_presets",
    "CannotReduce": "reduction",
    "Cut": "reduction",
    "Interval": "reduction",
    "Reduction": "reduction",
    "cut_latent": "reduction",
    "reduce_dataset": "reduction",
    "MemberScore": "scoring",
    "SurrogateStore": "surrogates",
    "surrogate_mig": "surrogates",
    "TREE": "tree",
    "MetaEpoch": "tree",
    "Tree": "tree",
    "open_tree": "tree",
    "find_score": "scoring",
}

__all__ = sorted(_HOMES)

__getattr__ = lazily(__name__, _HOMES)
