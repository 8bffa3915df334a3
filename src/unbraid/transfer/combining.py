"""Two biases at once: do they keep what each buys, and do they buy more together? (Schott, 2021, chapter 3)."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from unbraid.evaluation import Verdict
from unbraid.transfer.effects import Effect, effect_of
from unbraid.transfer.judging import IID

__all__ = ["Numbers", "Pairing", "combination"]

Numbers = Mapping[str, Mapping[int, float]]
"""By scenario and seed."""


@dataclass(frozen=True)
class Pairing:
    """The effects on one scenario: of each bias and of both, against the twin, and of both against each."""

    first: Effect
    second: Effect
    both: Effect
    over_first: Effect
    over_second: Effect

    @property
    def scenario(self) -> str:
        return self.both.scenario

    @property
    def together(self) -> bool:
        """Whether both beat each of them, and the sum of what each of them does."""
        beats = self.over_first.word == "better" and self.over_second.word == "better"
        return beats and self.both.mean > self.first.mean + self.second.mean

    @classmethod
    def of(
        cls,
        scenario: str,
        vanilla: Mapping[int, float],
        first: Mapping[int, float],
        second: Mapping[int, float],
        both: Mapping[int, float],
        **interest: float | bool,
    ) -> Pairing:
        """From numbers by seed; ``interest`` and ``relative`` as in :func:`unbraid.transfer.effect_of`.

        Only seeds that all four have count: effects that are added must be of the same models.
        """
        four = (vanilla, first, second, both)
        seeds = [seed for seed in both if all(math.isfinite(one.get(seed, math.nan)) for one in four)]
        plain, one, other, together = ({seed: row[seed] for seed in seeds} for row in four)

        def effect(values: Mapping[int, float], twins: Mapping[int, float]) -> Effect:
            return effect_of(scenario, values, twins, **interest)  # type: ignore[arg-type]

        against = effect(one, plain), effect(other, plain), effect(together, plain)
        return cls(*against, effect(together, one), effect(together, other))


def combination(
    pairings: Mapping[str, Pairing] | Collection[Pairing], own_first: Collection[str], own_second: Collection[str]
) -> Verdict:
    """What two biases do together, from the pairings of all scenarios and from the own scenarios of each.

    - **orthogonal**: both together are not worse than the first on its own scenarios, nor than the second on its own;
    - **symbiotic**: orthogonal, and on some scenario they beat each of the two and the sum of their effects;
    - **exclusive**: worse than the first on its own, or than the second on its own;
    - **undecided** where seeds are too few, **cannot say** where own scenarios of one were not measured.

    Exchanging the two changes nothing.
    """
    rows = list(pairings.values()) if isinstance(pairings, Mapping) else list(pairings)
    numbers = {one.scenario: one.both.mean for one in rows}
    kept = [(one.scenario, one.over_first.word) for one in rows if one.scenario in own_first]
    kept += [(one.scenario, one.over_second.word) for one in rows if one.scenario in own_second]
    if not all(any(one.scenario in own for one in rows) for own in (own_first, own_second)):
        return Verdict("cannot say", numbers, "own scenarios of one of the two were not measured")
    if lost := _named(kept, "worse"):
        return Verdict("exclusive", numbers, f"together worse than one of them alone on its own {', '.join(lost)}")
    if unknown := _named(kept, "undecided"):
        return Verdict("undecided", numbers, f"too few seeds on {', '.join(unknown)}")
    more = sorted(one.scenario for one in rows if one.together and one.scenario != IID and math.isfinite(one.both.mean))
    if more:
        return Verdict("symbiotic", numbers, f"together more than the sum of both on {', '.join(more)}")
    return Verdict("orthogonal", numbers, f"each keeps what it buys alone on {', '.join(_named(kept))}")


def _named(kept: list[tuple[str, str]], word: str | None = None) -> list[str]:
    return sorted({name for name, found in kept if word in (None, found)})
