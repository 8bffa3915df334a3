"""From the folder of a benchmark to its tables."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from unbraid.errors import UsageError
from unbraid.generalization import Answers, similarity
from unbraid.paths import quoted
from unbraid.study.folder import StudyFolder
from unbraid.study.generalization.names import TABLES
from unbraid.study.generalization.results import SCHEMAS, Benchmark
from unbraid.study.generalization.selection import selected
from unbraid.study.generalization.trained import Trained, trained_runs

__all__ = ["BINS", "collect", "tabulate"]

BINS = np.linspace(0, 2, 41)
"""Edges of the histogram of how far predictions go from the mean; what is beyond counts in the last."""


def collect(folder: StudyFolder) -> Benchmark:
    """Read what every measured run of a benchmark said of its split, and analyse it."""
    runs = list(trained_runs(folder))
    if not runs:
        raise UsageError(
            f"{folder.path} holds no run that was asked about its split; measure them: "
            f"unbraid generalize run FILE --out {quoted(folder.path)}"
        )
    return tabulate(folder.study.name, runs)


def tabulate(name: str, runs: Sequence[Trained]) -> Benchmark:
    """The tables of these runs; each must have its own data set, split, model, strength or seed."""
    _check_different(runs)
    chosen = selected(runs)
    rows: dict[str, list[dict[str, Any]]] = {table: [] for table in TABLES}
    alone: dict[tuple[str, str], list[tuple[Trained, np.ndarray]]] = defaultdict(list)
    asked: dict[tuple[str, str], Answers] = {}
    for run in runs:
        said = run.read()
        answers = said.answers()
        rows["scores"].append({**_score_row(run, answers, run.index in chosen), **_budget(said.about)})
        if run.index not in chosen:
            continue
        first = asked.setdefault((run.data, run.split), answers)
        if first.facts.hash != answers.facts.hash or not np.array_equal(first.test.image, answers.test.image):
            raise UsageError(
                f"runs {run.index:05d} and others on {run.data}, {run.split} were asked about different images; "
                "measure them anew: unbraid generalize run ... --reevaluate"
            )
        for table, found in _analysed(answers):
            rows[table] += [{**run.about, **row} for row in found]
        if answers.facts.unseen:
            alone[run.data, run.split].append((run, _tested(answers)[0]))
    for (data, split), answers in asked.items():
        about = {"data": data, "split": split}
        rows["baselines"] += [{**about, "baseline": n, "r2": one.mean} for n, one in answers.baselines.items()]
        if split == "extrapolation" and answers.facts.unseen:
            rows["similarity"] += [{**about, **row} for row in _similar(answers, alone[data, split])]
    tables = {table: pl.DataFrame(found, schema=SCHEMAS[table], orient="row") for table, found in rows.items()}
    return Benchmark(name, **tables, runs=tuple(runs))


def _check_different(runs: Sequence[Trained]) -> None:
    met: dict[tuple[Any, ...], int] = {}
    for run in runs:
        key = (run.data, run.split, run.model.name, run.strength, run.seed)
        first = met.setdefault(key, run.index)
        if first != run.index:
            strength = "" if run.strength is None else f", strength {run.strength:g}"
            raise UsageError(
                f"runs {first:05d} and {run.index:05d} are both {run.model.name!r} on {run.data}, {run.split}{strength}"
                f", seed {run.seed}; give models that differ different names"
            )


def _score_row(run: Trained, answers: Answers, chosen: bool) -> dict[str, Any]:
    spec = run.spec
    about = {} if spec is None else {"net": spec.net, "steps": spec.steps, "batch_size": spec.batch_size}
    found = answers.scores
    return {
        **run.about,
        **about,
        "augment": run.model.augment or None,
        "r2": found.mean,
        "squared_error": found.mean_squared_error,
        "r2_train": answers.trained.mean,
        "images": found.images,
        "dci": None if run.dci is None or np.isnan(run.dci) else run.dci,
        "dci_by": run.dci_by,
        "selected": chosen,
    }


def _budget(about: Mapping[str, Any]) -> dict[str, Any]:
    """How a run and its read-out were trained, as far as its file says."""
    options = about.get("objective", {}).get("options", {})
    kind, recipe = about.get("readout"), about.get("readout_recipe")
    return {
        "learning_rate": options.get("learning_rate"),
        "readout": None if kind is None else f"{kind}, recipe {recipe}",
        "readout_steps": about.get("readout_steps"),
    }


def _analysed(answers: Answers) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    yield "factors", answers.scores.table().drop("images").to_dicts()
    if not answers.facts.unseen:
        return
    yield "modularity", answers.modularity().to_dicts()
    yield "attribution", answers.attribution().to_dicts()
    yield "trust", answers.trust_range().to_dicts()
    yield "parts", answers.error_parts().to_dicts()
    share = answers.towards_mean()["share"].to_numpy()
    if len(share):
        counts = np.histogram(np.minimum(share, BINS[-1] - 1e-9), BINS)[0]
        said = {
            "below": float((share <= 1 + 1e-9).mean()),
            "inside": answers.inside_seen(),
            "median": float(np.median(share)),
            "mean": float(share.mean()),
        }
        yield "towards", [{**said, "images": len(share), "counts": counts.tolist()}]


def _similar(answers: Answers, models: Sequence[tuple[Trained, np.ndarray]]) -> Iterator[dict[str, Any]]:
    """Correlations of every two trained models; the function compares models by name, here each seed is one."""
    named = {f"{position}": (run, said) for position, (run, said) in enumerate(models)}
    table = similarity(
        {key: [said] for key, (_, said) in named.items()}, _tested(answers)[1], answers.space, answers.facts.unseen
    )
    for first, second, pooled, within in table.select("first", "second", "pooled", "within").iter_rows():
        if first == second:
            continue
        a, b = (named[key][0] if key in named else None for key in (first, second))
        yield {
            "first": "truth" if a is None else a.model.name,
            "first_seed": None if a is None else a.seed,
            "second": "truth" if b is None else b.model.name,
            "second_seed": None if b is None else b.seed,
            "pooled": pooled,
            "within": within,
        }


def _tested(answers: Answers) -> tuple[np.ndarray, np.ndarray]:
    """Predictions and factors of all images of the test side that were asked about."""
    parts = [part for part in (answers.test, answers.one_ood) if part is not None]
    return np.concatenate([part.predicted for part in parts]), np.concatenate([part.factors for part in parts])
