"""What it costs to run many trainings at once.

    python benchmarks/study.py                  # everything, a few minutes on two idle cores
    python benchmarks/study.py threads          # two one-thread processes against one two-thread process
    python benchmarks/study.py bookkeeping      # time of a study that is not training

``threads`` trains the same two models either side by side with one thread each, or one after the other with two threads
each. ``bookkeeping`` runs a study (training only) and counts what its workers' time contains beside training steps:
starting processes, building models, locks, checkpoints, idle workers at the end. Run it on an idle machine: other
processes take time from the workers that then looks like bookkeeping.
"""

import argparse
import tempfile
import time
from pathlib import Path

from unbraid.engines import ProcessEngine, Task
from unbraid.study import Study, run_study
from unbraid.study.grid import Setting
from unbraid.training import open_run

MODELS = {
    "conv on 64x64": ("mini-sprites", "conv"),
    "conv on 32x32": ("sprites32", "conv"),
    "mlp on 32x32": ("sprites32", "mlp"),
}


def train_some(data: str, net: str, steps: int, seed: int, threads: int, out: str) -> float:
    """Train in a worker process; the seconds its steps took."""
    from unbraid import objectives
    from unbraid.training import train

    objective = objectives.make("beta-vae", {"net": net})
    run = train(objective, data, out=out, steps=steps, seed=seed, threads=threads, progress="none")
    return float(run.info["seconds"])


def compare_threads(steps: int, rounds: int) -> None:
    """Steps per second of both ways to use two cores; they take turns, the best round of each counts."""
    print(f"{'':16}{'2 processes x 1 thread':>26}{'1 process x 2 threads':>26}{'ratio':>8}")
    for title, (data, net) in MODELS.items():
        best = {1: 0.0, 2: 0.0}
        for _ in range(rounds):
            for threads, workers in ((1, 2), (2, 1)):
                with tempfile.TemporaryDirectory() as folder, ProcessEngine(workers) as engine:
                    list(engine.run([Task("warm up", "os:getpid")]))
                    began = time.perf_counter()
                    tasks = [_task(data, net, steps, seed, threads, f"{folder}/{seed}") for seed in range(2)]
                    for outcome in engine.run(tasks):
                        assert outcome.ok, outcome.error
                    best[threads] = max(best[threads], 2 * steps / (time.perf_counter() - began))
        print(f"{title:16}{best[1]:20.1f} steps/s{best[2]:18.1f} steps/s{best[1] / best[2]:8.2f}", flush=True)


def _task(data: str, net: str, steps: int, seed: int, threads: int, out: str) -> Task:
    arguments = {"data": data, "net": net, "steps": steps, "seed": seed, "threads": threads, "out": out}
    return Task(seed, f"{Path(__file__).stem}:train_some", arguments, (__file__,))


def measure_bookkeeping(steps: int, runs: int, workers: int) -> None:
    """Time of a study's workers that is not training, per run and as a share of runs of several lengths."""
    study = Study(
        "bookkeeping",
        ("sprites32",),
        (Setting("beta-vae", {"net": "conv", "beta": 4.0}),),
        seeds=tuple(range(runs)),
        steps=(steps,),
    )
    with tempfile.TemporaryDirectory() as out, ProcessEngine(workers) as engine:
        list(engine.run([Task("warm up", "os:getpid")]))  # the fork server starts once per study
        began = time.perf_counter()
        folder = run_study(study, out, engine=engine, stages=("train",), progress="none")
        wall = time.perf_counter() - began
        training = sum(float(open_run(folder.run(index)).info["seconds"]) for index in range(runs))
    beside = (workers * wall - training) / runs
    rate = steps * runs / training
    print(f"{runs} runs of {steps} steps with {workers} workers: {wall:.1f} s, {rate:.1f} steps/s per worker")
    print(f"beside training {beside:.2f} s per run; share of the workers' time in runs of")
    for length in (steps, 1_000, 10_000, 300_000):
        print(f"{length:>10,} steps: {100 * beside / (beside + length / rate):6.2f} %")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("section", nargs="?", choices=("threads", "bookkeeping", "all"), default="all")
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--runs", type=int, default=8)
    parser.add_argument("--workers", type=int, default=2)
    chosen = parser.parse_args()
    if chosen.section in ("threads", "all"):
        compare_threads(chosen.steps, chosen.rounds)
    if chosen.section in ("bookkeeping", "all"):
        measure_bookkeeping(chosen.steps, chosen.runs, chosen.workers)


if __name__ == "__main__":
    main()
