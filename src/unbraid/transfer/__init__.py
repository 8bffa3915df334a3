"""What an inductive bias buys outside the training domain: every bias against every way of leaving it.

Schott (2021), doctoral thesis, chapter 3, proposes the protocol: a bias is compared with its vanilla twin on all
scenarios, its own and the others.
"""

from unbraid.transfer.agreement import agreement, agreement_within
from unbraid.transfer.combining import Pairing, combination
from unbraid.transfer.effects import Effect, effect_of, holm
from unbraid.transfer.judging import IID, verdict

__all__ = [
    "IID",
    "Effect",
    "Pairing",
    "agreement",
    "agreement_within",
    "combination",
    "effect_of",
    "holm",
    "verdict",
]
