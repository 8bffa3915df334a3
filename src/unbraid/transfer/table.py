"""All numbers of a matrix as one table, and matrices from such a table."""

from __future__ import annotations

import hashlib
import json
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from unbraid.errors import UsageError
from unbraid.files import make_folders, write_json
from unbraid.reading import check_form, read_json
from unbraid.transfer.bounds import NORMS, noise_bound
from unbraid.transfer.domains import DOMAINS, RANDOM
from unbraid.transfer.matrix import Matrix, in_order
from unbraid.transfer.plan import Plan, RunKey
from unbraid.transfer.recipes import VANILLA
from unbraid.transfer.scenario import VALUE

if TYPE_CHECKING:
    import polars

    from unbraid.transfer.folder import MatrixFolder

__all__ = ["bound_asked", "bounds_of", "cell_table", "check_bounds", "matrices_of"]

AGAIN = "delete it to measure it anew"
IMAGES = 300
"""Images that a bound is found on."""
_COLUMNS = ("domain", "bias", "scenario", "seed", "value")


def cell_table(folder: MatrixFolder) -> polars.DataFrame:
    """One row per measured cell: domain, bias, scenario, seed, value, seconds, and details as JSON.

    Of attacks the accuracy at the bound stands among the details; on domains without a published bound it is the size
    of random noise at which vanilla keeps 90 % (see :func:`bounds_of`).
    """
    import polars

    rows, bounds = [], {domain: bounds_of(folder, domain) for domain in folder.plan.domains}
    for cell in folder.plan.cells():
        found = folder.cell(cell)
        if found is None or found["value"] is None:
            continue
        details = _plain(found["details"])
        if cell.scenario in bounds[cell.domain]:
            distances = np.array(found["details"][VALUE]["parts"]["distances"])
            bound = bounds[cell.domain][cell.scenario]
            details |= {"bound": bound, "accuracy_at_bound": float((distances > bound).mean())}
        about = [cell.domain, cell.bias, cell.scenario, cell.seed, float(found["value"])]
        rows.append([*about, float(found["seconds"]), json.dumps(details)])
    kinds = {"domain": polars.String, "bias": polars.String, "scenario": polars.String, "seed": polars.Int64}
    more = {VALUE: polars.Float64, "seconds": polars.Float64, "details": polars.String}
    return polars.DataFrame(rows, schema=kinds | more, orient="row")


def matrices_of(table: polars.DataFrame) -> dict[str, Matrix]:
    """The matrix of each domain of a table such as :func:`cell_table` gives."""
    for name in _COLUMNS:
        if name not in table.columns:
            raise UsageError(f"table must have the columns {', '.join(_COLUMNS)}, got {', '.join(table.columns)}")
    found = {}
    for (domain,), part in table.group_by(["domain"], maintain_order=True):
        values: dict[str, dict[str, dict[int, float]]] = {}
        for bias, scenario, seed, value in part.select(_COLUMNS[1:]).iter_rows():
            values.setdefault(bias, {}).setdefault(scenario, {})[seed] = value
        found[str(domain)] = Matrix(str(domain), values, in_order(set(part["scenario"])))
    return found


def bounds_of(folder: MatrixFolder, domain: str) -> dict[str, float]:
    """Distances at which accuracies under attack are told, by norm: published ones, or the size of random noise at
    which vanilla models keep 90 % (mean over seeds), kept in the folder. Empty if no vanilla model is trained yet.
    """
    known = DOMAINS[domain]
    if known.bounds:
        return {norm: bound for norm, bound in known.bounds.items() if norm in folder.plan.scenarios}
    runs = [RunKey(domain, RANDOM, VANILLA, seed) for seed in folder.plan.seeds_of(VANILLA)]
    norms = [norm for norm in NORMS if norm in folder.plan.scenarios]
    path, asked = folder.path / "bounds" / f"{domain}.json", bound_asked(folder.plan, domain)
    stored = check_bounds(read_json(path), str(path)) if path.exists() else {}
    told = {seed: one for seed, one in stored.items() if one["asked"] == asked and set(norms) <= set(one)}
    done = [key for key in runs if str(key.seed) in told or folder.trained(key)]
    if not done or not norms:
        return {}
    for key in done:
        if str(key.seed) not in told:
            told[str(key.seed)] = {"asked": asked, **_measured(folder, key, norms)}
            make_folders(path.parent)
            write_json(path, told)
    means = {norm: [told[str(key.seed)].get(norm) for key in done] for norm in norms}
    kept = {norm: [one for one in found if one is not None] for norm, found in means.items()}
    return {norm: float(np.mean(found)) for norm, found in kept.items() if found}


def bound_asked(plan: Plan, domain: str) -> str:
    """A hash of all that decides the bounds of a domain, by seed."""
    about: list[Any] = [IMAGES, plan.recipe(domain, VANILLA).trained()]
    if source := DOMAINS[domain].source:
        about.append({"source": source})
    return hashlib.sha256(json.dumps(about, sort_keys=True, default=str).encode()).hexdigest()[:16]


def check_bounds(record: dict[str, Any], source: str) -> dict[str, dict[str, Any]]:
    """Refuse a record that is not what was asked and a size by norm, or none, for each seed."""
    for seed, found in record.items():
        check_form(found, {"asked": str}, source, seed, remedy=AGAIN)
        for norm, size in found.items():
            if norm != "asked" and (norm not in NORMS or not (size is None or (_number(size) and 0 < size < math.inf))):
                raise UsageError(f"{source}: {norm} of seed {seed} is {size!r}, expected a size above 0; {AGAIN}")
    return record


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _measured(folder: MatrixFolder, key: RunKey, norms: list[str]) -> dict[str, float | None]:
    from unbraid.data import load
    from unbraid.robustness import Examples
    from unbraid.training import open_run
    from unbraid.transfer.subjects import subject_of

    data = load(DOMAINS[key.domain].data(RANDOM, "test"))
    subject = subject_of(open_run(folder.run(key)), data)
    examples = Examples(data, IMAGES, 0)
    images, labels = examples.read(slice(None)), subject.labels(data, examples.index)
    found = {norm: noise_bound(subject.scores, images, labels, norm) for norm in norms}
    return {norm: bound if math.isfinite(bound) else None for norm, bound in found.items()}


def _plain(details: dict[str, Any]) -> dict[str, float]:
    """Details that are numbers; of those with parts, their values."""
    return {
        name: float(one["value"] if isinstance(one, dict) else one)
        for name, one in details.items()
        if name != VALUE and (one["value"] if isinstance(one, dict) else one) is not None
    }
