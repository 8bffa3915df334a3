"""unbraid robustness attack"""

from __future__ import annotations

import json as json_module
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from tyro.conf import arg

from unbraid.cli.robustness import Runs, check_runs, command_line, open_runs, plain, run_names, status, tell, words
from unbraid.cli.robustness_tables import print_attacks, print_bounds
from unbraid.errors import UsageError, unknown_name

if TYPE_CHECKING:
    import polars

    from unbraid.training import Run

__all__ = ["robustness_attack"]


def robustness_attack(
    runs: Runs,
    *,
    norms: str = "l0,l2,linf",
    budget: Literal["quick", "study", "full"] = "quick",
    images: int = 100,
    data: Annotated[str | None, arg(metavar="NAME")] = None,
    also: str = "",
    substitute: Annotated[Path | None, arg(metavar="RUN")] = None,
    bounds: bool = False,
    distal: int = 10,
    seed: int = 0,
    out: Path = Path("robustness/attack"),
    json: bool = False,
) -> None:
    """How far the decisions of classifiers are: the smallest distance of every image, by many attacks.

    The table has, per attack, the median distance and the accuracy at the bound of Schott et al. (2019; 12 pixels, l2
    1.5, linf 0.3), and for "all" of the nearest image that any of them found. The page also has accuracy over distance,
    histograms, images, and climbs from noise; at its top are warnings if gradients seem masked. Every block of images
    is written when it is done: the same command again goes on where it was stopped, and several at once share the work.

    Args:
        runs: Runs that name classes.
        norms: In which distances: l0, l2, linf.
        budget: quick (minutes); study (walks of 5,000 steps, which masked gradients need, for networks; models that are
            dear to ask, such as ABS, are spared what asks them thousands of questions in vain); full (hours).
        images: At most so many images.
        data: Another data set than the first run was trained on, such as mnist:split=test.
        also: What else is attacked: binarised (Binary ABS: ABS runs behind a threshold, with energies scaled to fit
            training images), neighbour (the nearest training image of the first run names the class).
        substitute: A network of the same classes whose adversarials are tried on the others (the attack transfer).
        bounds: Also the distances that ABS runs cannot be fooled below, by searches of their own; minutes.
        distal: So many climbs from noise, classes in turn; 0 for none.
        seed: Which images, and what is drawn for them.
        out: Folder of the page report.html, of report.md with findings and pictures, of their tables, and of a Parquet
            file per attack and block.
        json: Print the result as JSON.
    """
    check_runs([*runs, *([] if substitute is None else [substitute])], data)
    from unbraid.robustness import BOUNDS, VARIANTS, attack_blocks, attack_table

    kinds, variants = words(norms), words(also)
    for variant in variants:
        if variant not in VARIANTS:
            raise unknown_name("--also", variant, VARIANTS)
    if not kinds or any(kind not in BOUNDS for kind in kinds):
        raise UsageError(f"--norms {norms}: name some of {', '.join(BOUNDS)}, with commas between them")
    if images < 1:
        raise UsageError(f"--images must be at least 1, got {images}")
    if distal < 0:
        raise UsageError(f"--distal must not be negative, got {distal}")
    opened, dataset, notes = open_runs(runs, data)
    import polars

    from unbraid.files import write_text
    from unbraid.report.robustness import Attacked, attack_page, write_page
    from unbraid.robustness import ALL, Examples, Target, attack_doubts, bound_blocks, distal_blocks, published_attacks
    from unbraid.robustness.synthesis import ASSUMPTION
    from unbraid.study.attacked import Attack, role_of, write_attack_study
    from unbraid.training import open_run

    examples = Examples(dataset, images, seed)
    lent = None if substitute is None else open_run(substitute)
    targets = []  # all of them first: what is refused is refused before any work
    for name, run, variant in _targets(opened, run_names(runs), variants):
        folder = out / name.replace("/", "_").replace(" ", "-")
        told: dict[str, Any] = {"folder": folder, "images": images, "seed": seed}
        targets.append((name, variant, Target(run, dataset, budget, **told, variant=variant, substitute=lent)))
    for _, _, target in targets:
        target.probe()
    models, tables, told_of = [], [], []
    for name, variant, target in targets:
        run = target.run
        with status(json) as say:
            found = attack_blocks(target, kinds, say=say)
            doubts = attack_doubts(target, found, say=say)
            climbs = least = None
            if distal:
                climbs, more = distal_blocks(target, distal, say=say)
                notes += [f"{name}: {text}" for text in more]
            if bounds and target.search is not None and target.search.likelihood == "gaussian":
                least = bound_blocks(target, say=say)
        claimed = found.filter(
            polars.col("refuted") | (polars.col("distance").is_finite() & (polars.col("distance") > 0))
        )
        refuted = 100 * float(claimed["refuted"].mean() or 0)  # type: ignore[arg-type]
        if refuted:
            notes.append(
                f"{name}: of what attacks with a short search found, the whole search refuted {refuted:.0f} %, and "
                "what stands in its place was verified."
            )
        seen = [found["guess"], found["label"], *(() if climbs is None else (climbs["label"],))]
        classes = examples.classes(run, int(max(column.max() for column in seen)) + 1)
        models.append(Attacked(name, found, classes, doubts, climbs, least))
        told_of.append(Attack(name, role_of(run, variant), _about(run, variant), found, climbs, least, doubts))
        tables.append(attack_table(found, seed=seed).select(polars.lit(name).alias("model"), polars.all()))
    if bounds and all(one.bounds is None for one in models):
        notes.append("--bounds: none of the runs is an ABS run with a Gaussian likelihood, which bounds are for.")
    table = polars.concat(tables)
    write_text(out / "table.csv", table.write_csv())
    known = published_attacks(str(dataset.name)).filter(polars.col("norm").is_in(kinds))
    originals = dict(zip(examples.index.tolist(), examples.read(slice(None)), strict=True))
    text = attack_page(
        models,
        table,
        originals,
        dataset.name,
        published=known if len(known) else None,
        seed=seed,
        notes=notes,
        made_by=command_line("robustness attack"),
    )
    page = write_page(text, out)
    command = command_line("robustness attack")
    write_attack_study(out, told_of, originals, data or dataset.name, budget=budget, command=command, seed=seed)
    least_rows = [_least(one.name, one.bounds) for one in models if one.bounds is not None]
    doubtful = [(one.name, norm, each) for one in models for norm, some in one.doubts.items() for each in some]
    if json:
        rows = [{key: plain(value) for key, value in row.items()} for row in table.to_dicts()]
        warned = [{"model": m, "norm": n, "kind": d.kind, "share": d.share, "text": str(d)} for m, n, d in doubtful]
        about = {"folder": str(out), "report": str(page), "data": dataset.name, "budget": budget}
        told_too = {"doubts": warned, "bounds": least_rows, "notes": notes}
        print(json_module.dumps({**about, "distances": rows, **told_too}))
        return
    print_attacks(table, dataset.name, ALL)
    print_bounds(least_rows, ASSUMPTION)
    for name, norm, doubt in doubtful:
        print(f"warning: {name}, {norm}: {doubt}")
    tell(page, notes)


def _targets(opened: dict[Path, Run], names: dict[Path, str], variants: Sequence[str]) -> list[tuple[str, Run, str]]:
    """What is attacked: its name, the run it is made of, and what is made of it."""
    found = []
    for path, run in opened.items():
        found.append((names[path], run, ""))
        if "binarised" in variants and getattr(run.objective, "search", None) is not None:
            found.append((f"{names[path]} binarised", run, "binarised"))
    if "binarised" in variants and all(variant != "binarised" for _, _, variant in found):
        raise UsageError("--also binarised is for ABS runs, and none was given; `unbraid train abs` makes one")
    if "neighbour" in variants:
        found.append(("nearest neighbour", next(iter(opened.values())), "neighbour"))
    return found


def _least(name: str, bounds: polars.DataFrame) -> dict[str, Any]:
    """What the bounds of a model come to."""
    means = {kind: float(bounds[kind].mean()) for kind in ("l2", "coupled")}  # type: ignore[arg-type]
    return {"model": name, "images": len(bounds), **means, "linf": float(bounds["linf"].median())}  # type: ignore[arg-type]


def _about(run: Run, variant: str) -> str:
    """How a target came to be, in a line."""
    if variant == "neighbour":
        return f"the nearest of the {len(run.data()):,} training images of {run.info['data']['name']}"
    options = ", ".join(
        f"{name} {value}" for name, value in run.info["objective"]["options"].items() if value not in ([], "")
    )
    trained = f"{run.objective.name} on {run.info['data']['name']}, {run.info['step']:,} steps ({options})"
    return f"{trained}, behind a threshold, with scaled energies" if variant == "binarised" else trained
