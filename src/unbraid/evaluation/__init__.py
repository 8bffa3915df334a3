"""What is asked of finished runs: measures with their settings, stored answers, and verdicts on them."""

from unbraid.evaluation.base import (
    Condition,
    GroupMeasure,
    Measure,
    Row,
    Scores,
    get,
    make,
    names,
    read_measures,
    register,
    say,
    settings_of,
)
from unbraid.evaluation.measuring import FOLDER, Measured, measure, measure_group, read_rows, read_share
from unbraid.evaluation.models import Function
from unbraid.evaluation.summary import ACTIVE, Summary, summarise
from unbraid.evaluation.titles import title
from unbraid.evaluation.verdicts import Verdict, verdict
from unbraid.registry import import_modules

import_modules(__name__)

__all__ = [
    "ACTIVE",
    "FOLDER",
    "Condition",
    "Function",
    "GroupMeasure",
    "Measure",
    "Measured",
    "Row",
    "Scores",
    "Summary",
    "Verdict",
    "get",
    "make",
    "measure",
    "measure_group",
    "names",
    "read_measures",
    "read_rows",
    "read_share",
    "register",
    "say",
    "settings_of",
    "summarise",
    "title",
    "verdict",
]
