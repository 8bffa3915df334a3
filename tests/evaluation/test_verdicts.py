"""A verdict is a word, its numbers and a sentence."""

import pytest

from unbraid.errors import UsageError
from unbraid.evaluation import Verdict, verdict


def test_a_rule_applied_to_numbers_becomes_a_word():
    assert [verdict(holds, "").word for holds in (True, False, None)] == ["holds", "does not hold", "undecided"]
    assert [verdict(holds, "").holds for holds in (True, False, None)] == [True, False, None]
    assert Verdict("cannot say", {}, "no runs").holds is None


def test_a_verdict_in_words_says_why():
    assert str(verdict(False, "2 of 10 runs", share=0.2)) == "does not hold: 2 of 10 runs"
    assert verdict(False, "2 of 10 runs", share=0.2).numbers == {"share": 0.2}


def test_a_word_of_ones_own_is_refused():
    with pytest.raises(UsageError, match="did you mean 'holds'"):
        Verdict("hold", {}, "")
