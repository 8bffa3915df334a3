"""What analysis by synthesis costs per image, and what fewer samples and steps of its search give away.

    python benchmarks/synthesis.py                                  # speed, with untrained decoders
    python benchmarks/synthesis.py --run runs/abs                   # the same with trained ones
    python benchmarks/synthesis.py table --run runs/abs --images 500

Speed: 8,000 samples and 50 passes for ten classes and a batch of 100 digits, one thread, CPU time. ``plain`` is the
loop over classes that everybody writes first, with torch's own layers: the nearest of the cached decodings, then Adam
on the latent, the best pass kept. Both take turns, and both energies are compared: at least 99 % of them must agree
within 0.1 % (Adam's steps are as long for small gradients as for large ones, so that rounding may send a search to
another valley). Decodings, which are cached, are made beforehand.
"""

import argparse
import statistics
import sys
import time
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor, nn

from unbraid import data, open_run
from unbraid.nets import ClassVAEs, Decodings, Search, explain
from unbraid.training import numerics

BATCH, WANTED, TOLERANCE, AGREE = 100, 3.0, 1e-3, 0.99
GRID = [(1000, 0), (8000, 0), (1000, 10), (1000, 25), (1000, 50), (8000, 10), (8000, 25), (8000, 50)]
"""Samples and passes of the table."""


def digits(count: int) -> tuple[Tensor, np.ndarray]:
    """The first test digits and their classes."""
    found = data.load("mnist:split=test")
    rows = np.arange(count)
    pixels = torch.from_numpy(found.images(rows)).permute(0, 3, 1, 2).float() / 255
    return pixels, np.asarray(found.labels(rows)).reshape(-1).astype(int)


def networks(run: str | None) -> ClassVAEs:
    """Those of a run, or new ones whose batch norms have seen something."""
    if run is not None:
        model = open_run(run, device="cpu").model
        if not isinstance(model, ClassVAEs):
            sys.exit(f"{run} was not trained by abs; train one: unbraid train abs --data mnist:split=train")
        return model
    net = ClassVAEs((28, 28, 1), 10, generator=torch.Generator().manual_seed(0)).train()
    with torch.no_grad():
        for seed in range(20):
            net.decode(torch.randn(64, 10, 8, generator=torch.Generator().manual_seed(seed)))
    return net.eval()


def plain_decoders(net: ClassVAEs) -> list[nn.Sequential]:
    """A decoder of torch's layers for every class, with the same weights."""
    found = []
    for c in range(net.classes):
        layers: list[nn.Module] = []
        for layer in net.decoder:
            if isinstance(layer, nn.ConvTranspose2d):
                sizes = (layer.in_channels // net.classes, layer.out_channels // net.classes)
                made: nn.Module = nn.ConvTranspose2d(*sizes, layer.kernel_size, layer.stride)  # type: ignore[arg-type]
            elif isinstance(layer, nn.BatchNorm2d):
                made = nn.BatchNorm2d(layer.num_features // net.classes)
            else:
                made = nn.ELU()
            for name, tensor in made.state_dict().items():
                whole = layer.state_dict()[name]
                tensor.copy_(whole if whole.ndim == 0 else whole.unflatten(0, (net.classes, -1))[c])
            layers.append(made)
        found.append(nn.Sequential(*layers, nn.Sigmoid()).eval().requires_grad_(False))
    return found


def plain(decoders: list[nn.Sequential], images: Tensor, known: Decodings, search: Search) -> Tensor:
    """Energies ``[n, classes]`` by a loop over classes."""
    found = []
    for c, decode in enumerate(decoders):
        squares = torch.addmm(known.offset[c] + known.divergence, images.flatten(1), known.rows[c].t())
        codes = known.codes[squares.argmin(1)].clone().requires_grad_()
        optimizer = torch.optim.Adam([codes], lr=search.rate)
        best = torch.full((len(images),), torch.inf)
        for step in range(search.iterations):
            decoded = decode(codes[:, :, None, None])
            energy = (images - decoded).square().flatten(1).sum(1) + 0.5 * codes.square().sum(1)
            best = torch.minimum(best, energy.detach())
            if step < search.iterations - 1:
                optimizer.zero_grad()
                energy.sum().backward()
                optimizer.step()
                with torch.no_grad():
                    codes *= (search.radius / codes.norm(dim=1, keepdim=True).clamp_min(1e-6)).clamp_max(1)
        found.append(best)
    return torch.stack(found, 1)


def speed(run: str | None, rounds: int, passes: int) -> None:
    """Both in turn, and how far their energies are apart."""
    net, search = networks(run), Search(iterations=passes)
    images, _ = digits(BATCH)
    draw, decoders = net.drawing(), plain_decoders(net)
    if draw == net.decode:
        print("this process computes on several threads or without AVX-512: grouped convolutions of torch are measured")
    begin = time.process_time()
    known = Decodings.of(net, draw, net.classes, net.latents, search, images)
    print(f"decodings of {search.samples:,} latents: {time.process_time() - begin:.1f} s, once")
    ways: dict[str, Callable[[], Tensor]] = {
        "plain": lambda: plain(decoders, images, known, search),
        "unbraid": lambda: explain(draw, images, known, search).energy,
    }
    times: dict[str, list[float]] = {name: [] for name in ways}
    energies: dict[str, Tensor] = {}
    with torch.no_grad():
        explain(draw, images[:5], known, Search(iterations=2))  # compiled at the first call
    for _ in range(rounds):
        for name, way in ways.items():
            begin = time.process_time()
            energies[name] = way().detach()
            times[name].append((time.process_time() - begin) / BATCH)
    apart = ((energies["unbraid"] - energies["plain"]).abs() / energies["plain"]).flatten()
    ratio = statistics.median(a / b for a, b in zip(times["plain"], times["unbraid"], strict=True))
    print(f"\n## {search.samples:,} samples and {passes} passes, batch {BATCH}, {rounds} round(s)\n")
    print("| way | ms per image (cpu) | mean energy |\n|---|---|---|")
    for name, spent in times.items():
        print(f"| {name} | {1e3 * statistics.median(spent):.1f} | {energies[name].mean():.4f} |")
    agree = float((apart <= TOLERANCE).double().mean())
    print(f"\n{ratio:.1f} times as fast (wanted: {WANTED:g})")
    print(
        f"energies within {TOLERANCE:.1%}: {agree:.2%} (wanted: {AGREE:.0%}); median difference {apart.median():.1e}, "
        f"largest {apart.max():.1e}"
    )
    if agree < AGREE:
        sys.exit("the energies differ: this is no comparison")


def table(run: str | None, count: int) -> None:
    """Accuracy and energy against samples and passes."""
    net = networks(run)
    images, truth = digits(count)
    draw = net.drawing()
    rows = torch.arange(count)
    print(f"\n## {count} test digits\n")
    print("| samples | passes | accuracy | energy of the true class | lowest energy | ms per image (cpu) |")
    print("|---|---|---|---|---|---|")
    for samples, passes in GRID:
        search = Search(samples, passes)
        known = Decodings.of(net, draw, net.classes, net.latents, search, images)
        begin = time.process_time()
        with torch.no_grad():
            energy = torch.cat([explain(draw, part, known, search).energy for part in images.split(BATCH)])
        spent = 1e3 * (time.process_time() - begin) / count
        right = float((energy.argmin(1).numpy() == truth).mean())
        own = energy[rows, torch.from_numpy(truth)].mean()
        print(
            f"| {samples:,} | {passes} | {right:.3f} | {own:.2f} | {energy.amin(1).mean():.2f} | {spent:.1f} |",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("section", nargs="?", default="speed", choices=["speed", "table"])
    parser.add_argument("--run", help="a run of abs on MNIST")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--passes", type=int, default=50)
    parser.add_argument("--images", type=int, default=200)
    options = parser.parse_args()
    torch.set_num_threads(1)
    numerics.setup()
    if options.section == "speed":
        speed(options.run, options.rounds, options.passes)
    else:
        table(options.run, options.images)


if __name__ == "__main__":
    main()
