"""The page of all claims: what was published beside what was measured, failed ones first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from unbraid.lazy import lazily

if TYPE_CHECKING:
    from unbraid.report.claims.summary import badge as badge
    from unbraid.report.claims.written import write_report as write_report

_HOMES = {"badge": "summary", "write_report": "written"}

__all__ = sorted(_HOMES)

__getattr__ = lazily(__name__, _HOMES)
