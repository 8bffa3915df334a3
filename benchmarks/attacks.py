"""How long attacks take, against foolbox: same network, same images, one thread.

    python benchmarks/attacks.py                          # ours alone
    python benchmarks/attacks.py --images 100 --rounds 3  # also foolbox 3.3.4 where it is installed

A small CNN is trained on digits for a moment. Every attack of ours runs in turn with its counterpart, and medians of
the CPU time per image are compared, beside the median distances: a faster attack that finds less does not count. Where
the numbers of steps differ, both are shown. foolbox's attacks that are told a radius take one for all images: they are
tried with 25 radii from a small one upwards, each a quarter larger, until every image has fallen. That is coarser than
our search, which knows each radius to a thousandth, and another number of radii would give another ratio.
"""

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import nn

from unbraid import data
from unbraid.robustness import attacks

CONTESTS: tuple[tuple[str, str, dict[str, Any], dict[str, Any]], ...] = (
    ("pointwise", "l0", {"restarts": 3}, {}),
    ("boundary", "l2", {"steps": 100}, {"steps": 500}),
    ("bim", "l2", {"steps": 10}, {"steps": 10}),
    ("bim", "linf", {"steps": 10}, {"steps": 10}),
    ("deepfool", "l2", {}, {}),
    ("deepfool", "linf", {}, {}),
    ("pgd", "linf", {"steps": 50}, {"steps": 50}),
)
"""Attack, norm, our options, theirs."""


def digits(count: int) -> tuple[torch.Tensor, torch.Tensor]:
    """The first test digits, as floats."""
    found = data.load("mnist:split=test")
    rows = np.arange(count)
    pixels = torch.from_numpy(found.images(rows)).permute(0, 3, 1, 2).float() / 255
    return pixels, torch.from_numpy(np.asarray(found.labels(rows)).astype(np.int64).reshape(-1))


def network(steps: int) -> nn.Module:
    """A small CNN, trained for some steps of 100 digits."""
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(1, 16, 5, stride=2), nn.ReLU(), nn.Conv2d(16, 32, 5, stride=2), nn.ReLU(),
        nn.Flatten(), nn.Linear(512, 64), nn.ReLU(), nn.Linear(64, 10),
    )  # fmt: skip
    train = data.load("mnist:split=train")
    optimizer, rng = torch.optim.Adam(model.parameters(), lr=2e-3), np.random.default_rng(0)
    for _ in range(steps):
        rows = rng.integers(len(train), size=100)
        x = torch.from_numpy(train.images(rows)).permute(0, 3, 1, 2).float() / 255
        y = torch.from_numpy(np.asarray(train.labels(rows)).astype(np.int64).reshape(-1))
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
    return model.eval()


def foolbox_attack(
    name: str, norm: str, options: dict[str, Any]
) -> Callable[[Any, torch.Tensor, torch.Tensor], torch.Tensor]:
    """Adversarials of foolbox's counterpart."""
    import eagerpy
    import foolbox

    known = foolbox.attacks
    steps = options.get("steps")
    fixed = {
        ("bim", "l2"): lambda: known.L2BasicIterativeAttack(steps=steps, rel_stepsize=1 / 6),
        ("bim", "linf"): lambda: known.LinfBasicIterativeAttack(steps=steps, rel_stepsize=1 / 6),
        ("pgd", "linf"): lambda: known.LinfProjectedGradientDescentAttack(steps=steps, rel_stepsize=0.1),
    }
    minimal = {
        ("deepfool", "l2"): lambda: known.L2DeepFoolAttack(),
        ("deepfool", "linf"): lambda: known.LinfDeepFoolAttack(),
        ("boundary", "l2"): lambda: known.BoundaryAttack(
            steps=steps, init_attack=known.LinearSearchBlendedUniformNoiseAttack(steps=50)
        ),
    }

    def run(model: Any, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        if name == "pointwise":
            salt = known.SaltAndPepperNoiseAttack(steps=300)
            starts = salt(model, x, y, epsilons=None)[1]
            good = (model(starts).argmax(1) != y).nonzero()[:, 0]
            attack = known.PointwiseAttack(l2_binary_search=False)
            found = x.clone()
            moved = attack.run(
                model,
                eagerpy.astensor(x[good]),
                foolbox.criteria.Misclassification(eagerpy.astensor(y[good])),
                starting_points=eagerpy.astensor(starts[good]),
            )
            found[good] = moved.raw
            return found
        if (name, norm) in minimal:
            return minimal[name, norm]()(model, x, y, epsilons=None)[1]
        attack = fixed[name, norm]()
        start = 0.1 if norm == "linf" else 0.1 * x[0].numel() ** 0.5
        return _scanned(lambda eps: attack(model, x, y, epsilons=eps), x, start)

    return run


def _scanned(attack: Callable[[float], Any], x: torch.Tensor, start: float) -> torch.Tensor:
    """The adversarials of the first of 25 growing radii at which each image falls."""
    best, left = x.clone(), torch.ones(len(x), dtype=torch.bool)
    for radius in np.geomspace(start / 30, 5 * start, 25):
        _, moved, success = attack(float(radius))
        best[success & left] = moved[success & left]
        left &= ~success
        if not left.any():
            break
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--images", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=300, help="of training")
    parser.add_argument("--only", default="", help="names of attacks with commas between them")
    asked = parser.parse_args()
    torch.set_num_threads(1)
    model, (x, y) = network(asked.steps), digits(asked.images)
    try:
        import foolbox

        theirs: Any = foolbox.PyTorchModel(model, bounds=(0, 1))
    except ImportError:
        theirs = None
        print("foolbox is not installed: ours alone")
    print(f"{asked.images} digits, accuracy {(model(x).argmax(1) == y).double().mean():.3f}; CPU ms per image, median")
    only, ratios, missed = set(filter(None, asked.only.split(","))), [], 0
    for name, norm, options, other_options in CONTESTS:
        if only and name not in only:
            continue
        ours: list[float] = []
        other: list[float] = []
        for _ in range(asked.rounds):
            start = time.process_time()
            found = attacks.get(name)(model, x, y, norm=norm, **options)
            ours.append(1000 * (time.process_time() - start) / len(x))
            if theirs is not None:
                start = time.process_time()
                moved = foolbox_attack(name, norm, other_options)(theirs, x, y)
                other.append(1000 * (time.process_time() - start) / len(x))
        if options.get("steps") != other_options.get("steps"):
            print(f"{name}: {options['steps']} steps of ours, {other_options['steps']} of theirs")
        line = f"{name:10} {norm:5} ours {statistics.median(ours):7.2f} ms, distance {found.median:.4g}"
        if theirs is not None:
            sizes = attacks.lengths(moved - x, norm)
            sizes = torch.where(model(moved).argmax(1) != y, sizes, torch.inf)
            sizes[model(x).argmax(1) != y] = 0
            ratio, distance = statistics.median(other) / statistics.median(ours), float(np.median(sizes))
            line += f"; foolbox {statistics.median(other):7.2f} ms, distance {distance:.4g}; {ratio:.2f} times as fast"
            if found.median <= distance:
                ratios.append(ratio)
            else:
                line += ", but finds less: not counted"
                missed += 1
        print(line, flush=True)
    if ratios:
        print(f"geometric mean {statistics.geometric_mean(ratios):.2f}, least {min(ratios):.2f}; {missed} not counted")


if __name__ == "__main__":
    main()
