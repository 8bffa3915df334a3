"""``claims.json``: one record per claim, scale and judgement, never taken back."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from unbraid.claims.claim import CLAIMS
from unbraid.claims.group import SCALES, Scale
from unbraid.files import claim as lock
from unbraid.files import make_folders, write_json
from unbraid.reading import check_form, read_json

__all__ = ["RECORDS", "append", "latest", "read_records", "surroundings"]

RECORDS = "claims.json"
FORMAT = 1
_FORM = {"format": int, "unbraid": str, "records": list}
_RECORD = {"id": str, "scale": str, "verdict": str, "reason": str, "rule_hash": str, "seeds": list}


def read_records(out: Path) -> list[dict[str, Any]]:
    """All records of a folder, oldest first; none if nothing was judged there."""
    path = out / RECORDS
    if not path.exists():
        return []
    content = read_json(path, _FORM, remedy="restore it from a copy; records are never made anew")
    for record in content["records"]:
        check_form(record, _RECORD, path)
    return list(content["records"])


def append(out: Path, records: Sequence[Mapping[str, Any]]) -> None:
    """Add records to those that are there."""
    make_folders(out)
    with lock(out / ".claims.lock", wait=True):
        known = read_records(out)
        content = {"format": FORMAT, "unbraid": version("unbraid"), "records": [*known, *map(_plain, records)]}
        write_json(out / RECORDS, content)


def latest(records: Sequence[Mapping[str, Any]]) -> dict[tuple[str, Scale], dict[str, Any]]:
    """The last record of every claim and scale."""
    return {(one["id"], one["scale"]): dict(one) for one in records if one["id"] in CLAIMS and one["scale"] in SCALES}


def surroundings() -> dict[str, Any]:
    """Versions and machine, as records keep them."""
    import torch

    found = {}
    for name in ("unbraid", "torch", "numpy", "scipy", "scikit-learn", "polars"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    about = {"system": platform.system(), "processor": platform.machine(), "threads": torch.get_num_threads()}
    return {"versions": found | {"python": platform.python_version()}, "machine": about}


def _plain(value: Any) -> Any:
    """JSON has no infinity: it becomes a word."""
    if isinstance(value, Mapping):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, float) and value != value:
        return None
    if isinstance(value, float) and abs(value) == float("inf"):
        return "inf" if value > 0 else "-inf"
    return value.item() if hasattr(value, "item") else value
