"""Time every score against a direct formulation of the same definition, and a whole evaluation part by part.

    python benchmarks/metrics.py                   # all scores at study size, DCI at a tenth of it
    python benchmarks/metrics.py sap udr           # some
    python benchmarks/metrics.py irs --samples 1000 10000 100000
    python benchmarks/metrics.py --study dci       # DCI at study size too: scikit-learn takes minutes
    python benchmarks/metrics.py --evaluate        # dsprites through the study's encoder, all scores
    python benchmarks/metrics.py --evaluate --study

The direct formulation calls scikit-learn, scipy or plain loops on the same arrays. Both run in turns and the faster of
``--repeats`` turns counts; this library's time includes the ceiling, which the direct one does not compute.
"""

import argparse
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from unbraid import metrics
from unbraid.data import FactorDataset, FactorSpace
from unbraid.metrics import METRICS

SIZES = (3, 6, 40, 32, 32)
KINDS = ("categorical", "ordinal", "periodic", "ordinal", "ordinal")


class FactorPixels(FactorDataset):
    """Images of one pixel whose channels are the factors: encoding costs nothing, so the score's own work shows."""

    def __init__(self) -> None:
        self.space = FactorSpace(("shape", "scale", "orientation", "x", "y"), SIZES, KINDS)
        self.shape = (1, 1, len(SIZES))

    def images(self, index: np.ndarray, rng: np.random.Generator | None = None) -> np.ndarray:
        return self.space.factors(index).astype(np.uint8).reshape(-1, *self.shape)


@dataclass
class Inputs:
    """Codes of ten dimensions for dSprites' factors: mildly mixed, noisy, some of them nearly dead."""

    train: int = 10_000
    test: int = 5_000

    def __post_init__(self) -> None:
        rng = np.random.default_rng(0)
        self.factors = rng.integers(0, SIZES, size=(self.train, 5))
        self.truth = rng.integers(0, SIZES, size=(self.test, 5))
        self.mix = np.eye(5, 10) + 0.15 * rng.normal(size=(5, 10))
        self.codes, self.held_out = (
            self.encode(part) + 0.1 * rng.normal(size=(len(part), 10)) for part in (self.factors, self.truth)
        )
        self.models = [self.codes[:1000][:, rng.permutation(10)] + 0.5 * rng.normal(size=(1000, 10)) for _ in range(50)]

    def encode(self, images: np.ndarray) -> np.ndarray:
        return (images.reshape(len(images), -1) / SIZES - 0.5) * 3.46 @ self.mix

    @property
    def both(self) -> tuple[np.ndarray, np.ndarray]:
        return self.codes, self.factors

    @property
    def check(self) -> tuple[np.ndarray, np.ndarray]:
        return self.held_out, self.truth


def information(at: Inputs) -> np.ndarray:
    from sklearn.metrics import mutual_info_score

    table = np.empty((10, 5))
    for j in range(10):
        edges = np.histogram(at.codes[:, j], 20)[1]
        binned = np.digitize(at.codes[:, j], edges[1:-1])
        for k in range(5):
            table[j, k] = mutual_info_score(binned, at.factors[:, k])
    return table


def direct_mig(at: Inputs) -> float:
    from sklearn.metrics import mutual_info_score

    ordered = np.sort(information(at), axis=0)
    entropies = [mutual_info_score(v, v) for v in at.factors.T]
    return float(np.mean((ordered[-1] - ordered[-2]) / entropies))


def direct_modularity(at: Inputs) -> float:
    squares = information(at) ** 2
    best = squares.max(axis=1)
    return float(np.mean(1 - (squares.sum(axis=1) - best) / (best * 4)))


def direct_sap(at: Inputs) -> float:
    from sklearn.svm import LinearSVC

    table = np.empty((10, 5))
    for j in range(10):
        for k in range(5):
            machine = LinearSVC(C=0.01, class_weight="balanced", dual=False)
            machine.fit(at.codes[:, [j]], at.factors[:, k])
            table[j, k] = machine.score(at.held_out[:, [j]], at.truth[:, k])
    ordered = np.sort(table, axis=0)
    return float((ordered[-1] - ordered[-2]).mean())


def direct_explicitness(at: Inputs) -> float:
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import roc_auc_score

    mean, std = at.codes.mean(axis=0), at.codes.std(axis=0)
    areas = []
    for k in range(5):
        model = LogisticRegression(max_iter=1000).fit((at.codes - mean) / std, at.factors[:, k])
        for codes, factors in (at.both, at.check):
            chances = model.predict_proba((codes - mean) / std)
            area = np.mean([roc_auc_score(factors[:, k] == v, chances[:, v]) for v in model.classes_])
        areas.append(area)
    return float(np.mean(areas))


def direct_irs(at: Inputs) -> float:
    """As disentanglement_lib goes about it: a loop over the values of each factor, all codes at once."""
    span = np.abs(at.codes - at.codes.mean(axis=0)).max(axis=0)
    table = np.zeros((10, 5))
    for k in range(5):
        groups = np.digitize(at.factors[:, k], np.histogram(at.factors[:, k], 20)[1][:-1])
        values = np.unique(groups)
        for value in values:
            part = at.codes[groups == value]
            table[:, k] += np.percentile(np.abs(part - part.mean(axis=0)), 99, axis=0)
        table[:, k] /= len(values)
    return float(np.average((1 - table / span[:, None]).max(axis=1), weights=span))


def direct_mcc(at: Inputs) -> float:
    from scipy.optimize import linear_sum_assignment
    from scipy.stats import spearmanr

    table = np.abs([[spearmanr(z, v)[0] for v in at.factors.T] for z in at.codes.T])
    return float(table[linear_sum_assignment(-table)].mean())


def direct_disentanglement_score(at: Inputs) -> float:
    from sklearn.neighbors import KNeighborsRegressor

    table, spread = np.empty((10, 5)), at.truth.std(axis=0)
    for j in range(10):
        for k in range(5):
            model = KNeighborsRegressor(5).fit(at.codes[:, [j]], at.factors[:, k])
            rmse = np.sqrt(np.mean((model.predict(at.held_out[:, [j]]) - at.truth[:, k]) ** 2))
            table[j, k] = max(spread[k] - rmse, 0)
    ordered = np.sort(table, axis=0)
    return float(((ordered[-1] - ordered[-2]) / spread).mean())


def direct_infomec(at: Inputs) -> float:
    from sklearn.feature_selection import mutual_info_classif
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import log_loss, mutual_info_score

    table = np.empty((10, 5))
    standard = (at.codes - at.codes.mean(axis=0)) / at.codes.std(axis=0)
    for k in range(5):
        labels = at.factors[:, k]
        for j in range(10):
            table[j, k] = mutual_info_classif(at.codes[:, [j]], labels, n_neighbors=10, random_state=0)[0]
        table[:, k] /= mutual_info_score(labels, labels)
        model = LogisticRegression(C=1000, class_weight="balanced", max_iter=1000).fit(standard, labels)
        log_loss(labels, model.predict_proba(standard))
    return float(((table.max(axis=1) / table.sum(axis=1)).mean() - 1 / 5) / (1 - 1 / 5))


def direct_r2(at: Inputs) -> float:
    from sklearn.linear_model import LinearRegression

    fits = [
        LinearRegression().fit(at.codes, v).score(at.held_out, w) for v, w in zip(at.factors.T, at.truth.T, strict=True)
    ]
    return float(np.mean(fits))


def direct_udr(at: Inputs) -> float:
    from sklearn.linear_model import Lasso

    models = [(codes - codes.mean(axis=0)) / codes.std(axis=0) for codes in at.models]
    scores = []
    for i, target in enumerate(models):
        pairs = []
        for j, source in enumerate(models):
            if i != j:
                r = np.abs(Lasso(alpha=0.1).fit(source, target).coef_.T)
                columns, rows = r.sum(axis=0), r.sum(axis=1)
                pairs.append(
                    0.5 * (r.max(axis=0) ** 2 / np.where(columns > 0, columns, 1)).mean()
                    + 0.5 * (r.max(axis=1) ** 2 / np.where(rows > 0, rows, 1)).mean()
                )
        scores.append(np.median(pairs))
    return float(np.mean(scores))


def direct_beta_vae(at: Inputs) -> float:
    from sklearn.linear_model import LogisticRegression

    data, rng = FactorPixels(), np.random.default_rng(0)
    features, labels = np.empty((at.train + at.test, 10)), np.empty(at.train + at.test, dtype=int)
    for i in range(at.train + at.test):
        labels[i] = rng.integers(5)
        left, right = data.space.sample(64, rng), data.space.sample(64, rng)
        right[:, labels[i]] = left[:, labels[i]]
        codes = [at.encode(data.images(data.space.index(side))) for side in (left, right)]
        features[i] = np.abs(codes[0] - codes[1]).mean(axis=0)
    model = LogisticRegression(max_iter=1000).fit(features[: at.train], labels[: at.train])
    return float(model.score(features[at.train :], labels[at.train :]))


def direct_factor_vae(at: Inputs) -> float:
    data, rng = FactorPixels(), np.random.default_rng(0)
    variance = at.encode(data.images(data.space.index(data.space.sample(10_000, rng)))).var(axis=0, ddof=1)
    votes = np.zeros((2, 10, 5), dtype=int)
    for i in range(at.train + at.test):
        k = rng.integers(5)
        factors = data.space.sample(64, rng)
        factors[:, k] = factors[0, k]
        codes = at.encode(data.images(data.space.index(factors)))
        votes[int(i >= at.train), (codes.var(axis=0, ddof=1) / variance).argmin(), k] += 1
    rule = votes[0].argmax(axis=1)
    return float(votes[1][np.arange(10), rule].sum() / at.test)


PAIRS: dict[str, tuple[Callable[[Inputs], object], Callable[[Inputs], float]]] = {
    "mig": (lambda at: metrics.mig(*at.both), direct_mig),
    "modularity": (lambda at: metrics.modularity(*at.both), direct_modularity),
    "sap": (lambda at: metrics.sap(*at.both, test=at.check), direct_sap),
    "explicitness": (lambda at: metrics.explicitness(*at.both, test=at.check), direct_explicitness),
    "irs": (lambda at: metrics.irs(*at.both), direct_irs),
    "mcc": (lambda at: metrics.mcc(*at.both), direct_mcc),
    "disentanglement_score": (
        lambda at: metrics.disentanglement_score(*at.both, test=at.check),
        direct_disentanglement_score,
    ),
    "infomec": (lambda at: metrics.infomec(*at.both), direct_infomec),
    "r2": (lambda at: metrics.r2(*at.both, test=at.check), direct_r2),
    "udr": (lambda at: metrics.udr(at.models), direct_udr),
    "beta_vae": (lambda at: metrics.beta_vae(at.encode, FactorPixels()), direct_beta_vae),
    "factor_vae": (lambda at: metrics.factor_vae(at.encode, FactorPixels()), direct_factor_vae),
    "dci": (
        lambda at: metrics.dci(*at.both, test=at.check),
        lambda at: float(metrics.dci(*at.both, test=at.check, backend="sklearn")),
    ),
}


def timed(function: Callable[[Inputs], object], inputs: Inputs) -> tuple[float, float]:
    began = time.perf_counter()
    value = float(function(inputs))  # type: ignore[arg-type]
    return value, time.perf_counter() - began


def compare(names: list[str], repeats: int, study: bool, samples: list[int]) -> None:
    warnings.simplefilter("ignore")
    tenth = Inputs(1_000, 500)
    print(f"{'score':<24}{'value':>8}{'direct':>8}{'seconds':>10}{'direct':>10}{'ratio':>8}")
    for count in samples:
        full = Inputs(count, count // 2)
        for name in names:
            own, direct = PAIRS[name]
            inputs = tenth if name == "dci" and not study else full
            timed(own, tenth)  # compile and import before the clock starts
            turns = [(timed(own, inputs), timed(direct, inputs)) for _ in range(1 if name == "dci" else repeats)]
            mine, theirs = (min(turn[side][1] for turn in turns) for side in (0, 1))
            values = "".join(f"{turns[0][side][0]:>8.3f}" for side in (0, 1))
            note = "" if inputs.train == 10_000 else f"  ({inputs.train:,} samples)"
            print(f"{name:<24}{values}{mine:>10.3f}{theirs:>10.3f}{theirs / mine:>8.1f}{note}", flush=True)


def evaluation(study: bool) -> None:
    import torch

    from unbraid import data
    from unbraid.nets import build

    torch.set_num_threads(1)
    dsprites = data.load("dsprites")
    encoder, _ = build("conv", dsprites.shape, 10, generator=torch.Generator().manual_seed(0))

    def encode(images: np.ndarray) -> np.ndarray:
        with torch.inference_mode():
            pixels = torch.from_numpy(images).permute(0, 3, 1, 2).float() / 255
            return encoder(pixels)[:, :10].numpy()

    points = (10_000, 5_000) if study else (400, 200)
    began = time.perf_counter()
    scores = metrics.evaluate(encode, dsprites, [name for name in METRICS if name != "udr"], points=points)
    total = time.perf_counter() - began
    print(f"evaluation of an untrained encoder on {dsprites!r}, {points[0]} + {points[1]} points of 64 images")
    encoding = next(iter(scores.values())).settings["encoding_seconds"]
    print(f"{'encoding':<30}{encoding:>10.2f} s")
    for name, score in scores.items():
        print(f"{name:<30}{score.settings['seconds']:>10.2f} s   {score!r}")
    print(f"{'in all':<30}{total:>10.2f} s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help=f"scores to time, all without: {', '.join(PAIRS)}")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--samples", type=int, nargs="+", default=[10_000], help="training samples; half as many test")
    parser.add_argument("--study", action="store_true", help="DCI and the evaluation at full study size")
    parser.add_argument("--evaluate", action="store_true", help="time a whole evaluation instead")
    options = parser.parse_args()
    if unknown := set(options.names) - set(PAIRS):
        parser.error(f"no direct formulation of {', '.join(sorted(unknown))}")
    if options.evaluate:
        evaluation(options.study)
    else:
        compare(options.names or list(PAIRS), options.repeats, options.study, options.samples)


if __name__ == "__main__":
    main()
