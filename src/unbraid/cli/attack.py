"""unbraid robustness attack"""

from __future__ import annotations

import json as json_module
from pathlib import Path
from typing import Annotated, Any, Literal

from tyro.conf import arg

from unbraid.cli.robustness import Runs, check_runs, command_line, open_runs, plain, run_names, status, tell, words
from unbraid.cli.robustness_tables import print_attacks
from unbraid.errors import UsageError

__all__ = ["robustness_attack"]


def robustness_attack(
    runs: Runs,
    *,
    norms: str = "l0,l2,linf",
    budget: Literal["quick", "full"] = "quick",
    images: int = 100,
    data: Annotated[str | None, arg(metavar="NAME")] = None,
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
        budget: quick (minutes) or full (many steps and restarts; hours).
        images: At most so many images.
        data: Another data set than the first run was trained on, such as mnist:split=test.
        distal: So many climbs from noise, classes in turn; 0 for none.
        seed: Which images, and what is drawn for them.
        out: Folder of the page report.html, table.csv, distances.parquet, and a Parquet file per attack and block.
        json: Print the result as JSON.
    """
    check_runs(runs, data)
    from unbraid.robustness import BOUNDS, attack_blocks, attack_table

    kinds = words(norms)
    if not kinds or any(kind not in BOUNDS for kind in kinds):
        raise UsageError(f"--norms {norms}: name some of {', '.join(BOUNDS)}, with commas between them")
    if images < 1:
        raise UsageError(f"--images must be at least 1, got {images}")
    if distal < 0:
        raise UsageError(f"--distal must not be negative, got {distal}")
    opened, dataset, notes = open_runs(runs, data)
    import polars

    from unbraid.files import save_table, write_text
    from unbraid.report.robustness import Attacked, attack_page, write_page
    from unbraid.robustness import ALL, Examples, attack_doubts, distal_blocks, published_attacks

    names, examples = run_names(runs), Examples(dataset, images, seed)
    models, tables = [], []
    for path, run in opened.items():
        name = names[path]
        told: dict[str, Any] = {"folder": out / name.replace("/", "_"), "images": images, "seed": seed}
        with status(json) as say:
            found = attack_blocks(run, dataset, kinds, budget, **told, say=say)
            doubts = attack_doubts(run, dataset, found, budget, **told, say=say)
            climbs = None
            if distal:
                climbs, more = distal_blocks(run, dataset, budget, count=distal, **told, say=say)
                notes += [f"{name}: {text}" for text in more]
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
        models.append(Attacked(name, found, classes, doubts, climbs))
        tables.append(attack_table(found, seed=seed).select(polars.lit(name).alias("model"), polars.all()))
    table = polars.concat(tables)
    blocks = [one.blocks.drop("picture").select(polars.lit(one.name).alias("model"), polars.all()) for one in models]
    save_table(polars.concat(blocks), out / "distances.parquet")
    write_text(out / "table.csv", table.write_csv())
    known = published_attacks().filter(polars.col("norm").is_in(kinds)) if _is_mnist(dataset) else None
    originals = dict(zip(examples.index.tolist(), examples.read(slice(None)), strict=True))
    text = attack_page(
        models,
        table,
        originals,
        dataset.name,
        published=known,
        seed=seed,
        notes=notes,
        made_by=command_line("robustness attack"),
    )
    page = write_page(text, out)
    doubtful = [(one.name, norm, each) for one in models for norm, some in one.doubts.items() for each in some]
    if json:
        rows = [{key: plain(value) for key, value in row.items()} for row in table.to_dicts()]
        warned = [{"model": m, "norm": n, "kind": d.kind, "share": d.share, "text": str(d)} for m, n, d in doubtful]
        about = {"folder": str(out), "report": str(page), "data": dataset.name, "budget": budget}
        print(json_module.dumps({**about, "distances": rows, "doubts": warned}))
        return
    print_attacks(table, dataset.name, ALL)
    for name, norm, doubt in doubtful:
        print(f"warning: {name}, {norm}: {doubt}")
    tell(page, notes)


def _is_mnist(data: Any) -> bool:
    return str(data.name).split(":")[0] == "mnist"
