"""Published conclusions held against a study: what was concluded, by which rule, and what the study says of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from unbraid.evaluation import Verdict, told
from unbraid.sharing import markdown

__all__ = ["Finding", "findings_section"]


@dataclass(frozen=True)
class Finding:
    """A published conclusion, the rule by which it counts as seen, and what a study says of it."""

    name: str
    data: str
    text: str
    rule: str
    verdict: Verdict


OVER_SEEDS = "In brackets 95 % intervals over seeds (leaving out one after the other) of the numbers that decide"


def findings_section(
    heading: str,
    whose: str,
    found: Sequence[Finding],
    else_: str = "where a limit lies inside, it is undecided",
    counted: str = OVER_SEEDS,
) -> Iterator[str]:
    """Lines of Markdown: a table of verdicts, how they were ``counted``, and what the study does not ask about."""
    yield from (
        "",
        f"## {heading}",
        "",
        f"What {whose} conclude, each with the rule by which it counts as seen here. {counted}; {else_}.",
        "",
        "| data | finding | rule | measured here | verdict |",
        "|---|---|---|---|---|",
    )
    silent = []
    for one in found:
        word, sentence = told(one.verdict, strong="**")
        if one.verdict.word == "cannot say":
            silent.append(f"({one.name}) on {one.data}: {sentence}")
        else:
            yield f"| {markdown(one.data)} | ({one.name}) {one.text} | {one.rule} | {markdown(sentence)} | {word} |"
    if silent:
        yield from ("", "Not asked by this study: " + markdown("; ".join(silent)) + ".")
