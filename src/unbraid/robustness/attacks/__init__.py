"""Attacks on classifiers and other models, one per file: float images ``[n, c, h, w]`` in [0, 1] in and out.

An attack does one thing, move images; how far is enough and how many fall is counted elsewhere, once for all.
"""

from unbraid.registry import import_modules
from unbraid.robustness.attacks.apgd import apgd
from unbraid.robustness.attacks.bim import bim
from unbraid.robustness.attacks.binarised import StraightThrough, refined, straight_through
from unbraid.robustness.attacks.boundary import boundary
from unbraid.robustness.attacks.classifier import Classifier, float_images
from unbraid.robustness.attacks.code_goals import Changed, CodeGoal, Loss, Moved, Reproduced
from unbraid.robustness.attacks.ddn import ddn
from unbraid.robustness.attacks.deepfool import deepfool
from unbraid.robustness.attacks.draws import Draws
from unbraid.robustness.attacks.estimated import (
    EstimatedGradient,
    bim_estimated,
    deepfool_estimated,
    fgm_estimated,
    mim_estimated,
    with_estimated_gradient,
)
from unbraid.robustness.attacks.fgm import fgm
from unbraid.robustness.attacks.fmn import fmn
from unbraid.robustness.attacks.found import Found, best_of
from unbraid.robustness.attacks.gaussian import gaussian
from unbraid.robustness.attacks.goals import ClassGoal, Goal, Misclassified, Named
from unbraid.robustness.attacks.latent_descent import latent_descent
from unbraid.robustness.attacks.mim import mim
from unbraid.robustness.attacks.norms import NORMS, Norm, norm_of
from unbraid.robustness.attacks.outputs import Outputs
from unbraid.robustness.attacks.pgd import pgd
from unbraid.robustness.attacks.pointwise import pointwise
from unbraid.robustness.attacks.registry import Attack, get, names, register
from unbraid.robustness.attacks.salt_and_pepper import salt_and_pepper
from unbraid.robustness.attacks.square import square
from unbraid.robustness.attacks.transfer import transfer
from unbraid.robustness.attacks.vectors import as_rows, direction, lengths

import_modules(__name__)

__all__ = [
    "NORMS",
    "Attack",
    "Changed",
    "ClassGoal",
    "Classifier",
    "CodeGoal",
    "Draws",
    "EstimatedGradient",
    "Found",
    "Goal",
    "Loss",
    "Misclassified",
    "Moved",
    "Named",
    "Norm",
    "Outputs",
    "Reproduced",
    "StraightThrough",
    "apgd",
    "as_rows",
    "best_of",
    "bim",
    "bim_estimated",
    "boundary",
    "ddn",
    "deepfool",
    "deepfool_estimated",
    "direction",
    "fgm",
    "fgm_estimated",
    "float_images",
    "fmn",
    "gaussian",
    "get",
    "latent_descent",
    "lengths",
    "mim",
    "mim_estimated",
    "names",
    "norm_of",
    "pgd",
    "pointwise",
    "refined",
    "register",
    "salt_and_pepper",
    "square",
    "straight_through",
    "transfer",
    "with_estimated_gradient",
]
