"""Every published table, figure or finding that can be computed, as an executable claim at three scales.

A claim is a small object: where it stands, what it says, which runs it reads, how numbers are made of their tables, and
the rule, fixed beforehand, that turns these into a verdict. Names are imported when first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from unbraid.lazy import lazily

if TYPE_CHECKING:
    from unbraid.claims.catalogue import claims as claims
    from unbraid.claims.catalogue import groups as groups
    from unbraid.claims.claim import AREAS as AREAS
    from unbraid.claims.claim import Claim as Claim
    from unbraid.claims.claim import chosen as chosen
    from unbraid.claims.group import SCALES as SCALES
    from unbraid.claims.group import Scale as Scale
    from unbraid.claims.judging import Judged as Judged
    from unbraid.claims.judging import holm as holm
    from unbraid.claims.judging import judge_claim as judge_claim
    from unbraid.claims.outcome import VERDICTS as VERDICTS
    from unbraid.claims.planning import Planned as Planned
    from unbraid.claims.planning import lacking_data as lacking_data
    from unbraid.claims.planning import plan as plan
    from unbraid.claims.records import RECORDS as RECORDS
    from unbraid.claims.records import latest as latest
    from unbraid.claims.records import read_records as read_records
    from unbraid.claims.runner import check_reuse as check_reuse
    from unbraid.claims.runner import judge_claims as judge_claims
    from unbraid.claims.runner import run_claims as run_claims
    from unbraid.claims.runner import take_elsewhere as take_elsewhere
    from unbraid.claims.sources import SOURCES as SOURCES
    from unbraid.claims.sources import WORKS as WORKS
    from unbraid.claims.tally import Count as Count
    from unbraid.claims.tally import Standing as Standing
    from unbraid.claims.tally import adjusted as adjusted
    from unbraid.claims.tally import counts as counts
    from unbraid.claims.tally import disagreeing as disagreeing
    from unbraid.claims.tally import headline as headline
    from unbraid.claims.tally import standing as standing

_HOMES = {
    "AREAS": "claim",
    "Claim": "claim",
    "Count": "tally",
    "Judged": "judging",
    "Planned": "planning",
    "RECORDS": "records",
    "SCALES": "group",
    "SOURCES": "sources",
    "Scale": "group",
    "Standing": "tally",
    "VERDICTS": "outcome",
    "WORKS": "sources",
    "adjusted": "tally",
    "check_reuse": "runner",
    "chosen": "claim",
    "claims": "catalogue",
    "counts": "tally",
    "disagreeing": "tally",
    "groups": "catalogue",
    "headline": "tally",
    "holm": "judging",
    "judge_claim": "judging",
    "judge_claims": "runner",
    "lacking_data": "planning",
    "latest": "records",
    "plan": "planning",
    "read_records": "records",
    "run_claims": "runner",
    "standing": "tally",
    "take_elsewhere": "runner",
}

__all__ = sorted(_HOMES)

__getattr__ = lazily(__name__, _HOMES)
