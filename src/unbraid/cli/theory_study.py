"""unbraid theory study NAME"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any, Literal

from tyro.conf import Positional, UseAppendAction, arg

from unbraid.errors import UsageError

__all__ = ["theory_study"]


def theory_study(
    name: Positional[Literal["orthogonality", "degeneracy", "polarised", "manipulation"]],
    *,
    out: Path,
    seeds: int = 5,
    steps: Annotated[int | None, arg(metavar="INT")] = None,
    data: UseAppendAction[Annotated[tuple[str, ...], arg(metavar="NAME")]] = (),
    net: str = "conv",
    beta: Annotated[float | None, arg(metavar="FLOAT")] = None,
    pattern_steps: int = 400,
    json: bool = False,
) -> None:
    """Repeat a published experiment of the VAE-PCA theory at a size for one core; the same command goes on.

    orthogonality: which models have orthogonal decoders (table 3.3). degeneracy: what two equal variances do (3.4).
    polarised: for which share of training a VAE is in the polarised regime (3.2). manipulation: what a perturbed data
    set does to VAEs, to PCL, and what noise of the same size does (4.2).

    Args:
        name: orthogonality, degeneracy, polarised or manipulation.
        out: Folder for NAME.csv, NAME.md, NAME.png and one small file per trial.
        seeds: Trials per cell.
        steps: Training steps of every model (otherwise enough for its kind).
        data: Of manipulation; several times for several data sets (otherwise small parts of sprites32 and rooms3d-32).
        net: Networks of manipulation.
        beta: Of manipulation: weight of the KL divergence (otherwise 8 for sprites32, 4 for other data).
        pattern_steps: Of manipulation: steps of the pattern.
        json: Print the table as JSON rows.
    """
    if data and name != "manipulation":
        raise UsageError(f"--data belongs to manipulation; {name} makes its own")
    from unbraid.files import replace_file, write_text
    from unbraid.report.theory import draw_trials, summarise_trials, trial_table
    from unbraid.theory import MANIPULATED, manipulation_trials, pca_trials, run_trials
    from unbraid.training import numerics

    def say(text: str) -> None:
        if not json:
            print(text, flush=True)

    def tell(row: dict[str, Any]) -> None:
        say("  ".join(f"{key} {_short(value)}" for key, value in row.items() if value is not None))

    numerics.setup()
    if name == "manipulation":
        import polars

        parts = []
        for each in data or MANIPULATED:
            folder = out / name / re.sub(r"[^A-Za-z0-9.]+", "-", each)
            found = manipulation_trials(
                each,
                folder,
                seeds=seeds,
                steps=steps or 1500,
                net=net,
                beta=beta,
                pattern_steps=pattern_steps,
                say=say,
            )
            parts.append(run_trials(found, folder / "trials", tell=tell))
        rows = polars.concat(parts, how="vertical_relaxed")
    else:
        rows = run_trials(pca_trials(name, seeds=seeds, steps=steps), out / name, tell=tell)
    with replace_file(out / f"{name}.csv") as temporary:
        rows.write_csv(temporary)
    write_text(out / f"{name}.md", trial_table(name, rows))
    draw_trials(name, rows, out / f"{name}.png")
    if json:
        print(summarise_trials(name, rows).write_json())
    else:
        print("\n" + trial_table(name, rows))
        print(f"wrote {out / name}.csv, .md and .png")


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
