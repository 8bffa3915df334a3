"""unbraid theory perturb | eigen"""

from __future__ import annotations

import json as json_module
from pathlib import Path
from typing import Annotated, Literal

from tyro.conf import Positional, UseAppendAction, arg

from unbraid.cli.early import check_folder
from unbraid.errors import UsageError
from unbraid.files import make_folders
from unbraid.paths import quoted

__all__ = ["theory_eigen", "theory_perturb"]


def theory_perturb(
    *,
    data: str,
    out: Path,
    epsilon: float = 0.1,
    entangled: UseAppendAction[Annotated[tuple[Path, ...], arg(metavar="RUN")]] = (),
    disentangled: UseAppendAction[Annotated[tuple[Path, ...], arg(metavar="RUN")]] = (),
    restarts: int = 10,
    ensemble: int = 1,
    beta: float = 4.0,
    latents: Annotated[int | None, arg(metavar="INT")] = None,
    net: str = "conv",
    learning_rate: float = 1e-4,
    steps: int = 20_000,
    pattern_steps: int = 2000,
    pattern_learning_rate: float = 1e-4,
    seed: int = 0,
    json: bool = False,
) -> None:
    """Make a data set that looks the same and that a VAE no longer disentangles.

    Takes an entangled and a disentangled VAE of the data set (or trains --restarts of them and takes the extremes by
    MIG) and learns a change of at most epsilon per pixel that helps the one and hurts the other. Use the result as
    --data perturbed:source=FOLDER, and the control with noise of the same size as
    --data perturbed:source=FOLDER,control=amplitude.

    Args:
        data: Data set with factors: a name, name:factor=value,..., or an npz file.
        out: Folder for perturbation.safetensors, perturbation.json, perturbation.png and restarts/.
        epsilon: No pixel moves by more, in units of the full range. Published: 0.1 for dSprites, 0.175 for Shapes3D.
        entangled: Run of an entangled VAE on this data set; several times for an ensemble.
        disentangled: Run of a disentangled VAE; several times for an ensemble.
        restarts: How many VAEs to train when no runs are given.
        ensemble: How many of them to take from each end; four work better than one on colour images.
        beta: Of the restarts.
        latents: Of the restarts (otherwise the number of factors, so that none can be spared).
        net: Networks of the restarts and of the pattern.
        learning_rate: Of the restarts.
        steps: Of each restart.
        pattern_steps: Steps of the pattern, each after three of the decoders; ends sooner when nothing is gained.
        pattern_learning_rate: Of pattern and decoders.
        seed: Decides the pattern's initial weights and batches.
        json: Print the record as JSON.
    """
    from unbraid.data import Perturbed, load

    dataset = load(data)
    dataset.need_space("a perturbation, which is a function of all factors,")
    if (out / "perturbation.json").exists():
        raise UsageError(
            f"{out} holds a perturbation already: use it as perturbed:source={out}, or choose another --out"
        )
    if bool(entangled) != bool(disentangled):
        raise UsageError("give both --entangled and --disentangled runs, or neither")
    from unbraid.objectives import BetaVAE
    from unbraid.report.theory import perturbation_sheet
    from unbraid.theory import (
        Alignments,
        codec_of,
        noise_advantage,
        pick_alignments,
        save_manipulation,
        train_perturbation,
        train_restarts,
    )
    from unbraid.training import open_run

    def say(text: str) -> None:
        if not json:
            print(text, flush=True)

    if entangled:
        chosen = Alignments([open_run(run) for run in entangled], [open_run(run) for run in disentangled], {})
    else:
        count = len(dataset.factor_names) if latents is None else latents
        objective = BetaVAE(beta=beta, latents=count, net=net, learning_rate=learning_rate)
        runs = train_restarts(objective, dataset, out / "restarts", restarts=restarts, steps=steps, say=say)
        chosen = pick_alignments(runs, dataset, ensemble=ensemble, seed=seed)
        for path, score in chosen.scores.items():
            say(f"{path}  mutual information gap {score:.3f}")
    noise = noise_advantage(chosen, dataset)
    direction = ", ".join(f"{factor} {weight:+.2f}" for factor, weight in noise["noise_direction"].items())
    say(f"entangled codes are less noisy by {noise['noise_advantages'][0]:.4f} along {direction}")
    if noise["noise_advantages"][0] < 1e-3:
        say("that is next to nothing: a perturbation has nothing to exploit; take models further apart")
    found = train_perturbation(
        [codec_of(run) for run in chosen.entangled],
        [codec_of(run) for run in chosen.disentangled],
        dataset,
        epsilon=epsilon,
        steps=pattern_steps,
        net=net,
        learning_rate=pattern_learning_rate,
        seed=seed,
        tell=lambda step, gap: say(f"pattern step {step:>6}: disentangled models lose {gap:+.3f} nats more"),
    )
    numbers = save_manipulation(found, chosen, dataset, out, **noise)
    perturbation_sheet(Perturbed(dataset, found.perturbation), out / "perturbation.png")
    if json:
        print(json_module.dumps(numbers))
        return
    print(f"mean change {numbers['mean_change']:.4f}, largest {numbers['largest_change']:.4f}, epsilon {epsilon:g}")
    print(f"kept the pattern of step {found.kept[0]:,}, where disentangled models lose {found.kept[1]:+.3f} nats more")
    if not found.grew:
        print("the gap did not grow: the two models place their noise alike, or --pattern-steps are too few")
    source = quoted(f"perturbed:source={out}")
    print(f"wrote {out / 'perturbation.png'}; next: unbraid train beta-vae --data {source} --out RUN")


def theory_eigen(
    run: Positional[Annotated[Path, arg(metavar="RUN")]],
    *,
    rows: int = 5,
    values: int = 7,
    reach: float = 2.5,
    images: int = 300,
    start: Annotated[Literal["codes", "image"], arg(metavar="NAME")] = "codes",
    data: Annotated[str | None, arg(metavar="STR")] = None,
    seed: int = 0,
    out: Annotated[Path | None, arg(metavar="PATH")] = None,
    json: bool = False,
) -> None:
    """Draw nonlinear eigenfaces: the most precise latents around the mean code, beside principal components.

    Args:
        run: Folder of a VAE's run.
        rows: How many latents, smallest mean posterior variance first.
        values: Pictures per row.
        reach: How far to go on either side, in standard deviations of the prior.
        images: How many images the mean is taken over.
        start: codes (the mean of their codes) or image (the code of their mean).
        data: Data set to look at (otherwise the one it was trained on).
        seed: Decides which images.
        out: Picture to write (otherwise eigen.png in the run's folder).
        json: Print the result as JSON.
    """
    check_folder(run, "run")
    from unbraid.report.theory import eigen_traversal, save_eigen
    from unbraid.training import open_run

    opened = open_run(run)
    dataset = opened.data(data)
    found = eigen_traversal(
        opened, dataset, rows=rows, values=values, reach=reach, images=images, start=start, seed=seed
    )
    target = run / "eigen.png" if out is None else out
    make_folders(target.parent)
    save_eigen(found, target)
    if json:
        print(
            json_module.dumps({"picture": str(target), "latents": found.latents, "variances": found.variances.tolist()})
        )
    else:
        print(f"wrote {target}")
