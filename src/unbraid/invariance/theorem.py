"""Theorem 8 of Jacobsen et al. (2019): when the logits keep their information under a shift, and what it leaves unsaid.

If I_D(y; z_n) = 0 and I_Adv(y; z_n) <= I_D(y; z_n), then I_Adv(y; z_s) = I_D(y; z_s). The proof uses two things that
the statement does not have: z_n independent of (y, z_s) *jointly* under the shifted law, and as much information about
y in x after the shift as before.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from unbraid.errors import UsageError

__all__ = ["Information", "Theorem8", "information", "theorem8"]

EXACT = 1e-9


@dataclass(frozen=True)
class Information:
    """Mutual informations of class y, logits z_s and nuisance z_n, in nats."""

    y_s: float
    """I(y; z_s)."""
    y_n: float
    """I(y; z_n)."""
    y_sn: float
    """I(y; z_s, z_n) = I(y; x) for a bijection."""
    s_n: float
    """I(z_s; z_n)."""
    joint: float | None = None
    """I(y, z_s; z_n): 0 where z_n is independent of class and logits jointly; ``None`` where it was not estimated."""

    @property
    def y_s_given_n(self) -> float:
        """I(y; z_s | z_n), by the chain rule."""
        return self.y_sn - self.y_n


@dataclass(frozen=True)
class Theorem8:
    """Premise, conclusion and slack of the theorem for one shift, and the assumptions it is silent about."""

    before: Information
    after: Information
    tolerance: float
    estimated: bool = False
    """Whether these are estimates, lower bounds by trained classifiers instead of exact values."""

    @property
    def premise(self) -> bool:
        """I_D(y; z_n) = 0, and the shift adds none."""
        return self.before.y_n <= self.tolerance and self.after.y_n <= self.before.y_n + self.tolerance

    @property
    def conclusion(self) -> bool:
        """I_Adv(y; z_s) = I_D(y; z_s)."""
        return abs(self.slack) <= self.tolerance

    @property
    def slack(self) -> float:
        """What the logits lose: I_D(y; z_s) - I_Adv(y; z_s)."""
        return self.before.y_s - self.after.y_s

    @property
    def missing(self) -> tuple[str, ...]:
        """The assumptions of the proof, not among the premises, that do not hold here."""
        found = []
        joint = self.after.s_n if self.after.joint is None else self.after.joint
        if joint > self.tolerance or self.after.y_s_given_n - self.after.y_s > self.tolerance:
            found.append("z_n is not independent of (y, z_s) jointly after the shift")
        if abs(self.after.y_sn - self.before.y_sn) > self.tolerance:
            found.append("x does not tell as much about y after the shift as before")
        return tuple(found)

    def __str__(self) -> str:
        title = f"Theorem 8, nats ({'estimates' if self.estimated else 'exact'})"
        lines = [f"{title:<31}{'before':>8}{'after':>8}"]
        for name, key in (
            ("I(y; z_s)", "y_s"),
            ("I(y; z_n)", "y_n"),
            ("I(y; z_s, z_n)", "y_sn"),
            ("I(z_s; z_n)", "s_n"),
        ):
            lines.append(f"  {name:<28} {getattr(self.before, key):8.3f} {getattr(self.after, key):7.3f}")
        lines += [
            f"premise: {'holds' if self.premise else 'fails'}",
            f"conclusion: {'holds' if self.conclusion else 'fails'}, slack {self.slack:.3f}",
            *(f"missing assumption: {text}" for text in self.missing),
        ]
        if self.estimated:
            lines.append("all numbers are estimates: lower bounds by trained classifiers, up to the chance of samples")
        return "\n".join(lines)


def information(table: ArrayLike) -> Information:
    """All of it in closed form, from a table p(y, z_s, z_n) of small alphabets.

    >>> xor = np.zeros((2, 2, 2))
    >>> for s in range(2):
    ...     for n in range(2):
    ...         xor[s ^ n, s, n] = 1 / 4
    >>> found = information(xor)
    >>> round(found.y_s, 3), round(found.y_n, 3), round(found.y_sn, 3)
    (0.0, 0.0, 0.693)
    """
    p = np.asarray(table, dtype=np.float64)
    if p.ndim != 3 or (p < 0).any() or not np.isclose(p.sum(), 1):
        raise UsageError(
            f"table must be probabilities p(y, z_s, z_n) that sum to 1, got shape {p.shape} with sum {p.sum():.4g}"
        )
    y, s, n = 0, 1, 2
    return Information(
        y_s=_mutual(p, (y,), (s,)),
        y_n=_mutual(p, (y,), (n,)),
        y_sn=_mutual(p, (y,), (s, n)),
        s_n=_mutual(p, (s,), (n,)),
        joint=_mutual(p, (y, s), (n,)),
    )


def theorem8(before: ArrayLike, after: ArrayLike, *, tolerance: float = EXACT) -> Theorem8:
    """The theorem for the tables p(y, z_s, z_n) of the data and of a shift of them, exactly."""
    return Theorem8(information(before), information(after), tolerance)


def _mutual(p: np.ndarray, first: tuple[int, ...], second: tuple[int, ...]) -> float:
    """H(first) + H(second) - H(both), of axes of a table; never below 0."""
    return max(0.0, _entropy(p, first) + _entropy(p, second) - _entropy(p, (*first, *second)))


def _entropy(p: np.ndarray, axes: tuple[int, ...]) -> float:
    kept = p.sum(axis=tuple(axis for axis in range(p.ndim) if axis not in axes)).ravel()
    kept = kept[kept > 0]
    return float(-(kept * np.log(kept)).sum())
