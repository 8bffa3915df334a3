"""What pairs cost: their streams as a share of a training step, and a SlowVAE step against a beta-VAE step.

    python benchmarks/pairs.py                       # both, two minutes
    python benchmarks/pairs.py steps --rounds 40     # one section

A step is 64 images, so 32 pairs. Contestants take turns as in ``benchmarks/training.py``.
"""

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import training
from training import Advance, race

IMAGES = 64
STREAMS = (
    ("dsprites", "pairs:protocol=lap"),
    ("dsprites", "pairs:protocol=uni"),
    ("dsprites", "pairs:protocol=lap,rate=0"),
    ("dsprites", "sequences:length=5"),
    ("natural-sprites", "pairs"),
    ("natural-sprites-discrete", "pairs"),
    ("pedestrians", "pairs"),
)


def make_loop(objective: str, data: str, seed: int = 0, **options: Any) -> Any:
    """A training loop as ``unbraid.train`` builds it."""
    import torch

    from unbraid import objectives
    from unbraid.data import load, make_stream
    from unbraid.training import Loop, numerics
    from unbraid.training.described import problem_of

    numerics.setup()
    method, dataset = objectives.make(objective, options), load(data)
    size = IMAGES if method.needs == "images" else IMAGES // 2
    model = method.build(problem_of(dataset), torch.Generator().manual_seed(seed))
    return Loop(method, model, make_stream(method.needs, dataset, size, seed), seed, numerics.device("cpu"))


def steps_of(objective: str, **options: Any) -> Callable[..., Advance]:
    """A contestant; it brings its own images."""

    def begin(_: np.ndarray, seed: int) -> Advance:
        loop = make_loop(objective, "mini-sprites", seed, **options)

        def advance() -> float:
            before = loop.means.sums.get("loss", 0.0)
            loop.advance()
            return loop.means.sums["loss"] - before

        return advance

    return begin


NETS = ("conv", "slow")
for net in NETS:
    training.CONTESTANTS[f"beta-vae, {net}"] = steps_of("beta-vae", net=net)
    training.CONTESTANTS[f"slow-vae, {net}"] = steps_of("slow-vae", net=net)


def steps(rounds: int, block: int) -> None:
    """SlowVAE on 32 pairs against beta-VAE on 64 images, for both networks of the papers."""
    print(f"\n## A step of 64 images, 64x64x1, {rounds} rounds of {block} steps\n")
    print("| network | beta-vae, ms (cpu) | slow-vae, ms (cpu) | slow-vae / beta-vae (wall) | (cpu) |")
    print("|---|---|---|---|---|")
    for net in NETS:
        turns = race([f"beta-vae, {net}", f"slow-vae, {net}"], (64, 64, 1), rounds, block)
        single, pair = turns.values()
        spent = [1e3 * statistics.median(turn.cpu for turn in mine) for mine in (single, pair)]
        ratios = [
            statistics.median(getattr(b, key) / getattr(a, key) for a, b in zip(single, pair, strict=True))
            for key in ("wall", "cpu")
        ]
        print(f"| {net} | {spent[0]:.1f} | {spent[1]:.1f} | {ratios[0]:.3f} | {ratios[1]:.3f} |")


def streams(rounds: int, block: int) -> None:
    """CPU time of a batch of every pair stream, beside that of a step and of as many single images."""
    from unbraid.data import load, make_stream

    print(f"\n## Batches of 32 pairs, medians of {rounds} rounds\n")
    print("| data | stream | ms per batch | 64 single images | a step | share of the step |\n|---|---|---|---|---|---|")
    whole = {
        channels: _median(make_loop("slow-vae", data, net="conv").advance, rounds, block)
        for channels, data in ((1, "mini-sprites"), (3, "color-mini-sprites"))
    }
    for name, kind in STREAMS:
        data = load(name)
        spent = [
            _median(_in_order(make_stream(kind, data, size, 0)), rounds, 5 * block)
            for kind, size in ((kind, IMAGES // 2), ("images", IMAGES))
        ]
        step = whole[data.shape[2]]
        print(f"| {name} | {kind} | {spent[0]:.2f} | {spent[1]:.2f} | {step:.1f} | {100 * spent[0] / step:.1f} % |")


def _in_order(stream: Any) -> Callable[[], Any]:
    position = iter(range(10**9))
    return lambda: stream(next(position))


def _median(call: Callable[[], Any], rounds: int, block: int) -> float:
    """Milliseconds of CPU time per call; the first round warms up."""
    found = []
    for _ in range(rounds + 1):
        begin = time.thread_time()
        for _ in range(block):
            call()
        found.append(1e3 * (time.thread_time() - begin) / block)
    return statistics.median(found[1:])


SECTIONS = {"streams": streams, "steps": steps}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sections", nargs="*", help="streams, steps (default: both)")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--block", type=int, default=10)
    options = parser.parse_args()
    for name in options.sections or SECTIONS:
        if name not in SECTIONS:
            parser.error(f"unknown section {name!r}; known: {', '.join(SECTIONS)}")
        SECTIONS[name](options.rounds, options.block)


if __name__ == "__main__":
    main()
