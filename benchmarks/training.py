"""How fast a training step is, against a plain PyTorch loop for the same model.

    python benchmarks/training.py                        # everything, a few minutes
    python benchmarks/training.py speed --starts 6       # one section

Whether both end at the same loss is for ``benchmarks/parity.py``. Where pythae or disent are installed, their trainers
take part.

Every contestant runs in its own process with one thread. They take turns, a block of steps each, so that whatever else
the machine does hits all of them; medians over the rounds are compared. ``cpu`` is the time spent on the CPU, which is
steadier than the clock on the wall when the machine is busy. The plain loop's process holds what such a script holds:
torch, numpy and the images. That matters, because glibc hands memory back to the system after every step, to be mapped
and cleared again in the next, unless the process has freed arrays of many megabytes before: then it may keep it, as if
told to ("plain + allocator"). How much it hands back also varies from start to start. Hence the column of page faults.
"""

import argparse
import importlib.util
import multiprocessing
import resource
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

BATCH, LATENTS = 64, 10
Shape = tuple[int, int, int]
SHAPES: tuple[Shape, ...] = ((64, 64, 1), (64, 64, 3), (32, 32, 1))
Advance = Callable[[], float]


def plain_steps(images: np.ndarray, seed: int, *, channels_last: bool = False, bf16: bool = False) -> Advance:
    """The loop everybody writes first, for the study's networks; returns what makes one step and gives its loss."""
    import torch
    import torch.nn.functional as F

    encoder, decoder = plain_networks(images.shape[1:], seed)
    layout = torch.channels_last if channels_last else torch.contiguous_format
    encoder, decoder = encoder.to(memory_format=layout), decoder.to(memory_format=layout)
    optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=1e-4)
    rng, noise = np.random.default_rng(seed), torch.Generator().manual_seed(seed)

    def advance() -> float:
        batch = images[rng.integers(len(images), size=BATCH)]
        x = (torch.from_numpy(batch).permute(0, 3, 1, 2).float() / 255).contiguous(memory_format=layout)
        with torch.autocast("cpu", torch.bfloat16, enabled=bf16):
            mean, logvar = encoder(x).float().chunk(2, dim=1)
            z = mean + torch.exp(0.5 * logvar) * torch.randn(mean.shape, generator=noise)
            logits = decoder(z).float()
        reconstruction = F.binary_cross_entropy_with_logits(logits, x, reduction="sum") / BATCH
        loss = reconstruction + 0.5 * (mean.square() + logvar.exp() - logvar - 1).sum(1).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.item()

    return advance


def plain_networks(shape: Shape, seed: int) -> tuple[Any, Any]:
    """The layers of ``conv`` from torch's own modules (64 or 32 pixels a side)."""
    import torch
    from torch import nn

    torch.manual_seed(seed)
    wide = [nn.Conv2d(32, 64, 2, 2), nn.ReLU()] if shape[0] == 32 else []
    wide = wide or [nn.Conv2d(32, 64, 2, 2), nn.ReLU(), nn.Conv2d(64, 64, 2, 2), nn.ReLU()]
    tall = [] if shape[0] == 32 else [nn.ConvTranspose2d(64, 64, 4, 2, 1), nn.ReLU()]
    encoder = nn.Sequential(
        nn.Conv2d(shape[2], 32, 4, 2, 1), nn.ReLU(), nn.Conv2d(32, 32, 4, 2, 1), nn.ReLU(), *wide,
        nn.Flatten(), nn.Linear(1024, 256), nn.ReLU(), nn.Linear(256, 2 * LATENTS),
    )  # fmt: skip
    decoder = nn.Sequential(
        nn.Linear(LATENTS, 256), nn.ReLU(), nn.Linear(256, 1024), nn.ReLU(), nn.Unflatten(1, (64, 4, 4)), *tall,
        nn.ConvTranspose2d(64, 32, 4, 2, 1), nn.ReLU(), nn.ConvTranspose2d(32, 32, 4, 2, 1), nn.ReLU(),
        nn.ConvTranspose2d(32, shape[2], 4, 2, 1),
    )  # fmt: skip
    for weights in (*encoder.parameters(), *decoder.parameters()):
        nn.init.zeros_(weights) if weights.ndim == 1 else nn.init.xavier_uniform_(weights)
    return encoder, decoder


def make_loop(images: np.ndarray, seed: int, precision: str = "auto") -> Any:
    """This library's training loop, as ``unbraid.train("vae", ...)`` builds it."""
    import torch

    from unbraid import data, objectives
    from unbraid.training import Loop, numerics

    numerics.setup()
    objective, dataset = objectives.make("vae"), data.from_arrays(images)
    model = objective.build(objectives.Problem(images.shape[1:], len(images)), torch.Generator().manual_seed(seed))
    stream = data.make_stream(objective.needs, dataset, BATCH, seed)
    return Loop(objective, model, stream, seed, numerics.device("cpu"), precision)


def unbraid_steps(images: np.ndarray, seed: int, *, precision: str = "auto") -> Advance:
    """One step of this library, loss included."""
    loop = make_loop(images, seed, precision)

    def advance() -> float:
        before = loop.means.sums.get("loss", 0.0)
        loop.advance()
        return loop.means.sums["loss"] - before

    return advance


def tuned(steps: Callable[..., Advance], **options: Any) -> Callable[..., Advance]:
    """A contestant whose allocator keeps its memory."""

    def begin(images: np.ndarray, seed: int) -> Advance:
        from unbraid.training import numerics

        numerics.setup()
        return steps(images, seed, **options)

    return begin


def pythae_steps(images: np.ndarray, seed: int) -> Advance:
    """One step of pythae's trainer (its own ``train_step`` on a loader of one batch) with the plain networks."""
    import torch
    from pythae.data.datasets import BaseDataset
    from pythae.models import BetaVAE, BetaVAEConfig
    from pythae.models.base.base_utils import ModelOutput
    from pythae.models.nn import BaseDecoder, BaseEncoder
    from pythae.trainers import BaseTrainer, BaseTrainerConfig
    from torch import nn

    networks = plain_networks(images.shape[1:], seed)

    class Encoder(BaseEncoder):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.net: nn.Module = networks[0]

        def forward(self, x: Any) -> Any:
            mean, logvar = self.net(x).chunk(2, dim=1)
            return ModelOutput(embedding=mean, log_covariance=logvar)

    class Decoder(BaseDecoder):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.net: nn.Module = networks[1]

        def forward(self, z: Any) -> Any:
            return ModelOutput(reconstruction=torch.sigmoid(self.net(z)))

    height, width, channels = images.shape[1:]
    config = BetaVAEConfig((channels, height, width), LATENTS, reconstruction_loss="bce", beta=1.0)
    floats = torch.from_numpy(images).permute(0, 3, 1, 2).contiguous().float() / 255
    trainer = BaseTrainer(
        BetaVAE(config, Encoder(), Decoder()),
        BaseDataset(floats, torch.zeros(len(floats))),
        training_config=BaseTrainerConfig(
            output_dir=tempfile.mkdtemp(), learning_rate=1e-4, per_device_train_batch_size=BATCH
        ),
    )
    trainer.prepare_training()
    loader = trainer.train_loader

    class OneBatch:
        dataset = loader.dataset
        batches: Iterator[Any] = iter(())

        def __len__(self) -> int:
            return 1

        def __iter__(self) -> Iterator[Any]:
            batch = next(self.batches, None)
            if batch is None:
                self.batches = iter(loader)
                batch = next(self.batches)
            yield batch

    trainer.train_loader = OneBatch()
    return lambda: float(trainer.train_step(epoch=1))


def disent_steps(images: np.ndarray, seed: int) -> Advance:
    """One step of disent's beta-VAE in the trainer it is made for (Lightning's ``fit``, waiting between batches)."""
    import logging
    import queue
    import threading
    import warnings

    import torch
    from disent.frameworks.vae import BetaVae
    from disent.model import AutoEncoder, DisentDecoder, DisentEncoder
    from lightning.pytorch import Callback, Trainer
    from torch import nn

    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    warnings.simplefilter("ignore")
    networks = plain_networks(images.shape[1:], seed)
    height, width, channels = images.shape[1:]
    shape = (channels, height, width)

    class Encoder(DisentEncoder):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__(shape, LATENTS, z_multiplier=2)
            self.net: nn.Module = networks[0]

        def encode(self, x: Any) -> Any:
            return self.net(x)

    class Decoder(DisentDecoder):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__(shape, LATENTS)
            self.net: nn.Module = networks[1]

        def decode(self, z: Any) -> Any:
            return self.net(z)

    allowed: queue.Queue[None] = queue.Queue()
    losses: queue.Queue[float] = queue.Queue()

    class InTurn(Callback):  # type: ignore[misc]
        def on_train_batch_start(self, trainer: Any, module: Any, batch: Any, batch_idx: int) -> None:
            allowed.get()

        def on_train_batch_end(self, trainer: Any, module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
            losses.put(float(outputs["loss"]))

    class Pictures(torch.utils.data.Dataset[dict[str, tuple[Any]]]):
        def __len__(self) -> int:
            return len(images)

        def __getitem__(self, index: int) -> dict[str, tuple[Any]]:
            return {"x_targ": (torch.from_numpy(images[index]).permute(2, 0, 1).float() / 255,)}

    settings = BetaVae.cfg(optimizer_kwargs={"lr": 1e-4}, recon_loss="bce", loss_reduction="mean_sum", beta=1.0)
    trainer = Trainer(
        accelerator="cpu", max_steps=-1, callbacks=[InTurn()], logger=False, enable_checkpointing=False,
        enable_progress_bar=False, enable_model_summary=False,
    )  # fmt: skip
    loader = torch.utils.data.DataLoader(Pictures(), batch_size=BATCH, shuffle=True, drop_last=True)
    framework = BetaVae(AutoEncoder(Encoder(), Decoder()), settings)
    threading.Thread(target=trainer.fit, args=(framework, loader), daemon=True).start()

    def advance() -> float:
        allowed.put(None)
        return losses.get()

    return advance


CONTESTANTS: dict[str, Callable[..., Advance]] = {
    "plain": plain_steps,
    "plain + allocator": tuned(plain_steps),
    "plain + allocator, channels last, bf16": tuned(plain_steps, channels_last=True, bf16=True),
    "unbraid, fp32": tuned(unbraid_steps, precision="fp32"),
    "unbraid": unbraid_steps,
}
if importlib.util.find_spec("pythae"):
    CONTESTANTS["pythae"] = pythae_steps
if importlib.util.find_spec("disent"):
    CONTESTANTS["disent"] = disent_steps


def pictures(shape: Shape, count: int = 4096) -> np.ndarray:
    """Sprites in black and white, or tinted, thinned to the size asked for."""
    from unbraid.data import MiniSprites

    dataset = MiniSprites()
    rng = np.random.default_rng(0)
    images = dataset.images(rng.integers(len(dataset), size=count))[:, :: 64 // shape[0], :: 64 // shape[1]]
    if shape[2] > 1:
        tints = rng.integers(128, 256, size=(count, 1, 1, shape[2]))
        images = (images.astype(np.uint16) * tints // 255).astype(np.uint8)
    return np.ascontiguousarray(images)


@dataclass
class Turn:
    """What one block of steps took, per step."""

    wall: float
    cpu: float
    faults: float


def _serve(connection: Connection, name: str, images: str, seed: int) -> None:
    import torch

    torch.set_num_threads(1)
    advance = (CONTESTANTS | ENCODING)[name](np.load(images), seed)
    for _ in range(3):
        advance()
    connection.send("ready")
    while steps := connection.recv():
        wall, cpu, faults = time.perf_counter(), time.process_time(), page_faults()
        for _ in range(steps):
            advance()
        wall, cpu, faults = time.perf_counter() - wall, time.process_time() - cpu, page_faults() - faults
        connection.send(Turn(wall / steps, cpu / steps, faults / steps))


def page_faults() -> int:
    """Pages mapped for this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt


@contextmanager
def contestant(name: str, shape: Shape, seed: int = 0) -> Iterator[Connection]:
    """A process that makes steps when told how many; the images are made outside of it."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    with tempfile.TemporaryDirectory() as folder:
        np.save(images := f"{folder}/images.npy", pictures(shape))
        process = context.Process(target=_serve, args=(theirs, name, images, seed), daemon=True)
        process.start()
        theirs.close()  # so that a process that dies ends the wait for it
        assert ours.recv() == "ready"
    try:
        yield ours
    finally:
        ours.send(0)
        process.join()


def race(names: list[str], shape: Shape, rounds: int, block: int) -> dict[str, list[Turn]]:
    """Blocks of steps in turn."""
    from contextlib import ExitStack

    turns: dict[str, list[Turn]] = {name: [] for name in names}
    with ExitStack() as stack:
        lines = {name: stack.enter_context(contestant(name, shape)) for name in names}
        for _ in range(rounds):
            for name, line in lines.items():
                line.send(block)
                turns[name].append(line.recv())
    return turns


def speed(rounds: int, block: int, starts: int) -> None:
    """All contestants, for three kinds of images; every start has new processes."""
    for shape in SHAPES:
        height, width, channels = shape
        print(f"\n## {height}x{width}x{channels}, batch {BATCH}, {starts} starts of {rounds} rounds of {block} steps\n")
        print("| contestant | ms per step (wall) | ms per step (cpu) | page faults | ratio (wall) | by start |")
        print("|---|---|---|---|---|---|")
        races = [race(list(CONTESTANTS), shape, rounds, block) for _ in range(starts)]
        for name in CONTESTANTS:
            wall, cpu, faults = (
                statistics.median(getattr(turn, key) for turns in races for turn in turns[name])
                for key in ("wall", "cpu", "faults")
            )
            ratios = sorted(
                statistics.median(a.wall / b.wall for a, b in zip(turns["plain"], turns[name], strict=True))
                for turns in races
            )
            cells = f"{1e3 * wall:.1f} | {1e3 * cpu:.1f} | {faults:,.0f} | {statistics.median(ratios):.2f}"
            print(f"| {name} | {cells} | {', '.join(f'{ratio:.2f}' for ratio in ratios)} |", flush=True)


def processes(rounds: int, block: int) -> None:
    """Two processes of the same kind at once, steps per second in total."""
    print("\n## Two processes at once, 64x64x1\n\n| contestant | steps per second, both together |\n|---|---|")
    for name in ("plain", "unbraid"):
        with contestant(name, SHAPES[0], 0) as first, contestant(name, SHAPES[0], 1) as second:
            rates = []
            for _ in range(rounds):
                first.send(block)
                second.send(block)
                rates.append(sum(1 / line.recv().wall for line in (first, second)))
        print(f"| {name} | {statistics.median(rates):.1f} |")


def parts(rounds: int, block: int) -> None:
    """Where the time of a step goes."""
    import torch

    print("\n## The parts of a step\n\n| images | data | forward | backward | optimiser | rest | rest / step |")
    print("|---|---|---|---|---|---|---|")
    for shape in SHAPES:
        loop = make_loop(pictures(shape), 0)
        spent = dict.fromkeys(("data", "forward", "backward", "optimiser"), 0.0)

        def timed(part: str, call: Callable[..., Any], spent: dict[str, float] = spent) -> Callable[..., Any]:
            def measured(*args: Any, **options: Any) -> Any:
                begin = time.thread_time()
                try:
                    return call(*args, **options)
                finally:
                    spent[part] += time.thread_time() - begin

            return measured

        loop.stream = timed("data", loop.stream)
        loop.inputs = timed("data", loop.inputs)  # type: ignore[method-assign]
        object.__setattr__(loop.objective, "loss", timed("forward", loop.objective.loss))
        for optimizer in loop.optimizers.values():
            optimizer.step = timed("optimiser", optimizer.step)
        backward, torch.Tensor.backward = torch.Tensor.backward, timed("backward", torch.Tensor.backward)  # type: ignore[method-assign]
        table = []
        for _ in range(rounds + 1):
            spent.update(dict.fromkeys(spent, 0.0))
            begin = time.thread_time()
            for _ in range(block):
                loop.advance()
            whole = time.thread_time() - begin
            table.append([1e3 * value / block for value in (*spent.values(), whole - sum(spent.values()), whole)])
        torch.Tensor.backward = backward  # type: ignore[method-assign]
        *columns, whole = np.median(table[1:], axis=0)
        cells = " | ".join(f"{value:.2f}" for value in columns)
        print(f"| {shape[0]}x{shape[1]}x{shape[2]} | {cells} | {100 * columns[-1] / whole:.1f} % |")


def plain_encoding(images: np.ndarray, seed: int) -> Advance:
    """Codes of uint8 images as a script gets them: batches of 256 through torch's modules; a step is one batch."""
    import torch

    encoder, _ = plain_networks(images.shape[1:], seed)
    batches = _turns(images)

    def advance() -> float:
        with torch.inference_mode():
            x = torch.from_numpy(next(batches)).permute(0, 3, 1, 2).float() / 255
            return float(encoder(x).numpy()[0, 0])

    return advance


def unbraid_encoding(images: np.ndarray, seed: int) -> Advance:
    """The same by this library, as :meth:`unbraid.training.Run.encode` does it."""
    import torch

    from unbraid import nets
    from unbraid.training import numerics

    numerics.setup()
    encoder, _ = nets.build("conv", images.shape[1:], LATENTS, generator=torch.Generator().manual_seed(seed))
    where, batches = numerics.device("cpu"), _turns(images)
    block = numerics.block_size(encoder, 256, where)

    def advance() -> float:
        codes = numerics.in_batches(lambda part: encoder(numerics.to_tensor(part)), next(batches), block, where)
        return float(codes[0, 0])

    return advance


def codes_differ(shape: Shape) -> float:
    """How far codes of this library and of torch's modules with the same weights are apart, relative to the largest."""
    import torch

    from unbraid import nets
    from unbraid.training import numerics

    numerics.setup()
    images = pictures(shape, 1024)
    encoder, _ = nets.build("conv", shape, LATENTS, generator=torch.Generator().manual_seed(0))
    plain, _ = plain_networks(shape, 0)
    with torch.inference_mode():
        for mine, theirs in zip(plain.parameters(), encoder.parameters(), strict=True):
            mine.copy_(theirs)
        expected = plain(torch.from_numpy(images).permute(0, 3, 1, 2).float() / 255).numpy()
    codes = numerics.in_batches(lambda part: encoder(numerics.to_tensor(part)), images, 256, numerics.device("cpu"))
    return float(np.abs(codes - expected).max() / np.abs(expected).max())


def _turns(images: np.ndarray) -> Iterator[np.ndarray]:
    while True:
        for start in range(0, len(images), 256):
            yield images[start : start + 256]


ENCODING: dict[str, Callable[..., Advance]] = {
    "plain, encoding": plain_encoding,
    "plain + allocator, encoding": tuned(plain_encoding),
    "unbraid, encoding": unbraid_encoding,
}


def inference(rounds: int, block: int) -> None:
    """Images encoded per second at full precision, from uint8 to codes, each contestant in its own process."""
    print("\n## Encoding, float32, thousands of images per second\n")
    print(
        "| images | "
        + " | ".join(name.removesuffix(", encoding") for name in ENCODING)
        + " | ratio to both | codes differ by |"
    )
    print("|---|" + "---|" * (len(ENCODING) + 2))
    for shape in SHAPES:
        turns = race(list(ENCODING), shape, rounds, max(1, block // 5))
        rates = [statistics.median(0.256 / turn.cpu for turn in turns[name]) for name in ENCODING]
        *others, ours = turns.values()
        ratios = [statistics.median(a.cpu / b.cpu for a, b in zip(one, ours, strict=True)) for one in others]
        cells = [f"{rate:.2f}" for rate in rates] + [" and ".join(f"{ratio:.2f}" for ratio in ratios)]
        cells.append(f"{codes_differ(shape):.0e}")
        print(f"| {shape[0]}x{shape[1]}x{shape[2]} | {' | '.join(cells)} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sections", nargs="*", help="speed, parts, processes, inference (default: all)")
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--block", type=int, default=20, help="steps per turn")
    parser.add_argument("--starts", type=int, default=1, help="how often `speed` starts its processes")
    options = parser.parse_args()
    speeds = partial(speed, starts=options.starts)
    timed = {"speed": speeds, "parts": parts, "processes": processes, "inference": inference}
    for section in options.sections or timed:
        if section in timed:
            timed[section](options.rounds, options.block)
        else:
            parser.error(f"unknown section {section!r}; known: {', '.join(timed)}")


if __name__ == "__main__":
    main()
