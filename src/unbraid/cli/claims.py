"""unbraid claims list | show | run | judge | report"""

from __future__ import annotations

import json as json_module
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from tyro.conf import Positional, arg

from unbraid.errors import UsageError
from unbraid.paths import quoted

if TYPE_CHECKING:
    from unbraid.claims import Claim, Planned

__all__ = ["claims_judge", "claims_list", "claims_report", "claims_run", "claims_show"]

Scale = Literal["smoke", "small", "paper"]
Shown = Literal["auto", "bar", "lines", "none"]
Patterns = Positional[Annotated[tuple[str, ...], arg(metavar="[ID ...]")]]
OUT = Path("studies/claims")
LONG = 24 * 60
"""Minutes beyond which a scale is planned instead of run."""


def claims_list(
    patterns: Patterns = (),
    *,
    area: str | None = None,
    scale: Scale = "small",
    out: Path = OUT,
    json: bool = False,
) -> None:
    """List claims: what they say, the run groups they read, cost, and the last verdict.

    Cost is in minutes of one core (hours of a GPU where marked), first alone, then given what is finished.

    Args:
        patterns: Ids, areas or patterns such as 'slow/*' (otherwise all).
        area: study, rpu, slow, pca, generalization, noise, abs, invariance or transfer.
        scale: Whose cost and verdict are shown.
        out: Folder of the claims.
        json: Print a JSON array instead of a table.
    """
    from unbraid.claims import AREAS, groups, lacking_data, latest, plan, read_records
    from unbraid.errors import unknown_name

    if area is not None and area not in AREAS:
        raise unknown_name("area", area, AREAS)
    known = groups()
    found = latest(read_records(out))
    rows: list[dict[str, Any]] = []
    for one in _chosen(patterns):
        if area not in (None, one.area):
            continue
        planned = plan([one], scale, out)
        record = found.get((one.id, scale), {})
        rows.append(
            {
                "id": one.id,
                "statement": one.statement,
                "groups": list(one.groups),
                "minutes": round(sum(p.group.minutes(scale, p.cells) for p in planned), 1),
                "minutes_left": round(sum(p.minutes for p in planned), 1),
                "unit": "GPU" if any(p.group.recipes[scale].unit == "GPU" for p in planned) else "core",
                "data_here": not any(lacking_data(known[name], scale) for name in one.groups),
                "verdict": record.get("verdict"),
            }
        )
    if json:
        print(json_module.dumps(rows, indent=2))
        return
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("claim", no_wrap=True)
    table.add_column("statement", overflow="fold")
    table.add_column("minutes", justify="right", no_wrap=True)
    table.add_column("left", justify="right", no_wrap=True)
    table.add_column("data", no_wrap=True)
    table.add_column(f"verdict ({scale})", no_wrap=True)
    for row in rows:
        gpu = " GPU" if row["unit"] == "GPU" else ""
        here = "here" if row["data_here"] else "missing"
        cost = f"{row['minutes']:,.0f}{gpu}", f"{row['minutes_left']:,.0f}{gpu}"
        table.add_row(row["id"], row["statement"], *cost, here, row["verdict"] or "")
    Console(soft_wrap=False, width=None if sys.stdout.isatty() else 160).print(table)
    print(f"{len(rows)} claims. Run some: unbraid claims run 'invariance/*' --scale smoke --out {quoted(out)}")


def claims_show(claim: Positional[str], *, scale: Scale = "small", out: Path = OUT, json: bool = False) -> None:
    """Show one claim: source, published numbers, quantity, rule, recipe, and what was measured.

    Args:
        claim: Id of a claim.
        scale: Whose recipe and verdict are shown.
        out: Folder of the claims.
        json: Print JSON instead of text.
    """
    from unbraid.claims import groups, latest, read_records

    chosen = _chosen((claim,))
    if len(chosen) != 1:
        raise UsageError(f"{claim!r} names {len(chosen)} claims; show takes one, such as {chosen[0].id}")
    one, known = chosen[0], groups()
    record = latest(read_records(out)).get((one.id, scale))
    recipes = {name: known[name].recipes[scale] for name in one.groups}
    if json:
        about = one.definition() | {
            "source": {"work": one.source.work, "places": list(one.source.places)},
            "published": [number.to_json() for number in one.published],
            "known": one.known,
            "data": one.data,
            "recipes": {name: dict(recipe.plan) for name, recipe in recipes.items()},
            "record": record,
        }
        print(json_module.dumps(about, indent=2, default=str))
        return
    lines = [one.id, f"  {one.statement}", f"  source     {one.source}"]
    for number in one.published:
        told = " ".join(part for part in (number.data, number.name) if part)
        sd = "" if number.sd is None else f" ± {number.sd:g}"
        lines.append(f"  published  {told}: {number.value:g}{sd} {number.unit}".rstrip())
    for name, rule in one.rules.items():
        lines.append(f"  rule       {name}: {rule} - {rule.about}")
    for name, recipe in recipes.items():
        cost = _cost(recipe.minutes, recipe.unit)
        lines.append(f"  group      {name}: {recipe.words}; seeds {_range(recipe.seeds)}, about {cost} in all")
    lines += [f"  note       {note}" for note in one.notes]
    lines += [f"  known      {one.known}", f"  data       {one.data}"]
    if record is not None:
        lines += [f"  verdict    {record['verdict']} ({scale})", f"             {record['reason']}"]
    else:
        lines.append(f"  not run at this scale: unbraid claims run {one.id} --scale {scale} --out {quoted(out)}")
    print("\n".join(lines))


def claims_run(
    patterns: Patterns = (),
    *,
    scale: Scale = "smoke",
    group: Annotated[tuple[str, ...], arg(metavar="NAME")] = (),
    out: Path = OUT,
    plan: bool = False,
    force: bool = False,
    reuse: Annotated[tuple[Path, ...], arg(metavar="FOLDER")] = (),
    retry_failed: bool = False,
    workers: Annotated[int | None, arg(metavar="INT")] = None,
    engine: Literal["process", "ray"] = "process",
    address: Annotated[str | None, arg(metavar="STR")] = None,
    progress: Shown = "auto",
    json: bool = False,
) -> None:
    """Train what claims need and is missing, measure, judge, and append to OUT/claims.json; the same command goes on.

    A run group is trained once, whichever claims read it. smoke: minutes, everything too short to decide. small:
    evenings on two cores. paper: published sizes; above a day the plan is printed instead, with its cost and commands.

    Args:
        patterns: Ids, areas, patterns such as 'slow/*', or all.
        scale: smoke, small or paper.
        group: Only these run groups, whichever claims read them.
        out: Folder of runs, tables and claims.json.
        plan: Print what would be done, its cost and the commands for a cluster, and do nothing.
        force: Run although it takes more than a day.
        reuse: Folders of studies and claims; what was measured there by the same recipe is taken over, and of others
            is said how the nearest differs.
        retry_failed: Try again what failed before.
        workers: How many trainings at a time.
        engine: process for this machine, ray for a cluster.
        address: Address of a Ray cluster.
        progress: How progress is shown (on stderr).
        json: Print the records as JSON.
    """
    from unbraid.claims import check_reuse, groups, run_claims, take_elsewhere
    from unbraid.claims import plan as planned_of
    from unbraid.engines import make_engine
    from unbraid.errors import unknown_name

    for name in group:
        if name not in groups():
            raise unknown_name("run group", name, groups())
    if not patterns and not group:
        raise UsageError("which claims? Give ids, patterns such as 'slow/*', or all; unbraid claims list shows them")
    check_reuse(reuse)
    chosen = _chosen(patterns)
    if group:
        chosen = [one for one in chosen if set(one.groups) & set(group)]
    refused = {} if plan else take_elsewhere(chosen, scale, out, reuse, only=group)
    todo = [one for one in planned_of(chosen, scale, out) if not group or one.group.name in group]
    if plan and reuse:  # nothing is done, so nothing is taken over either
        refused = {one.group.name: one.group.refusal(scale, reuse) for one in todo if one.todo}
    for name, why in refused.items():
        if why:
            print(f"{name}: {why}", file=sys.stderr)
    minutes = sum(one.minutes for one in todo)
    if plan or (minutes > LONG and not force):
        _print_plan(todo, scale, out, minutes, patterns)
        return
    cells = sum(len(one.todo) for one in todo)
    print(
        f"{len(chosen)} claims, {len(todo)} run groups, {cells} pieces of work to do, about {minutes:.3g} minutes of "
        "one core",
        file=sys.stderr,
    )
    records = run_claims(
        chosen,
        scale,
        out,
        only=group,
        engine=lambda: make_engine(engine, workers=workers, address=address),
        retry_failed=retry_failed,
        progress=progress,
    )
    _tell(records, json)
    if not json:
        print(f"wrote {out / 'claims.json'}; the page: unbraid claims report --out {quoted(out)}")
    if any(record["seeds_failed"] for record in records):
        raise SystemExit(1)


def claims_judge(
    patterns: Patterns = (),
    *,
    scale: Scale = "small",
    out: Path = OUT,
    reuse: Annotated[tuple[Path, ...], arg(metavar="FOLDER")] = (),
    json: bool = False,
) -> None:
    """Judge claims anew from what is there, without training; adds records to claims.json, and keeps all tables.

    Args:
        patterns: Ids, areas or patterns (otherwise all).
        scale: Whose runs are judged.
        out: Folder of the claims.
        reuse: Folders of studies and claims; what was measured there by the same recipe is taken over first: runs, or
            tables beside which recipes.json or recipe.json tells by which recipe. Of others is said how the nearest
            differs.
        json: Print the records as JSON.
    """
    from unbraid.claims import judge_claims

    if not (out / "groups").exists() and not reuse:
        raise UsageError(f"{out} holds no runs of claims yet. Start: unbraid claims run all --out {quoted(out)}")
    _tell(judge_claims(_chosen(patterns), scale, out, reuse=reuse, rejudged=True), json)


def claims_report(*, out: Path = OUT, readme: bool = False) -> None:
    """Write the page of all claims: OUT/claims.html and OUT/claims.md.

    Args:
        out: Folder of the claims.
        readme: Print only the line for a README that says how many claims were reproduced.
    """
    from unbraid.claims import RECORDS, read_records
    from unbraid.report.claims import badge, write_report

    if not (out / RECORDS).exists():
        raise UsageError(f"{out} holds no {RECORDS}. Start: unbraid claims run all --out {quoted(out)}")
    records = read_records(out)
    if readme:
        print(badge(records))
        return
    print(badge(records))
    print(f"wrote {write_report(out, records)}")


def _chosen(patterns: tuple[str, ...]) -> list[Claim]:
    from unbraid.claims import chosen, claims

    return chosen(patterns, claims())


def _tell(records: list[dict[str, Any]], json: bool) -> None:
    if json:
        print(json_module.dumps(records, indent=2, default=str))
        return
    for record in records:
        print(f"{record['id']}: {record['verdict']}\n    {record['reason']}")
    counts: dict[str, int] = {}
    for record in records:
        counts[record["verdict"]] = counts.get(record["verdict"], 0) + 1
    print(", ".join(f"{count} {word}" for word, count in counts.items()))


def _print_plan(todo: list[Planned], scale: str, out: Path, minutes: float, asked: tuple[str, ...]) -> None:
    print(f"plan of scale {scale}: {sum(len(one.todo) for one in todo):,} pieces of work in {len(todo)} run groups")
    for one in todo:
        recipe = one.group.recipes[one.scale]
        runs = max(len(one.todo), recipe.runs)
        steps = f" x {recipe.steps:,} steps" if recipe.steps else ""
        print(f"  {one.group.name}: {recipe.words}")
        print(f"      {runs:,} runs{steps}, about {one.minutes / 60:,.1f} {recipe.unit}-hours")
        print(f"      {one.command(out, asked)} --engine ray --force")
    by_unit: dict[str, float] = {}
    for one in todo:
        unit = one.group.recipes[one.scale].unit
        by_unit[unit] = by_unit.get(unit, 0) + one.minutes / 60
    print("in all about " + " and ".join(f"{hours:,.0f} {unit}-hours" for unit, hours in by_unit.items()))
    if minutes > LONG:
        print("more than a day: nothing was run; --force runs it here, the commands above on a Ray cluster (--address)")


def _cost(minutes: float, unit: str) -> str:
    return (
        f"{minutes:g} {unit}-minutes"
        if minutes < 120
        else f"{minutes / 60:,.{0 if minutes > 6000 else 1}f} {unit}-hours"
    )


def _range(seeds: tuple[int, ...]) -> str:
    return "none" if not seeds else f"{seeds[0]}" if len(seeds) == 1 else f"{seeds[0]} to {seeds[-1]}"
