"""Scores of codes against factors, on plain arrays; nothing here knows of models, files or torch."""

from unbraid.metrics._encode import encoder_of
from unbraid.metrics._evaluate import evaluate, score_codes
from unbraid.metrics._kinds import targets as factor_columns
from unbraid.metrics._registry import METRICS, Metric, register
from unbraid.metrics._score import Score, number_of, number_to_json
from unbraid.metrics._scores import ABOVE, Scores, above_ceiling
from unbraid.metrics._source import allowed_metrics, has_no_factors, impossible_metrics, scored_by
from unbraid.metrics._tensors import adapted
from unbraid.metrics._titles import title_of
from unbraid.metrics.beta_vae import beta_vae
from unbraid.metrics.correlation import (
    gaussian_total_correlation,
    pairwise_mutual_information,
    wasserstein_correlation,
)
from unbraid.metrics.dci import dci
from unbraid.metrics.dci_es import dci_es
from unbraid.metrics.dcimig import dcimig
from unbraid.metrics.disentanglement_score import disentanglement_score
from unbraid.metrics.downstream import downstream
from unbraid.metrics.explicitness import explicitness
from unbraid.metrics.factor_vae import factor_vae
from unbraid.metrics.infomec import infomec
from unbraid.metrics.irs import irs
from unbraid.metrics.jemmig import jemmig
from unbraid.metrics.mcc import mcc
from unbraid.metrics.mig import mig
from unbraid.metrics.mig_sup import mig_sup
from unbraid.metrics.modularity import modularity
from unbraid.metrics.r2 import r2
from unbraid.metrics.sap import sap
from unbraid.metrics.udr import udr
from unbraid.registry import import_modules

__all__ = [
    "ABOVE",
    "METRICS",
    "Metric",
    "Score",
    "Scores",
    "above_ceiling",
    "adapted",
    "allowed_metrics",
    "beta_vae",
    "dci",
    "dci_es",
    "dcimig",
    "disentanglement_score",
    "downstream",
    "encoder_of",
    "evaluate",
    "explicitness",
    "factor_columns",
    "factor_vae",
    "gaussian_total_correlation",
    "has_no_factors",
    "impossible_metrics",
    "infomec",
    "irs",
    "jemmig",
    "mcc",
    "mig",
    "mig_sup",
    "modularity",
    "number_of",
    "number_to_json",
    "pairwise_mutual_information",
    "r2",
    "register",
    "sap",
    "score_codes",
    "scored_by",
    "title_of",
    "udr",
    "wasserstein_correlation",
]

import_modules(__name__)  # also what was dropped into the folder
