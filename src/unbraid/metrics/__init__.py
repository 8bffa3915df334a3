"""Scores of codes against factors, on plain arrays; nothing here knows of models, files or torch."""

from unbraid.metrics._encode import encoder_of
from unbraid.metrics._evaluate import evaluate, score_codes
from unbraid.metrics._kinds import targets as factor_columns
from unbraid.metrics._lab import EXPERIMENTS, Experiment, Lab, lab
from unbraid.metrics._merging import entanglement_of, groups_of, merges_of
from unbraid.metrics._presets import PRESETS, Preset, PresetName, counting_bias, preset_named
from unbraid.metrics._registry import METRICS, Metric, register
from unbraid.metrics._score import Score, check_codes, check_factors, number_of, number_to_json
from unbraid.metrics._scores import ABOVE, Scores, above_ceiling
from unbraid.metrics._source import allowed_metrics, has_no_factors, impossible_metrics, scored_by
from unbraid.metrics._tensors import adapted
from unbraid.metrics._titles import title_of
from unbraid.metrics.beta_vae import beta_vae
from unbraid.metrics.block_r2 import block_r2
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
from unbraid.metrics.edi import edi
from unbraid.metrics.explicitness import explicitness
from unbraid.metrics.factor_vae import factor_vae
from unbraid.metrics.infomec import infomec
from unbraid.metrics.irs import irs
from unbraid.metrics.jemmig import jemmig
from unbraid.metrics.mcc import mcc
from unbraid.metrics.med import med
from unbraid.metrics.mig import mig
from unbraid.metrics.mig_sup import mig_sup
from unbraid.metrics.modularity import modularity
from unbraid.metrics.pair_entanglement import Repair, pair_entanglement, repair_pair
from unbraid.metrics.pida import pida
from unbraid.metrics.r2 import r2
from unbraid.metrics.reduced import reduced
from unbraid.metrics.sap import sap
from unbraid.metrics.shd import shd
from unbraid.metrics.strong import strong
from unbraid.metrics.support import support
from unbraid.metrics.tmex import tmex
from unbraid.metrics.udr import udr
from unbraid.metrics.unfairness import unfairness
from unbraid.metrics.unified import AGGREGATIONS, MATRICES, unified
from unbraid.registry import import_modules

__all__ = [
    "ABOVE",
    "AGGREGATIONS",
    "EXPERIMENTS",
    "MATRICES",
    "METRICS",
    "PRESETS",
    "Experiment",
    "Lab",
    "Metric",
    "Preset",
    "PresetName",
    "Repair",
    "Score",
    "Scores",
    "above_ceiling",
    "adapted",
    "allowed_metrics",
    "beta_vae",
    "block_r2",
    "check_codes",
    "check_factors",
    "counting_bias",
    "dci",
    "dci_es",
    "dcimig",
    "disentanglement_score",
    "downstream",
    "edi",
    "encoder_of",
    "entanglement_of",
    "evaluate",
    "explicitness",
    "factor_columns",
    "factor_vae",
    "gaussian_total_correlation",
    "groups_of",
    "has_no_factors",
    "impossible_metrics",
    "infomec",
    "irs",
    "jemmig",
    "lab",
    "mcc",
    "med",
    "merges_of",
    "mig",
    "mig_sup",
    "modularity",
    "number_of",
    "number_to_json",
    "pair_entanglement",
    "pairwise_mutual_information",
    "pida",
    "preset_named",
    "r2",
    "reduced",
    "register",
    "repair_pair",
    "sap",
    "score_codes",
    "scored_by",
    "shd",
    "strong",
    "support",
    "title_of",
    "tmex",
    "udr",
    "unfairness",
    "unified",
    "wasserstein_correlation",
]

import_modules(__name__)  # also what was dropped into the folder
