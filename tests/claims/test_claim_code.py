"""A verdict stands for the code that gave it: what measures and decides is a part of a claim's hash."""

import importlib.util
import sys
from dataclasses import replace

from unbraid.claims import claims, groups
from unbraid.claims.claim import Claim
from unbraid.claims.code_text import code_hash, code_of
from unbraid.claims.group import GROUPS
from unbraid.claims.rules import P
from unbraid.claims.sources import source

MODULE = '''\
"""Code of a claim."""
LIMIT = {limit}


def helper(value):
    return {helper}


{decorator}def measure(tables):
    {doc}
    return helper({body}) + LIMIT
'''


class Lenient(P):
    """The same letter and constants, and another way to decide."""

    def judge(self, measured):
        return replace(super().judge(measured), verdict="reproduced")


def written(tmp_path, name, *, limit="1", helper="value", body="tables", doc='"""As it is."""', decorator=""):
    """A module with a measuring function, as a file."""
    path = tmp_path / f"{name}.py"
    path.write_text(MODULE.format(limit=limit, helper=helper, body=body, doc=doc, decorator=decorator))
    spec = importlib.util.spec_from_file_location(f"code_{name}", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module.measure


def test_other_words_about_the_same_code_leave_its_hash(tmp_path):
    first = written(tmp_path, "first")
    assert code_hash(first) == code_hash(written(tmp_path, "doc", doc='"""Told otherwise."""\n    # and a comment'))
    assert code_hash(first) == code_hash(written(tmp_path, "kept", decorator="@(lambda one: one)\n"))


def test_changed_code_its_helpers_and_its_constants_change_the_hash(tmp_path):
    same = code_hash(written(tmp_path, "first"))
    for name, change in (("body", {"body": "-tables"}), ("helper", {"helper": "2 * value"}), ("limit", {"limit": "2"})):
        assert code_hash(written(tmp_path, name, **change)) != same, name


def test_code_of_another_room_is_not_a_part_of_it():
    measure = claims()["study/variance-explained"].measure
    # It asks an analysis of studies, whose text is not that of the claim.
    assert "variance_explained(" in code_of(measure)
    assert "def variance_explained" not in code_of(measure)


def test_a_changed_measure_or_rule_voids_the_verdict_of_a_claim(tmp_path):
    where = source("Locatello et al. 2019", "figure 1")
    one = Claim("study/toy", where, "a toy", {"gap": P(0.1)}, written(tmp_path, "one"), ("exact",), "nothing", "toy")
    before = one.rule_hash({})
    assert replace(one, measure=written(tmp_path, "other", body="-tables")).rule_hash({}) != before
    assert replace(one, rules={"gap": Lenient(0.1)}).definition() == one.definition()
    assert replace(one, rules={"gap": Lenient(0.1)}).rule_hash({}) != before


def test_a_changed_gate_voids_the_verdicts_of_claims_on_its_group(tmp_path, monkeypatch):
    on_models, on_grid = claims()["abs/lower-bound"], claims()["study/scores-agree"]
    before = on_models.rule_hash({}), on_grid.rule_hash({})
    monkeypatch.setitem(GROUPS, "abs-models", groups()["abs-models"])
    replace(GROUPS["abs-models"], gate=written(tmp_path, "gate"))  # registers itself
    assert on_models.rule_hash({}) != before[0]
    assert on_grid.rule_hash({}) == before[1]


def test_what_a_function_has_from_the_one_that_made_it_is_a_part_of_its_code():
    def above(least):
        def gate(table):
            return table > least

        return gate

    assert code_hash(above(0.9)) == code_hash(above(0.9)) != code_hash(above(0.8))
