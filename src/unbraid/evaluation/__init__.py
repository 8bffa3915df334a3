"""What is asked of finished runs: measures with their settings, stored answers, and verdicts on them."""

from unbraid.evaluation.accuracy import Accuracy, accuracy, wilson
from unbraid.evaluation.base import (
    Condition,
    GroupMeasure,
    Measure,
    Row,
    Scores,
    SharedMeasure,
    get,
    make,
    names,
    read_measures,
    register,
    say,
    settings_of,
)
from unbraid.evaluation.correlated_pair import CorrelatedPair
from unbraid.evaluation.disentanglement import Disentanglement
from unbraid.evaluation.factors_told import FactorsTold
from unbraid.evaluation.factors_under_corruption import FactorsUnderCorruption, KeptTable, kept_table
from unbraid.evaluation.learning import MILLISECONDS, learning_curve, learning_hook
from unbraid.evaluation.losses import Losses, losses_after_training
from unbraid.evaluation.measuring import (
    FOLDER,
    Measured,
    answer_path,
    group_runs,
    measure,
    measure_group,
    read_rows,
    read_share,
    rows_to_json,
)
from unbraid.evaluation.models import Function, as_run, describe_run, fingerprint_data, representations_of
from unbraid.evaluation.predictions import (
    Predictions,
    class_names,
    class_tasks,
    draw_images,
    has_classes,
    predict_classes,
    predict_factors,
    scaled_factors,
    task_of,
    true_classes,
)
from unbraid.evaluation.reasoning import ReasoningCurve, reasoning_curve
from unbraid.evaluation.regression import R2, factor_variances
from unbraid.evaluation.summary import ACTIVE, Summary, SummaryMeasure, summarise
from unbraid.evaluation.titles import title
from unbraid.evaluation.together import measure_together
from unbraid.evaluation.udr import UDR, shared_codes
from unbraid.evaluation.validation import VALIDATED, Validation, validation_scores
from unbraid.evaluation.verdicts import Verdict, mean_interval, told, verdict
from unbraid.registry import import_modules

import_modules(__name__)

__all__ = [
    "ACTIVE",
    "FOLDER",
    "MILLISECONDS",
    "R2",
    "UDR",
    "VALIDATED",
    "Accuracy",
    "Condition",
    "CorrelatedPair",
    "Disentanglement",
    "FactorsTold",
    "FactorsUnderCorruption",
    "Function",
    "GroupMeasure",
    "KeptTable",
    "Losses",
    "Measure",
    "Measured",
    "Predictions",
    "ReasoningCurve",
    "Row",
    "Scores",
    "SharedMeasure",
    "Summary",
    "SummaryMeasure",
    "Validation",
    "Verdict",
    "accuracy",
    "answer_path",
    "as_run",
    "class_names",
    "class_tasks",
    "describe_run",
    "draw_images",
    "factor_variances",
    "fingerprint_data",
    "get",
    "group_runs",
    "has_classes",
    "kept_table",
    "learning_curve",
    "learning_hook",
    "losses_after_training",
    "make",
    "mean_interval",
    "measure",
    "measure_group",
    "measure_together",
    "names",
    "predict_classes",
    "predict_factors",
    "read_measures",
    "read_rows",
    "read_share",
    "reasoning_curve",
    "register",
    "representations_of",
    "rows_to_json",
    "say",
    "scaled_factors",
    "settings_of",
    "shared_codes",
    "summarise",
    "task_of",
    "title",
    "told",
    "true_classes",
    "validation_scores",
    "verdict",
    "wilson",
]
