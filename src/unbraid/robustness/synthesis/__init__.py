"""Analysis by synthesis: inference by search, calibrated posteriors, bounds and baselines (Schott et al., 2019)."""

from unbraid.robustness.synthesis.binary import PUBLISHED_SCALES, Binarised, fit_scales
from unbraid.robustness.synthesis.bounds import binary_bound, l2_bound, scaled_l2_bound, spread_misfit
from unbraid.robustness.synthesis.certify import ASSUMPTION, Bounds, lower_bounds
from unbraid.robustness.synthesis.inference import Explanation, Generators, SearchClassifier, infer
from unbraid.robustness.synthesis.neighbour import NearestNeighbour
from unbraid.robustness.synthesis.posterior import PUBLISHED, Calibration, calibrate, posterior

__all__ = [
    "ASSUMPTION",
    "PUBLISHED",
    "PUBLISHED_SCALES",
    "Binarised",
    "Bounds",
    "Calibration",
    "Explanation",
    "Generators",
    "NearestNeighbour",
    "SearchClassifier",
    "binary_bound",
    "calibrate",
    "fit_scales",
    "infer",
    "l2_bound",
    "lower_bounds",
    "posterior",
    "scaled_l2_bound",
    "spread_misfit",
]
