"""All claims and all run groups: every file of ``all_claims`` and ``all_groups`` is found by being there."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from unbraid.claims.claim import AREAS, CLAIMS, Claim
from unbraid.claims.group import GROUPS, Group
from unbraid.registry import import_modules

__all__ = ["claims", "groups"]


@cache
def _read() -> None:
    import_modules("unbraid.claims.all_groups")
    import_modules("unbraid.claims.all_claims")


def claims() -> Mapping[str, Claim]:
    """All claims by id, area by area."""
    _read()
    return dict(sorted(CLAIMS.items(), key=lambda item: AREAS.index(item[1].area)))


def groups() -> Mapping[str, Group]:
    """All run groups by name."""
    _read()
    return dict(GROUPS)
