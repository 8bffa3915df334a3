"""unbraid metrics lab"""

from __future__ import annotations

import json as json_module
from pathlib import Path
from typing import Annotated, Any

from tyro.conf import arg

from unbraid.cli.generalize_tables import print_table
from unbraid.cli.robustness import command_line
from unbraid.errors import UsageError

__all__ = ["metrics_lab"]

Names = Annotated[str, arg(metavar="NAME,NAME")]


def metrics_lab(
    *,
    metrics: Names = "",
    experiments: Names = "noise,mixing,bending,copies,unseen",
    points: int = 20_000,
    seed: int = 0,
    out: Path = Path("metric-lab.html"),
    json: bool = False,
) -> None:
    """Put scores to the test: codes whose quality is known go through each, and a page shows what it makes of them.

    Prints, per score and experiment, how far it is from what its notion demands (0 is as claimed), and writes the page.
    A score of your own takes part by --plugin FILE.py.

    Start: `unbraid metrics lab --metrics mig,modularity,mcc`.

    Args:
        metrics: Scores of codes and factors by name, or all, which takes minutes (otherwise those that take seconds).
        experiments: Which of noise, mixing, bending (a monotone curve), copies, unseen (factors).
        points: Samples of every step.
        seed: Which samples.
        out: The page.
        json: Print all values as JSON.
    """
    import polars as pl

    from unbraid.evaluation import title
    from unbraid.files import write_text
    from unbraid.metrics import EXPERIMENTS, lab
    from unbraid.progress import Progress
    from unbraid.report import lab_report

    names = [word for part in metrics.split(",") if (word := part.strip())]
    wanted = [word for part in experiments.split(",") if (word := part.strip())]
    if not wanted:
        raise UsageError(f"--experiments must name at least one of {', '.join(EXPERIMENTS)}")
    with Progress("scoring", kind="none" if json else "auto", brief=True) as progress:
        chosen: dict[str, Any] = {"metrics": names} if names else {}
        found = lab(
            **chosen, experiments=wanted, points=points, seed=seed, progress=lambda text: progress.update(note=text)
        )
    write_text(out, lab_report(found, made_by=command_line("metrics lab").removesuffix(" RUN...")))
    if json:
        values = {m: {e: own.tolist() for e, own in rows.items()} for m, rows in found.values.items()}
        plain = {m: {e: _known(found.deviation(m, e)) for e in rows} for m, rows in found.values.items()}
        about = {key: own for key, own in found.settings.items() if key != "values"}
        print(json_module.dumps({"values": values, "deviation": plain, "steps": found.steps, "settings": about}))
        return
    columns = {
        EXPERIMENTS[name].title.lower(): [_known(found.deviation(metric, name)) for metric in found.values]
        for name in found.steps
    }
    print_table(pl.DataFrame({"deviation": [title(metric) for metric in found.values], **columns}))
    print(f"wrote {out}")


def _known(value: float) -> float | None:
    return None if value != value else value
