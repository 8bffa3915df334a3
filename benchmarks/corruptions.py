"""Time every corruption against imagecorruptions-imaug and a direct formulation with numpy and scipy, image by image.

    python benchmarks/corruptions.py                    # 64 pixels in colour, digits for MNIST-C
    python benchmarks/corruptions.py --size 224 --images 8
    python benchmarks/corruptions.py fog snow --severity 5

All run on one thread on the same images; the least CPU time of ``--repeats`` turns counts, so that other work on the
machine matters little. imagecorruptions-imaug is no dependency: its column stays empty where it is not installed (it
needs setuptools below 81). The last lines are geometric means of the ratios, and what is slower than another.
"""

import argparse
import os
import time
import warnings
from collections.abc import Callable
from typing import Any

os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1"))

import numpy as np

from direct_corruptions import DIRECT
from unbraid.corruptions import SUITES, Corruption, corrupt

HEADINGS = ("images/s", "ms here", "direct", "library", "x direct", "x library")


def pictures(count: int, size: int, channels: int) -> np.ndarray:
    """Smooth waves with a disk and some texture."""
    rng = np.random.default_rng(0)
    y, x = np.mgrid[:size, :size, :1][:2] / size
    phase = rng.uniform(0, 6, (count, 1, 1, channels))
    waves = 0.5 + 0.3 * np.sin(9 * x + 5 * y + phase) + 0.3 * ((x - 0.4) ** 2 + (y - 0.5) ** 2 < 0.06)
    return np.uint8(255 * np.clip(waves + rng.normal(0, 0.02, waves.shape), 0, 1))


def least(run: Callable[[], Any], repeats: int) -> float:
    run()
    times = []
    for _ in range(repeats):
        start = time.process_time()
        run()
        times.append(time.process_time() - start)
    return min(times)


def other_library() -> Callable[..., np.ndarray] | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import cv2
            import imagecorruptions
    except ImportError:
        return None
    cv2.setNumThreads(1)

    def theirs(image: np.ndarray, name: str, severity: int) -> np.ndarray:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return imagecorruptions.corrupt(image, corruption_name=name, severity=severity)

    return theirs


def timed(
    corruption: Corruption, arguments: argparse.Namespace, theirs: Callable[..., np.ndarray] | None
) -> list[float]:
    """Milliseconds per image: here, direct, the other library (nan where it has none)."""
    digits = corruption.suite == "mnist-c"
    severity = min(arguments.severity, len(corruption.severities))
    images = pictures(*((8 * arguments.images, 28, 1) if digits else (arguments.images, arguments.size, 3)))
    few = images[: 4 if arguments.size <= 64 else 2]
    rng = np.random.default_rng(0)
    setting = corruption.settings[severity - 1]
    here = least(lambda: corrupt(images, corruption, severity), arguments.repeats) / len(images)
    direct = other = float("nan")
    if corruption.full_name in DIRECT:
        formula = DIRECT[corruption.full_name]
        direct = least(lambda: [formula(image, rng, *setting) for image in few], arguments.repeats)
    if theirs is not None and not digits:
        other = least(lambda: [theirs(image, corruption.name, severity) for image in few], arguments.repeats)
    return [1e3 * here, 1e3 * direct / len(few), 1e3 * other / len(few)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--size", type=int, default=64)
    parser.add_argument("--images", type=int, default=64)
    parser.add_argument("--severity", type=int, default=3)
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    theirs = other_library()
    found = [each for suite in SUITES.values() for each in suite.values()]
    chosen = [each for each in found if not arguments.names or {each.name, each.full_name} & set(arguments.names)]
    print(f"{'corruption':32}" + "".join(f"{word:>10}" for word in HEADINGS))
    rows = {}
    for corruption in chosen:
        here, direct, other = timed(corruption, arguments, theirs)
        rows[corruption.full_name] = np.array([direct / here, other / here])
        numbers = "".join(f"{number:10.3f}" for number in (here, direct, other))
        print(
            f"{corruption.full_name:32}{1e3 / here:10.0f}{numbers}{direct / here:10.1f}{other / here:10.1f}", flush=True
        )
    for column, name in enumerate(("direct formulation", "imagecorruptions-imaug")):
        known = {key: row[column] for key, row in rows.items() if np.isfinite(row[column])}
        if known:
            mean = np.exp(np.mean(np.log(list(known.values()))))
            slower = ", ".join(f"{key} ({ratio:.2f})" for key, ratio in known.items() if ratio < 1) or "none"
            print(f"against the {name}: {mean:.1f} times as fast in the geometric mean; slower: {slower}")


if __name__ == "__main__":
    main()
