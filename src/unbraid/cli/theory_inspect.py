"""unbraid theory inspect | beta-range | theorem"""

from __future__ import annotations

import json as json_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from tyro.conf import Positional, arg

from unbraid.cli.early import check_folder
from unbraid.errors import UsageError
from unbraid.files import make_folders

if TYPE_CHECKING:
    from unbraid.theory import BetaStage, Inspection

__all__ = ["theory_beta_range", "theory_inspect", "theory_theorem"]


def theory_inspect(
    run: Positional[Annotated[Path, arg(metavar="RUN")]],
    *,
    images: int = 1000,
    jacobians: int = 256,
    output: Annotated[Literal["image", "raw"], arg(metavar="NAME")] = "image",
    data: Annotated[str | None, arg(metavar="STR")] = None,
    seed: int = 0,
    out: Annotated[Path | None, arg(metavar="PATH")] = None,
    json: bool = False,
) -> None:
    """Ask a trained model: is it in the polarised regime, is its decoder orthogonal, does it follow PCA?

    Prints each latent's state, the parts of the reconstruction loss, the distance to orthogonality and the alignment
    with principal directions, and what speaks against trusting them; writes theory.json and theory.png.

    Args:
        run: Folder of the run.
        images: How many images to encode.
        jacobians: At how many of their codes to differentiate the decoder.
        output: What to differentiate: the mean image, or the raw output of the network (logits).
        data: Data set to encode (otherwise the one the run was trained on).
        seed: Decides which images.
        out: Folder for theory.json and theory.png (otherwise the run's).
        json: Print the result as JSON.
    """
    check_folder(run, "run")
    from unbraid.files import write_json
    from unbraid.report.theory import draw_inspection
    from unbraid.theory import inspect_run
    from unbraid.training import open_run

    opened = open_run(run)
    dataset = opened.data(data)
    found = inspect_run(opened, dataset, images=images, jacobians=jacobians, output=output, seed=seed)
    folder = run if out is None else out
    make_folders(folder)
    title = f"{run}, {opened.objective.name} on {dataset.name}, {images:,} images"
    write_json(folder / "theory.json", found.to_json())
    draw_inspection(found, folder / "theory.png", title=title)
    if json:
        print(json_module.dumps(found.to_json(), allow_nan=False))
    else:
        _print(title, found)
        print(f"\nwrote {folder / 'theory.png'} and theory.json")


def theory_beta_range(
    *,
    data: str,
    latents: int = 10,
    net: str = "conv",
    likelihood: Annotated[str, arg(metavar="NAME")] = "bernoulli",
    learning_rate: float = 1e-4,
    betas: Annotated[str | None, arg(metavar="STR")] = None,
    steps: int = 500,
    factors: Annotated[int | None, arg(metavar="INT")] = None,
    seed: int = 0,
    out: Annotated[Path | None, arg(metavar="PATH")] = None,
    json: bool = False,
) -> None:
    """Propose a range of beta for a data set: raise it in one training until latents switch off one after the other.

    The first latent that switches off marks the polarised regime and the right order of magnitude; where fewer stay
    than there are factors, it was too much.

    Args:
        data: Data set: a name, name:factor=value,..., an npz file or a folder.
        latents: Number of latents; a few more than factors shows both ends of the range.
        net: Encoder and decoder by name.
        likelihood: bernoulli or gaussian, with options as in gaussian:scale=0.1.
        learning_rate: Step size of Adam.
        betas: Values separated by commas (otherwise ten around those of a linear model).
        steps: Steps per value; the first takes three times as many.
        factors: How many latents should stay active (otherwise the number of factors, where the data set has them).
        seed: Decides initial weights, batches and noise.
        out: Picture to write, a .png file.
        json: Print the result as JSON.
    """
    from unbraid.data import load
    from unbraid.objectives import BetaVAE

    dataset = load(data)
    from unbraid.theory import beta_range

    objective = BetaVAE(latents=latents, net=net, likelihood=likelihood, learning_rate=learning_rate)
    if not json:
        print(f"{'beta':>10}  active  posterior variances, smallest first")
    found = beta_range(
        objective,
        dataset,
        betas=None if betas is None else _numbers(betas),
        steps=steps,
        wanted=factors,
        seed=seed,
        tell=None if json else _tell_stage,
    )
    if out is not None:
        from unbraid.report.theory import draw_beta_range

        make_folders(out.parent)
        draw_beta_range(found, out)
    if json:
        print(json_module.dumps(found.to_json(), allow_nan=False))
        return
    if found.entry is None:
        print("no latent switched off: try larger --betas, or more --steps")
    elif found.proposed is None:
        print("too few latents from the first beta on: try smaller --betas, or more --steps")
    else:
        low, high = found.proposed
        print(f"first latent off at beta {found.entry:.4g}; search beta from {low:.3g} to {high:.3g}")
    if out is not None:
        print(f"wrote {out}")


def theory_theorem(
    name: Positional[Literal["example", "theorem1", "theorem2", "rotation"]],
    *,
    out: Annotated[Path | None, arg(metavar="PATH")] = None,
    seed: int = 0,
    json: bool = False,
) -> None:
    """Draw one theorem at work: example, theorem1, theorem2 or rotation.

    Args:
        name: example (a 2-D decoder turned), theorem1 (least noise needs orthogonal columns), theorem2 (a linear VAE is
            PCA), rotation (only a diagonal posterior minds turned latents).
        out: Picture to write (otherwise NAME.png here).
        seed: Decides random matrices.
        json: Print the numbers as JSON.
    """
    from unbraid.report.theory import draw_theorem

    target = Path(f"{name}.png") if out is None else out
    make_folders(target.parent)
    numbers = draw_theorem(name, target, seed=seed)
    if json:
        print(json_module.dumps(numbers))
        return
    for key, value in numbers.items():
        print(f"{key.replace('_', ' '):<28}{value:.6g}")
    print(f"wrote {target}")


def _numbers(text: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError as error:
        raise UsageError(f"--betas must be numbers separated by commas, got {text!r}") from error


def _tell_stage(stage: BetaStage) -> None:
    variances = " ".join(f"{value:.2f}" for value in sorted(stage.seen.variance))
    print(f"{stage.beta:>10.4g}  {stage.active:>6}  {variances}", flush=True)


def _print(title: str, found: Inspection) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console()
    console.print(f"\n[bold]{title}[/]", highlight=False)
    if found.polarisation is not None:
        console.print(_latents(found))
    facts = Table(box=None, pad_edge=False, show_header=False)
    facts.add_column()
    facts.add_column(justify="right")
    facts.add_column(style="dim")
    for row in _facts(found):
        facts.add_row(*row)
    console.print(facts)
    for warning in found.warnings:
        console.print(f"[yellow]{warning}[/]", highlight=False)


def _latents(found: Inspection) -> Any:
    from rich.table import Table

    seen = found.polarisation
    assert seen is not None
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in (
        "latent",
        "by noise",
        "by spread",
        "variance",
        "spread of mean",
        "-log variance",
        "follows PC",
        "|cos|",
    ):
        table.add_column(column, justify="left" if column in ("latent", "by noise", "by spread") else "right")
    place = {int(latent): row for row, latent in enumerate(found.active)}
    for j in map(int, seen.order):
        row = place.get(j)
        pca = ("", "")
        if row is not None and found.alignment is not None:
            pca = (str(found.alignment.matched[row] + 1), f"{found.alignment.cosines[row]:.3f}")
        numbers = (f"{seen.variance[j]:.4f}", f"{seen.spread[j]:.3f}", f"{seen.precision[j]:.2f}")
        table.add_row(f"z{j}", seen.kinds[j], "passive" if row is None else "active", *numbers, *pca)
    return table


def _facts(found: Inspection) -> list[tuple[str, str, str]]:
    from unbraid.theory import largest_distance, random_distance

    rows = []
    if found.polarisation is not None:
        seen = found.polarisation
        state = "polarised: below 3 %" if seen.polarised else "not polarised: above 3 %"
        rows.append(("error of the simplified KL", f"{seen.kl_error:.2%}", state))
    if found.split is not None:
        rows.append(("squared error", f"{found.split.total:.4g}", "of decoded samples"))
        rows.append(("  deterministic part", f"{found.split.deterministic:.4g}", "of decoded means"))
        rows.append(("  stochastic part", f"{found.split.stochastic:.4g}", f"by the Jacobian {found.split.local:.4g}"))
    if found.orthogonality is not None:
        d = found.orthogonality.singular_values.shape[1]
        note = f"active by spread: {d}; random {random_distance(d):.2f}, largest {largest_distance(d):.2f}"
        rows.append(("distance to orthogonality", f"{found.orthogonality.mean:.4f}", note))
        contrast = found.orthogonality.contrast.mean()
        rows.append(("mechanism contrast", f"{contrast:.4f}", "nats; 0 for orthogonal columns"))
    if found.alignment is not None:
        rows.append(("mean |cos| with PCA", f"{found.alignment.cosines.mean():.4f}", "of the mean Jacobian's columns"))
        rows.append(("largest angle to PCA's space", f"{found.alignment.angles.max():.2f}°", ""))
        if found.alignment.order is not None:
            rows.append(("order of precision and variance", f"{found.alignment.order:.2f}", "1: sorted as PCA"))
    rows.append(("self-consistency", f"{found.consistency:.4f}", "mean (mu(Dec(z)) - z)² under the prior"))
    return rows
