"""The matrix as a table of the page: biases by kind, scenarios by group, the verdict beside the name."""

from __future__ import annotations

import re

from unbraid.report.page.markup import Html, slug, tag
from unbraid.report.page.palette import LEVELS
from unbraid.report.page.tables import scroll
from unbraid.report.transfer.grouping import columns_of, rows_of
from unbraid.report.transfer.shown import REACH, absolute, cell_shade, decided, in_words, shown, signed, with_titles
from unbraid.transfer import Effect, Matrix, get_scenario, own_scenarios, twin_of

__all__ = ["anchor", "heat_map", "key"]

VANILLA = "vanilla"


def anchor(found: Matrix, bias: str) -> str:
    """Where the card of a model is."""
    return f"card-{slug(found.domain)}-{slug(bias)}"


def key() -> Html:
    """What colours, fills, frames and corners of the matrix mean."""
    levels = [f"n{level}" for level in range(LEVELS, 0, -2)] + [f"h{level}" for level in range(0, LEVELS + 1, 2)]
    strip = tag("span", [tag("i", class_=level) for level in levels], class_="strip", aria_hidden="true")
    samples = [
        (tag("b", "+9"), "h4", "better or worse"),
        (tag("span", "+9", class_="cell h4"), "open", "undecided: too few seeds"),
        ("+1", "h0 same", "unchanged"),
        ("", "h0 marked", "what the bias was made for"),
        ("", "h4 holm", "survives Holm's correction"),
    ]
    shown = [tag("li", tag("span", text, class_=f"{kind} swatch"), words) for text, kind, words in samples]
    ends = tag("li", f"worse, −{REACH:.0f} ", strip, f" +{REACH:.0f}, better")
    return tag("ul", ends, shown, class_="legend key")


def heat_map(found: Matrix) -> Html:
    """Biases by scenarios; every cell says its numbers and leads to the card."""
    groups = columns_of(found)
    columns = [one for _, members in groups for one in members]
    first = {members[0] for _, members in groups[1:]}
    above = [tag("th", title, scope="colgroup", colspan=len(members), class_="group") if title
             else tag("td", colspan=len(members)) for title, members in groups]  # fmt: skip
    heads = [tag("th", tag("span", get_scenario(one).title), scope="col", class_=_gap(one, first)) for one in columns]
    head = tag("thead", tag("tr", tag("td"), above), tag("tr", tag("td"), heads))
    bodies = []
    if VANILLA in found.values:
        bodies.append(tag("tbody", _vanilla(found, columns, first)))
    for kind, members in rows_of(found):
        named = tag("tr", tag("th", kind, scope="rowgroup", class_="kind"), tag("td", colspan=len(columns)))
        bodies.append(tag("tbody", named, [_row(found, bias, columns, first) for bias in members]))
    title = f"Differences to the vanilla twin on {found.domain}"
    return scroll(tag("table", tag("caption", tag("span", title)), head, bodies, class_="heat upright"), title)


def _row(found: Matrix, bias: str, columns: list[str], first: set[str]) -> Html:
    told, own, row = found.verdicts[bias], own_scenarios(bias), found.effects[bias]
    cells = [_cell(found, bias, row.get(one), one in own, _gap(one, first)) for one in columns]
    kind = "word" if told.word not in ("undecided", "cannot say") else "word left-open"
    word = tag("button", told.word, type="button", class_=kind, data_tip=f"{bias}: {with_titles(told.sentence)}")
    against = None if twin_of(bias) == VANILLA else tag("small", f"against {twin_of(bias)}")
    return tag("tr", tag("th", tag("div", tag("span", _breaking(bias), against), word), scope="row"), cells)


def _cell(found: Matrix, bias: str, effect: Effect | None, own: bool, gap: str | None) -> Html:
    if effect is None:
        return tag("td", class_=f"hx {gap or ''}".strip())
    text = signed(shown(effect)[0])
    fill, open_ = cell_shade(effect), effect.word == "undecided"
    inside = tag("a", tag("b", text) if decided(effect) else text, href=f"#{anchor(found, bias)}",
                 class_=f"cell {fill}" if open_ else "cell")  # fmt: skip
    framed = tag("span", " (own)", class_="unseen") if own else None
    kinds = ["open" if open_ else fill, "same" if effect.word == "unchanged" else None, "marked" if own else None,
             "holm" if effect.survives else None, gap]  # fmt: skip
    tip = in_words(bias, twin_of(bias), effect)
    return tag("td", inside, framed, class_=" ".join(kind for kind in kinds if kind), data_tip=tip)


def _vanilla(found: Matrix, columns: list[str], first: set[str]) -> Html:
    """Its own numbers, which all others are held against."""
    cells = []
    for one in columns:
        by_seed = found.values[VANILLA].get(one)
        if not by_seed:
            cells.append(tag("td", class_=_gap(one, first)))
            continue
        short, words = absolute(one, by_seed)
        inside = tag("a", short, href=f"#{anchor(found, VANILLA)}", class_="cell")
        cells.append(tag("td", inside, class_=_gap(one, first), data_tip=f"{VANILLA} · {words}"))
    name = tag("div", tag("span", VANILLA), tag("small", "own numbers", class_="word"))
    return tag("tr", tag("th", name, scope="row"), cells, class_="plain")


def _gap(scenario: str, first: set[str]) -> str | None:
    return "first" if scenario in first else None


def _breaking(name: str) -> list[object]:
    """A name that may break before each +, so that narrow columns hold it."""
    parts = [tag("i", part) for part in re.split(r"(?=\+)", name)]
    return [[tag("wbr"), part] if k else part for k, part in enumerate(parts)]
