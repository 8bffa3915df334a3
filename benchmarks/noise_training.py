"""What noise training costs: steps of a classifier, of Gaussian and of adversarial noise training, and the projection.

    python benchmarks/noise_training.py                 # everything, a few minutes
    python benchmarks/noise_training.py steps --nets madry --rounds 12

Images of 28x28 pixels, mostly black as digits are, in batches of 100. Every contestant runs in its own process with one
thread, and they take turns, a block of steps each; medians of the CPU time per step are compared. ``plain`` is the loop
everybody writes first, with torch's own layers and the same optimiser (SGD with momentum).
"""

import argparse
import multiprocessing
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

BATCH, EPS = 100, 5.0
NETS = {"madry": (32, 1024), "small-cnn": (16, 128)}
LIMITS = {
    "madry": {"gnt": 1.05, "ant 1x1": 1.8, "ant 3x3": 2.2},
    "small-cnn": {"gnt": 1.05, "ant 1x1": 3.0, "ant 3x3": 4.0},
}
PLAIN = 1.8
"""How many times as fast as the plain loop a step of this library is to be."""


def digits(count: int = 2000) -> tuple[np.ndarray, np.ndarray]:
    """Images of which a fifth of the pixels is not black, and classes."""
    rng = np.random.default_rng(0)
    strokes = rng.random((count, 28, 28, 1)) < 0.19
    return (strokes * rng.integers(60, 256, strokes.shape)).astype(np.uint8), rng.integers(0, 10, count)


def plain_steps(net: str) -> Callable[[], float]:
    """The loop everybody writes first."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    width, hidden = NETS[net]
    images, labels = digits()
    model = nn.Sequential(
        nn.Conv2d(1, width, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(width, 2 * width, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(2 * width * 49, hidden), nn.ReLU(), nn.Linear(hidden, 10),
    )  # fmt: skip
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)
    rng = np.random.default_rng(0)

    def advance() -> float:
        rows = rng.integers(len(images), size=BATCH)
        x = torch.from_numpy(images[rows]).permute(0, 3, 1, 2).float() / 255
        loss = nn.functional.cross_entropy(model(x), torch.from_numpy(labels[rows]))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.item()

    return advance


def unbraid_steps(net: str, *augment: str) -> Callable[[], float]:
    """A step of this library, as ``unbraid train classifier`` makes it; no restart is among them."""
    import torch

    from unbraid import data, objectives
    from unbraid.training import Loop, numerics, problem_of

    numerics.setup()
    images, labels = digits()
    dataset = data.from_arrays(images, labels=labels)
    options = {"net": net, "optimizer": "sgd", "learning_rate": 1e-3, "augment": list(augment)}
    objective = objectives.make("classifier", options)
    model = objective.make_model(problem_of(dataset), torch.Generator().manual_seed(0)).train()
    stream = data.make_stream(objective.needs, dataset, BATCH, 0)
    loop = Loop(objective, model, stream, 0, numerics.device("cpu"))

    def advance() -> float:
        before = loop.means.sums.get("loss", 0.0)
        loop.advance()
        return loop.means.sums["loss"] - before

    return advance


PLAYED = f"eps={EPS},restart_steps=1,every=1000000"
CONTESTANTS: dict[str, Callable[[str], Callable[[], float]]] = {
    "plain": plain_steps,
    "clean": unbraid_steps,
    "gnt": lambda net: unbraid_steps(net, "gaussian-noise:sigma=0.5"),
    "ant 1x1": lambda net: unbraid_steps(net, f"ant:{PLAYED}"),
    "ant 3x3": lambda net: unbraid_steps(net, f"ant:kernel=3,{PLAYED}"),
}


def _serve(connection: Connection, name: str, net: str) -> None:
    import torch

    torch.set_num_threads(1)
    advance = CONTESTANTS[name](net)
    for _ in range(3):
        advance()
    connection.send("ready")
    while steps := connection.recv():
        begin = time.process_time()
        for _ in range(steps):
            advance()
        connection.send((time.process_time() - begin) / steps)


@contextmanager
def contestant(name: str, net: str) -> Iterator[Connection]:
    """A process that makes steps when told how many."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(theirs, name, net), daemon=True)
    process.start()
    theirs.close()
    assert ours.recv() == "ready"
    try:
        yield ours
    finally:
        ours.send(0)
        process.join()


def steps(nets: list[str], rounds: int, block: int) -> None:
    """All contestants in turn."""
    for net in nets:
        spent: dict[str, list[float]] = {name: [] for name in CONTESTANTS}
        with ExitStack() as stack:
            lines = {name: stack.enter_context(contestant(name, net)) for name in CONTESTANTS}
            for _ in range(rounds):
                for name, line in lines.items():
                    line.send(block)
                    spent[name].append(line.recv())
        print(f"\n## {net}, batch {BATCH}, {rounds} rounds of {block} steps\n")
        print("| step | ms (cpu) | of a clean step | wanted |\n|---|---|---|---|")
        for name, times in spent.items():
            ratio = statistics.median(a / b for a, b in zip(times, spent["clean"], strict=True))
            wanted = f"at least {PLAIN}" if name == "plain" else f"at most {LIMITS[net].get(name, 1)}"
            print(f"| {name} | {1e3 * statistics.median(times):.1f} | {ratio:.2f} | {wanted} |", flush=True)


def projection(rounds: int) -> None:
    """``project_l2`` of 300 images against the published way, by sorting."""
    import torch

    from unbraid.nets import project_l2
    from unbraid.training import numerics

    torch.set_num_threads(1)
    numerics.setup()
    images = torch.from_numpy(digits(300)[0]).permute(0, 3, 1, 2).float() / 255
    delta = torch.randn(images.shape, generator=torch.Generator().manual_seed(0))
    times: dict[str, list[float]] = {"sorting": [], "project_l2": []}
    ways: dict[str, Callable[..., Any]] = {"sorting": by_sorting, "project_l2": project_l2}
    apart = (by_sorting(images, delta, EPS) - project_l2(images, delta, EPS)).abs().max().item()
    for _ in range(rounds):
        for name, way in ways.items():
            begin = time.process_time()
            for _ in range(5):
                way(images, delta, EPS)
            times[name].append((time.process_time() - begin) / 5)
    ratio = statistics.median(a / b for a, b in zip(times["sorting"], times["project_l2"], strict=True))
    found = ", ".join(f"{name} {1e3 * statistics.median(spent):.2f} ms" for name, spent in times.items())
    print(f"\n## Projection of 300 images\n\n{found}: {ratio:.1f} times as fast (wanted: 3); apart by {apart:.0e}")


def by_sorting(images: Any, delta: Any, eps: float) -> Any:
    """Sort the points where entries meet their bounds and walk along the segments."""
    import torch

    x, d = images.flatten(1), delta.flatten(1)
    points = torch.where(d >= 0, 1 - x, x).square() / d.square().clamp_min(1e-20)
    points, order = points.sort(1)
    slopes = d.square().gather(1, order).flip(1).cumsum(1).flip(1)
    heights = (slopes * points.diff(dim=1, prepend=torch.zeros_like(points[:, :1]))).cumsum(1)
    place = (heights < eps**2).sum(1, keepdim=True)
    within = place.clamp(max=x.shape[1] - 1)
    back = (heights.gather(1, within) - eps**2) / slopes.gather(1, within).clamp_min(1e-20)
    s = points.gather(1, within) - torch.where(place < x.shape[1], back, 0)
    return (x + s.sqrt() * d).clamp(0, 1).view_as(images)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sections", nargs="*", help="steps, projection (default: both)")
    parser.add_argument("--nets", nargs="+", default=list(NETS), choices=list(NETS))
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--block", type=int, default=5, help="steps per turn")
    options = parser.parse_args()
    for section in options.sections or ["steps", "projection"]:
        if section == "steps":
            steps(options.nets, options.rounds, options.block)
        elif section == "projection":
            projection(options.rounds)
        else:
            parser.error(f"unknown section {section!r}; known: steps, projection")


if __name__ == "__main__":
    main()
