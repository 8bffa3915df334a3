"""DCI with this library's booster against the same score with scikit-learn's classifier.

    python benchmarks/dci.py                        # study size: minutes, nearly all of them scikit-learn's
    python benchmarks/dci.py --samples 1000 --seeds 3 --sizes 3 6 10

Both see the same codes, in turns; the time is CPU time of the process. Codes are noisy nonlinear mixtures that lean to
one factor each, with one dead code, so that the score lies in the middle of its range.
"""

import argparse
import time

import numpy as np

from unbraid.metrics.dci import dci

PARTS = ("disentanglement", "completeness", "informativeness_train", "informativeness_test")


def entangled_codes(n: int, sizes: list[int], codes: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Codes ``[n, codes]`` as a partly disentangled model gives them, and the factors behind them."""
    rng = np.random.default_rng(seed)
    weights = np.random.default_rng(7).normal(scale=0.2, size=(len(sizes), codes))
    weights[np.arange(codes) % len(sizes), np.arange(codes)] += 1
    factors = np.stack([rng.integers(size, size=n) for size in sizes], axis=1)
    hidden = (2 * (factors + 0.5) / np.array(sizes) - 1) @ weights
    mean = np.tanh(hidden) + 0.1 * np.sin(3 * hidden) + 0.1 * rng.normal(size=hidden.shape)
    mean[:, -1] = 0.02 * rng.normal(size=n)
    return mean, factors


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=10_000, help="training samples; half as many test samples")
    parser.add_argument("--codes", type=int, default=10)
    parser.add_argument("--sizes", type=int, nargs="+", default=[3, 6, 40, 32, 32], help="values per factor")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1, help="threads of this library's booster")
    options = parser.parse_args()

    warm = entangled_codes(60, [2, 3], 3, 0)
    dci(*warm, stages=1)  # compiled once, read from a cache afterwards
    ratios, entries, differences = [], [], []
    for seed in range(options.seeds):
        train = entangled_codes(options.samples, options.sizes, options.codes, seed)
        test = entangled_codes(options.samples // 2, options.sizes, options.codes, 1000 + seed)
        scores, cpu = {}, {}
        for backend in ("exact", "sklearn"):
            wall, start = time.perf_counter(), time.process_time()
            scores[backend] = dci(*train, test=test, backend=backend, threads=options.threads, seed=seed)
            cpu[backend] = time.process_time() - start
            values = "  ".join(f"{part} {scores[backend].parts[part]:.4f}" for part in PARTS)
            wall = time.perf_counter() - wall
            print(f"seed {seed}  {backend:8}{cpu[backend]:9.2f} s CPU {wall:9.2f} s  {values}", flush=True)
        ours, theirs = (scores[backend].parts for backend in ("exact", "sklearn"))
        ratios.append(cpu["sklearn"] / cpu["exact"])
        entries.append(np.abs(ours["importance"] - theirs["importance"]).max())
        differences.append([ours[part] - theirs[part] for part in PARTS])
    print(f"ratio of CPU times: median {np.median(ratios):.1f}, from {min(ratios):.1f} to {max(ratios):.1f}")
    print(f"largest difference of an importance: {max(entries):.4f}")
    for part, values in zip(PARTS, np.array(differences).T, strict=True):
        print(f"{part}: mean difference {values.mean():+.5f}, largest {np.abs(values).max():.5f}")


if __name__ == "__main__":
    main()
