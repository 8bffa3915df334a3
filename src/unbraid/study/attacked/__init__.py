"""Attacks on several classifiers told as a study: tables beside the published ones, pictures, and verdicts."""

from unbraid.study.attacked.findings import judge_attacks, surely_farther
from unbraid.study.attacked.page import Attack, write_attack_study
from unbraid.study.attacked.roles import ROLES, role_of

__all__ = ["ROLES", "Attack", "judge_attacks", "role_of", "surely_farther", "write_attack_study"]
