"""What five models cost that train on the same batches, in units of one model.

    python benchmarks/many_models.py                       # all networks, a few minutes on two idle cores
    python benchmarks/many_models.py --only mlp --rounds 3
    python benchmarks/many_models.py --whole 1000 --rounds 3   # the calls of train_together themselves

Ways: one after the other in one thread (sequential), stacked into one network (fully connected ones only), by vmap over
separate copies (convolutions as well), and the first two with the models shared out to two processes, as
``train_together`` does on idle cores. The ways take turns in blocks of steps; the best block of each counts. By the
clock two processes take the time of the slower one; their CPU time is that of both. The machine must be idle.
"""

import argparse
import multiprocessing
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path

import torch
from torch.func import functional_call, stack_module_state

from unbraid import objectives
from unbraid.data import load, make_stream
from unbraid.objectives import Inputs
from unbraid.training import numerics, train_together
from unbraid.training.described import problem_of
from unbraid.training.loop import Loop
from unbraid.training.stacked import Stack, stackable

NETS = {
    "mlp:width=64, 16x16": ("sprites16", "mlp:width=64"),
    "mlp:width=128, 16x16": ("sprites16", "mlp:width=128"),
    "mlp, 16x16": ("sprites16", "mlp"),
    "mlp:width=64, 32x32": ("sprites32", "mlp:width=64"),
    "mlp:width=128, 32x32": ("sprites32", "mlp:width=128"),
    "mlp, 32x32": ("sprites32", "mlp"),
    "conv, 32x32": ("sprites32", "conv"),
}


def make_loops(data: str, net: str, models: int, batch: int, precision: str) -> list[Loop]:
    dataset = load(data)
    objective = objectives.make("beta-tcvae", {"net": net, "learning_rate": 1e-3})
    stream, problem = make_stream("images", dataset, batch, 0), problem_of(dataset)
    built = [objective.build(problem, torch.Generator().manual_seed(seed)) for seed in range(models)]
    where = torch.device("cpu")
    return [Loop(objective, model, stream, seed, where, precision) for seed, model in enumerate(built)]


class TwoProcesses:
    """Half of the models here, half there: each call lets both processes take some steps and waits for the slower."""

    def __init__(self, data: str, net: str, models: int, batch: int, precision: str, block: int, stacked: bool) -> None:
        context = multiprocessing.get_context("fork")
        self.pipes = []
        for first, end in ((0, models - models // 2), (models - models // 2, models)):
            here, there = context.Pipe()
            loops = slice(first, end)
            arguments = (there, data, net, models, batch, precision, block, stacked, loops)
            context.Process(target=self._work, args=arguments, daemon=True).start()
            there.close()
            self.pipes.append(here)

    def __call__(self) -> float:
        """The CPU seconds of both together."""
        for pipe in self.pipes:
            pipe.send(True)
        return sum(pipe.recv() for pipe in self.pipes)

    def close(self) -> None:
        for pipe in self.pipes:
            pipe.send(False)

    @staticmethod
    def _work(
        pipe: Connection,
        data: str,
        net: str,
        models: int,
        batch: int,
        precision: str,
        block: int,
        stacked: bool,
        which: slice,
    ) -> None:
        loops = make_loops(data, net, models, batch, precision)[which]
        trained: Sequence[Loop | Stack] = [Stack(loops)] if stacked else loops
        while pipe.recv():
            pipe.send(sum(_repeat(one.advance, block) for one in trained))


class ByVmap:
    """The generic way: separate copies, their parameters stacked, the whole loss under vmap."""

    def __init__(self, loops: list[Loop]) -> None:
        self.loops, self.first = loops, loops[0]
        models = [loop.model for loop in loops]
        self.parameters, _ = stack_module_state(models)
        self.optimizer = torch.optim.Adam(self.parameters.values(), lr=1e-3, fused=True)
        self.skeleton = _Loss(self.first)

    def advance(self) -> None:
        loop = self.first
        inputs = loop.inputs(loop.stream(loop.step))
        noise = torch.randn(len(self.loops), len(inputs.images), loop.objective.latents)

        def loss(parameters: dict[str, torch.Tensor], noise: torch.Tensor) -> torch.Tensor:
            named = {f"model.{name}": value for name, value in parameters.items()}
            return functional_call(self.skeleton, named, (inputs, noise))

        dtype = numerics.precision(loop.device, loop.precision)
        # Without this library's own kernels, which vmap cannot see through.
        with torch.autocast(loop.device.type, torch.bfloat16, enabled=dtype is torch.bfloat16):
            total = torch.vmap(loss)(self.parameters, noise)
        self.optimizer.zero_grad(set_to_none=True)
        total.sum().backward()
        total.tolist()
        self.optimizer.step()
        loop.step += 1


class _Loss(torch.nn.Module):
    def __init__(self, loop: Loop) -> None:
        super().__init__()
        self.model, self.objective = loop.model, loop.objective

    def forward(self, inputs: Inputs, noise: torch.Tensor) -> torch.Tensor:
        posterior = self.objective.posterior(self.model, inputs.images)
        return self.objective.terms(self.model, inputs, posterior, posterior.sample(noise), 0).total


def measure(
    ways: dict[str, Callable[[], None]], blocks: dict[str, TwoProcesses], rounds: int, block: int
) -> dict[str, tuple[float, float]]:
    """Best milliseconds of a step, by CPU time and by the clock."""
    calls = {name: partial(_repeat, call, block) for name, call in ways.items()} | blocks
    best = dict.fromkeys(calls, (float("inf"), float("inf")))
    for number in range(rounds + 1):
        for name, call in calls.items():
            began = time.perf_counter()
            cpu = call()
            spent = (1e3 * cpu / block, 1e3 * (time.perf_counter() - began) / block)
            if number:  # the first round warms up
                best[name] = min(best[name][0], spent[0]), min(best[name][1], spent[1])
    return best


def _repeat(call: Callable[[], None], times: int) -> float:
    """The CPU seconds of so many calls."""
    began = time.thread_time()
    for _ in range(times):
        call()
    return time.thread_time() - began


def compare(title: str, data: str, net: str, chosen: argparse.Namespace) -> None:
    models, batch, precision = chosen.models, chosen.batch, chosen.precision
    what = (data, net, models, batch, precision)
    single, several = make_loops(data, net, 1, batch, precision)[0], make_loops(*what)

    def sequential() -> None:
        for loop in several:
            loop.advance()

    ways: dict[str, Callable[[], None]] = {"one model": single.advance, "sequential": sequential}
    blocks = {}
    if chosen.processes:
        blocks["sequential, two processes"] = TwoProcesses(*what, chosen.block, stacked=False)
    if stackable(single.objective, single.model.problem):
        ways["stacked"] = Stack(make_loops(*what)).advance
        if chosen.processes:
            blocks["stacked, two processes"] = TwoProcesses(*what, chosen.block, stacked=True)
    ways["vmap"] = ByVmap(make_loops(*what)).advance
    found = measure(ways, blocks, chosen.rounds, chosen.block)
    one = found["one model"]
    for name, (cpu, wall) in found.items():
        print(f"| {title} | {name} | {cpu:.2f} | {cpu / one[0]:.2f} | {wall:.2f} | {wall / one[1]:.2f} |", flush=True)
    for pair in blocks.values():
        pair.close()


def whole(title: str, data: str, net: str, chosen: argparse.Namespace) -> None:
    """What a user waits for: the calls themselves, with all files written; in turns, the shortest of each."""
    dataset = load(data)
    objective = objectives.make("beta-tcvae", {"net": net, "learning_rate": 1e-3})
    stream = make_stream("images", dataset, chosen.batch, 0)
    seconds: dict[int, float] = {}
    for _ in range(chosen.rounds):
        for models in (1, chosen.models):
            with tempfile.TemporaryDirectory() as folder:
                began = time.perf_counter()
                train_together(
                    objective,
                    dataset,
                    outs=[Path(folder) / str(number) for number in range(models)],
                    seeds=range(models),
                    stream=stream,
                    steps=chosen.whole,
                    batch_size=chosen.batch,
                    precision=chosen.precision,
                )
                spent = time.perf_counter() - began
            seconds[models] = min(seconds.get(models, spent), spent)
    one, several = seconds[1], seconds[chosen.models]
    print(f"| {title} | {one:.2f} | {several:.2f} | {several / one:.2f} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=int, default=5)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--precision", default="auto")
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--block", type=int, default=20)
    parser.add_argument("--only", default="", help="networks whose title contains this")
    parser.add_argument("--whole", type=int, default=0, metavar="STEPS", help="time whole trainings of so many steps")
    parser.add_argument("--processes", action=argparse.BooleanOptionalAction, default=True)
    chosen = parser.parse_args()
    numerics.setup()
    chosen_nets = {title: net for title, net in NETS.items() if chosen.only in title}
    if chosen.whole:
        print(f"| network | one model (s) | {chosen.models} models (s) | ratio |\n|---|---|---|---|")
        for title, (data, net) in chosen_nets.items():
            whole(title, data, net, chosen)
        return
    print("| network | way | ms (cpu) | ratio (cpu) | ms (wall) | ratio (wall) |\n|---|---|---|---|---|---|")
    for title, (data, net) in chosen_nets.items():
        compare(title, data, net, chosen)


if __name__ == "__main__":
    main()
