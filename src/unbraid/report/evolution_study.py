"""The page of a comparison of recursions: numbers, a figure, and which of the paper's claims hold."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from unbraid.evaluation import told
from unbraid.files import make_folders, save_figure, save_table, write_text
from unbraid.selection import ARMS, comparison_tables, judge
from unbraid.sharing import markdown, sharable

if TYPE_CHECKING:
    import polars

__all__ = ["write_comparison"]

_INK, _FIRST, _SECOND, _QUIET = "#1f2430", "#0072B2", "#D55E00", "#b6bcc6"

NAMES = {
    "recursive": "rPU-VAE",
    "root": "root of the recursion, by UDR",
    "plain": "plain beta-TCVAE",
    "pbt-s": "PBT-S, 1000 labels",
    "few-labels": "1000 labels in the loss",
    "pbt-s-all": "PBT-S, all labels",
    "pbt-s-dci": "PBT-S by DCI, all labels",
}

TEXT = """# Recursions against other ways to spend the same images

Mutual information gap with the true factors, {seeds} seeds. One recursion costs {cost:.1f} million images on average,
summed over all models it trains; the plain beta-TCVAE runs of a seed cost the same, the others what a
recursion's final population costs. Made by `{command}`.

| way | models | mean | deviation | lowest | best | DCI | alone |
|---|---|---|---|---|---|---|---|
{table}

"Selected" is the model one would end up with: by surrogate MIG, by UDR, by the MIG on 1000 labels or on all. "DCI" is
the mean DCI disentanglement of selected models; "alone" is how much more a factor's best code knows of it than of any
other factor, low where one code serves two. Over the plain
members UDR and the mean MIG of a member's models have a rank correlation of {correlation}.

![MIG of all ways, and UDR against MIG](comparison.png)

## Claims of Estermann, Marks & Yanik (2020)

| claim | here | evidence |
|---|---|---|
{claims}

## What every metaEpoch found

The factor that explains most of each active latent's variance, with that share.

| seed | metaEpoch | images | UDR | active latents |
|---|---|---|---|---|
{found}

Every model is a row of `comparison.parquet`, every active latent one of `found.parquet`.
"""


def write_comparison(folder: str | Path, out: str | Path, *, command: str = "unbraid evolve compare") -> Path:
    """Write ``README.md``, ``comparison.png`` and two Parquet tables about a comparison; returns the page."""
    models, found = comparison_tables(folder)
    place = Path(out)
    make_folders(place)
    for name, table in (("comparison", models), ("found", found)):
        save_table(table, place / f"{name}.parquet")
    _draw(models, place / "comparison.png")
    recursive = models.filter(models["arm"] == "recursive")
    page = place / "README.md"
    write_text(
        page,
        TEXT.format(
            seeds=models["seed"].n_unique(),
            cost=float(np.mean(recursive["model_images"].to_numpy())) / 1e6,
            command=sharable(command),
            table="\n".join(_summary(models)),
            correlation=_correlation(models),
            claims="\n".join(
                f"| {claim.title} | {' | '.join(told(claim.verdict, strong='**'))} |" for claim in judge(models, found)
            ),
            found="\n".join(_found(found)),
        ),
    )
    return page


def _groups(models: polars.DataFrame) -> dict[str, polars.DataFrame]:
    """The rows of each line of the table, by its name."""
    groups: dict[str, polars.DataFrame] = {}
    for arm in ARMS:
        rows = models.filter(models["arm"] == arm)
        if not len(rows):  # a comparison of an earlier version has fewer
            continue
        if arm == "recursive":
            for count in sorted(set(rows["leaf_runs"])):
                groups[f"{NAMES[arm]}, {count} leaf-run(s)"] = rows.filter(rows["leaf_runs"] == count)
            continue
        if not rows["selected"].all():
            groups[f"{NAMES[arm]}, all"] = rows
        groups[NAMES[arm] + (", selected" if not rows["selected"].all() else "")] = rows.filter(rows["selected"])
        if arm == "plain" and "mig_labels" in rows.columns:
            best = rows.sort("mig_labels", descending=True).unique("seed", keep="first", maintain_order=True)
            groups[f"{NAMES[arm]}, selected by 1000 labels"] = best
    return groups


def _summary(models: polars.DataFrame) -> list[str]:
    lines = []
    for name, rows in _groups(models).items():
        scores = rows["mig"].to_numpy()
        lines.append(
            f"| {name} | {len(scores)} | {scores.mean():.3f} | {scores.std():.3f} | "
            f"{scores.min():.3f} | {scores.max():.3f} | {_mean(rows, 'dci')} | {_mean(rows, 'alone')} |"
        )
    return lines


def _mean(rows: polars.DataFrame, column: str) -> str:
    if column not in rows.columns or not rows[column].count():
        return ""
    return f"{np.mean(rows[column].drop_nulls().to_numpy()):.3f}"


def _members(models: polars.DataFrame) -> polars.DataFrame:
    """Plain members: their UDR and the mean MIG of their models."""
    import polars

    plain = models.filter(models["arm"] == "plain")
    return plain.group_by("seed", "member").agg(polars.col("member_score").first(), polars.col("mig").mean())


def _correlation(models: polars.DataFrame) -> str:
    from scipy.stats import spearmanr

    members = _members(models)
    if len(members) < 3:
        return f"no meaning ({len(members)} members)"
    found = spearmanr(members["member_score"].to_numpy(), members["mig"].to_numpy())
    return f"{found.statistic:.2f} ({len(members)} members, p = {found.pvalue:.2g})"


def _found(found: polars.DataFrame) -> list[str]:
    lines = []
    for (seed, run, depth), rows in sorted(
        found.group_by("seed", "leaf_run", "depth", maintain_order=True), key=lambda item: item[0]
    ):
        name = "root" if run == 0 else f"leaf-run {run}, depth {depth}"
        latents = [
            f"{markdown(row['factor'])} {row['share']:.0%} ({row['kl']:.1f} nats)"
            for row in sorted(rows.iter_rows(named=True), key=lambda row: -(row["kl"] or 0))
            if row["factor"] is not None
        ]
        told = ", ".join(latents) or "none"
        lines.append(f"| {seed} | {name} | {rows['images'][0]:,} | {rows['udr'][0]:.2f} | {told} |")
    return lines


def _draw(models: polars.DataFrame, path: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.0, 3.8), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=[3, 2])
    groups = _groups(models)
    rng = np.random.default_rng(0)
    for row, (name, part) in enumerate(reversed(groups.items())):
        scores = part["mig"].to_numpy()
        colour = _SECOND if name.startswith(NAMES["recursive"]) else _FIRST
        left.plot(scores, row + rng.uniform(-0.15, 0.15, len(scores)), "o", color=colour, markersize=4, alpha=0.7)
        left.plot([scores.mean()] * 2, [row - 0.3, row + 0.3], color=_INK, linewidth=1.5)
    left.set_yticks(range(len(groups)), list(reversed(groups)))
    left.set_xlabel("MIG with the true factors", fontsize=8)
    left.set_title("every point a model, bars are means", fontsize=9, loc="left")
    members = _members(models)
    right.plot(members["member_score"].to_numpy(), members["mig"].to_numpy(), "o", color=_FIRST, markersize=4)
    right.set_xlabel("UDR of a plain member", fontsize=8)
    right.set_ylabel("mean MIG of its models", fontsize=8)
    right.set_title("UDR against MIG", fontsize=9, loc="left")
    for axis in (left, right):
        _plain(axis)
    save_figure(figure, path, dpi=150)


def _plain(axis: Any) -> None:
    axis.spines[["top", "right"]].set_visible(False)
    axis.tick_params(labelsize=8)
