"""Train and attack analysis by synthesis and its rivals on digits and clothes, and two ablations of it.

    python docs/studies/make_abs.py studies/abs          # in as many terminals as there are cores: they share the work
    python docs/studies/make_abs.py studies/abs --plan   # the commands alone
    python docs/studies/make_abs.py studies/abs --parts clothes latents   # some of it

About five hours of one core: 1.5 of training, the rest attacks. Everything can be killed and goes on with the
same command. The folders `digits`, `clothes`, `ablations` and `latents` then have the reports.
"""

import argparse
import fcntl
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

IMAGES = 100
"""Of each test set: also what the command takes unless told."""
NETWORKS = {"cnn": "abs-cnn", "binary-cnn": "binarised:net=abs-cnn", "substitute": "substitute"}
RADII = {"mnist": (0.1, 0.2, 0.3), "fashion-mnist": (0.03, 0.06, 0.1)}
"""Linf training begins with smaller radii: at once with the last it stays at chance."""
ABS = ["--steps", "2350", "--anneal-steps", "1175"]
"""25 epochs; published: at least 50 with the weight of the divergence falling over 50."""


def trainings(data: str) -> Iterator[tuple[str, list[list[str]]]]:
    """Names of runs, and the commands that make them one after another; the longest first."""
    yield f"{data}-abs", [["abs", "--data", data, *ABS, "--out", f"{data}-abs"]]
    yield f"{data}-linf-trained", list(_growing(data))
    for name, net in NETWORKS.items():
        options = ["--learning-rate", "1e-3", "--drop-at", "2000", "--batch-size", "100", "--steps", "2400"]
        yield f"{data}-{name}", [["classifier", "--data", data, "--net", net, *options, "--out", f"{data}-{name}"]]


def _growing(data: str) -> Iterator[list[str]]:
    before: str | None = None
    for radius, steps in zip(RADII[data], (1000, 2000, 12000), strict=True):
        out = f"{data}-linf-trained" if steps == 12000 else f"{data}-linf-{steps}"
        seen = f"adversarial:norm=linf,radius={radius},steps=10,share=1"
        options = ["--net", "madry:width=16,hidden=256", "--learning-rate", "5e-4", "--batch-size", "50"]
        options += ["--augment", seen, "--steps", str(steps), "--out", out]
        options += ["--drop-at", "10000"] if steps == 12000 else []
        yield ["classifier", "--data", data, *options, *([] if before is None else ["--start", before])]
        before = out


def attacks(data: str, out: str) -> list[str]:
    """Every model of one data set, in all norms."""
    runs = [f"{data}-{name}" for name in ("cnn", "binary-cnn", "linf-trained", "abs")]
    told = ["--also", "binarised,neighbour", "--substitute", f"{data}-substitute", "--bounds"]
    budget = ["--budget", "study", "--images", str(IMAGES)]
    return ["robustness", "attack", *runs, *told, *budget, "--data", f"{data}:split=test", "--out", f"../{out}"]


ABLATIONS = {"abs-bernoulli": ["--likelihood", "bernoulli"], "abs-32": ["--latents", "32"]}


def ablation(*names: str, out: str, climbs: int = 0) -> list[str]:
    """Some of them in L2, which is the norm that ABS is made for."""
    told = ["--norms", "l2", "--budget", "study", "--distal", str(climbs), "--images", str(IMAGES)]
    return ["robustness", "attack", *names, *told, "--data", "mnist:split=test", "--out", f"../{out}"]


def _ablated(name: str) -> tuple[str, list[list[str]]]:
    return name, [["abs", "--data", "mnist", *ABS, *ABLATIONS[name], "--out", name]]


Task = tuple[str, list[list[str]]]
PARTS: dict[str, tuple[list[Task], list[str]]] = {
    "digits": (list(trainings("mnist")), attacks("mnist", "digits")),
    "clothes": (list(trainings("fashion-mnist")), attacks("fashion-mnist", "clothes")),
    "ablations": (
        [*list(trainings("mnist"))[:1], _ablated("abs-bernoulli")],
        ablation("mnist-abs", "abs-bernoulli", out="ablations"),
    ),
    "latents": ([_ablated("abs-32")], ablation("abs-32", out="latents", climbs=10)),
}
"""By name the runs to train, and the attacks on them, which several processes may carry out at once."""


SETS = {"digits": "mnist", "clothes": "fashion-mnist"}
"""Parts whose ABS run has lower bounds, with their data."""


def bound_again(run: Path, data: str, folder: Path) -> None:
    """The mean bound of the same images from ten draws of the latents that the search begins with."""
    import polars

    import unbraid
    from unbraid.data import load
    from unbraid.robustness.synthesis import lower_bounds

    known = polars.read_parquet(folder / "bounds.parquet").filter(model=run.name)["image"].to_numpy()
    images = load(f"{data}:split=test")
    told = (unbraid.open_run(run), images.images(known), images.labels(known))
    means = [float(lower_bounds(*told, seed=seed, coupled=False).l2.mean()) for seed in range(10)]
    polars.DataFrame({"seed": range(10), "l2": means}).write_csv(folder / "bounds_by_seed.csv")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--plan", action="store_true", help="print the commands, do nothing")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS), help="some of it, in this order")
    asked = parser.parse_args()
    tasks = dict(task for part in asked.parts for task in PARTS[part][0])
    if asked.plan:
        trained = [["train", *one] for commands in tasks.values() for one in commands]
        for command in [*trained, *(PARTS[part][1] for part in asked.parts)]:
            print("unbraid", *command)
        return
    runs = asked.folder / "runs"
    runs.mkdir(parents=True, exist_ok=True)
    for part in asked.parts:
        while not all(_done(runs, name) for name, _ in PARTS[part][0]):
            if not any(_take(runs, name, commands) for name, commands in tasks.items() if not _done(runs, name)):
                time.sleep(10)  # others are at what is left
        _run(PARTS[part][1], runs)
        if part in SETS:
            bound_again(runs / f"{SETS[part]}-abs", SETS[part], asked.folder / part)


def _done(runs: Path, name: str) -> bool:
    return (runs / f"{name}.done").exists()


def _take(runs: Path, name: str, commands: list[list[str]]) -> bool:
    """Carry a task out unless another process does; a lock of a killed one is free."""
    with (runs / f"{name}.lock").open("w", encoding="utf-8") as held:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        if not _done(runs, name):
            for command in commands:
                _run(["train", *command, "--progress", "lines"], runs)
            (runs / f"{name}.done").touch()
    return True


def _run(command: list[str], folder: Path) -> None:
    print("unbraid", *command, flush=True)
    subprocess.run([sys.executable, "-m", "unbraid", *command], cwd=folder, check=True)


if __name__ == "__main__":
    main()
