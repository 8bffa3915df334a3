"""Does the fast step train as well as the plain one? Same initial weights, batches and noise; different arithmetic.

    python benchmarks/parity.py --steps 10000 --seeds 3 --out parity.json

trains the study's convolutional VAE on dSprites by this library's step and by a plain float32 PyTorch loop, and prints
the mean loss of the last tenth of the steps for each seed, with the mean difference and its standard error. Finished
runs are kept in the output file, so the same command goes on where it stopped. Use --only plain and --only unbraid for
the CPU time ratio: in one process the plain loop would profit from the allocator's settings.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import statistics
import time
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from unbraid.data import IndependentStream, load
from unbraid.objectives import BetaVAE
from unbraid.training import Loop, numerics
from unbraid.training.described import problem_of

OBJECTIVE = BetaVAE(beta=4.0)


class Plain(nn.Module):
    """The study's VAE in torch's own layers, written as one would."""

    def __init__(self) -> None:
        super().__init__()
        sizes = ((1, 32, 4, 1), (32, 32, 4, 1), (32, 64, 2, 0), (64, 64, 2, 0))
        convs = [layer for i, o, k, p in sizes for layer in (nn.Conv2d(i, o, k, 2, p), nn.ReLU())]
        self.encoder = nn.Sequential(*convs, nn.Flatten(), nn.Linear(1024, 256), nn.ReLU(), nn.Linear(256, 20))
        deconvs = [nn.ConvTranspose2d(i, o, 4, 2, 1) for i, o in ((64, 64), (64, 32), (32, 32), (32, 1))]
        body = [layer for deconv in deconvs[:-1] for layer in (deconv, nn.ReLU())]
        self.decoder = nn.Sequential(
            *(nn.Linear(10, 256), nn.ReLU(), nn.Linear(256, 1024), nn.ReLU(), nn.Unflatten(1, (64, 4, 4))),
            *body,
            deconvs[-1],
        )

    def loss(self, x: Tensor, noise: Tensor) -> Tensor:
        mean, logvar = self.encoder(x).chunk(2, 1)
        output = self.decoder(mean + (logvar / 2).exp() * noise)
        reconstruction = F.binary_cross_entropy_with_logits(output, x, reduction="sum") / len(x)
        kl = 0.5 * (mean**2 + logvar.exp() - logvar - 1).sum(1).mean()
        return reconstruction + OBJECTIVE.beta * kl


def make_loop(seed: int) -> Loop:
    data = load("dsprites")
    model = OBJECTIVE.build(problem_of(data), torch.Generator().manual_seed(seed))
    return Loop(OBJECTIVE, model, IndependentStream(data, 64, seed), seed, torch.device("cpu"))


def train_unbraid(seed: int, steps: int) -> list[float]:
    numerics.setup(threads=1)
    loop = make_loop(seed)
    losses = []
    for _ in range(steps):
        loop.advance()
        losses.append(loop.means.take()["loss"])
    return losses


def train_plain(seed: int, steps: int) -> list[float]:
    torch.set_num_threads(1)
    loop = make_loop(seed)
    plain = Plain()
    for own, given in zip(plain.parameters(), loop.model.parameters(), strict=True):
        own.data.copy_(given.data)
    optimizer = torch.optim.Adam(plain.parameters(), lr=OBJECTIVE.learning_rate)
    losses = []
    for step in range(steps):
        loop.step = step
        x = torch.from_numpy(loop.stream(step).images).permute(0, 3, 1, 2).contiguous().float() / 255
        loop.seed_noise()
        loss = plain.loss(x, torch.randn(64, 10, generator=loop.noise))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def record(path: Path, key: str, entry: dict[str, float]) -> None:
    with path.open("a+", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        found = json.loads(file.read() or "{}")
        found[key] = entry
        file.truncate(0)
        file.write(json.dumps(found, indent=1))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=10_000)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", choices=("plain", "unbraid"))
    parser.add_argument("--out", type=Path, default=Path("parity.json"))
    options = parser.parse_args()
    ways = {"plain": train_plain, "unbraid": train_unbraid}
    for seed in range(options.seeds):
        for way in [options.only] if options.only else ways:
            done = json.loads(options.out.read_text(encoding="utf-8") or "{}") if options.out.exists() else {}
            key = f"{way} {seed} {options.steps}"
            if key not in done:
                began = time.process_time()
                losses = ways[way](seed, options.steps)
                tail = statistics.fmean(losses[-max(options.steps // 10, 1) :])
                record(options.out, key, {"loss": tail, "cpu_seconds": time.process_time() - began})
                print(key, round(tail, 3), flush=True)
    done = json.loads(options.out.read_text(encoding="utf-8"))
    pairs = [[done.get(f"{way} {seed} {options.steps}") for way in ways] for seed in range(options.seeds)]
    whole = [(plain, fast) for plain, fast in pairs if plain and fast]
    print("seed  plain loss  unbraid loss  CPU time ratio")
    for seed, (plain, fast) in enumerate(whole):
        ratio = plain["cpu_seconds"] / fast["cpu_seconds"]
        print(f"{seed:4}  {plain['loss']:10.3f}  {fast['loss']:12.3f}  {ratio:14.2f}")
    if len(whole) > 1:
        differences = [fast["loss"] - plain["loss"] for plain, fast in whole]
        error = statistics.stdev(differences) / len(differences) ** 0.5
        spread = statistics.stdev(plain["loss"] for plain, _ in whole)
        print(
            f"difference {statistics.fmean(differences):+.3f} +- {error:.3f}; spread of plain over seeds {spread:.3f}"
        )


if __name__ == "__main__":
    main()
