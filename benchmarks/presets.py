"""How well the fast preset ranks models as the study's numbers do, and at what share of the time.

``python benchmarks/presets.py RUN...`` compares finished runs on the data they were trained on; without runs, twenty
codes of falling quality (mixed, noisy and curved factors) of a grid with 3, 6, 10, 8 and 4 values. Prints, per
score, Spearman's rank correlation between both presets, and the seconds of CPU of each.
"""

import sys
import time
from collections.abc import Callable

import numpy as np

from unbraid.data import IdentityFactors
from unbraid.metrics import evaluate

SIZES = (3, 6, 10, 8, 4)
METRICS = ("beta_vae", "factor_vae", "mig", "dci", "sap", "modularity", "mcc", "infomec", "irs", "med", "unified")


def codes(number: int, sizes: tuple[int, ...]) -> Callable[[np.ndarray], np.ndarray]:
    """The encoder of one of the codes: what it makes of an image depends on the image alone."""
    rng = np.random.default_rng(number)
    share, noise = number / 20, 0.6 * rng.random()
    mix = (1 - share) * np.eye(len(sizes)) + share * rng.normal(size=(len(sizes), len(sizes))) / np.sqrt(len(sizes))
    table = noise * rng.normal(size=(int(np.prod(sizes)), len(sizes)))
    bent = rng.random() > 0.5

    def encode(images: np.ndarray) -> np.ndarray:
        factors = images.reshape(len(images), -1).astype(int)
        scaled = 2 * factors / (np.array(sizes) - 1) - 1
        found = scaled @ mix + table[np.ravel_multi_index(tuple(factors.T), sizes)]
        return np.tanh(2 * found) if bent else found

    return encode


def spearman(left: list[float], right: list[float]) -> float:
    ranks = [np.argsort(np.argsort(values, kind="stable")) for values in (left, right)]
    return float(np.corrcoef(*ranks)[0, 1])


def main(paths: list[str]) -> None:
    if paths:
        from unbraid import open_run

        models = [(run, run.data()) for run in map(open_run, paths)]
    else:
        data = IdentityFactors(SIZES)
        models = [(codes(number, SIZES), data) for number in range(20)]
    values: dict[str, dict[str, list[float]]] = {"fast": {}, "study": {}}
    seconds = {"fast": 0.0, "study": 0.0}
    evaluate(*models[0], METRICS, train=100, test=50)  # compiled before the clock runs
    for number, (model, data) in enumerate(models):
        for preset in ("fast", "study"):
            began = time.process_time()
            found = evaluate(model, data, METRICS, preset=preset)
            seconds[preset] += time.process_time() - began
            for name, score in found.items():
                values[preset].setdefault(name, []).append(float(score))
        print(f"{number + 1} of {len(models)}: {seconds['fast']:.1f} s and {seconds['study']:.1f} s", flush=True)
    print(f"fast takes {seconds['fast'] / seconds['study']:.3f} of the study's CPU time")
    for name, fast in values["fast"].items():
        print(f"{name:12} rank correlation {spearman(fast, values['study'][name]):.3f}")


if __name__ == "__main__":
    main(sys.argv[1:])
