"""What bijective classifiers of digits cost: a step forward and backward, the way back, log determinants, metamers.

    python benchmarks/invertible.py                     # everything, a minute or two
    python benchmarks/invertible.py steps --rounds 12

The network is the default for 28x28 digits padded to 32x32 (3 stages of 6 blocks with 32 channels), batches are of 64.
Every contestant runs in its own process with one thread; they take turns, a block of steps each, and medians of the CPU
time are compared. ``plain`` is the same network written down directly with torch's own layers, with the same weights;
``unbraid`` and ``unbraid bf16`` are what training does in either precision. Gradients of all are held against those of
the plain network in float64.
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

BATCH, CLASSES, STAGES, BLOCKS, WIDTH = 64, 10, 3, 6, 32
STEP, INVERSE, LOG_DET, PER_MINUTE = 1.5, 1.3, 0.03, 10_000
CONTESTANTS = ("plain", "unbraid", "unbraid bf16")


def inputs() -> tuple[Any, Any]:
    """A batch that is mostly black, as digits are, and classes."""
    import torch

    generator = torch.Generator().manual_seed(0)
    strokes = torch.rand(BATCH, 1, 32, 32, generator=generator) < 0.15
    grey = torch.rand(BATCH, 1, 32, 32, generator=generator)
    return 2 * strokes * grey - 1 + grey / 128, torch.arange(BATCH) % CLASSES


def our_network() -> Any:
    """The default network after its first batch, all weights moved a little: at first couplings are the identity."""
    import torch

    from unbraid.nets.bijections import build_bijection

    net = build_bijection("conv", (32, 32, 1), CLASSES).train()
    net(inputs()[0])
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for weights in net.parameters():
            weights.add_(0.02 * torch.randn(weights.shape, generator=generator))
    return net


def plain_network() -> Any:
    """The same written down directly: modules in a list, no class of this library."""
    import torch
    import torch.nn.functional as F
    from torch import nn

    class Block(nn.Module):
        def __init__(self, channels: int) -> None:
            super().__init__()
            half = channels // 2
            self.shift, self.log_scale = nn.Parameter(torch.zeros(channels)), nn.Parameter(torch.zeros(channels))
            self.matrix = nn.Parameter(torch.eye(channels))
            self.net = nn.Sequential(
                nn.BatchNorm2d(half), nn.ReLU(), nn.Conv2d(half, WIDTH, 3, padding=1),
                nn.BatchNorm2d(WIDTH), nn.ReLU(), nn.Conv2d(WIDTH, WIDTH, 1),
                nn.BatchNorm2d(WIDTH), nn.ReLU(), nn.Conv2d(WIDTH, half, 3, padding=1),
            )  # fmt: skip

        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            x = (x + self.shift.view(-1, 1, 1)) * self.log_scale.exp().view(-1, 1, 1)
            x = F.conv2d(x, self.matrix[:, :, None, None])
            log_det = x[0, 0].numel() * (self.log_scale.sum() + torch.linalg.slogdet(self.matrix)[1])
            read, moved = x.chunk(2, 1)
            return torch.cat([read, moved + self.net(read)], 1), log_det

    class Plain(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.stages = nn.ModuleList(nn.ModuleList(Block(4 * 2**s) for _ in range(BLOCKS)) for s in range(STAGES))
            u, n = torch.arange(4.0)[:, None], torch.arange(4.0)[None]
            waves = np.sqrt(0.5) * torch.cos(np.pi * (2 * n + 1) * u / 8)
            waves[0] = 0.5
            self.register_buffer("waves", waves)

        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            total, emitted = x.new_zeros(()), []
            for number, stage in enumerate(self.stages):
                x = F.pixel_unshuffle(x, 2)
                for block in stage:
                    x, log_det = block(x)
                    total = total + log_det
                if number < STAGES - 1:
                    x, out = x.chunk(2, 1)
                    emitted.insert(0, out.flatten(1))
            x = self.waves @ x @ self.waves.T
            return torch.cat([x.permute(0, 2, 3, 1).flatten(1), *emitted], 1), total.expand(len(x))

    net = Plain().train()
    ours = [value for name, value in our_network().state_dict().items() if not name.endswith("initialised")]
    theirs = [value for name, value in net.state_dict().items() if name != "waves"]
    for mine, other in zip(theirs, ours, strict=True):
        mine.copy_(other)
    return net


def loss_of(net: Any, x: Any, labels: Any) -> Any:
    """Cross-entropy of the logits and the likelihood of all outputs, as with a weight for either."""
    from torch.nn.functional import cross_entropy

    z, log_det = net(x)
    likelihood = 0.5 * z.square().sum(1) - log_det
    return cross_entropy(z[:, :CLASSES].float(), labels) + likelihood.mean() / z.shape[1]


def advance(name: str) -> Callable[[], Any]:
    """One step forward and backward; gives the network."""
    import torch

    torch.set_num_threads(1)
    x, labels = inputs()
    if name == "plain":
        net = plain_network()

        def plain() -> Any:
            net.zero_grad(set_to_none=True)
            loss_of(net, x, labels).backward()
            return net

        return plain
    from unbraid.training import numerics

    numerics.setup()
    net = our_network()
    precision = "bf16" if name.endswith("bf16") else "fp32"

    def ours() -> Any:
        net.zero_grad(set_to_none=True)
        with numerics.autocast(torch.device("cpu"), precision):
            loss = loss_of(net, x, labels)
        loss.backward()
        return net

    return ours


def _serve(line: Connection, name: str) -> None:
    step = advance(name)
    net = step()
    line.send([weights.grad.double().numpy() for weights in net.parameters()])
    step()
    while block := line.recv():
        begin = time.process_time()
        for _ in range(block):
            step()
        line.send((time.process_time() - begin) / block)


@contextmanager
def contestant(name: str) -> Iterator[tuple[Connection, list[np.ndarray]]]:
    """A process that makes steps when it is told how many, and its first gradients."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(theirs, name), daemon=True)
    process.start()
    theirs.close()
    gradients = ours.recv()
    try:
        yield ours, gradients
    finally:
        ours.send(0)
        process.join()


def steps(rounds: int, block: int) -> None:
    """Forward and backward, all contestants in turn."""
    spent: dict[str, list[float]] = {name: [] for name in CONTESTANTS}
    exact = _exact_gradients()
    errors = {}
    with ExitStack() as stack:
        opened = {name: stack.enter_context(contestant(name)) for name in CONTESTANTS}
        for name, (_, found) in opened.items():
            errors[name] = _distance(found, exact)
        for _ in range(rounds):
            for name, (line, _) in opened.items():
                line.send(block)
                spent[name].append(line.recv())
    print(f"\n## Forward and backward, batch {BATCH}, {rounds} rounds of {block} steps\n")
    print("| step | ms (cpu) | times as fast as plain | error of gradients |\n|---|---|---|---|")
    for name, times in spent.items():
        ratio = statistics.median(a / b for a, b in zip(spent["plain"], times, strict=True))
        print(f"| {name} | {1e3 * statistics.median(times):.1f} | {ratio:.2f} | {errors[name]:.1e} |", flush=True)
    print(f"\nwanted: {STEP} times as fast")


def determinants(rounds: int) -> None:
    """What log determinants add to a step: the same network with and without them, in turn, in one process."""
    import torch

    from unbraid.nets.bijections import ActNorm, InvertibleConv

    step, kinds, nothing = advance("unbraid"), (ActNorm, InvertibleConv), torch.zeros(())
    own = [kind.log_dets for kind in kinds]
    times: dict[bool, list[float]] = {True: [], False: []}
    step()
    for _ in range(4 * rounds):
        for wanted in times:
            for kind, log_dets in zip(kinds, own, strict=True):
                kind.log_dets = staticmethod(log_dets if wanted else lambda _: nothing)  # type: ignore[assignment]
            begin = time.process_time()
            step()
            times[wanted].append(time.process_time() - begin)
    more = statistics.median(times[True]) / statistics.median(times[False]) - 1
    print(f"\n## Log determinants\n\nthey add {more:.1%} to a step (wanted: under {LOG_DET:.0%})")


def _exact_gradients() -> list[np.ndarray]:
    import torch

    net, (x, labels) = plain_network().double(), inputs()
    loss_of(net, x.to(torch.float64), labels).backward()
    return [weights.grad.numpy() for weights in net.parameters()]


def _distance(found: list[np.ndarray], exact: list[np.ndarray]) -> float:
    """L2 distance of all gradients as a share of their length."""
    apart = sum(float(np.square(a - b).sum()) for a, b in zip(found, exact, strict=True))
    return float(np.sqrt(apart / sum(float(np.square(b).sum()) for b in exact)))


def inverse(rounds: int) -> None:
    """The way back against the way there, in evaluation mode, and metamers per minute."""
    import torch

    from unbraid.invariance import metamers, outputs_of, undone
    from unbraid.training import numerics

    numerics.setup()
    net, x = our_network().eval(), inputs()[0]
    z = outputs_of(net, x)
    labels = torch.arange(BATCH) % CLASSES
    ways: dict[str, Callable[[], Any]] = {
        "forward": lambda: outputs_of(net, x),
        "inverse": lambda: undone(net, z),
        "metamers": lambda: metamers(net, x.repeat(4, 1, 1, 1), labels=labels.repeat(4)),
    }
    times: dict[str, list[float]] = {name: [] for name in ways}
    for way in ways.values():
        way()
    for _ in range(rounds):
        for name, way in ways.items():
            begin = time.process_time()
            way()
            times[name].append(time.process_time() - begin)
    ratio = statistics.median(a / b for a, b in zip(times["inverse"], times["forward"], strict=True))
    per_minute = 60 * 4 * BATCH / statistics.median(times["metamers"])
    error = float((undone(net, z) - x).abs().max())
    print(f"\n## Inverse of {BATCH} images\n")
    print(f"forward {1e3 * statistics.median(times['forward']):.1f} ms, inverse {ratio:.2f} of it", end=" ")
    print(f"(wanted: at most {INVERSE}), off by at most {error:.0e}; ", end="")
    print(f"{per_minute:,.0f} metamers per minute, their logits checked (wanted: {PER_MINUTE:,})")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sections", nargs="*", help="steps, determinants, inverse (default: all)")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--block", type=int, default=3, help="steps per turn")
    options = parser.parse_args()
    for section in options.sections or ["steps", "determinants", "inverse"]:
        if section == "steps":
            steps(options.rounds, options.block)
        elif section == "determinants":
            determinants(options.rounds)
        elif section == "inverse":
            inverse(options.rounds)
        else:
            parser.error(f"unknown section {section!r}; known: steps, determinants, inverse")


if __name__ == "__main__":
    main()
