"""Made-up tables for every claim: a clear effect, a precise null, a wide spread, in the columns that measures read."""

import numpy as np
import polars as pl

from unbraid.claims.all_claims import slow
from unbraid.claims.all_claims.noise import ANT, GNT, NO_REPLAY, PGD, SIGMAS
from unbraid.claims.all_claims.slow import SCORES

LAP, UNI, NATURAL = slow.LAP[0], slow.UNI[0], slow.NATURAL[0]
SETS = (LAP, UNI, NATURAL)
SEEDS = (100, 101, 102, 103, 104, 105)
CLEAR, NULL, WIDE = "clear", "null", "wide"


def sides(kind, effect, low=0.0):
    """Both sides by seed: ``effect`` apart, not apart at all, or as far apart with a spread that hides it."""
    draw = np.array([-1.2, -0.7, -0.1, 0.2, 0.6, 1.2])
    size, spread = {CLEAR: (effect, 0.02 * effect), NULL: (0.0, 0.01 * effect), WIDE: (effect, 4 * effect)}[kind]
    return [(seed, low + size + spread * one, low) for seed, one in zip(SEEDS, draw, strict=True)]


def rows(kind, effect, column, good, bad, low=0.0, times=1.0):
    """Two settings, each with its column by seed."""
    found = []
    for seed, first, second in sides(kind, effect, low):
        found += [{**good, "seed": seed, column: times * first}, {**bad, "seed": seed, column: times * second}]
    return found


def frame(found):
    return pl.DataFrame(found, infer_schema_length=None)


def of(group, *args, **options):
    """One group's table of two settings."""
    return {group: frame(rows(*args, **options))}


def tuned(found):
    """Rows of fine-tuned digit networks."""
    empty = {"after": 0, "norm": None, "eps": None, "direction": None, "corruption": None}
    return frame([{**empty, "corruption_accuracy": None, "adversarial_accuracy": None, **row} for row in found])


def corrupted(kind, effect, good, bad):
    found = []
    for name in ("none", "fog", "shot_noise"):
        about = ({"augment": good, "corruption": name}, {"augment": bad, "corruption": name})
        found += rows(kind, effect, "corruption_accuracy", *about, low=50, times=0.01)
    return tuned(found)


def attacked(kind, effect, good, bad):
    found = []
    for norm, eps in (("l2", 1.5), ("linf", 0.1)):
        about = ({"augment": good, "norm": norm, "eps": eps}, {"augment": bad, "norm": norm, "eps": eps})
        found += rows(kind, effect, "adversarial_accuracy", *about, low=50, times=0.01)
    return tuned(found)


def in_noise(kind, effect, good, bad):
    about = [{"augment": augment, "direction": direction} for augment, direction in (good, bad)]
    return tuned(rows(kind, effect, "noise_distance_accuracy", *about, low=50, times=0.01))


def arms(kind, effect, good, bad, more=()):
    """Arms of a comparison of recursions."""
    shared = {"part": "models", "selected": True}
    empty = {"leaf_runs": None, "mig_labels": None, "factor": None, "leaf_run": None}
    found = rows(kind, effect, "mig", {**shared, **good}, {**shared, **bad}, low=0.2)
    return {"rpu-compare": frame([{**empty, **row} for row in (*found, *more)])}


def found_factors(hits, root, below):
    """Which factors metaEpochs found; seeds beyond ``hits`` found shape, at the root and below."""
    told = []
    for place, seed in enumerate(SEEDS):
        first, second = (root, below) if place < hits else (("shape",), ("shape",))
        told += [{"part": "found", "seed": seed, "leaf_run": 0, "factor": one} for one in first]
        told += [{"part": "found", "seed": seed, "leaf_run": 1, "factor": one} for one in second]
    return {"rpu-compare": frame(told)}


def distances(kind, ratio, first, second, norm, attacks=("bim", "bim")):
    """Smallest distances of two models (or by two attacks) with this ratio of medians."""
    rng, found = np.random.default_rng(1), []
    for seed in SEEDS[:3]:
        for model, attack, times in ((first, attacks[0], ratio if kind != NULL else 1.0), (second, attacks[1], 1.0)):
            spread = 4.0 if kind == WIDE else 0.1
            for image, distance in enumerate(times * rng.lognormal(0, spread, 6 if kind == WIDE else 60)):
                about = {"part": "distances", "model": model, "norm": norm, "attack": attack}
                found.append({**about, "seed": seed, "image": image, "distance": distance, "confidence": None})
    return found


def r2(kind, effect, good, bad):
    shared = {"part": "scores", "selected": True}
    return rows(kind, effect, "r2", {**shared, **good}, {**shared, **bad}, low=0.5)


def share(kind, of_seeds=6):
    """So many hits of six seeds."""
    return {CLEAR: of_seeds, NULL: 0, WIDE: of_seeds - 1}[kind]


def toys(kind, effect, world, good, bad, high=0.996, **more):
    """Correlations with true latents below ``high``; where seeds differ widely, below and above .95."""
    found = []
    for seed, first, second in sides(kind, effect):
        top = high if kind == CLEAR else 0.9
        gap = first - second
        value = {CLEAR: top, NULL: top, WIDE: 0.95 + 0.02 * gap / effect}[kind]
        found.append({"world": world, "model": good, "seed": seed, "pearson": value, **more})
        found.append({"world": world, "model": bad, "seed": seed, "pearson": value - gap, **more})
    return found


def collapse(kind):
    found = []
    for place, seed in enumerate(SEEDS):
        gone = place < share(kind)
        for kappa in (0.2, 0.6, 1.0):
            off = gone and kappa == 0.2
            spread, deviation = ([1.0, 0.01], [0.1, 0.99]) if off else ([1.0, 0.9], [0.1, 0.2])
            found.append({"model": "slow-vae", "kappa": kappa, "seed": seed, "spread": spread, "deviation": deviation})
            found.append({"model": "slow-flow", "kappa": kappa, "seed": seed, "pearson": 0.99})
    return {"slow-toys": frame([{"world": "collapse", **row} for row in found])}


def ranked(kind):
    """Scores of three methods: mine is ahead in all cells, behind in all, or by turns."""
    found = []
    for number, (data, score) in enumerate((data, score) for data in SETS for score in SCORES):
        best = {CLEAR: 0, NULL: 1, WIDE: number % 2}[kind]
        for place, objective in enumerate(("slow-vae", "ada-gvae", "pcl")):
            value = 0.9 if place == best else 0.6 - 0.1 * place
            found.append({"data": data, "objective": objective, "seed": 100, "score": score, "value": value})
    table = frame(found).pivot("score", index=["data", "objective", "seed"], values="value")
    return {"slow-grid": table}


def natural(kind):
    """A gain by breaking dependences: none, a large one, or one that seeds hide."""
    told = {CLEAR: NULL, NULL: CLEAR, WIDE: WIDE}[kind]
    continuous = "natural-sprites:size=32,channels=1"
    about = {"objective": "slow-vae"}
    first = rows(told, 8, "mcc", {**about, "data": f"{NATURAL},permuted=1"}, {**about, "data": NATURAL}, 50, 0.01)
    other = rows(told, 8, "mcc", {**about, "data": f"{continuous},permuted=1"}, {**about, "data": continuous}, 50, 0.01)
    whole = frame([*first, *other])
    return {
        "slow-grid": whole.filter(pl.col("data") == NATURAL),
        "slow-natural": whole.filter(pl.col("data") != NATURAL),
    }


def similar(kind):
    found, models = [], ("CNN", "MLP", "CoordConv")
    for seed, first, second in sides(kind, 0.8):
        for a in models:
            for b in (*models, "truth"):
                if a != b:
                    value = second if b == "truth" else first
                    other = None if b == "truth" else seed
                    found.append({"first": a, "second": b, "first_seed": seed, "second_seed": other, "pooled": value})
    table = frame([{"part": "similarity", "split": "extrapolation", **row} for row in found])
    return {"gen-cnn": table, "gen-other": table}


def towards(kind):
    value = {CLEAR: (0.9, 0.01), NULL: (0.5, 0.01), WIDE: (0.75, 0.2)}[kind]
    draw = (-1.2, -0.7, -0.1, 0.2, 0.6, 1.2)
    tables = {}
    for group, model in (("gen-cnn", "CNN"), ("gen-other", "MLP")):
        told = [{"seed": s, "below": value[0] + value[1] * d, "images": 10} for s, d in zip(SEEDS, draw, strict=True)]
        tables[group] = frame([{"part": "towards", "model": model, "split": "extrapolation", **row} for row in told])
    return tables


def correlated(kind, x, y, splits=("random",), count=24):
    rng, found = np.random.default_rng(0), []
    for split in splits:
        for n in range(count if kind != WIDE else 5):
            value = {CLEAR: n, NULL: -n, WIDE: (3, 0, 2, 1, 4)[n % 5]}[kind] + 0.01 * rng.normal()
            found.append({"split": split, "seed": 100 + n, x: float(n), y: float(value)})
    return frame(found)


def restarts(kind):
    return {"pca-blobs": correlated(kind, "distance", "mig").with_columns(distance=-pl.col("distance"))}


def constant(kind, high, low, wide=(0.0, 1.0)):
    """Numbers by seed: all high, all low, or spread over a range."""
    middle = np.linspace(*wide, len(SEEDS))
    jitter = np.linspace(-1e-3, 1e-3, len(SEEDS))
    return dict(zip(SEEDS, {CLEAR: high + jitter, NULL: low + jitter, WIDE: middle}[kind].tolist(), strict=True))


__all__ = ["ANT", "GNT", "LAP", "NO_REPLAY", "PGD", "SIGMAS", "UNI"]
