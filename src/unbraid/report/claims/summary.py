"""Tables of verdicts in words: per source, per claim, and the line for a README."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from unbraid.claims import SOURCES, WORKS, Standing, claims, counts, headline, standing

__all__ = ["NOT_TESTABLE", "badge", "by_source", "published_words", "seeds_words", "source_rows", "stood"]

NOT_TESTABLE: tuple[tuple[str, str, str], ...] = (
    (
        "Natural transitions: their exponents, kurtosis and likelihoods",
        "Klindt et al. 2021, tables 6 to 13",
        "YouTube-VOS and KITTI; the stand-in is built with these values, so that a test would be circular",
    ),
    (
        "Rows of Cars3D, SmallNORB, Shapes3D, MPI3D, KITTI Masks, Natural Sprites",
        "Locatello et al. 2019; Klindt et al. 2021; Estermann et al. 2020",
        "no files here; loaders exist",
    ),
    ("Each of the 84 percentages of explained variance", "Locatello et al. 2019", "12,600 runs"),
    (
        "What the final model keeps; traversals of CelebA",
        "Estermann et al. 2020, figures 12 to 14",
        "a recursion of full size; qualitative",
    ),
    (
        "dSprites rows of table 3.3, eigenfaces, sweeps of strengths, polar layouts",
        "Zietlow 2022",
        "days per run; CelebA; an unspecified GAN",
    ),
    (
        "CelebGlow, MPI3D, ResNets, DenseNets, transfer from ImageNet",
        "Schott et al. 2022, tables 8 to 10",
        "files and weights are missing",
    ),
    ("ImageNet-C rows: ANT3x3, stylised data, backbones, mCE", "Rusak et al. 2020", "ImageNet and weights are missing"),
    (
        "Rows of estimated gradients, two-class CIFAR, how adversarials look",
        "Schott et al. 2019",
        "1,568 searches per gradient; no human study",
    ),
    ("Error and metamers of fiRevNet48", "Jacobsen et al. 2019, table 1", "ImageNet"),
    ("Disentanglement under attack, ANT with stylised data, score-based ABS", "Schott 2021, chapter 3", "unpublished"),
)
"""What of the sources is at paper scale only, or not testable here: what, where, why."""


def stood(records: Sequence[Mapping[str, Any]]) -> list[Standing]:
    """What is known of every claim."""
    return list(standing(claims(), records).values())


def badge(records: Sequence[Mapping[str, Any]]) -> str:
    """One line for a README."""
    return headline(stood(records))


def by_source(found: Sequence[Standing]) -> dict[str, list[Standing]]:
    """Claims by source, in the order of the page."""
    return {name: [one for one in found if one.claim.source.part_of == name] for name in SOURCES}


def source_rows(found: Sequence[Standing], scale: str) -> list[list[object]]:
    """Counts of every source, and of the works of one that has several."""
    rows: list[list[object]] = []
    for name, own in by_source(found).items():
        rows.append([name, *_cells(own, scale)])
        works = [work for work in WORKS if WORKS[work].source == name]
        if len(works) > 1:
            for work in works:
                part = [one for one in own if one.claim.source.work == work]
                rows.append([f"– {work}", *_cells(part, scale)])
    return rows


def _cells(found: Sequence[Standing], scale: str) -> list[object]:
    told = counts(found, scale)  # type: ignore[arg-type]
    data = told.get("data")
    cells: list[object] = ["–" if data is None else f"{data.reproduced} of {data.judged}"]
    cells += [0, 0, 0] if data is None else [data.not_reproduced, data.inconclusive, data.not_run]
    for kind in ("stand-in", "exact"):
        count = told.get(kind)
        rest = f" ({count.not_run} not run)" if count is not None and count.not_run else ""
        cells.append("–" if count is None else f"{count.reproduced} of {count.judged}{rest}")
    return cells


def published_words(one: Standing) -> str:
    """The printed numbers of a claim."""
    if not one.claim.published:
        return "figure only"
    told = []
    for number in one.claim.published:
        where = " ".join(part for part in (number.data, number.name) if part)
        told.append(f"{where} {number.value:g}" + (f" ± {number.sd:g}" if number.sd is not None else ""))
    return "; ".join(told)


def seeds_words(record: Mapping[str, Any] | None) -> str:
    """How many seeds, and how many pieces of work failed."""
    if record is None:
        return ""
    failed = f", {len(record['seeds_failed'])} failed" if record["seeds_failed"] else ""
    return f"{len(record['seeds'])}{failed}"
