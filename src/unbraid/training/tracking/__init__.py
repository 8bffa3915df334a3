"""Experiment trackers: where a run's numbers can be shown beside its folder, which stays the truth."""

from unbraid.registry import import_modules
from unbraid.training.tracking.base import (
    Tracker,
    about,
    flat_scores,
    named_trackers,
    names,
    register,
    settings_of,
)
from unbraid.training.tracking.feed import Feed, Rows
from unbraid.training.tracking.sending import Sent, score_rows, send_run

import_modules(__name__)

__all__ = [
    "Feed",
    "Rows",
    "Sent",
    "Tracker",
    "about",
    "flat_scores",
    "named_trackers",
    "names",
    "register",
    "score_rows",
    "send_run",
    "settings_of",
]
