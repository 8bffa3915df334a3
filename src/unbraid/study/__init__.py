"""Many runs as one experiment: read a study file, run it, collect its table, ask it questions.

Names are imported when first used: the analyses do without torch, the runner does not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from unbraid.lazy import lazily

if TYPE_CHECKING:
    from unbraid.study.analysis import ANALYSES as ANALYSES
    from unbraid.study.analysis import answer_all as answer_all
    from unbraid.study.blocks import join_blocks as join_blocks
    from unbraid.study.choosing import best_settings as best_settings
    from unbraid.study.choosing import chosen_study as chosen_study
    from unbraid.study.conditions import condition_rows as condition_rows
    from unbraid.study.evaluation import EVALUATION as EVALUATION
    from unbraid.study.evaluation import Answered as Answered
    from unbraid.study.evaluation import answers_of as answers_of
    from unbraid.study.evaluation import evaluate_run as evaluate_run
    from unbraid.study.evaluation import own_scores as own_scores
    from unbraid.study.file import parse_study as parse_study
    from unbraid.study.file import read_study as read_study
    from unbraid.study.folder import State as State
    from unbraid.study.folder import StudyFolder as StudyFolder
    from unbraid.study.folder import begin_study as begin_study
    from unbraid.study.folder import claim as claim
    from unbraid.study.folder import open_study as open_study
    from unbraid.study.grid import Evaluation as Evaluation
    from unbraid.study.grid import RunSpec as RunSpec
    from unbraid.study.grid import Setting as Setting
    from unbraid.study.grid import Study as Study
    from unbraid.study.grid import parse_index as parse_index
    from unbraid.study.grid import usual_measures as usual_measures
    from unbraid.study.learning import learning_end as learning_end
    from unbraid.study.learning import learning_table as learning_table
    from unbraid.study.learning import plot_learning as plot_learning
    from unbraid.study.markdown import write_markdown as write_markdown
    from unbraid.study.method import batch_size_of as batch_size_of
    from unbraid.study.method import objective_of as objective_of
    from unbraid.study.presets import PRESETS as PRESETS
    from unbraid.study.runner import Coverage as Coverage
    from unbraid.study.runner import coverage as coverage
    from unbraid.study.runner import run_study as run_study
    from unbraid.study.table import TABLE as TABLE
    from unbraid.study.table import answers_by_run as answers_by_run
    from unbraid.study.table import condition_columns as condition_columns
    from unbraid.study.table import make_table as make_table
    from unbraid.study.table import write_table as write_table

_HOMES = {
    "State": "folder",
    "parse_index": "grid",
    "ANALYSES": "analysis",
    "Answered": "evaluation",
    "Coverage": "runner",
    "EVALUATION": "evaluation",
    "Evaluation": "grid",
    "PRESETS": "presets",
    "RunSpec": "grid",
    "Setting": "grid",
    "Study": "grid",
    "StudyFolder": "folder",
    "TABLE": "table",
    "answer_all": "analysis",
    "answers_by_run": "table",
    "answers_of": "evaluation",
    "batch_size_of": "method",
    "begin_study": "folder",
    "best_settings": "choosing",
    "chosen_study": "choosing",
    "claim": "folder",
    "condition_columns": "table",
    "condition_rows": "conditions",
    "coverage": "runner",
    "evaluate_run": "evaluation",
    "join_blocks": "blocks",
    "learning_end": "learning",
    "learning_table": "learning",
    "make_table": "table",
    "objective_of": "method",
    "open_study": "folder",
    "own_scores": "evaluation",
    "parse_study": "file",
    "plot_learning": "learning",
    "read_study": "file",
    "run_study": "runner",
    "usual_measures": "grid",
    "write_markdown": "markdown",
    "write_table": "table",
}

__all__ = sorted(_HOMES)

__getattr__ = lazily(__name__, _HOMES)
