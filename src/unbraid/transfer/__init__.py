"""What an inductive bias buys outside the training domain: every bias against every way of leaving it.

Schott (2021), doctoral thesis, chapter 3, proposes the protocol: a bias is compared with its vanilla twin on all
scenarios, its own and the others.
"""

from unbraid.transfer.agreement import agreement, agreement_within
from unbraid.transfer.bounds import noise_bound
from unbraid.transfer.card import Card, card, shown_data
from unbraid.transfer.carried import bring_cells, carry_cells
from unbraid.transfer.combining import Pairing, combination
from unbraid.transfer.domains import DOMAINS, Domain, domain_name, domain_of
from unbraid.transfer.effects import Effect, effect_of, holm
from unbraid.transfer.folder import MatrixFolder, begin_matrix, open_matrix, planned_matrix
from unbraid.transfer.judging import IID, tell_verdicts, verdict
from unbraid.transfer.masked import doubts_of, masking
from unbraid.transfer.matrix import Matrix, matrix
from unbraid.transfer.plan import Cell, Plan, RunKey, with_twins
from unbraid.transfer.presets import PRESETS, preset
from unbraid.transfer.published import Outcome, judge_published, tell_published
from unbraid.transfer.recipes import Bias, Budget, Recipe, canonical, own_scenarios, recipe, twin_of
from unbraid.transfer.recipes import get as get_bias
from unbraid.transfer.recipes import names as biases
from unbraid.transfer.recipes import register as register_bias
from unbraid.transfer.runner import expected_hours, run_matrix
from unbraid.transfer.scenario import Asked, Scenario
from unbraid.transfer.scenario import get as get_scenario
from unbraid.transfer.scenario import make as make_scenario
from unbraid.transfer.scenario import names as scenarios
from unbraid.transfer.scenario import register as register_scenario
from unbraid.transfer.subjects import Subject, subject_of
from unbraid.transfer.table import bounds_of, cell_table, matrices_of

__all__ = [
    "DOMAINS",
    "IID",
    "PRESETS",
    "Asked",
    "Bias",
    "Budget",
    "Card",
    "Cell",
    "Domain",
    "Effect",
    "Matrix",
    "MatrixFolder",
    "Outcome",
    "Pairing",
    "Plan",
    "Recipe",
    "RunKey",
    "Scenario",
    "Subject",
    "agreement",
    "agreement_within",
    "begin_matrix",
    "biases",
    "bounds_of",
    "bring_cells",
    "canonical",
    "card",
    "carry_cells",
    "cell_table",
    "combination",
    "domain_name",
    "domain_of",
    "doubts_of",
    "effect_of",
    "expected_hours",
    "get_bias",
    "get_scenario",
    "holm",
    "judge_published",
    "make_scenario",
    "masking",
    "matrices_of",
    "matrix",
    "noise_bound",
    "open_matrix",
    "own_scenarios",
    "planned_matrix",
    "preset",
    "recipe",
    "register_bias",
    "register_scenario",
    "run_matrix",
    "scenarios",
    "shown_data",
    "subject_of",
    "tell_published",
    "tell_verdicts",
    "twin_of",
    "verdict",
    "with_twins",
]
