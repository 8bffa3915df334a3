"""Does a model know the factors where it was not trained? Splits, scores, baselines and how it fails.

Schott, von Kuegelgen, Traeuble, Gehler, Russell, Bethge, Schoelkopf, Locatello, Brendel (2022), Visual representation
learning does not generalize strongly within the same domain, ICLR.
"""

from unbraid.generalization.analyses import attribution, inside_seen, modularity, one_unseen, similarity, towards_mean
from unbraid.generalization.baselines import BASELINES, baseline, clamp, marginals, mean_target, predict_baseline
from unbraid.generalization.beyond import error_parts, trust_range
from unbraid.generalization.codes import Codes
from unbraid.generalization.composition import Composition, Recombination
from unbraid.generalization.curves import gap_curve, gap_splits, gap_values, predicted_by_value
from unbraid.generalization.evaluate import Answers, Asked, evaluate, predict_part
from unbraid.generalization.facts import SplitFacts
from unbraid.generalization.measure import Generalization, predictions_of
from unbraid.generalization.oracle import oracle_codes, oracle_readout
from unbraid.generalization.predictions import Predictions, read_predictions, write_predictions
from unbraid.generalization.published import Cell, published, published_data, published_models
from unbraid.generalization.readouts import READOUTS, Readout, fit_readout
from unbraid.generalization.recipes import ESTIMATORS, RECIPES, Recipe, Selection, Training, get_recipe
from unbraid.generalization.recombined import block_shares
from unbraid.generalization.scores import Scores, grid_mean, grid_variance, r2, space_of, targets
from unbraid.generalization.selection import Selected, dci_on_train, few_valued, select_by_dci
from unbraid.generalization.trained import split_of

__all__ = [
    "BASELINES",
    "ESTIMATORS",
    "READOUTS",
    "RECIPES",
    "Answers",
    "Asked",
    "Cell",
    "Codes",
    "Composition",
    "Generalization",
    "Predictions",
    "Readout",
    "Recipe",
    "Recombination",
    "Scores",
    "Selected",
    "Selection",
    "SplitFacts",
    "Training",
    "attribution",
    "baseline",
    "block_shares",
    "clamp",
    "dci_on_train",
    "error_parts",
    "evaluate",
    "few_valued",
    "fit_readout",
    "gap_curve",
    "gap_splits",
    "gap_values",
    "get_recipe",
    "grid_mean",
    "grid_variance",
    "inside_seen",
    "marginals",
    "mean_target",
    "modularity",
    "one_unseen",
    "oracle_codes",
    "oracle_readout",
    "predict_baseline",
    "predict_part",
    "predicted_by_value",
    "predictions_of",
    "published",
    "published_data",
    "published_models",
    "r2",
    "read_predictions",
    "select_by_dci",
    "similarity",
    "space_of",
    "split_of",
    "targets",
    "towards_mean",
    "trust_range",
    "write_predictions",
]
