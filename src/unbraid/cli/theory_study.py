"""unbraid theory study NAME"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from tyro.conf import Positional, UseAppendAction, arg

from unbraid.errors import UsageError

if TYPE_CHECKING:
    import polars

__all__ = ["theory_study"]

SEEDS = {"agreement": 24, "manipulation": 8, "strength": 8}
"""Other experiments have five."""


def theory_study(
    name: Positional[
        Literal["orthogonality", "degeneracy", "polarised", "images", "agreement", "manipulation", "strength"]
    ],
    *,
    out: Path,
    seeds: Annotated[int | None, arg(metavar="INT")] = None,
    steps: Annotated[int | None, arg(metavar="INT")] = None,
    scale: Literal["small", "paper"] = "small",
    data: UseAppendAction[Annotated[tuple[str, ...], arg(metavar="NAME")]] = (),
    model: UseAppendAction[Annotated[tuple[str, ...], arg(metavar="NAME")]] = (),
    net: str = "conv",
    beta: Annotated[float | None, arg(metavar="FLOAT")] = None,
    restarts: int = 8,
    restart_steps: Annotated[int | None, arg(metavar="INT")] = None,
    pattern_steps: int = 1000,
    json: bool = False,
) -> None:
    """Repeat a published experiment of the VAE-PCA theory at a size for one core; the same command goes on.

    orthogonality: which models have orthogonal decoders, on synthetic data (table 3.3). images: the same on dSprites,
    MNIST and Fashion-MNIST with the published settings. agreement: does the distance tell good restarts (figure 3.4).
    degeneracy: what two equal variances do (3.4). polarised: for which share of training a VAE is in the polarised
    regime (3.2). manipulation: what a perturbed data set does to VAEs, to PCL, and what noise of the same size does
    (4.2 to 4.5), restart by restart and factor by factor (figures 4.8, 4.9). strength: whether stronger penalties bring
    models on a perturbed data set back (figures 4.4 to 4.7).

    Cost in hours of one core, all seeds: orthogonality, degeneracy, polarised and agreement on blobs16 below 0.5 each;
    images 0.3 for MNIST or Fashion-MNIST and 3 for dSprites (--scale paper: 10, 12 and 145); manipulation 3 per data
    set and strength 3 more. Trials that are there are not run again.

    Args:
        name: orthogonality, degeneracy, polarised, images, agreement, manipulation or strength.
        out: Folder for NAME.csv, NAME.md, NAME.png and one small file per trial.
        seeds: Trials per cell (otherwise 8 of manipulation and strength, 24 of agreement, 5 of others).
        steps: Training steps of every model (otherwise enough for its kind).
        scale: Of images and agreement: small, or paper for the published number of epochs.
        data: Several times for several data sets. Of images (otherwise dsprites, mnist, fashion-mnist); of agreement
            (blobs16 or dsprites); of manipulation and strength (otherwise two and three hues of rooms3d-32).
        model: Of manipulation and strength; several times for several (otherwise beta-vae, beta-tcvae and pcl; also
            factor-vae, slow-vae, ae).
        net: Networks of manipulation and strength.
        beta: Of manipulation and strength: weight of the KL divergence (otherwise 8 for sprites32, 4 for other data).
        restarts: Of manipulation: VAEs on the original of which the extremes make the pattern.
        restart_steps: Of manipulation: steps of these (otherwise as all).
        pattern_steps: Of manipulation: steps of the pattern.
        json: Print the table as JSON rows.
    """
    if data and name in ("orthogonality", "degeneracy", "polarised"):
        raise UsageError(f"--data belongs to images, agreement, manipulation and strength; {name} makes its own")
    if model and name not in ("manipulation", "strength"):
        raise UsageError(f"--model belongs to manipulation and strength; {name} has its own")
    from unbraid.files import save_table, write_text
    from unbraid.report.theory import (
        draw_agreement,
        draw_restarts,
        draw_trials,
        factor_table,
        summarise_trials,
        trial_table,
        verdict_table,
    )
    from unbraid.sharing import spreadsheet
    from unbraid.theory import agreement
    from unbraid.training import numerics

    def say(text: str) -> None:
        if not json:
            print(text, flush=True)

    def tell(row: dict[str, Any]) -> None:
        say("  ".join(f"{key} {_short(value)}" for key, value in row.items() if value is not None))

    numerics.setup()
    count = seeds if seeds is not None else SEEDS.get(name, 5)
    shared: dict[str, Any] = {"seeds": count}
    if name in ("images", "agreement"):
        shared |= {"scale": scale, "steps": steps}
    if name in ("manipulation", "strength"):
        shared |= {"net": net, "beta": beta, "restarts": restarts, "pattern_steps": pattern_steps, "say": say}
        shared |= {"restart_steps": restart_steps}
        shared |= ({"steps": steps} if steps else {}) | ({"methods": model} if model else {})
    rows = _rows(name, out, data, shared, steps, tell)
    save_table(spreadsheet(rows), out / f"{name}.csv")
    text = trial_table(name, rows)
    if name == "agreement":
        correlation, restarted = agreement(rows.to_dicts())
        text += f"\nRank correlation of distance and score over {restarted} restarts: {correlation:.2f}.\n"
        draw_agreement(rows, out / "agreement_points.png")
    if name == "manipulation":
        draw_restarts(rows, out / "manipulation_restarts.png")
        write_text(out / "manipulation_factors.md", factor_table(rows))
        text += f"\n{verdict_table(rows)}"
    write_text(out / f"{name}.md", text)
    draw_trials(name, rows, out / f"{name}.png")
    if json:
        print(summarise_trials(name, rows).write_json())
    else:
        print("\n" + text)
        print(f"wrote {out / name}.csv, .md and .png")


def _rows(
    name: str,
    out: Path,
    data: tuple[str, ...],
    options: dict[str, Any],
    steps: int | None,
    tell: Callable[[dict[str, Any]], None],
) -> polars.DataFrame:
    """Run what is missing of all data sets of an experiment; the table of all their trials."""
    import polars

    from unbraid import theory

    if name in ("orthogonality", "degeneracy", "polarised"):
        return theory.run_trials(theory.pca_trials(name, seeds=options["seeds"], steps=steps), out / name, tell=tell)
    trials: dict[str, Callable[..., Any]] = {
        "images": theory.image_trials,
        "agreement": theory.agreement_trials,
        "manipulation": theory.manipulation_trials,
        "strength": theory.strength_trials,
    }
    usual = {"images": theory.IMAGES, "agreement": ("blobs16",)}.get(name, theory.MANIPULATED)
    parts = []
    for each in data or usual:
        place = re.sub(r"[^A-Za-z0-9.]+", "-", each)
        # A perturbation and the runs on it serve both experiments with it.
        folder = out / ("manipulation" if name == "strength" else name) / place
        parts.append(theory.run_trials(trials[name](each, folder, **options), out / name / place / "trials", tell=tell))
    return polars.concat(parts, how="diagonal_relaxed")


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
