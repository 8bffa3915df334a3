"""The page of all claims as one HTML file."""

from __future__ import annotations

from collections.abc import Sequence

from unbraid.claims import SCALES, SOURCES, Standing, adjusted, disagreeing, headline
from unbraid.report.claims.intervals import interval_bar, measured_words
from unbraid.report.claims.summary import (
    NOT_TESTABLE,
    by_source,
    published_words,
    seeds_words,
    source_rows,
)
from unbraid.report.page.axes import number
from unbraid.report.page.markup import Html, Section, command, figure, note, section, slug, tag, terms
from unbraid.report.page.shell import page
from unbraid.report.page.tables import data_table, scroll

__all__ = ["claims_page"]

COUNTS = (
    "Claims with a verdict at this scale, by source. Verdicts on data sets that stand in for the published ones, and "
    "exact results without runs, are counted apart. Claims differ in weight and share runs, so there is no overall "
    "score, and nothing is summed over scales."
)
TABLE = (
    "In the pictures the dot is what was measured, the line its interval, the ring what was published, the dashed line "
    "what the rule asks for and the thin one no effect. A verdict speaks of the recipe it was reached with: what is "
    "not reproduced at small scale is not refuted."
)
TESTING = (
    "A true null passes a statistical rule with a chance of about 2.5 %, so that about two of 71 claims would be "
    "reproduced by luck if all were null. The verdicts are not adjusted; the last column has p-values adjusted for "
    "their number by Holm's steps, to be held against .025. Rules about whole tables (J) have none."
)


def claims_page(found: Sequence[Standing], made_by: str = "unbraid claims report") -> str:
    """The page as the text of an HTML file."""
    failed = [one for one in found if one.verdict == "not reproduced"]
    judged = [one for one in found if one.verdict in ("reproduced", "not reproduced", "inconclusive")]
    numbers = [
        ("claims", str(len(found)), f"of {len(SOURCES)} sources"),
        ("with a verdict", str(len(judged)), "at the largest scale run"),
        ("not reproduced", str(len(failed)), "shown first"),
    ]
    tiles = [tag("li", tag("span", what), tag("b", value), tag("small", extra)) for what, value, extra in numbers]
    lead: list[object] = [tag("ul", tiles, class_="tiles"), tag("p", headline(found))]
    if not judged:
        lead.append(note("Nothing has been judged yet.", try_="unbraid claims run all --scale small"))
    parts: list[Section] = []
    if failed:
        parts.append(section("Not reproduced", figure(TABLE, _table(failed, "Claims that were not reproduced"))))
    parts.append(_counts(found))
    for name, own in by_source(found).items():
        order = sorted(
            own,
            key=lambda one: ("not reproduced", "inconclusive", "reproduced").index(one.verdict) if one in judged else 3,
        )
        parts.append(section(name, figure(TABLE, _table(order, f"Claims of {name}"))))
    parts += [_testing(found), _groups(found), _not_testable()]
    parts.append(section("Every claim", [_details(one) for one in found], short="Details"))
    parts.append(section("Reproduce it", tag("p", "Make this page again:"), command(made_by)))
    return page("Published claims, held to runs", "statement, published, measured, verdict", lead, parts, made_by)


def _counts(found: Sequence[Standing]) -> Section:
    columns = ["source", "reproduced", "not", "inconclusive", "not run", "stand-ins", "exact"]
    shown = [scale for scale in ("small", "paper") if any(scale in one.records for one in found)] or ["small"]
    tables = []
    for scale in shown:
        tables += [
            tag("h3", f"{scale} scale"),
            data_table(columns, source_rows(found, scale), f"Verdicts at {scale} scale", sortable=False),
        ]
    return section("Counts", figure(COUNTS, *tables))


def _table(found: Sequence[Standing], title: str) -> Html:
    heads = [tag("th", name, scope="col") for name in ("claim", "published", "measured", "verdict", "runs")]
    body = [tag("tr", [tag("td", cell) for cell in _row(one)]) for one in found]
    caption = tag("caption", title, class_="unseen")
    table = tag("table", caption, tag("thead", tag("tr", heads)), tag("tbody", body), class_="data sentences claims")
    return scroll(table, title)


def _row(one: Standing) -> list[object]:
    record, claim, scale = one.record, one.claim, one.scale or "small"
    verdict = f"{one.verdict} ({scale})" if record is not None else "not run"
    verdict += ", depends on scale" if disagreeing(one) else ""
    reason = "" if record is None else str(record["reason"])
    if one.void:
        reason += f" Earlier verdicts ({', '.join(one.void)}) are void: rule or recipe changed since."
    runs = [claim.data, "no runs"]
    if record is not None:
        minutes = sum(group["cpu_seconds"] for group in record["groups"]) / 60
        seeds = f"{seeds_words(record)} seeds" if record["seeds"] else "no seeds"
        runs = [claim.data, seeds, f"{number(minutes)} min", ", ".join(claim.groups)]
    return [
        [tag("a", claim.id, href=f"#{slug(claim.id)}"), tag("p", claim.statement), tag("small", str(claim.source))],
        tag("ul", [tag("li", words) for words in published_words(one).split("; ")], class_="plain"),
        _measured(one),
        [tag("b", verdict), tag("p", reason), *(tag("p", tag("small", f"Note: {text}")) for text in claim.notes)],
        tag("ul", [tag("li", words) for words in runs], class_="plain"),
    ]


def _measured(one: Standing) -> Html:
    record = one.record
    if record is None:
        return tag("span", "–")
    shown = []
    for statistic in record["statistic"]:
        words = measured_words(statistic)
        bar = interval_bar(statistic, one.claim.of_contrast.get(statistic["name"]))
        if words:
            shown.append(tag("div", tag("small", f"{statistic['name']}: {words} {one.claim.unit}".rstrip()), bar))
    return tag("div", shown) if shown else tag("span", "see why")


def _testing(found: Sequence[Standing]) -> Section:
    rows: list[list[object]] = []
    for scale in SCALES:
        chances = adjusted(found, scale)
        for one in found:
            if one.claim.id in chances:
                record = one.records[scale]
                rows.append([one.claim.id, scale, record["verdict"], record["p_value"], chances[one.claim.id]])
    table = data_table(["claim", "scale", "verdict", "p", "p by Holm"], rows, "P-values") if rows else None
    return section("Many tests", figure(TESTING, table), short="Tests")


def _groups(found: Sequence[Standing]) -> Section:
    shared: dict[str, list[Standing]] = {}
    for one in found:
        for name in one.claim.groups:
            shared.setdefault(name, []).append(one)
    rows = [
        [name, len(own), sum(one.verdict == "reproduced" for one in own), ", ".join(one.claim.id for one in own)]
        for name, own in shared.items()
    ]
    about = "Claims that stand on the same runs are not independent of each other."
    table = data_table(["run group", "claims", "reproduced", "which"], rows, "Run groups", sentences=True)
    return section("Shared runs", figure(about, table))


def _not_testable() -> Section:
    rows = [list(row) for row in NOT_TESTABLE]
    about = "What the sources also say, and why it is not among the claims."
    return section(
        "Not testable here",
        figure(about, data_table(["what", "where", "why"], rows, "Not testable", sortable=False, sentences=True)),
    )


def _details(one: Standing) -> Html:
    claim = one.claim
    pairs: list[tuple[object, object]] = [
        ("statement", claim.statement),
        ("source", str(claim.source)),
        ("published", published_words(one)),
        ("rule", "; ".join(f"{name}: {rule}" for name, rule in claim.rules.items())),
        ("known beforehand", claim.known),
        ("data", claim.data),
        *(("note", text) for text in claim.notes),
    ]
    for scale, record in one.records.items():
        pairs.append((f"verdict, {scale}", f"{record['verdict']}: {record['reason']}"))
        pairs += [(f"flag, {scale}", text) for text in record["flags"]]
        for values in record["values"]:
            listed = values["per_seed"] if len(values["per_seed"]) <= 60 else values["per_seed"][:60]
            told = "; ".join(" ".join(_short(x) for x in row) for row in listed)
            names = f" ({', '.join(values['names'])})" if "names" in values else ""
            pairs.append((f"{values['name']}{names}, {scale}", told))
    inside = [terms(pairs), command(f"unbraid claims run {claim.id} --scale {one.scale or 'small'}")]
    return tag("details", tag("summary", tag("b", claim.id), f" – {one.verdict}"), *inside, id=slug(claim.id))


def _short(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
