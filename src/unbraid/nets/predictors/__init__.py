"""Networks that predict: classes, or factors. A file dropped into this folder is found."""

from unbraid.nets.predictors.binarised import StraightThrough, check_threshold
from unbraid.nets.predictors.predictor import Predictor
from unbraid.nets.predictors.registry import build_predictor, get, names, register
from unbraid.registry import import_modules

__all__ = ["Predictor", "StraightThrough", "build_predictor", "check_threshold", "get", "names", "register"]

import_modules(__name__)
