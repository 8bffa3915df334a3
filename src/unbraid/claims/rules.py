"""Rules that seeds decide: paired differences, values, no difference, no gain, shares.

``m`` is a mean over n seeds, ``SE = sd / sqrt(n)``, ``k = max(2, t_{.975, n-1})`` and the interval ``m -+ k SE``: two
standard errors, corrected for few seeds. Differences are written so that a positive one supports the claim. A rule is a
frozen dataclass; its fields are its constants, fixed before the runs they judge.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, ClassVar

import numpy as np

from unbraid.claims.measured import Measured, Pairs, Share, Values
from unbraid.claims.outcome import Outcome, decided
from unbraid.errors import UsageError
from unbraid.evaluation import wilson

__all__ = ["E", "F", "N", "P", "Rule", "V", "interval"]


@dataclass(frozen=True)
class Rule:
    """From numbers to a verdict."""

    letter: ClassVar[str]
    about: ClassVar[str]
    statistical: ClassVar[bool] = True
    """Whether chance may decide it; rules of exact results are not."""

    def judge(self, measured: Measured) -> Outcome:
        raise NotImplementedError

    def constants(self) -> dict[str, Any]:
        """What was fixed beforehand, as plain data."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def __str__(self) -> str:
        return f"{self.letter}({', '.join(f'{value:g}' for value in self.constants().values())})"


def interval(values: np.ndarray) -> dict[str, Any]:
    """Mean, spread and interval over seeds.

    >>> found = interval(np.array([0.2, 0.25, 0.3, 0.22, 0.28]))
    >>> round(found["low"], 3), round(found["high"], 3), round(found["k"], 2)
    (0.199, 0.301, 2.78)
    """
    from scipy.stats import t

    n = len(values)
    if not n or not np.isfinite(values).all():
        raise UsageError(f"a rule over seeds needs at least one finite number, got {values.tolist()}")
    mean = float(values.mean())
    if n < 2:
        return {"n": n, "mean": mean, "sd": None, "se": None, "k": None, "low": -np.inf, "high": np.inf}
    sd = float(values.std(ddof=1))
    se, k = float(sd / np.sqrt(n)), max(2.0, float(t.ppf(0.975, n - 1)))
    return {"n": n, "mean": mean, "sd": sd, "se": se, "k": k, "low": mean - k * se, "high": mean + k * se}


def _chance(found: dict[str, Any], null: float, sign: int = 1) -> float:
    """One-sided p-value of Student's t: how often chance gives a mean so far beyond ``null``."""
    from scipy.stats import t

    if found["se"] is None:
        return 1.0
    away = sign * (found["mean"] - null)
    if found["se"] == 0:
        return 0.0 if away > 0 else 1.0
    return float(t.sf(away / found["se"], found["n"] - 1))


def _over_seeds(measured: Measured) -> dict[str, Any]:
    if not isinstance(measured, Pairs | Values):
        raise UsageError(f"this rule is about numbers of seeds, got {type(measured).__name__}")
    return interval(measured.values)


def _told(found: dict[str, Any], what: str) -> str:
    if found["sd"] is None:
        return f"{what} {_signed(found['mean'])} of one seed, which tells nothing of luck"
    return f"{what} {_signed(found['mean'])} [{_signed(found['low'])} to {_signed(found['high'])}], {found['n']} seeds"


def _signed(value: float) -> str:
    """A number with its sign; what is left of rounding is zero."""
    return f"{0.0 if abs(value) < 1e-12 else value:+.4g}"


@dataclass(frozen=True)
class P(Rule):
    """A paired difference: at least delta, and above 0 whatever the seed."""

    letter = "P"
    about = "mean difference at least delta and interval above 0; not reproduced if the interval ends below delta"
    delta: float

    def judge(self, measured: Measured) -> Outcome:
        found = _over_seeds(measured)
        word = decided(found["mean"] >= self.delta and found["low"] > 0, found["high"] < self.delta)
        sentence = f"{_told(found, 'difference')}; at least {self.delta:g} is asked"
        return Outcome(word, sentence, found | {"p_value": _chance(found, 0)})


@dataclass(frozen=True)
class V(Rule):
    """A value against a threshold."""

    letter = "V"
    about = "interval above the threshold; not reproduced if it lies below"
    threshold: float

    def judge(self, measured: Measured) -> Outcome:
        found = _over_seeds(measured)
        word = decided(found["low"] > self.threshold, found["high"] < self.threshold)
        sentence = f"{_told(found, 'value')}; more than {self.threshold:g} is asked"
        return Outcome(word, sentence, found | {"p_value": _chance(found, self.threshold)})


@dataclass(frozen=True)
class E(Rule):
    """No difference is claimed."""

    letter = "E"
    about = "interval within delta of 0; not reproduced if it lies beyond delta altogether"
    delta: float

    def judge(self, measured: Measured) -> Outcome:
        found = _over_seeds(measured)
        within = -self.delta < found["low"] and found["high"] < self.delta
        word = decided(within, found["low"] > self.delta or found["high"] < -self.delta)
        chance = max(_chance(found, -self.delta), _chance(found, self.delta, -1))
        sentence = f"{_told(found, 'difference')}; less than {self.delta:g} to either side is asked"
        return Outcome(word, sentence, found | {"p_value": chance})


@dataclass(frozen=True)
class N(Rule):
    """A gain is denied: the difference is the one that the source says there is not."""

    letter = "N"
    about = "interval ends below delta; not reproduced if the gain reaches delta with its interval above 0"
    delta: float

    def judge(self, measured: Measured) -> Outcome:
        found = _over_seeds(measured)
        word = decided(found["high"] < self.delta, found["low"] > 0 and found["mean"] >= self.delta)
        sentence = f"{_told(found, 'gain')}; less than {self.delta:g} is asked"
        return Outcome(word, sentence, found | {"p_value": _chance(found, self.delta, -1)})


@dataclass(frozen=True)
class F(Rule):
    """A share of independent units, by Wilson's interval."""

    letter = "F"
    about = "Wilson interval above the share asked; not reproduced if it lies below"
    share: float

    def judge(self, measured: Measured) -> Outcome:
        from scipy.stats import binomtest

        if not isinstance(measured, Share):
            raise UsageError(f"this rule is about a share, got {type(measured).__name__}")
        low, high = wilson(measured.hits, measured.of)
        chance = float(binomtest(measured.hits, measured.of, self.share, alternative="greater").pvalue)
        sentence = (
            f"{measured.hits} of {measured.of} [{low:.3f} to {high:.3f}]; a share of more than {self.share:g} is asked"
        )
        point = measured.hits / measured.of
        found = {"n": measured.of, "point": point, "low": low, "high": high, "p_value": chance}
        return Outcome(decided(low > self.share, high < self.share), sentence, found)
