"""What all verdicts come to: which records stand, and how many claims of a source were reproduced at which scale."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from unbraid.claims.claim import Claim
from unbraid.claims.group import GROUPS, SCALES, Scale
from unbraid.claims.judging import holm

__all__ = ["Count", "Kind", "Standing", "adjusted", "counts", "disagreeing", "headline", "standing"]

Kind = Literal["data", "stand-in", "exact"]
"""Runs on real, rendered or made-up data as published; on a set that stands in for the published; no runs at all."""


@dataclass(frozen=True)
class Standing:
    """What is known of a claim: its records by scale, as far as rule and recipe are still those."""

    claim: Claim
    records: Mapping[Scale, Mapping[str, Any]]
    void: tuple[Scale, ...] = ()
    """Scales whose verdict was given by another rule or recipe."""

    @property
    def scale(self) -> Scale | None:
        """The largest scale that was judged; else the largest that was run at all."""
        there = [scale for scale in SCALES if scale in self.records]
        judged = [scale for scale in there if self.records[scale]["verdict"] not in ("not run", "not judged")]
        return (judged or there or [None])[-1]  # type: ignore[list-item]

    @property
    def record(self) -> Mapping[str, Any] | None:
        """That of this scale."""
        return None if self.scale is None else self.records[self.scale]

    @property
    def verdict(self) -> str:
        return "not run" if self.record is None else str(self.record["verdict"])

    @property
    def kind(self) -> Kind:
        return "exact" if self.claim.data == "exact" else "stand-in" if self.claim.data == "stand-in" else "data"


def standing(claims: Mapping[str, Claim], records: Sequence[Mapping[str, Any]]) -> dict[str, Standing]:
    """The last record of every claim and scale; one by another rule or recipe than today's is void."""
    found: dict[str, dict[Scale, Mapping[str, Any]]] = {name: {} for name in claims}
    for record in records:
        if record["id"] in found and record["scale"] in SCALES:
            found[record["id"]][record["scale"]] = record
    told = {}
    for name, claim in claims.items():
        hashes = {scale: claim.rule_hash({g: GROUPS[g].key(scale) for g in claim.groups}) for scale in found[name]}
        void = tuple(scale for scale, record in found[name].items() if record["rule_hash"] != hashes[scale])
        kept = {scale: record for scale, record in found[name].items() if scale not in void}
        told[name] = Standing(claim, kept, void)
    return told


@dataclass(frozen=True)
class Count:
    """Verdicts of some claims."""

    reproduced: int = 0
    not_reproduced: int = 0
    inconclusive: int = 0
    not_run: int = 0

    @property
    def judged(self) -> int:
        return self.reproduced + self.not_reproduced + self.inconclusive

    def __str__(self) -> str:
        return (
            f"{self.reproduced} of {self.judged} reproduced, {self.not_reproduced} not, "
            f"{self.inconclusive} inconclusive, {self.not_run} not run"
        )


def counts(found: Sequence[Standing], scale: Scale) -> dict[Kind, Count]:
    """Verdicts at one scale by what they rest on; exact claims have the same verdict at every scale."""
    told: dict[Kind, Count] = {}
    for kind in ("data", "stand-in", "exact"):
        words = [_verdict(one, scale) for one in found if one.kind == kind]
        if words:
            judged = ("reproduced", "not reproduced", "inconclusive")
            yes, no, unsure = (words.count(word) for word in judged)
            told[kind] = Count(yes, no, unsure, len(words) - yes - no - unsure)
    return told


def _verdict(one: Standing, scale: Scale) -> str:
    if one.kind == "exact":
        return one.verdict
    record = one.records.get(scale)
    return "not run" if record is None else str(record["verdict"])


def disagreeing(one: Standing) -> bool:
    """Whether scales give different verdicts."""
    words = {r["verdict"] for r in one.records.values() if r["verdict"] in ("reproduced", "not reproduced")}
    return len(words) > 1


def adjusted(found: Sequence[Standing], scale: Scale) -> dict[str, float]:
    """P-values of a scale, adjusted by Holm for their number; claims whose rule has none are left out."""
    chances = {}
    for one in found:
        record = one.records.get(scale)
        if record is None or record.get("p_value") is None or record["verdict"] in ("not run", "not judged"):
            continue
        chances[one.claim.id] = float(record["p_value"])
    return holm(chances)


def headline(found: Sequence[Standing]) -> str:
    """All of it in one line, by scale; never a sum over scales."""
    parts = []
    for scale in ("small", "paper"):
        told = counts(found, scale)
        for kind, words in (("data", ""), ("stand-in", " on stand-ins")):
            count = told.get(kind)  # type: ignore[call-overload]
            if count is not None and count.judged:
                parts.append(f"{count.reproduced} of {count.judged} reproduced at {scale} scale{words}")
    exact = counts(found, "small").get("exact")
    if exact is not None and exact.judged:
        parts.append(f"{exact.reproduced} of {exact.judged} exact ones")
    open_ = sum(one.verdict in ("not run", "not judged") for one in found)
    return f"{len(found)} published claims: " + ("; ".join(parts) or "none judged yet") + f"; {open_} not run"
