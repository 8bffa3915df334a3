"""A matrix as one Markdown page: what was run, what every bias buys, and what was published beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars

from unbraid.evaluation import told
from unbraid.report.transfer.shown import shown, signed
from unbraid.sharing import sharable
from unbraid.transfer import Matrix, Plan, get_scenario, judge_published, own_scenarios, tell_published, tell_verdicts

__all__ = ["matrix_markdown"]

CELLS = (
    "Mean differences to the vanilla twin over seeds, in points of accuracy, R² or shares, of distances in percent of "
    "the twin's. **Bold** is decided: beyond two standard errors and beyond a point (5 % of a distance). Cells in "
    "[brackets] are the scenarios that a bias was made for."
)


def matrix_markdown(plan: Plan, table: polars.DataFrame, matrices: Mapping[str, Matrix], made_by: str) -> str:
    """The page; pictures are expected beside it as ``matrix-DOMAIN.png``."""
    lines = ["# What biases buy outside the training domain", "", *_what(plan, table, made_by)]
    for domain, found in matrices.items():
        lines += ["", f"## {domain}", "", f"![Differences to the vanilla twin on {domain}](matrix-{domain}.png)", ""]
        lines += [CELLS, "", *_cells(found), "", f"### Verdicts on {domain}", "", *_verdicts(found)]
        if found.combinations:
            rows = [[*pair, one.word, one.sentence] for pair, one in found.combinations.items()]
            lines += ["", f"### Two at once on {domain}", "", *_table(["first", "second", "together", "why"], rows)]
        lines += ["", f"### Published outcomes on {domain}", "", *_published(found, table)]
        lines += ["", f"### Vanilla on {domain}", "", *_vanilla(found)]
    return "\n".join(lines) + "\n"


def _what(plan: Plan, table: polars.DataFrame, made_by: str) -> list[str]:
    budget = plan.budget
    seeds = sorted(set(table["seed"]))
    hours = float(table["seconds"].sum()) / 3600
    every = len(plan.cells())
    lines = [
        f"- Preset `{plan.name}`: {table['bias'].n_unique()} recipes, {table['scenario'].n_unique()} scenarios on "
        f"{', '.join(f'`{name}`' for name in dict.fromkeys(table['domain']))}; seeds {', '.join(map(str, seeds))}",
        f"- {len(table):,} of {every:,} cells measured; asking took {hours:.1f} hours by the clock",
        f"- Training: {budget.steps:,} steps of {budget.batch_size} images (encoders "
        f"{round(budget.steps * budget.encoding):,}, analysis by synthesis {round(budget.steps * budget.drawing):,}); "
        f"adversarial training {budget.adversary} steps of its adversary; analysis by synthesis {budget.search} "
        f"latents and {budget.iterations} passes",
        f"- Made by `{sharable(made_by)}`; every number is in `table.parquet`",
    ]
    if len(seeds) < 3:
        lines.append("- With fewer than three seeds nothing is decided: every verdict is open")
    return lines


def _cells(found: Matrix) -> list[str]:
    columns = [one for one in found.scenarios if any(one in row for row in found.effects.values())]
    rows = []
    for bias, row in found.effects.items():
        own, cells = own_scenarios(bias), []
        for one in columns:
            effect = row.get(one)
            if effect is None:
                cells.append("")
                continue
            text = signed(shown(effect)[0])
            text = f"**{text}**" if effect.word in ("better", "worse") else text
            cells.append(f"[{text}]" if one in own else text)
        rows.append([bias, *cells, found.verdicts[bias].word])
    return _table(["bias", *(get_scenario(one).title for one in columns), "verdict"], rows)


def _verdicts(found: Matrix) -> list[str]:
    rows = []
    for bias, judged in found.verdicts.items():
        kept = [get_scenario(one.scenario).title for one in found.effects[bias].values() if one.survives]
        rows.append([bias, judged.word, judged.sentence, ", ".join(kept) or "none"])
    return [_capital(tell_verdicts(found.verdicts)), "", *_table(["bias", "verdict", "why", "after Holm"], rows)]


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _published(found: Matrix, table: polars.DataFrame) -> list[str]:
    outcomes = judge_published(found, table)
    rows = []
    for one in outcomes:
        word, sentence = told(one.verdict, strong="**")
        rows.append([one.published, one.rule, sentence, word])
    return [tell_published(outcomes), "", *_table(["published", "rule", "measured here", "verdict"], rows)]


def _vanilla(found: Matrix) -> list[str]:
    rows = []
    for one in found.scenarios:
        by_seed = found.values.get("vanilla", {}).get(one)
        if by_seed:
            each = ", ".join(f"{value:.3g}" for _, value in sorted(by_seed.items()))
            rows.append([get_scenario(one).title, get_scenario(one).unit, each])
    return _table(["scenario", "unit", "by seed"], rows)


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    lines = [list(columns), ["---"] * len(columns), *rows]
    return ["| " + " | ".join(cell.replace("|", "/") for cell in row) + " |" for row in lines]
