"""Is a recursion worth its cost? The same number of images spent on recursions and on other ways to a model.

Per seed: ``recursive`` (selected by 0 and by all leaf-runs), ``root`` (the best model of the recursion's first
population, before anything was recursive), ``plain`` (members of untouched hyperparameters and
several models each, as many images in all as the recursion saw; 1000 labels may select among them), ``pbt-s`` (a
population selected by the MIG on 1000 labels), ``few-labels`` (models whose loss sees these labels, at the cost of
``pbt-s``), and two populations selected with all labels: by the MIG (``pbt-s-all``) and by DCI (``pbt-s-dci``). True
factors are used to report, and by all but the first three.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from unbraid.data import Dataset, load
from unbraid.engines import Engine
from unbraid.errors import UsageError
from unbraid.files import write_json
from unbraid.metrics import mig
from unbraid.options import seed_list
from unbraid.paths import user_path
from unbraid.progress import ProgressKind
from unbraid.reading import read_json
from unbraid.selection.controller import evolve
from unbraid.selection.evolution import Evolution
from unbraid.selection.hyperparameters import Range
from unbraid.selection.population import Population
from unbraid.selection.recursion import Recursion, recurse
from unbraid.selection.scoring import dci_score, mig_score
from unbraid.selection.tree import MetaEpoch, Tree, explain
from unbraid.training import open_run

if TYPE_CHECKING:
    import polars

__all__ = ["ARMS", "compare", "comparison_tables", "cost", "found_factors"]

ARMS = ("recursive", "root", "plain", "pbt-s", "few-labels", "pbt-s-all", "pbt-s-dci")
SCORED = "compared.json"
LABELS = 1000
GAMMAS = (1.0, 10.0, 50.0, 100.0, 500.0, 1000.0)
IMAGES = 50_000
"""Most images on which a model's MIG is taken."""


def compare(
    recursion: Recursion,
    data: str,
    *,
    out: str | Path,
    seeds: int | Sequence[int] = 5,
    engine: Engine | None = None,
    plugins: Sequence[str] = (),
    progress: ProgressKind = "auto",
    after: Callable[[Tree, MetaEpoch], None] | None = None,
) -> Path:
    """Train and score every arm for every seed; the same call again goes on. See :func:`comparison_tables`."""
    dataset, folder = load(data), user_path(out, "out")
    if not dataset.factor_sizes:
        raise UsageError(f"a comparison needs data with known factors, got {data!r}")
    if len(dataset) < LABELS:
        raise UsageError(
            f"a comparison needs data of at least {LABELS:,} images, the labels that some ways may see; {data!r} has "
            f"{len(dataset):,}; try a larger set, or more of this one"
        )
    if recursion.final.images is None:
        recursion = replace(recursion, final=replace(recursion.final, images=len(dataset)))
    for seed in seed_list(seeds):
        place = folder / f"seed-{seed}"
        tree = recurse(
            replace(recursion, ablation=True),
            data,
            out=place / "recursive",
            engine=engine,
            seed=seed,
            plugins=plugins,
            progress=progress,
            after=after,
        )
        final = tree.final
        assert final is not None
        rows = _tree_rows(tree, dataset)
        for arm, population in _others(recursion, cost(final) + tree.model_images, cost(final)).items():
            evolution = evolve(
                population,
                data,
                out=place / arm,
                engine=engine,
                seed=seed,
                plugins=plugins,
                progress=progress,
                title=arm,
            )
            rows += _rows(arm, evolution, dataset)
        write_json(place / SCORED, {"seed": seed, "rows": rows, "found": _found_rows(tree, dataset)})
    return folder


def cost(evolution: Evolution) -> int:
    """Images seen, summed over all models of a population."""
    trained = sum(len(generation.results) for generation in evolution.generations)
    return trained * evolution.population.models * int(evolution.population.images or 0)


def _others(recursion: Recursion, total: int, selected: int) -> dict[str, Population]:
    """The populations of the other arms, given the cost of the recursion and of its final population."""
    final, models = recursion.final, recursion.root.models
    length = int(final.images or 0) * final.generations
    searched = dict(sorted(final.searched.items(), key=lambda item: item[0] == "beta"))  # strengths come last
    return {
        "plain": replace(
            final,
            score="udr",
            models=models,
            size=max(2, round(total / (models * length))),
            images=length,
            generations=1,
            halving=1,
        ),
        "pbt-s": replace(final, score=f"mig:labels={LABELS}"),
        "pbt-s-all": replace(final, score="mig"),
        "pbt-s-dci": replace(final, score="dci"),
        "few-labels": replace(
            final,
            objective="s2-beta-tcvae",
            options={**final.options, "labels": LABELS},
            ranges={**searched, "gamma_sup": Range(GAMMAS, 1.0, 1000.0)},
            score=f"mig:labels={LABELS}",
            size=max(2, round(selected / length)),
            images=length,
            generations=1,
            halving=1,
        ),
    }


def found_factors(tree: Tree, data: Dataset) -> dict[tuple[int, int], list[Any]]:
    """Which true factor each active latent of each metaEpoch follows, by leaf-run and depth."""
    known = {(m.leaf_run, m.depth): m for m in tree.metaepochs}
    return {
        (entry.leaf_run, entry.depth): explain(
            entry.values,
            known[entry.leaf_run, entry.depth].active,
            data.factors(entry.indices),
            data.factor_names,
        )
        for entry in tree.store.entries
        if (entry.leaf_run, entry.depth) in known
    }


def _found_rows(tree: Tree, data: Dataset) -> list[dict[str, Any]]:
    found = found_factors(tree, data)
    rows = []
    for metaepoch in tree.metaepochs:
        key = (metaepoch.leaf_run, metaepoch.depth)
        common = {"leaf_run": key[0], "depth": key[1], "images": metaepoch.images, "udr": metaepoch.udr}
        for item in found.get(key, []):
            kl = metaepoch.kl[item.latent]
            rows.append({**common, "latent": item.latent, "kl": kl, "factor": item.factor, "share": item.share})
        if key not in found:
            rows.append({**common, "latent": None, "kl": None, "factor": None, "share": None})
    return rows


def _tree_rows(tree: Tree, data: Dataset) -> list[dict[str, Any]]:
    rows = []
    for leaf_runs in range(int(tree.settings["leaf_runs"]) + 1):
        final = tree.final_with(leaf_runs)
        assert final is not None
        spent = tree.model_images + cost(final)
        best = final.best
        row = _row("recursive", data, best.run, best.score, best.hyperparameters, True, spent)
        rows.append({**row, "leaf_runs": leaf_runs})
    root, run = tree.root, tree.run_of(tree.root)
    if run is not None:
        row = _row("root", data, run, root.udr, dict(root.hyperparameters or {}), True, root.model_images)
        rows.append({**row, "leaf_runs": None})
    return rows


def _rows(arm: str, evolution: Evolution, data: Dataset) -> list[dict[str, Any]]:
    """One row per model of an arm's last generation; of a population that evolved only its best model counts."""
    best, spent, rows = evolution.best, cost(evolution), []
    if evolution.population.generations > 1:
        return [{**_row(arm, data, best.run, best.score, best.hyperparameters, True, spent), "leaf_runs": None}]
    for result in evolution.generations[-1].results:
        place = evolution.member_folder(0, result.member)
        for number, run in enumerate(result.runs):
            path = place / run
            score = result.per_model[number] if result.per_model else result.score
            row = _row(arm, data, path, score, result.hyperparameters, path == best.run, spent)
            if arm == "plain":
                row["mig_labels"] = mig_score([open_run(path)], data, labels=LABELS).value
            rows.append({**row, "leaf_runs": None, "member": result.member, "member_score": result.score})
    return rows


def _row(
    arm: str, data: Dataset, run: Path, score: float, values: dict[str, float], selected: bool, spent: int
) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    index = np.arange(len(data)) if len(data) <= IMAGES else np.sort(rng.choice(len(data), IMAGES, replace=False))
    opened = open_run(run)
    found = mig(opened.encode(data.images(index, rng)), data.factors(index))
    dci = dci_score([opened], data).value if selected else None
    return {
        "arm": arm,
        "selected": selected,
        "score": score,
        "mig": float(found),
        "alone": float(found.parts["alone"].mean()),
        "dci": dci,
        **{f"mig_{name}": float(gap) for name, gap in zip(data.factor_names, found.parts["per_factor"], strict=True)},
        **{name: float(value) for name, value in values.items()},
        "model_images": spent,
    }


def comparison_tables(folder: str | Path) -> tuple[polars.DataFrame, polars.DataFrame]:
    """What was compared: one row per model with its MIG, and one per active latent of each metaEpoch."""
    import polars

    stored = [read_json(path) for path in sorted(Path(folder).glob(f"seed-*/{SCORED}"))]
    if not stored:
        raise UsageError(f"{folder}: no seed of a comparison is finished yet")
    models, found = (
        polars.DataFrame([{"seed": s["seed"], **row} for s in stored for row in s[part]], infer_schema_length=None)
        for part in ("rows", "found")
    )
    return models, found
