"""Carry out what claims need, once for all of them, and judge them."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unbraid.claims.claim import Claim
from unbraid.claims.group import GROUPS, Group, Scale
from unbraid.claims.judging import Judged, judge_claim
from unbraid.claims.planning import Planned, lacking_data, plan
from unbraid.claims.records import append, read_records, surroundings
from unbraid.engines import Engine, make_engine
from unbraid.errors import UsageError
from unbraid.progress import ProgressKind

if TYPE_CHECKING:
    import polars as pl

__all__ = ["check_reuse", "judge_claims", "run_claims", "take_elsewhere"]


def check_reuse(places: Sequence[Path]) -> None:
    """Refuse folders that are not there: nothing would be taken over, and nothing said."""
    for place in places:
        if not place.is_dir():
            raise UsageError(f"reuse: {place} is no folder; give one in which studies or claims lie")


def take_elsewhere(
    claims: Sequence[Claim], scale: Scale, out: Path, reuse: Sequence[Path], *, only: Sequence[str] = ()
) -> dict[str, str]:
    """Take over what claims lack and other folders hold by the same recipe: runs, cells, or tables without them.

    Gives of the groups of which nothing was there to take how the nearest differs. ``only`` keeps to some groups.
    """
    check_reuse(reuse)
    refused = {}
    for one in plan(claims, scale, out) if reuse else ():
        if not one.todo or (only and one.group.name not in only):
            continue
        if one.group.take(out, scale, one.todo, reuse):
            one.group.keep(out, scale)
        elif why := one.group.refusal(scale, reuse):
            refused[one.group.name] = why
    return refused


def run_claims(
    claims: Sequence[Claim],
    scale: Scale,
    out: Path,
    *,
    only: Sequence[str] = (),
    engine: Callable[[], Engine] | None = None,
    reuse: Sequence[Path] = (),
    retry_failed: bool = False,
    progress: ProgressKind = "auto",
) -> list[dict[str, Any]]:
    """Train what is missing, measure, judge, and append to ``claims.json``; the same call again goes on.

    A group is trained once, whichever claims read it. What fails does not stop the rest: its claims are ``not run``.
    ``only`` keeps to some run groups. What :func:`take_elsewhere` finds in the folders of ``reuse`` is not done again.
    """
    refused = take_elsewhere(claims, scale, out, reuse, only=only)
    make = engine or (lambda: make_engine("process"))
    began = datetime.now(UTC).isoformat(timespec="seconds")
    for one in plan(claims, scale, out):
        if only and one.group.name not in only:
            continue
        if one.todo and not lacking_data(one.group, scale) and scale not in one.group.missing:
            try:
                one.group.run(out, scale, one.todo, engine=make, retry_failed=retry_failed, progress=progress)
            finally:  # also of what was done before it was interrupted
                one.group.keep(out, scale)
    return _judge(claims, scale, out, refused, began)


def judge_claims(
    claims: Sequence[Claim], scale: Scale, out: Path, *, reuse: Sequence[Path] = (), rejudged: bool = False
) -> list[dict[str, Any]]:
    """Verdicts from what lies in the folder, appended to ``claims.json``; nothing is trained.

    What :func:`take_elsewhere` finds in the folders of ``reuse`` is taken over first. The tables of all groups are
    kept, also of what somebody is still at.
    """
    refused = take_elsewhere(claims, scale, out, reuse)
    for one in plan(claims, scale, out):
        one.group.keep(out, scale)
    return _judge(claims, scale, out, refused, None, rejudged)


def _judge(
    claims: Sequence[Claim],
    scale: Scale,
    out: Path,
    refused: Mapping[str, str],
    started: str | None,
    rejudged: bool = False,
) -> list[dict[str, Any]]:
    tables: dict[str, pl.DataFrame] = {}
    about = surroundings()
    known = read_records(out)
    records = []
    for one in claims:
        record = _record(one, scale, out, refused, tables) | about | {"started": started}
        if rejudged:
            earlier = [n for n, old in enumerate(known) if (old["id"], old["scale"]) == (one.id, scale)]
            record["rejudged_from"] = earlier[-1] if earlier else None
        records.append(record)
    append(out, records)
    return records


def _record(
    claim: Claim, scale: Scale, out: Path, refused: Mapping[str, str], tables: dict[str, pl.DataFrame]
) -> dict[str, Any]:
    groups = [GROUPS[name] for name in claim.groups]
    planned = {one.group.name: one for one in plan([claim], scale, out)}
    reasons, failed = [], []
    for group in groups:
        found, broken = _reasons(planned[group.name], scale, out, refused)
        failed += broken
        if not found and group.name not in tables:
            tables[group.name] = group.collect(out, scale)
        if not found and group.gate is not None and scale != "smoke":
            found = [f"gate of {group.name}: {text}" for text in group.gate(tables[group.name])]
        reasons += found
    judged = Judged("not run", "; ".join(reasons))
    if not reasons:
        judged = _judged(claim, scale, tables)
    words = "; ".join(dict.fromkeys(group.recipes[scale].words for group in groups))
    return {
        "id": claim.id,
        "area": claim.area,
        "scale": scale,
        "statement": claim.statement,
        "source": {"work": claim.source.work, "source": claim.source.part_of, "places": list(claim.source.places)},
        "published": [one.to_json() for one in claim.published] or None,
        "data": {"kind": claim.data, "sets": sorted({d for g in groups for d in g.recipes[scale].data})},
        "recipe": {group.name: group.recipes[scale].plan for group in groups},
        "groups": [
            {
                "name": group.name,
                "key": group.key(scale),
                "cells": len(planned[group.name].cells),
                "cpu_seconds": round(_seconds(group, tables), 1),
            }
            for group in groups
        ],
        "seeds": sorted({seed for group in groups for seed in group.recipes[scale].seeds}),
        "seeds_failed": failed,
        "values": judged.values(),
        "statistic": [
            {"name": name, "rule": claim.rules[name].letter, "constants": claim.rules[name].constants()}
            | {"verdict": one.verdict, **one.statistic}
            for name, one in judged.outcomes.items()
        ],
        "p_value": judged.p_value,
        "verdict": judged.verdict,
        "reason": f"{words}: {judged.sentence}" if judged.verdict != "not run" else judged.sentence,
        "flags": _flags(judged),
        "notes": list(claim.notes),
        "known": claim.known,
        "rule_hash": claim.rule_hash({group.name: group.key(scale) for group in groups}),
        "amended": [dict(one) for one in claim.amended],
        "judged": datetime.now(UTC).isoformat(timespec="seconds"),
        "cores": os.cpu_count(),
    }


def _seconds(group: Group, tables: Mapping[str, pl.DataFrame]) -> float:
    table = tables.get(group.name)
    if table is None or "seconds" not in table.columns:
        return 0.0
    keys = [name for name in ("index", "cell") if name in table.columns]
    return float(table.unique(keys)["seconds"].fill_null(0).sum())


def _reasons(
    one: Planned, scale: Scale, out: Path, refused: Mapping[str, str]
) -> tuple[list[str], list[dict[str, Any]]]:
    """Why a group cannot be judged, and which of its cells failed."""
    group = one.group
    if scale in group.missing:
        return [f"{group.name}: {group.missing[scale]}"], []
    asked = [cell for cell in one.todo if not cell.beside]
    if asked and (why := lacking_data(group, scale)):  # what is there can be judged without the images
        return [f"{group.name}: {why}"], []
    failed = []
    for cell in asked:
        state, error = group.state(out, scale, cell)
        if state == "failed":
            failed.append({"group": group.name, "cell": cell.name, "seed": cell.setting.get("seed"), "error": error})
    if failed:
        return [f"{group.name}: {len(failed)} of {len(one.cells)} cells failed, first: {failed[0]['error']}"], failed
    if asked:
        why = refused.get(group.name, "")
        lacking = f"{group.name}: {len(asked)} of {len(one.cells)} cells are not there yet"
        return [f"{lacking} ({why})" if why else lacking], []
    return [], []


def _judged(claim: Claim, scale: Scale, tables: Mapping[str, pl.DataFrame]) -> Judged:
    """At smoke scale everything is measured, and nothing decided, unless no training is involved."""
    own = {name: tables[name] for name in claim.groups}
    deciding = scale != "smoke" or claim.groups == ("exact",)
    try:
        found = judge_claim(claim, own)
    except UsageError as error:
        if deciding or not claim.too_small:
            return Judged("not run", f"the tables cannot say: {error}")
        return Judged("not judged", f"too small to judge, {claim.too_small}: {error}")
    return found if deciding else Judged("not judged", found.sentence, found.outcomes, found.measured)


def _flags(judged: Judged) -> list[str]:
    """What makes a number hard to read."""
    found = []
    for name, one in judged.outcomes.items():
        ends = [one.statistic.get(key) for key in ("point", "low", "high")]
        if one.statistic.get("n") != 1 and any(isinstance(end, float) and abs(end) == float("inf") for end in ends):
            found.append(f"{name}: an infinite median")
        if one.statistic.get("sd") == 0:
            found.append(f"{name}: all seeds alike")
    return found
