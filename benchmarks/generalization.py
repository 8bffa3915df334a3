"""What the benchmark of generalisation costs: a supervised step, predicting a test part, and making a split.

    python benchmarks/generalization.py                       # everything, some minutes
    python benchmarks/generalization.py steps --starts 6      # one section

``steps``: the regressor's CNN against the loop everybody writes first, under the conditions of
``benchmarks/training.py``: a process and one thread for each contestant, blocks of steps in turn.
``networks``: a step of each of the other predictors, in this process. ``predict``: images per second through a test
part, and memory. ``split``: making one of 1,036,800 cells and drawing a batch of 64 inside it, beside a step.
``render``: images of a training batch, drawn from their factors, beside a step.
"""

import argparse
import resource
import statistics
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import training
from training import BATCH, Advance, race, tuned
from unbraid import data

KINDS = ("random", "composition", "interpolation", "extrapolation")
SHAPES = ((64, 64, 1), (64, 64, 3))
SIZES = (3, 6, 10, 32, 32)
NETWORKS = (
    "cnn", "mlp:layers=90+90+90+90+45+22", "coordconv", "set-encoder", "rotation-eq", "spatial-transformer", "resnet",
    "rotation-eq-big", "densenet-121", "bit-r50x1",
)  # fmt: skip


def factors_of(images: np.ndarray) -> np.ndarray:
    """Factors for images, by chance: what is measured is the time of a step."""
    rng = np.random.default_rng(1)
    return np.stack([rng.integers(size, size=len(images)) for size in SIZES], axis=1)


def plain_network(channels: int) -> Any:
    """The layers of ``cnn`` for 64x64 images from torch's own modules."""
    from torch import nn

    sizes = ((channels, 32), (32, 32), (32, 64), (64, 64))
    layers = [layer for a, b in sizes for layer in (nn.Conv2d(a, b, 4, 2, 1), nn.ReLU())]
    return nn.Sequential(*layers, nn.Conv2d(64, 256, 4), nn.ReLU(), nn.Flatten(), nn.Linear(256, len(SIZES)))


def plain_steps(images: np.ndarray, seed: int) -> Advance:
    """The loop everybody writes first."""
    import torch

    net = plain_network(images.shape[-1])
    optimizer = torch.optim.Adam(net.parameters(), lr=5e-4)
    targets = torch.from_numpy(factors_of(images) / (np.array(SIZES) - 1)).float()
    rng = np.random.default_rng(seed)

    def advance() -> float:
        index = rng.integers(len(images), size=BATCH)
        x = torch.from_numpy(images[index]).permute(0, 3, 1, 2).float() / 255
        loss = (net(x) - targets[torch.from_numpy(index)]).square().sum(1).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.item()

    return advance


def make_loop(images: np.ndarray, seed: int, net: str = "cnn", precision: str = "auto") -> Any:
    """A training loop as ``unbraid.train`` builds it."""
    import torch

    from unbraid import objectives
    from unbraid.training import Loop, numerics
    from unbraid.training.described import problem_of

    numerics.setup()
    objective, dataset = objectives.make("regressor", {"net": net}), data.from_arrays(images, factors_of(images))
    model = objective.make_model(problem_of(dataset), torch.Generator().manual_seed(seed))
    stream = data.make_stream(objective.needs, dataset, BATCH, seed)
    return Loop(objective, model, stream, seed, numerics.device("cpu"), precision)


def our_steps(images: np.ndarray, seed: int, *, precision: str = "auto") -> Advance:
    """One step of this library, loss included."""
    loop = make_loop(images, seed, precision=precision)

    def advance() -> float:
        loop.advance()
        return 0.0

    return advance


def our_steps_fp32(images: np.ndarray, seed: int) -> Advance:
    return our_steps(images, seed, precision="fp32")


STEPS: dict[str, Callable[..., Advance]] = {
    "plain": plain_steps,
    "plain + allocator": tuned(plain_steps),
    "unbraid, fp32": our_steps_fp32,
    "unbraid": our_steps,
}
training.CONTESTANTS.update({f"supervised, {name}": begin for name, begin in STEPS.items()})


def steps(options: argparse.Namespace) -> None:
    """The CNN's supervised step; every start has new processes."""
    names = [f"supervised, {name}" for name in STEPS]
    for shape in SHAPES:
        print(f"\n## regressor, cnn, {'x'.join(map(str, shape))}, batch {BATCH}, {options.starts} starts\n")
        print("| contestant | ms per step (wall) | ms per step (cpu) | page faults | ratio (wall) | ratio (cpu) |")
        print("|---|---|---|---|---|---|")
        races = [race(names, shape, options.rounds, options.block) for _ in range(options.starts)]
        for name in names:
            wall, cpu, faults = (
                statistics.median(getattr(turn, key) for turns in races for turn in turns[name])
                for key in ("wall", "cpu", "faults")
            )
            ratios = [
                statistics.median(
                    getattr(a, key) / getattr(b, key)
                    for turns in races
                    for a, b in zip(turns[names[0]], turns[name], strict=True)
                )
                for key in ("wall", "cpu")
            ]
            cells = f"{1e3 * wall:.1f} | {1e3 * cpu:.1f} | {faults:,.0f} | {ratios[0]:.2f} | {ratios[1]:.2f}"
            print(f"| {name.removeprefix('supervised, ')} | {cells} |", flush=True)


def networks(options: argparse.Namespace) -> None:
    """A step of every predictor of the benchmark, one thread."""
    print("\n## regressor, ms per step (cpu), batch 64\n\n| network | 64x64x1 | 64x64x3 |\n|---|---|---|")
    for net in NETWORKS:
        spent = []
        for shape in SHAPES:
            loop = make_loop(training.pictures(shape, 512), 0, net)
            loop.advance()
            spent.append(1e3 * best(lambda _, loop=loop: loop.advance(), 3, options.block // 4 or 1))  # type: ignore[misc]
        print(f"| {net} | {spent[0]:.1f} | {spent[1]:.1f} |", flush=True)


def predict(options: argparse.Namespace) -> None:
    """Predictions of a whole test part, block by block, against batches through torch's modules."""
    import torch

    from unbraid.generalization import predict_part
    from unbraid.training import Run

    torch.set_num_threads(1)
    print("\n## Predicting a test part, 64x64, float32\n")
    print("| images | plain, thousands per second | unbraid | ratio | memory grown over the part, MB |")
    print("|---|---|---|---|---|")
    for shape in SHAPES:
        images = training.pictures(shape, 16384)
        part = data.from_arrays(images, factors_of(images))
        loop, net = make_loop(images, 0), plain_network(shape[2]).eval()
        run = Run(Path("benchmark"), {"data": {"shape": list(shape)}}, "cpu")
        run.__dict__.update(objective=loop.objective, model=loop.model.eval())

        def plainly(_: int, images: np.ndarray = images, net: Any = net) -> None:
            with torch.inference_mode():
                for start in range(0, len(images), 256):
                    net(torch.from_numpy(images[start : start + 256]).permute(0, 3, 1, 2).float() / 255).numpy()

        def ours(_: int, part: Any = part, run: Any = run) -> None:
            predict_part(run, part)

        plainly(0)
        predict_part(run, part, images=4096)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        turns = [(best(plainly, 1, 1), best(ours, 1, 1)) for _ in range(max(3, options.rounds // 2))]
        grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1e3
        theirs, mine = (len(images) / 1e3 / statistics.median(column) for column in zip(*turns, strict=True))
        ratio = statistics.median(a / b for a, b in turns)
        print(f"| {'x'.join(map(str, shape))} | {theirs:.2f} | {mine:.2f} | {ratio:.2f} | {grown:.0f} |", flush=True)


class Blank(data.FactorDataset):
    """A grid as large as that of MPI3D, without images: what is measured is the split alone."""

    name, shape = "blank", (1, 1, 1)
    space = data.FactorSpace(tuple("abcdefg"), (6, 6, 2, 3, 3, 40, 40), ("ordinal",) * 7)

    def images(self, index: np.ndarray, rng: np.random.Generator | None = None) -> np.ndarray:
        return np.zeros((len(index), 1, 1, 1), np.uint8)


def best(act: Callable[[int], object], rounds: int, count: int) -> float:
    """CPU seconds of one act."""
    found = []
    for _ in range(rounds):
        start = time.process_time()
        for k in range(count):
            act(k)
        found.append((time.process_time() - start) / count)
    return min(found)


def split(options: argparse.Namespace) -> None:
    """Making splits and drawing batches inside them."""
    loop = make_loop(training.pictures(SHAPES[1], 512), 0)
    loop.advance()
    whole = best(lambda _: loop.advance(), max(1, options.rounds // 3), 4)
    print(f"\n## Splits of 1,036,800 cells\n\na step of our CNN: {whole * 1e3:.1f} ms\n")
    print("| split | making it | a batch of 64 | of a step | memory |\n|---|---|---|---|---|")
    for kind in KINDS:
        made = best(lambda _, kind=kind: data.split(Blank(), kind).train, 5, 5)  # type: ignore[misc]
        train = data.split(Blank(), kind).train
        tracemalloc.start()
        train.to_base(train.sample_index(64, data.counter_rng(0, 0)))
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        drawn = best(lambda k, train=train: train.to_base(train.sample_index(64, data.counter_rng(0, k))), 5, 50)  # type: ignore[misc]
        print(f"| {kind} | {made * 1e3:.2f} ms | {drawn * 1e6:.0f} us | {drawn / whole:.2%} | {peak / 1e3:.0f} kB |")


def render(options: argparse.Namespace) -> None:
    """Drawing the images of a batch, for the data sets that are not read from files."""
    print("\n## A batch of 64 images drawn from their factors\n\n| data | ms (cpu) | of a step |\n|---|---|---|")
    for name in ("dsprites", "rooms3d", "arm3d", "celeb-flow"):
        drawn = data.load(name)
        loop = make_loop(training.pictures(drawn.shape, 512), 0)
        places = [np.random.default_rng(k).integers(len(drawn), size=BATCH) for k in range(8)]
        drawn.images(places[0])
        loop.advance()
        turns = []
        for _ in range(max(3, options.rounds // 2)):
            own = best(lambda k, drawn=drawn, places=places: drawn.images(places[k]), 1, len(places))  # type: ignore[misc]
            turns.append((own, best(lambda _, loop=loop: loop.advance(), 1, 4)))  # type: ignore[misc]
        spent, share = min(turn[0] for turn in turns), statistics.median(a / b for a, b in turns)
        print(f"| {name} | {1e3 * spent:.2f} | {share:.1%} |", flush=True)


SECTIONS = {"steps": steps, "networks": networks, "predict": predict, "split": split, "render": render}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sections", nargs="*", help=f"{', '.join(SECTIONS)} (default: all)")
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--block", type=int, default=20, help="steps per turn")
    parser.add_argument("--starts", type=int, default=1, help="how often `steps` starts its processes")
    options = parser.parse_args()
    for section in options.sections or SECTIONS:
        if section not in SECTIONS:
            parser.error(f"unknown section {section!r}; known: {', '.join(SECTIONS)}")
        SECTIONS[section](options)


if __name__ == "__main__":
    main()
