"""What five models cost that train on the same batches, in units of one model.

    python benchmarks/many_models.py                       # all networks, a few minutes on two idle cores
    python benchmarks/many_models.py --only mlp --rounds 3

Ways: one after the other in one thread (sequential), stacked into one network (fully connected ones only), by vmap over
separate copies (convolutions as well), and sequentially in two processes at once. The ways take turns in blocks of
steps; the best block of each counts. CPU time is that of the thread, wall time that of the clock; two processes
have no CPU time below sequential, so for them the clock counts, and the machine must be idle.
"""

import argparse
import time
from collections.abc import Callable

import torch
from torch.func import functional_call, stack_module_state

from unbraid import objectives
from unbraid.data import load, make_stream
from unbraid.objectives import Inputs
from unbraid.selection import ProcessEngine, Task
from unbraid.training import numerics
from unbraid.training.loop import Loop
from unbraid.training.run import problem_of
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


def train_some(data: str, net: str, models: int, batch: int, precision: str, steps: int) -> float:
    """Train models one after the other in a worker; the seconds that took after warming up."""
    numerics.setup()
    loops = make_loops(data, net, models, batch, precision)
    for loop in loops:
        loop.advance()
    began = time.perf_counter()
    for loop in loops:
        for _ in range(steps):
            loop.advance()
    return time.perf_counter() - began


class ByVmap:
    """The generic way: separate copies, their parameters stacked, the whole loss under vmap."""

    def __init__(self, loops: list[Loop]) -> None:
        self.loops, self.first = loops, loops[0]
        models = [torch.nn.ModuleDict(dict(loop.model.items())) for loop in loops]
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


def measure(ways: dict[str, Callable[[], None]], rounds: int, block: int) -> dict[str, tuple[float, float]]:
    """Best milliseconds of a call, by the thread's CPU time and by the clock."""
    best = dict.fromkeys(ways, (float("inf"), float("inf")))
    for number in range(rounds + 1):
        for name, call in ways.items():
            cpu, wall = time.thread_time(), time.perf_counter()
            for _ in range(block):
                call()
            spent = (1e3 * (time.thread_time() - cpu) / block, 1e3 * (time.perf_counter() - wall) / block)
            if number:  # the first round warms up
                best[name] = min(best[name][0], spent[0]), min(best[name][1], spent[1])
    return best


def compare(title: str, data: str, net: str, chosen: argparse.Namespace) -> None:
    models, batch, precision = chosen.models, chosen.batch, chosen.precision
    single, several = make_loops(data, net, 1, batch, precision)[0], make_loops(data, net, models, batch, precision)

    def sequential() -> None:
        for loop in several:
            loop.advance()

    ways: dict[str, Callable[[], None]] = {"one model": single.advance, "sequential": sequential}
    if stackable(single.objective, single.model.problem):
        ways["stacked"] = Stack(make_loops(data, net, models, batch, precision)).advance
    ways["vmap"] = ByVmap(make_loops(data, net, models, batch, precision)).advance
    found = measure(ways, chosen.rounds, chosen.block)
    one = found["one model"]
    for name, (cpu, wall) in found.items():
        print(f"| {title} | {name} | {cpu:.2f} | {cpu / one[0]:.2f} | {wall:.2f} | {wall / one[1]:.2f} |", flush=True)
    if chosen.processes:
        halves = [models - models // 2, models // 2]
        arguments = {
            "data": data,
            "net": net,
            "batch": batch,
            "precision": precision,
            "steps": chosen.rounds * chosen.block,
        }
        with ProcessEngine(2) as engine:
            tasks = [Task(n, "many_models:train_some", {**arguments, "models": n}, (__file__,)) for n in halves]
            slowest = max(outcome.value for outcome in engine.run(tasks))
        wall = 1e3 * slowest / arguments["steps"]
        print(f"| {title} | two processes | | | {wall:.2f} | {wall / one[1]:.2f} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=int, default=5)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--precision", default="auto")
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--block", type=int, default=20)
    parser.add_argument("--only", default="", help="networks whose title contains this")
    parser.add_argument("--processes", action=argparse.BooleanOptionalAction, default=True)
    chosen = parser.parse_args()
    numerics.setup()
    print("| network | way | ms (cpu) | ratio (cpu) | ms (wall) | ratio (wall) |\n|---|---|---|---|---|---|")
    for title, (data, net) in NETS.items():
        if chosen.only in title:
            compare(title, data, net, chosen)


if __name__ == "__main__":
    main()
